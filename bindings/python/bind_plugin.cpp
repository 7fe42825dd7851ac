/// Plugins: the host of this process.

#include "bindings.hpp"

#include <mlsysim/plugin/host.hpp>

#include <pybind11/stl.h>

#include <string>

namespace mlsysim::python {
namespace {

namespace host = mlsysim::plugin;

host::PluginHost& the_host() {
  static auto& plugins = *new host::PluginHost();
  return plugins;
}

py::dict record_dict(const host::PluginRecord& r) {
  py::dict d;
  d["name"] = r.name;
  d["version"] = r.version;
  d["summary"] = r.summary;
  d["license"] = r.license;
  d["library"] = r.library.generic_string();
  d["manifest"] = r.manifest.generic_string();
  d["source"] = r.source;
  d["state"] = std::string(host::name_of(r.state));
  d["isolated"] = r.isolated;
  d["provides"] = r.provides;
  d["note"] = r.note;
  if (r.failure) {
    py::dict f;
    f["stage"] = r.failure->stage;
    f["code"] = std::string(host::status_name(r.failure->code));
    f["message"] = r.failure->message;
    f["hint"] = r.failure->hint;
    d["failure"] = f;
  } else {
    d["failure"] = py::none();
  }
  return d;
}

py::list record_list(const std::vector<host::PluginRecord>& records) {
  py::list out;
  for (const auto& r : records) out.append(record_dict(r));
  return out;
}

}  // namespace

void bind_plugin(py::module_& m) {
  m.def("_plugin_records", [] {
    {
      const py::gil_scoped_release free;
      the_host().discover();
    }
    return record_list(the_host().records());
  });
  m.def("_plugin_load", [](const std::string& name_or_path) {
    const py::gil_scoped_release free;
    return the_host().load(name_or_path);
  });
  m.def("_plugin_load_all", [] {
    host::LoadReport report;
    {
      const py::gil_scoped_release free;
      report = the_host().load_all();
    }
    return py::make_tuple(report.loaded, record_list(report.failed));
  });
  m.def("_plugin_unload", [](const std::string& name) {
    const py::gil_scoped_release free;
    the_host().unload(name);
  });
  m.def("_plugin_reload", [](const std::string& name) {
    host::ReloadReport r;
    {
      const py::gil_scoped_release free;
      r = the_host().reload(name);
    }
    py::dict d;
    d["old_version"] = r.old_version;
    d["new_version"] = r.new_version;
    d["same_interface"] = r.same_interface;
    d["old_code"] = r.old_code;
    return d;
  });
  m.def("_plugin_has_feature", [](const std::string& name, const std::string& feature) { return the_host().has_feature(name, feature); });
}

}  // namespace mlsysim::python

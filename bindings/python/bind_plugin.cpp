/// Plugins: the host of this process.

#include "plugin_host.hpp"
#include "values.hpp"

#include <mlsysim/plugin/program.hpp>

#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim::python {
namespace {

namespace host = mlsysim::plugin;

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

host::Placement how(bool isolated, std::vector<std::string> names, std::optional<std::int64_t> timeout_ms,
                    std::optional<std::uint64_t> memory) {
  host::Placement out;
  if (isolated) out.isolation = host::Isolation::always;
  out.isolated = std::move(names);
  if (timeout_ms || memory) {
    out.limits.emplace();
    if (timeout_ms) out.limits->timeout = std::chrono::milliseconds(*timeout_ms);
    if (memory) out.limits->memory = *memory;
  }
  return out;
}

/// (name, note) of the loaded plugins in a list that have one.
py::list notes_of(const std::vector<std::string>& names) {
  py::list out;
  for (const auto& r : the_host().records())
    if (r.state == host::PluginState::initialised && !r.note.empty() &&
        std::find(names.begin(), names.end(), r.name) != names.end())
      out.append(py::make_tuple(r.name, r.note));
  return out;
}

py::object value_of(const host::OwnedValue& v) {
  switch (v.kind) {
    case MLS_NUMBER: {
      if (v.text.empty()) return py::float_(v.number);
      py::dict d;
      d["value"] = v.number;
      d["unit"] = v.text;
      return d;
    }
    case MLS_FLAG:
      return py::bool_(v.flag);
    case MLS_STRING:
      return py::str(v.text);
    default:
      return py::none();
  }
}

py::list fields_list(const std::vector<host::FieldDescription>& fields) {
  py::list out;
  for (const auto& f : fields) {
    py::dict d;
    d["name"] = f.name;
    d["unit"] = f.unit;
    d["object_type"] = f.object_type;
    d["meaning"] = f.meaning;
    d["optional"] = f.has(MLS_FIELD_OPTIONAL);
    out.append(d);
  }
  return out;
}

py::list converter_list(const std::vector<host::ConverterDescription>& converters) {
  py::list out;
  for (const auto& c : converters) {
    py::dict d;
    d["name"] = c.name;
    d["direction"] = c.direction == MLS_IMPORTER ? "import" : "export";
    d["format"] = c.format;
    out.append(d);
  }
  return out;
}

py::dict describe(const std::string& name) {
  const auto d = the_host().description(name);
  py::dict out;
  for (const auto& r : the_host().records())
    if (r.name == name && r.state == host::PluginState::initialised) out = record_dict(r);
  py::dict abi;
  abi["major"] = d.abi_major;
  abi["minor"] = d.abi_minor;
  abi["needs_host_minor"] = d.needs_host_minor;
  out["abi"] = abi;
  py::dict attributes;
  for (const auto& [key, value] : d.attributes) attributes[py::str(key)] = value_of(value);
  out["attributes"] = attributes;
  py::list resolvers, options, backends;
  for (const auto& r : d.resolvers) {
    py::dict one;
    one["name"] = r.name;
    one["tier"] = std::string(name_of(r.tier));
    one["summary"] = r.summary;
    one["inputs"] = fields_list(r.inputs);
    one["outputs"] = fields_list(r.outputs);
    one["options"] = fields_list(r.options);
    one["ownership"] = std::string(name_of(r.ownership));
    resolvers.append(one);
  }
  for (const auto& o : the_host().options_of(name)) {
    py::dict one;
    one["resolver"] = o.resolver;
    one["option"] = o.option;
    one["value"] = o.value;
    one["origin"] = o.origin;
    options.append(one);
  }
  for (const auto& b : d.backends) {
    py::dict one;
    one["name"] = b.name;
    one["devices"] = b.devices;
    one["max_effort"] = b.max_effort;
    one["predict"] = b.predict;
    backends.append(one);
  }
  out["resolvers"] = resolvers;
  out["options"] = options;
  out["backends"] = backends;
  out["converters"] = converter_list(d.converters);
  return out;
}

/// The spec of a type in a Python object. @throws InputError naming what it is instead
template <class T> const T& spec_in(const py::object& value, const char* what) {
  const auto ref = object_in(value);
  if (ref.object == nullptr || ref.type != ObjectType<T>::name)
    throw InputError({.id = "mlsysim.python.194",
                      .message = fmt::format("this is no {}", what),
                      .key = what,
                      .found = std::string(py::str(py::repr(value))),
                      .expected = fmt::format("a {}", what),
                      .hint = "such as mlsysim.Models.Llama3_8B or mlsysim.Hardware.H100"});
  return *static_cast<const T*>(ref.object);
}

py::dict support(const std::string& backend, const py::object& workload, const py::object& hardware,
                 int effort, const std::string& mode_name) {
  const auto& model = spec_in<Workload>(workload, "model");
  const auto& device = spec_in<HardwareNode>(hardware, "device");
  const auto mode = choice_of<host::SupportMode>(mode_name);
  if (!mode)
    throw InputError({.id = "mlsysim.python.197",
                      .message = "there is no such mode",
                      .key = "mode",
                      .found = fmt::format("'{}'", mode_name),
                      .expected = "conservative or aggressive"});
  host::SupportAnswer answer;
  {
    const py::gil_scoped_release free;
    answer = the_host().support(backend, host::program_of(model, device), device.name, effort, *mode);
  }
  py::dict out;
  py::list reasons;
  for (const auto& r : answer.reasons) {
    py::dict one;
    one["code"] = std::string(name_of(r.code));
    one["op"] = r.op;
    one["count"] = r.count;
    one["location"] = r.location;
    one["hint"] = r.hint;
    reasons.append(one);
  }
  out["verdict"] = std::string(name_of(answer.verdict));
  out["reasons"] = reasons;
  out["effort"] = answer.effort_used;
  out["mode"] = std::string(name_of(answer.mode));
  out["seconds"] = answer.seconds;
  return out;
}

}  // namespace

host::PluginHost& the_host() {
  static auto& plugins = *new host::PluginHost();
  return plugins;
}

void bind_plugin(py::module_& m) {
  m.def("_plugin_records", [] {
    {
      const py::gil_scoped_release free;
      the_host().discover();
    }
    return record_list(the_host().records());
  });
  m.def("_plugin_load", [](const std::string& name_or_path, bool isolated, std::vector<std::string> names,
                           std::optional<std::int64_t> timeout_ms, std::optional<std::uint64_t> memory) {
    std::string name;
    {
      const py::gil_scoped_release free;
      host::name_crashes();
      name = the_host().load(name_or_path, how(isolated, std::move(names), timeout_ms, memory));
    }
    return py::make_tuple(name, notes_of({name}));
  });
  m.def("_plugin_load_all", [](bool isolated, std::vector<std::string> names,
                               std::optional<std::int64_t> timeout_ms, std::optional<std::uint64_t> memory) {
    host::LoadReport report;
    {
      const py::gil_scoped_release free;
      host::name_crashes();
      report = the_host().load_all(how(isolated, std::move(names), timeout_ms, memory));
    }
    return py::make_tuple(report.loaded, record_list(report.failed), notes_of(report.loaded));
  });
  m.def("_plugin_describe", &describe);
  m.def("_plugin_support", &support);
  m.def("_plugin_converters", [] { return converter_list(the_host().converters()); });
  m.def("_plugin_import", [](const std::string& importer, const std::string& file, const py::bytes& bytes) {
    const std::string text = bytes;
    const py::gil_scoped_release free;
    return the_host().import_text(importer, file, text);
  });
  m.def("_plugin_export", [](const std::string& exporter, const py::object& entry) {
    const auto object = object_in(entry);
    if (object.object == nullptr)
      throw InputError({.id = "mlsysim.python.198",
                        .message = "this is no entry",
                        .key = "entry",
                        .found = std::string(py::str(py::repr(entry))),
                        .expected = "a spec, such as mlsysim.Hardware.H100"});
    const py::gil_scoped_release free;
    return the_host().export_text(exporter, object);
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
  m.def("_plugin_has_feature", [](const std::string& name, const std::string& feature) {
    return the_host().has_feature(name, feature);
  });
}

}  // namespace mlsysim::python

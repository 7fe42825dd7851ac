// Launches of engines. Answers cross as JSON texts, which the package turns into dicts.

#include "bindings.hpp"

#include <mlsysim/engine/plan_file.hpp>
#include <mlsysim/launch/fit.hpp>
#include <mlsysim/launch/launch.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <pybind11/stl.h>
#include <nlohmann/json.hpp>

namespace mlsysim::python {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::map<std::string, std::string>;

LaunchFormat format_of(const std::string& word) {
  if (const auto format = choice_of<LaunchFormat>(word)) return *format;
  throw LookupError(
      {.id = "mlsysim.bindings.060",
       .message = "there is no launch format '" + word + "'",
       .key = word,
       .found = "'" + word + "'",
       .expected = "vllm, sglang, trtllm, megatron, nemo, deepspeed, torchtitan, accelerate or mlperf",
       .hint = "choose one of them"});
}

Launch launch_of(const std::string& text, const std::string& name, const std::string& folder,
                 const std::string& format, const Fields& fields) {
  LaunchQuestion q{.text = text, .name = name, .folder = folder, .fields = fields};
  if (!format.empty()) q.format = format_of(format);
  return read_launch(q, standard_zoo());
}

std::string read(const std::string& text, const std::string& name, const std::string& folder,
                 const std::string& format, const Fields& fields) {
  const auto launch = launch_of(text, name, folder, format, fields);
  (void)launch.build(standard_zoo());
  Json out{{"format", name_of(launch.format)}, {"version", launch.version}, {"source", launch.source},
           {"mode", name_of(launch.mode)},     {"fields", launch.fields},   {"notes", launch.notes},
           {"plan", launch_plan(launch)}};
  out["flags"] = Json::array();
  for (const auto& f : launch.findings)
    out["flags"].push_back({{"flag", f.flag},
                            {"value", f.value},
                            {"use", name_of(f.use)},
                            {"what", f.what},
                            {"line", f.where.line}});
  return detail::json_text(out);
}

std::string fit_json(const Fit& fit) {
  Json out{{"fits", fit.fits},
           {"summary", fit.summary},
           {"requests", fit.requests},
           {"ranks", fit.ranks},
           {"notes", fit.notes}};
  out["items"] = out["changes"] = Json::array();
  for (const auto& i : fit.items)
    out["items"].push_back({{"part", i.part}, {"what", i.what}, {"bytes", i.bytes / unit::B}});
  for (const auto& c : fit.changes) out["changes"].push_back({{"change", c.change}, {"effect", c.effect}});
  return detail::json_text(out);
}

PlanFile plan_of(const std::string& plan, const std::string& name) {
  return parse_plan(plan, name, standard_zoo());
}

}  // namespace

void bind_launch(py::module_& m) {
  m.def("_launch_format", [](const std::string& text, const std::string& name) {
    const auto format = launch_format(text, name);
    return format ? std::string(name_of(*format)) : std::string();
  });
  m.def("_launch_read", &read);
  m.def("_launch_fit", [](const std::string& text, const std::string& name, const std::string& folder,
                          const std::string& format, const Fields& fields) {
    return fit_json(fit_of(launch_of(text, name, folder, format, fields), standard_zoo()));
  });
  m.def("_plan_fit", [](const std::string& plan, const std::string& name) {
    return fit_json(fit_of(plan_of(plan, name).build()));
  });
  m.def("_launch_export", [](const std::string& plan, const std::string& name, const std::string& to,
                             const std::string& checkpoint) {
    const auto built = plan_of(plan, name).build();
    auto text = export_launch(built.scenario, format_of(to), checkpoint);
    return py::make_tuple(text.text, text.not_carried);
  });
}

}  // namespace mlsysim::python

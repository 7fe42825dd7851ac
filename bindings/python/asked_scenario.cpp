#include "asked_scenario.hpp"

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace mlsysim::python {
namespace {

/// Whether a name is read as the command line reads it: one that is no entry's own, and no file.
bool is_read(std::string_view field, std::string_view text) {
  const Zoo& zoo = standard_zoo();
  if (field == "workload")
    return zoo.find<Workload>(text) == nullptr &&
           zoo.find<Workload>(detail::model_of(text, zoo).entry) != nullptr;
  if (field == "hardware") return zoo.find<HardwareNode>(text) == nullptr && !names_a_file(text);
  return field == "engine" && zoo.find<ServingEngine>(text) == nullptr && !names_a_file(text);
}

/// Fields that decide what a name means.
constexpr std::array<std::string_view, 6> kBeside{"mode",         "weight_format", "kv_precision",
                                                  "accelerators", "node_count",    "accelerators_per_node"};

}  // namespace

AskedScenario::AskedScenario(const py::dict& values) {
  const auto fields = describe<Scenario>();
  static const auto* keywords = new Keywords(fields, "the scenario");
  ScenarioBuilder builder(standard_zoo());
  py::dict rest;
  bool reads = false;
  const auto name_of_field = [&](py::handle key) -> std::string_view {
    return fields[keywords->index_of(key.ptr())].name;
  };
  for (const auto& [key, value] : values) {
    const auto field = name_of_field(key);
    if (PyUnicode_Check(value.ptr()) && is_read(field, value.cast<std::string>())) {
      builder.set(field, value.cast<std::string>());
      supplied.set(keywords->index_of(key.ptr()));
      reads = true;
    } else {
      rest[key] = value;
    }
  }
  if (!reads) {
    keywords->write_all(values, &scenario, supplied, keeps);
    keywords->require(supplied);
    return;
  }
  py::dict left;
  for (const auto& [key, value] : rest) {
    const auto field = name_of_field(key);
    if (std::ranges::find(kBeside, field) != kBeside.end() && !value.is_none()) {
      builder.set(field, py::str(value).cast<std::string>());
      supplied.set(keywords->index_of(key.ptr()));
    } else {
      left[key] = value;
    }
  }
  auto built = builder.build();
  scenario = built.scenario;
  assumptions = std::move(built.assumptions);
  warnings = std::move(built.warnings);
  keeps.push_back(py::capsule(new std::shared_ptr<const void>(std::move(built.keep)),
                              [](void* p) { delete static_cast<std::shared_ptr<const void>*>(p); }));
  keywords->write_all(left, &scenario, supplied, keeps);
  keywords->require(supplied);
}

}  // namespace mlsysim::python

#include "asked_scenario.hpp"

#include <mlsysim/engine/detail/checkpoints.hpp>
#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/engine/field_input.hpp>
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
  if (field == "workload") {
    const auto named = detail::model_of(text, zoo);
    return zoo.find<Workload>(named.entry) != nullptr &&
           (zoo.find<Workload>(text) == nullptr || detail::positions_of(named.checkpoint));
  }
  if (field == "hardware") {
    const auto* device = zoo.find<HardwareNode>(text);
    return device == nullptr ? !names_a_file(text) : device->part != nullptr;
  }
  return field == "engine" && zoo.find<ServingEngine>(text) == nullptr && !names_a_file(text);
}

/// Fields that decide what a name means.
constexpr std::array<std::string_view, 6> kBeside{"mode",         "weight_format", "kv_precision",
                                                  "accelerators", "node_count",    "accelerators_per_node"};

}  // namespace

AskedScenario::AskedScenario(const py::dict& values) {
  static const auto* keywords = new Keywords(describe<Scenario>(), "the scenario");
  const auto fields = keywords->fields();
  const auto reads = [&](std::size_t field, py::handle value) {
    return fields[field].kind == ValueKind::object && PyUnicode_Check(value.ptr()) &&
           is_read(fields[field].name, value.cast<std::string>());
  };
  if (std::none_of(values.begin(), values.end(), [&](const auto& item) {
        return PyUnicode_Check(item.second.ptr()) && reads(keywords->index_of(item.first.ptr()), item.second);
      })) {
    keywords->write_all(values, &scenario, supplied, keeps);
    keywords->require(supplied);
    return;
  }
  ScenarioBuilder builder(standard_zoo());
  py::dict left;
  for (const auto& [key, value] : values) {
    const auto at = keywords->index_of(key.ptr());
    const bool beside = std::ranges::find(kBeside, fields[at].name) != kBeside.end() && !value.is_none();
    if (beside || reads(at, value)) {
      builder.set(fields[at].name, py::str(value).cast<std::string>());
      supplied.set(at);
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

#pragma once
/// The numbers of a scenario as a law with one tape.

#include <mlsysim/answer/scenario.hpp>
#include <mlsysim/tape/law_entry.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The tape of a shape as a law: inputs and results are the leaves of the two tables, in order, by their
/// paths ("device.memory_bandwidth", "serving.ttft").
struct ScenarioLaw : LawEntry {
  std::vector<std::uint16_t> reported;  ///< results that are computed, rather than empty
  std::vector<bool> matters;            ///< per input, whether one of them hangs on it

  /// Index of a result by the name after its table: "ttft", "memory.weights". @throws LookupError with near
  /// misses
  [[nodiscard]] std::size_t result(std::string_view name) const;
};
/// Records the tape of a shape: some hundred microseconds, so callers keep it.
[[nodiscard]] std::shared_ptr<const ScenarioLaw> record_scenario_law(const ScenarioShape& s);
/// Everything about a shape that decides its tape, as bytes; the layers of a convolutional network are part
/// of the tape.
[[nodiscard]] std::string scenario_key(const ScenarioShape& s);

/// The numbers of a scenario as the inputs of its law.
[[nodiscard]] std::vector<double> scenario_leaves(const ScenarioInputs<>& in);
/// The name of a result after its table; results of one name are the same number.
[[nodiscard]] std::string_view reported_name(std::string_view path);

}  // namespace mlsysim

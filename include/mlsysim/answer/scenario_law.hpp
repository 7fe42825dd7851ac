#pragma once
/// The numbers of a scenario as a law with one tape.

#include <mlsysim/answer/scenario.hpp>
#include <mlsysim/tape/law_entry.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The tape of a shape as a law: inputs and results are the leaves of the two tables, in order, by their
/// paths ("hardware.memory.bandwidth", "serving.ttft").
struct ScenarioLaw : LawEntry {
  std::vector<std::uint16_t> reported;  ///< results that are computed, rather than empty
  std::vector<bool> matters;            ///< per input, whether one of them hangs on it

  /// Index of a result by the name after its table: "ttft", "memory.weights". @throws LookupError with near
  /// misses
  [[nodiscard]] std::size_t result(std::string_view name) const;
};
/// Records the tape of a shape: some hundred microseconds, so callers keep it.
[[nodiscard]] std::shared_ptr<const ScenarioLaw> record_scenario_law(const ScenarioShape& s);
/// Everything about a shape that decides its tape, as bytes; the records of a convolutional network are part
/// of the tape, and so is which layers of a stack are alike.
[[nodiscard]] std::string scenario_key(const ScenarioShape& s);

/// The numbers of the scenarios of one shape as the inputs of its law: those of `ScenarioFigures`, then those
/// that the stacks of the model and of its draft state, by their paths ("workload.stacks[0].hidden",
/// "draft_model.stacks[0].hidden").
class ScenarioLeaves {
 public:
  explicit ScenarioLeaves(const ScenarioShape& shape);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<FieldInfo> fields() const;
  [[nodiscard]] std::vector<double> read(const ScenarioInputs<>& in) const;
  template <class T> [[nodiscard]] ScenarioInputs<T> write(std::span<const T> leaves) const;

 private:
  struct Sizes {
    const Stack* stack;
    std::size_t place;
    StatedNumbers numbers;
  };
  std::optional<Sizes> model_, draft_;
};

/// The numbers of a scenario as the inputs of its law.
[[nodiscard]] std::vector<double> scenario_leaves(const ScenarioShape& shape, const ScenarioInputs<>& in);
/// The name of a result after its table; results of one name are the same number.
[[nodiscard]] std::string_view reported_name(std::string_view path);

}  // namespace mlsysim

#pragma once
/// A measured quantity and its prediction from the inputs of a table row, by three yardsticks.
///
///   roofline = max(work / peak, traffic / bandwidth)      payload / link rate for collectives
///
/// operators: the full model. textbook: the classic formula with half of the peak rate. roofline: no
/// efficiency, start-up time or overlap.
/// Example: matrix_product of 4096 x 4096 x 4096 in bf16 on the H100: roofline 2 * 4096^3 FLOP / 989 TFLOP/s
/// = 139 us.

#include <mlsysim/intervals/residual_groups.hpp>
#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/validation/constants.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The model that predicts.
enum class Yardstick : std::uint8_t { operators, textbook, roofline };
template <>
inline constexpr auto names_of<Yardstick> = ChoiceNames{"comparison", "operator", "textbook", "roofline"};

/// Whether the parts of a prediction are times, and how the value moves with them.
enum class MeasurandKind : std::uint8_t {
  time,  ///< the sum of its parts
  rate,  ///< falls where its parts, which are times, grow
  other  ///< bytes, joules, counts: parts, where there are any, have its own unit
};

/// How a term contributes to the value.
enum class TermRole : std::uint8_t {
  part,    ///< parts add up to the value, or to the time behind a rate, except for overlapped parts
  within,  ///< inside another part, and not added again
  fact     ///< other information, such as a batch size; no part of the sum
};

/// Term of a prediction, for readers: "compute", 1.2 ms.
struct PredictionTerm {
  std::string_view name;
  double base = 0;
  TermRole role = TermRole::part;
};

/// A predicted value, or the reason why there is none.
struct Prediction {
  double base = 0;                      ///< base unit of the measurand
  std::vector<PredictionTerm> terms{};  ///< parts, if requested
  std::string reason{};                 ///< why the library gives no answer; empty where it does

  [[nodiscard]] bool answered() const { return reason.empty(); }
};

/// Zoo, constants and options of a prediction, besides the row.
struct PredictionContext {
  const Zoo* zoo = nullptr;
  const Constants* constants = nullptr;
  Yardstick comparison = Yardstick::operators;
  bool wants_terms = false;
};

/// A measured quantity that the library can predict from the inputs of a row.
class Measurand {
 public:
  virtual ~Measurand() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view about() const = 0;
  /// The key in kMeasuredMetrics to which its residuals belong.
  [[nodiscard]] virtual std::string_view metric() const = 0;
  [[nodiscard]] virtual MeasurandKind kind() const = 0;
  /// Unit in which it is shown.
  [[nodiscard]] virtual std::string_view unit() const = 0;
  /// Inputs of a row.
  [[nodiscard]] virtual std::span<const FieldInfo> inputs() const = 0;
  /// Inputs with their defaults; to be filled through `inputs()`.
  [[nodiscard]] virtual std::shared_ptr<void> blank() const = 0;
  [[nodiscard]] virtual Prediction predict(const void* inputs, const PredictionContext& context) const = 0;
};

/// Every measurand, by name.
[[nodiscard]] std::span<const Measurand* const> measurands();
/// @throws LookupError with near misses
[[nodiscard]] const Measurand& measurand(std::string_view name, const Location& where = {});

}  // namespace mlsysim

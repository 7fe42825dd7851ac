#pragma once
/// A small language of numbers with units: objectives and constraints of a search.
///
/// `ttft <= 500 ms`, `cost_per_token`, `token_throughput / accelerators >= 40 token/s`, `max(ttft, 10 * itl) < 2 s`.
/// Names are those of the inputs and results of what is asked; `+ - * /`, parentheses, `min max abs sqrt floor ceil`.
/// A unit stands right after its number and reaches as far as it reads as one. Dimensions are checked when the text is
/// read, so that evaluating never fails.

#include <mlsysim/tape/interval.hpp>
#include <mlsysim/table/describe.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

struct Recorded;

/// Names that an expression may use: slot i is `fields[i]` of the inputs, then of the results.
struct ExpressionScope {
  std::span<const FieldInfo> inputs, results;
};

/// A compiled expression over columns of numbers in base units.
class Expression {
 public:
  /// @throws InputError with place and caret for a text that does not read, LookupError with near misses for names,
  ///         DimensionError where dimensions do not fit
  [[nodiscard]] static Expression parse(std::string_view text, const ExpressionScope& scope);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Exponents& exponents() const { return exps_; }
  /// Display unit: that of the field where the expression is a name alone, else empty.
  [[nodiscard]] std::string_view unit() const { return unit_; }
  /// Slots that it reads, ascending.
  [[nodiscard]] const std::vector<std::uint16_t>& slots() const { return slots_; }
  /// The slot where the expression is a name alone; -1 otherwise.
  [[nodiscard]] int lone_slot() const;
  /// True where it reads no slot.
  [[nodiscard]] bool constant() const { return slots_.empty(); }

  /// Value at one point; `slots` holds inputs and results one after the other.
  [[nodiscard]] double operator()(std::span<const double> slots) const;
  /// The same while recording: the expression becomes part of the tape.
  [[nodiscard]] Recorded operator()(std::span<const Recorded> slots) const;

 private:
  friend class ExpressionReader;
  enum class Op : std::uint8_t { constant, slot, add, subtract, multiply, divide, negate, min, max, abs, sqrt, floor, ceil };
  struct Step {
    Op op;
    std::uint16_t slot = 0;
    double value = 0;
  };
  template <class T>
  [[nodiscard]] T run(std::span<const T> slots) const;

  std::string text_;
  std::vector<Step> steps_;
  std::vector<std::uint16_t> slots_;
  Exponents exps_{};
  std::string_view unit_;
  std::size_t depth_ = 0;
};

/// How the two sides of a constraint must compare.
enum class Comparison : std::uint8_t { at_most, at_least, below, above, equal };

/// `left relation right`.
class ConstraintExpression {
 public:
  /// @throws as Expression::parse; InputError where there is no comparison
  [[nodiscard]] static ConstraintExpression parse(std::string_view text, const ExpressionScope& scope);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Expression& left() const { return left_; }
  [[nodiscard]] const Expression& right() const { return right_; }
  [[nodiscard]] Comparison comparison() const { return comparison_; }
  /// Whether two values compare as they must; not with a NaN.
  [[nodiscard]] bool holds(double left, double right) const;
  /// Whether some values of the ranges may; false proves that none does.
  [[nodiscard]] bool possible(const Interval& left, const Interval& right) const;

 private:
  std::string text_;
  Expression left_, right_;
  Comparison comparison_ = Comparison::at_most;
};

}  // namespace mlsysim

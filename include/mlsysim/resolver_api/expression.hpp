#pragma once
/// Expressions over named quantities: objectives and constraints of a search, conditions to solve, table
/// columns.
///
/// Names are inputs and results of the question, or columns of a table. A unit follows its number directly.
/// Dimensions are checked when the text is read, so evaluation cannot fail. Truth is 1 or 0.
/// docs/reference/expressions.md has the whole grammar.
/// Example: `max(ttft, 10 * itl) < 2 s or batch_size == 1` is 1 for ttft 1.3 s and itl 11 ms.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/tape/interval.hpp>
#include <mlsysim/units/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

struct Recorded;

/// Names that an expression may use. For fields, slot i is `fields[i]` of the inputs, then of the results.
/// For n columns, slot i is the number in column i, and slot n + i is 1 where the column holds a number, else
/// 0.
struct ExpressionScope {
  std::span<const FieldInfo> inputs, results;
  std::span<const std::string> columns{};
};

/// A compiled expression over columns of numbers in base units.
class Expression {
 public:
  /// @param where of the first character of the text, for messages
  /// @throws InputError with place and caret for a text that does not read, LookupError with near misses for
  /// names,
  ///         DimensionError where dimensions do not fit
  [[nodiscard]] static Expression parse(std::string_view text, const ExpressionScope& scope,
                                        const Location& where = {});
  /// The number of a slot, whatever its name. It has no dimension.
  [[nodiscard]] static Expression of_slot(std::size_t slot, std::string name);

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
  /// Records the expression on recorded slots, so that it becomes part of the tape.
  [[nodiscard]] Recorded operator()(std::span<const Recorded> slots) const;

 private:
  friend class ExpressionReader;
  enum class Op : std::uint8_t {
    constant,
    slot,  // of nothing
    negate,
    abs,
    sqrt,
    floor,
    ceil,
    round,
    log2,  // of one value
    add,
    subtract,
    multiply,
    divide,
    min,
    max,  // of two
    equal,
    differ,
    less,
    at_most,
    more,
    at_least,
    both,
    either  // of two, giving 1 or 0
  };
  struct Step {
    Op op;
    std::uint16_t slot = 0;
    double value = 0;
  };
  template <class T> [[nodiscard]] static T unary(Op op, const T& x);
  template <class T> [[nodiscard]] static T binary(Op op, const T& a, const T& b);
  template <class T> [[nodiscard]] T run(std::span<const T> slots) const;
  /// Whether the last operation is a comparison, `and` or `or`.
  [[nodiscard]] bool truth() const { return !steps_.empty() && steps_.back().op >= Op::equal; }

  std::string text_;
  std::vector<Step> steps_;
  std::vector<std::uint16_t> slots_;
  Exponents exps_{};
  std::string_view unit_;
  std::size_t depth_ = 0;
};

/// How the two sides of a constraint must compare.
enum class Comparison : std::uint8_t { at_most, at_least, below, above, equal };

/// `left relation right`. Comparisons joined by `and` or `or`, and tests of difference, become `truth >= 1`.
class ConstraintExpression {
 public:
  /// @throws as Expression::parse; InputError where nothing is compared
  [[nodiscard]] static ConstraintExpression parse(std::string_view text, const ExpressionScope& scope,
                                                  const Location& where = {});

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

#include <mlsysim/resolver_api/expression.hpp>

#include "detail/expression_reader.hpp"

#include <mlsysim/scalars/recorded.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace mlsysim {
namespace {

constexpr double kSlack = 1e-12;  // interval ends are not rounded outward

template <class T, class Condition> T choose(const Condition& holds, const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>)
    return holds ? a : b;
  else
    return select(holds, a, b);
}
/// A condition as a number.
template <class T, class Condition> T truth_of(const Condition& holds) {
  return choose(holds, T(1.0), T(0.0));
}

/// Halves go away from zero. The part behind the point is exact in double.
template <class T> T rounded(const T& x) {
  const T size = abs(x), whole = floor(size), up = whole + truth_of<T>(size - whole >= T(0.5));
  return choose(x < T(0.0), -up, up);
}

Interval widen(const Interval& x) {
  return Interval(x.low - kSlack * std::fabs(x.low), x.high + kSlack * std::fabs(x.high));
}

}  // namespace

int Expression::lone_slot() const {
  return steps_.size() == 1 && steps_[0].op == Op::slot ? steps_[0].slot : -1;
}

template <class T> T Expression::unary(Op op, const T& x) {
  switch (op) {
    case Op::negate:
      return -x;
    case Op::abs:
      return abs(x);
    case Op::sqrt:
      return sqrt(x);
    case Op::floor:
      return floor(x);
    case Op::ceil:
      return ceil(x);
    case Op::round:
      return rounded(x);
    default:
      return log2(x);
  }
}

template <class T> T Expression::binary(Op op, const T& a, const T& b) {
  const T none(0.0);
  switch (op) {
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::min:
      return min(a, b);
    case Op::max:
      return max(a, b);
    case Op::equal:
      return truth_of<T>(a == b);
    case Op::differ:
      return truth_of<T>(a != b);
    case Op::less:
      return truth_of<T>(a < b);
    case Op::at_most:
      return truth_of<T>(a <= b);
    case Op::more:
      return truth_of<T>(a > b);
    case Op::at_least:
      return truth_of<T>(a >= b);
    case Op::both:
      return truth_of<T>(a != none && b != none);
    default:
      return truth_of<T>(a != none || b != none);
  }
}

template <class T> T Expression::run(std::span<const T> slots) const {
  std::vector<T> stack;
  stack.reserve(depth_);
  for (const Step& s : steps_) {
    if (s.op == Op::constant) {
      stack.push_back(T(s.value));
    } else if (s.op == Op::slot) {
      stack.push_back(slots[s.slot]);
    } else if (s.op <= Op::log2) {
      stack.back() = unary(s.op, stack.back());
    } else {
      const T b = stack.back();
      stack.pop_back();
      stack.back() = binary(s.op, stack.back(), b);
    }
  }
  return stack.back();
}

double Expression::operator()(std::span<const double> slots) const { return run(slots); }
Recorded Expression::operator()(std::span<const Recorded> slots) const { return run(slots); }

Expression Expression::parse(std::string_view text, const ExpressionScope& scope, const Location& where) {
  return ExpressionReader(text, scope, where).whole_expression();
}

Expression Expression::of_slot(std::size_t slot, std::string name) {
  Expression e;
  e.text_ = std::move(name);
  e.slots_ = {static_cast<std::uint16_t>(slot)};
  e.steps_ = {{.op = Op::slot, .slot = e.slots_[0]}};
  e.depth_ = 1;
  return e;
}

ConstraintExpression ConstraintExpression::parse(std::string_view text, const ExpressionScope& scope,
                                                 const Location& where) {
  ConstraintExpression out;
  out.text_ = std::string(text);
  ExpressionReader(text, scope, where).whole_constraint(out.left_, out.comparison_, out.right_);
  return out;
}

bool ConstraintExpression::holds(double left, double right) const {
  switch (comparison_) {
    case Comparison::at_most:
      return left <= right;
    case Comparison::at_least:
      return left >= right;
    case Comparison::below:
      return left < right;
    case Comparison::above:
      return left > right;
    case Comparison::equal:
      break;
  }
  return left == right;
}

bool ConstraintExpression::possible(const Interval& left, const Interval& right) const {
  const Interval a = widen(left), b = widen(right);
  // A NaN end means that the law left its domain somewhere in the box: nothing is proven then.
  switch (comparison_) {
    case Comparison::at_most:
    case Comparison::below:
      return !(a.low > b.high);
    case Comparison::at_least:
    case Comparison::above:
      return !(a.high < b.low);
    case Comparison::equal:
      break;
  }
  return !(a.low > b.high) && !(a.high < b.low);
}

}  // namespace mlsysim

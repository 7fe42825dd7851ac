#include <mlsysim/explore/expression.hpp>

#include "detail/expression_reader.hpp"

#include <mlsysim/scalars/recorded.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kSlack = 1e-12;  // interval ends are not rounded outward

Interval widen(const Interval& x) {
  return Interval(x.low - kSlack * std::fabs(x.low), x.high + kSlack * std::fabs(x.high));
}

}  // namespace

int Expression::lone_slot() const { return steps_.size() == 1 && steps_[0].op == Op::slot ? steps_[0].slot : -1; }

template <class T>
T Expression::run(std::span<const T> slots) const {
  std::vector<T> stack;
  stack.reserve(depth_);
  const auto pop = [&] {
    const T x = stack.back();
    stack.pop_back();
    return x;
  };
  for (const Step& s : steps_) {
    switch (s.op) {
      case Op::constant: stack.push_back(T(s.value)); continue;
      case Op::slot: stack.push_back(slots[s.slot]); continue;
      case Op::negate: stack.back() = -stack.back(); continue;
      case Op::abs: stack.back() = abs(stack.back()); continue;
      case Op::sqrt: stack.back() = sqrt(stack.back()); continue;
      case Op::floor: stack.back() = floor(stack.back()); continue;
      case Op::ceil: stack.back() = ceil(stack.back()); continue;
      default: break;
    }
    const T b = pop(), a = pop();
    switch (s.op) {
      case Op::add: stack.push_back(a + b); break;
      case Op::subtract: stack.push_back(a - b); break;
      case Op::multiply: stack.push_back(a * b); break;
      case Op::divide: stack.push_back(a / b); break;
      case Op::min: stack.push_back(min(a, b)); break;
      default: stack.push_back(max(a, b)); break;
    }
  }
  return stack.back();
}

double Expression::operator()(std::span<const double> slots) const { return run(slots); }
Recorded Expression::operator()(std::span<const Recorded> slots) const { return run(slots); }

Expression Expression::parse(std::string_view text, const ExpressionScope& scope) {
  ExpressionReader reader(text, scope);
  return reader.whole_expression();
}

ConstraintExpression ConstraintExpression::parse(std::string_view text, const ExpressionScope& scope) {
  ExpressionReader reader(text, scope);
  ConstraintExpression out;
  out.text_ = std::string(text);
  reader.whole_constraint(out.left_, out.comparison_, out.right_);
  return out;
}

bool ConstraintExpression::holds(double left, double right) const {
  switch (comparison_) {
    case Comparison::at_most: return left <= right;
    case Comparison::at_least: return left >= right;
    case Comparison::below: return left < right;
    case Comparison::above: return left > right;
    case Comparison::equal: break;
  }
  return left == right;
}

bool ConstraintExpression::possible(const Interval& left, const Interval& right) const {
  const Interval a = widen(left), b = widen(right);
  // A NaN end means that the law left its domain somewhere in the box: nothing is proven then.
  switch (comparison_) {
    case Comparison::at_most:
    case Comparison::below: return !(a.low > b.high);
    case Comparison::at_least:
    case Comparison::above: return !(a.high < b.low);
    case Comparison::equal: break;
  }
  return !(a.low > b.high) && !(a.high < b.low);
}

}  // namespace mlsysim

#pragma once
// Slopes of an operation by its operands, and distances to steps: shared by all sweeps of derivatives.

#include <mlsysim/scalars/tape_op.hpp>

#include <cmath>

namespace mlsysim::detail {

/// How far a number is from those at which it is rounded to the next whole number, and to the one before.
struct ToWhole {
  double above, below;
};
/// @param up `rounded` is the ceil of `x`, which changes behind a whole number; else the floor, which changes
/// at it
[[nodiscard]] inline ToWhole to_whole(double x, double rounded, bool up) {
  return {(up ? rounded : rounded + 1.0) - x, x - (up ? rounded - 1.0 : rounded)};
}

struct NodeSlopes {
  double by_a = 0, by_b = 0;
};

/// The slopes of an operation without ties, steps or branches at this point; zero for every other operation.
/// @param v its value at operands `a` and `b`
[[nodiscard]] inline NodeSlopes slopes_of(TapeOp op, double a, double b, double v) {
  switch (op) {
    case TapeOp::negate:
      return {-1.0, 0.0};
    case TapeOp::abs:
      return {a > 0 ? 1.0 : -1.0, 0.0};
    case TapeOp::sqrt:
      return {0.5 / v, 0.0};
    case TapeOp::log:
      return {1.0 / a, 0.0};
    case TapeOp::log2:
      return {1.4426950408889634074 / a, 0.0};
    case TapeOp::exp:
      return {v, 0.0};
    case TapeOp::add:
      return {1.0, 1.0};
    case TapeOp::subtract:
      return {1.0, -1.0};
    case TapeOp::multiply:
      return {b, a};
    case TapeOp::divide:
      return {1.0 / b, -v / b};
    case TapeOp::pow:
      return {a != 0 ? b * v / a : b * std::pow(a, b - 1.0), v == 0 ? 0.0 : v * std::log(a)};
    case TapeOp::quadrature:
      return {a / v, b / v};
    default:
      return {};
  }
}

}  // namespace mlsysim::detail

#pragma once
/// The operations of recorded laws: names, operand counts, and `compute`, their meaning on doubles.
///
/// `compute` gives bit for bit the result that a law gives on double. A condition is 1 if it holds, else 0.
/// Example: `compute(TapeOp::quadrature, 3, 4)` is 5, and `compute(TapeOp::less, 1, 2)` is 1.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mlsysim {

/// The operation of a tape node.
enum class TapeOp : std::uint8_t {
  input,
  constant,
  loop,  // leaves and loops
  negate,
  abs,
  ceil,
  floor,
  sqrt,
  log,
  log2,
  exp,
  negation,  // of one operand
  add,
  subtract,
  multiply,
  divide,
  min,
  max,
  pow,
  quadrature,  // of two
  less,
  less_equal,
  equal,
  not_equal,
  both,
  either,  // of two, giving a condition
  select   // of a condition and two
};
inline constexpr std::size_t kTapeOps = static_cast<std::size_t>(TapeOp::select) + 1;

/// Operands of a node. Those of a loop are kept with the loop.
[[nodiscard]] constexpr int operands_of(TapeOp op) {
  if (op <= TapeOp::loop) return 0;
  if (op <= TapeOp::negation) return 1;
  return op == TapeOp::select ? 3 : 2;
}

[[nodiscard]] constexpr std::string_view name_of(TapeOp op) {
  constexpr std::string_view names[kTapeOps] = {
      "input", "constant",   "loop",     "negate",     "abs",      "ceil",      "floor",  "sqrt",   "log",
      "log2",  "exp",        "negation", "add",        "subtract", "multiply",  "divide", "min",    "max",
      "pow",   "quadrature", "less",     "less_equal", "equal",    "not_equal", "both",   "either", "select"};
  return names[static_cast<std::size_t>(op)];
}

/// Whether the operands may change places without changing a bit of the result.
[[nodiscard]] constexpr bool commutes(TapeOp op) {
  return op == TapeOp::add || op == TapeOp::multiply || op == TapeOp::equal || op == TapeOp::not_equal ||
         op == TapeOp::both || op == TapeOp::either || op == TapeOp::quadrature;
}
[[nodiscard]] constexpr bool is_condition(TapeOp op) {
  return op == TapeOp::negation || (op >= TapeOp::less && op <= TapeOp::either);
}

/// The value of an operation on doubles.
[[nodiscard]] inline double compute(TapeOp op, double a, double b = 0, double c = 0) {
  switch (op) {
    case TapeOp::input:
    case TapeOp::constant:
    case TapeOp::loop:
      return a;
    case TapeOp::negate:
      return -a;
    case TapeOp::abs:
      return std::fabs(a);
    case TapeOp::ceil:
      return std::ceil(a);
    case TapeOp::floor:
      return std::floor(a);
    case TapeOp::sqrt:
      return std::sqrt(a);
    case TapeOp::log:
      return std::log(a);
    case TapeOp::log2:
      return std::log2(a);
    case TapeOp::exp:
      return std::exp(a);
    case TapeOp::negation:
      return 1.0 - a;
    case TapeOp::add:
      return a + b;
    case TapeOp::subtract:
      return a - b;
    case TapeOp::multiply:
      return a * b;
    case TapeOp::divide:
      return a / b;
    case TapeOp::min:
      return b < a ? b : a;
    case TapeOp::max:
      return a < b ? b : a;
    case TapeOp::pow:
      return std::pow(a, b);
    case TapeOp::quadrature:
      return std::sqrt(a * a + b * b);
    case TapeOp::less:
      return a < b ? 1.0 : 0.0;
    case TapeOp::less_equal:
      return a <= b ? 1.0 : 0.0;
    case TapeOp::equal:
      return a == b ? 1.0 : 0.0;
    case TapeOp::not_equal:
      return a != b ? 1.0 : 0.0;
    case TapeOp::both:
      return a * b;
    case TapeOp::either:
      return a < b ? b : a;
    case TapeOp::select:
      return a != 0.0 ? b : c;
  }
  return a;
}

}  // namespace mlsysim

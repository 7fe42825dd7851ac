// The inner loops of columns: one file, cloned for each instruction set.

#include <mlsysim/scalars/clones.hpp>
#include <mlsysim/tape/columns.hpp>

#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kStride = kBlock + 8;

// Function objects instead of lambdas: a lambda would be a function of another target, and g++ does not inline that into
// the clones.
struct Add { double operator()(double a, double b) const { return a + b; } };
struct Subtract { double operator()(double a, double b) const { return a - b; } };
struct Multiply { double operator()(double a, double b) const { return a * b; } };
struct Divide { double operator()(double a, double b) const { return a / b; } };
struct Min { double operator()(double a, double b) const { return b < a ? b : a; } };
struct Max { double operator()(double a, double b) const { return a < b ? b : a; } };
struct Less { double operator()(double a, double b) const { return a < b ? 1.0 : 0.0; } };
struct LessEqual { double operator()(double a, double b) const { return a <= b ? 1.0 : 0.0; } };
struct Equal { double operator()(double a, double b) const { return a == b ? 1.0 : 0.0; } };
struct NotEqual { double operator()(double a, double b) const { return a != b ? 1.0 : 0.0; } };
struct Power { double operator()(double a, double b) const { return std::pow(a, b); } };
struct Negate { double operator()(double a) const { return -a; } };
struct Abs { double operator()(double a) const { return std::fabs(a); } };
struct Ceil { double operator()(double a) const { return std::ceil(a); } };
struct Floor { double operator()(double a) const { return std::floor(a); } };
struct Sqrt { double operator()(double a) const { return std::sqrt(a); } };
struct Log { double operator()(double a) const { return std::log(a); } };
struct Log2 { double operator()(double a) const { return std::log2(a); } };
struct Exp { double operator()(double a) const { return std::exp(a); } };
struct Negation { double operator()(double a) const { return 1.0 - a; } };

template <class F>
inline void one(double* to, const double* a, F f) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < kBlock; ++i) to[i] = f(a[i]);
}
/// Of two operands at most one is a scalar: two of them are a constant that no tape holds.
template <class F>
inline void two(const ColumnStep& s, double* slots, const double* scalars, F f) {
  double* const to = slots + s.to * kStride;
  if (s.scalars == 0) {
    const double* const a = slots + s.a * kStride;
    const double* const b = slots + s.b * kStride;
#pragma GCC ivdep
    for (std::size_t i = 0; i < kBlock; ++i) to[i] = f(a[i], b[i]);
  } else if (s.scalars == 2) {
    const double* const a = slots + s.a * kStride;
    const double b = scalars[s.b];
#pragma GCC ivdep
    for (std::size_t i = 0; i < kBlock; ++i) to[i] = f(a[i], b);
  } else {
    const double a = scalars[s.a];
    const double* const b = slots + s.b * kStride;
#pragma GCC ivdep
    for (std::size_t i = 0; i < kBlock; ++i) to[i] = f(a, b[i]);
  }
}
inline void choose(const ColumnStep& s, double* slots, const double* scalars) {
  double* const to = slots + s.to * kStride;
  const double* const c = slots + s.a * kStride;
  switch (s.scalars & 6u) {
    case 0: {
      const double* const a = slots + s.b * kStride;
      const double* const b = slots + s.c * kStride;
#pragma GCC ivdep
      for (std::size_t i = 0; i < kBlock; ++i) to[i] = c[i] != 0.0 ? a[i] : b[i];
      break;
    }
    case 2: {
      const double a = scalars[s.b];
      const double* const b = slots + s.c * kStride;
#pragma GCC ivdep
      for (std::size_t i = 0; i < kBlock; ++i) to[i] = c[i] != 0.0 ? a : b[i];
      break;
    }
    case 4: {
      const double* const a = slots + s.b * kStride;
      const double b = scalars[s.c];
#pragma GCC ivdep
      for (std::size_t i = 0; i < kBlock; ++i) to[i] = c[i] != 0.0 ? a[i] : b;
      break;
    }
    default: {
      const double a = scalars[s.b], b = scalars[s.c];
#pragma GCC ivdep
      for (std::size_t i = 0; i < kBlock; ++i) to[i] = c[i] != 0.0 ? a : b;
    }
  }
}

MLSYSIM_KERNEL void run_all(const ColumnStep* steps, std::size_t count, double* slots, const double* scalars) {
  for (const ColumnStep* s = steps; s != steps + count; ++s) {
    double* const to = slots + s->to * kStride;
    const double* const a = slots + s->a * kStride;
    switch (s->op) {
      case TapeOp::input:
      case TapeOp::constant:
      case TapeOp::loop: break;
      case TapeOp::negate: one(to, a, Negate{}); break;
      case TapeOp::abs: one(to, a, Abs{}); break;
      case TapeOp::ceil: one(to, a, Ceil{}); break;
      case TapeOp::floor: one(to, a, Floor{}); break;
      case TapeOp::sqrt: one(to, a, Sqrt{}); break;
      case TapeOp::log: one(to, a, Log{}); break;
      case TapeOp::log2: one(to, a, Log2{}); break;
      case TapeOp::exp: one(to, a, Exp{}); break;
      case TapeOp::negation: one(to, a, Negation{}); break;
      case TapeOp::add: two(*s, slots, scalars, Add{}); break;
      case TapeOp::subtract: two(*s, slots, scalars, Subtract{}); break;
      case TapeOp::multiply:
      case TapeOp::both: two(*s, slots, scalars, Multiply{}); break;
      case TapeOp::divide: two(*s, slots, scalars, Divide{}); break;
      case TapeOp::min: two(*s, slots, scalars, Min{}); break;
      case TapeOp::max:
      case TapeOp::either: two(*s, slots, scalars, Max{}); break;
      case TapeOp::pow: two(*s, slots, scalars, Power{}); break;
      case TapeOp::less: two(*s, slots, scalars, Less{}); break;
      case TapeOp::less_equal: two(*s, slots, scalars, LessEqual{}); break;
      case TapeOp::equal: two(*s, slots, scalars, Equal{}); break;
      case TapeOp::not_equal: two(*s, slots, scalars, NotEqual{}); break;
      case TapeOp::select: choose(*s, slots, scalars); break;
    }
  }
}

}  // namespace

void run_columns(std::span<const ColumnStep> steps, double* slots, const double* scalars) {
  run_all(steps.data(), steps.size(), slots, scalars);
}

}  // namespace mlsysim::detail

// The inner loops of columns: one file, cloned for each instruction set.

#include <mlsysim/scalars/detail/clones.hpp>
#include <mlsysim/tape/columns.hpp>

#include <cmath>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kStride = kSlotStride;

// Function objects instead of lambdas: a lambda would be a function of another target, and g++ does not
// inline that into the clones.
struct Add {
  double operator()(double a, double b) const { return a + b; }
};
struct Subtract {
  double operator()(double a, double b) const { return a - b; }
};
struct Multiply {
  double operator()(double a, double b) const { return a * b; }
};
struct Divide {
  double operator()(double a, double b) const { return a / b; }
};
struct Min {
  double operator()(double a, double b) const { return b < a ? b : a; }
};
struct Max {
  double operator()(double a, double b) const { return a < b ? b : a; }
};
struct Less {
  double operator()(double a, double b) const { return a < b ? 1.0 : 0.0; }
};
struct LessEqual {
  double operator()(double a, double b) const { return a <= b ? 1.0 : 0.0; }
};
struct Equal {
  double operator()(double a, double b) const { return a == b ? 1.0 : 0.0; }
};
struct NotEqual {
  double operator()(double a, double b) const { return a != b ? 1.0 : 0.0; }
};
struct Power {
  double operator()(double a, double b) const { return std::pow(a, b); }
};
struct Quadrature {
  double operator()(double a, double b) const { return std::sqrt(a * a + b * b); }
};
struct Negate {
  double operator()(double a) const { return -a; }
};
struct Abs {
  double operator()(double a) const { return std::fabs(a); }
};
struct Ceil {
  double operator()(double a) const { return std::ceil(a); }
};
struct Floor {
  double operator()(double a) const { return std::floor(a); }
};
struct Sqrt {
  double operator()(double a) const { return std::sqrt(a); }
};
struct Log {
  double operator()(double a) const { return std::log(a); }
};
struct Log2 {
  double operator()(double a) const { return std::log2(a); }
};
struct Exp {
  double operator()(double a) const { return std::exp(a); }
};
struct Negation {
  double operator()(double a) const { return 1.0 - a; }
};

template <class F> inline void one(double* to, const double* a, F f) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < kBlock; ++i) to[i] = f(a[i]);
}
/// At most one of the operands is a scalar: an operation on two scalars is a constant, which tapes fold.
template <class F> inline void two(const ColumnStep& s, double* slots, const double* scalars, F f) {
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

/// Whether the magnitude of every number is between these limits.
inline bool all_within(const double* x, double least, double most) {
  std::uint64_t outside = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const double size = std::fabs(x[i]);
    outside |= size >= least && size <= most ? std::uint64_t{0} : std::uint64_t{1};
  }
  return outside == 0;
}
inline bool zero_or_within(const double* x, double least, double most) {
  std::uint64_t outside = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const double size = std::fabs(x[i]);
    outside |= (size >= least && size <= most) || size == 0 ? std::uint64_t{0} : std::uint64_t{1};
  }
  return outside == 0;
}
/// a / b from q = a r with r = 1 / b correctly rounded: what is left of `a` is exact, and after the second
/// correction the quotient is rounded as a division rounds it (markstein1990).
inline double corrected(double a, double b, double r) {
  const double q = a * r, first = __builtin_fma(__builtin_fma(-q, b, a), r, q);
  return __builtin_fma(__builtin_fma(-first, b, a), r, first);
}
inline void reciprocal(double* to, const double* a) {
  to[kBlock] = all_within(a, kLeastDivisor, kMostDivisor) ? 1.0 : 0.0;
#pragma GCC ivdep
  for (std::size_t i = 0; i < kBlock; ++i) to[i] = 1.0 / a[i];
}
inline void divide(const ColumnStep& s, double* slots, const double* scalars) {
  // A dividend of such a size has a quotient, and a rest, that are normal numbers.
  constexpr double least = 1e-200, most = 1e200;
  double* const to = slots + s.to * kStride;
  const double* const a = slots + s.a * kStride;
  if ((s.scalars & 4u) != 0) {
    const double b = scalars[s.b], r = scalars[s.c];
    if (!zero_or_within(a, least, most))
      return two({.op = s.op, .scalars = 2, .to = s.to, .a = s.a, .b = s.b}, slots, scalars, Divide{});
#pragma GCC ivdep
    for (std::size_t i = 0; i < kBlock; ++i) to[i] = corrected(a[i], b, r);
    return;
  }
  const double* const b = slots + s.b * kStride;
  const double* const r = slots + s.c * kStride;
  const bool scalar = (s.scalars & 1u) != 0;
  const double x = scalar ? scalars[s.a] : 0.0;
  if (r[kBlock] == 0 || (scalar ? !(x == 0 || (std::fabs(x) >= least && std::fabs(x) <= most))
                                : !zero_or_within(a, least, most))) {
    two(s, slots, scalars, Divide{});
  } else if (scalar) {
#pragma GCC ivdep
    for (std::size_t i = 0; i < kBlock; ++i) to[i] = corrected(x, b[i], r[i]);
  } else {
#pragma GCC ivdep
    for (std::size_t i = 0; i < kBlock; ++i) to[i] = corrected(a[i], b[i], r[i]);
  }
}

inline void run_step(const ColumnStep& s, double* slots, const double* scalars) {
  double* const to = slots + s.to * kStride;
  const double* const a = slots + s.a * kStride;
  if (s.way == ColumnWay::reciprocal) return reciprocal(to, a);
  if (s.way != ColumnWay::plain) return divide(s, slots, scalars);
  switch (s.op) {
    case TapeOp::input:
    case TapeOp::constant:
    case TapeOp::loop:
      return;
    case TapeOp::negate:
      return one(to, a, Negate{});
    case TapeOp::abs:
      return one(to, a, Abs{});
    case TapeOp::ceil:
      return one(to, a, Ceil{});
    case TapeOp::floor:
      return one(to, a, Floor{});
    case TapeOp::sqrt:
      return one(to, a, Sqrt{});
    case TapeOp::log:
      return one(to, a, Log{});
    case TapeOp::log2:
      return one(to, a, Log2{});
    case TapeOp::exp:
      return one(to, a, Exp{});
    case TapeOp::negation:
      return one(to, a, Negation{});
    case TapeOp::add:
      return two(s, slots, scalars, Add{});
    case TapeOp::subtract:
      return two(s, slots, scalars, Subtract{});
    case TapeOp::multiply:
    case TapeOp::both:
      return two(s, slots, scalars, Multiply{});
    case TapeOp::divide:
      return two(s, slots, scalars, Divide{});
    case TapeOp::min:
      return two(s, slots, scalars, Min{});
    case TapeOp::max:
    case TapeOp::either:
      return two(s, slots, scalars, Max{});
    case TapeOp::pow:
      return two(s, slots, scalars, Power{});
    case TapeOp::quadrature:
      return two(s, slots, scalars, Quadrature{});
    case TapeOp::less:
      return two(s, slots, scalars, Less{});
    case TapeOp::less_equal:
      return two(s, slots, scalars, LessEqual{});
    case TapeOp::equal:
      return two(s, slots, scalars, Equal{});
    case TapeOp::not_equal:
      return two(s, slots, scalars, NotEqual{});
    case TapeOp::select:
      return choose(s, slots, scalars);
  }
}

MLSYSIM_KERNEL void run_all(const ColumnStep* steps, std::size_t count, double* slots,
                            const double* scalars) {
  for (const ColumnStep* s = steps; s != steps + count; ++s) run_step(*s, slots, scalars);
}

}  // namespace

bool corrects_divisions() {
#if defined(MLSYSIM_KERNEL_CLONES)
  return __builtin_cpu_supports("x86-64-v3") != 0;
#elif defined(__FP_FAST_FMA)
  return true;
#else
  return false;
#endif
}

void run_columns(std::span<const ColumnStep> steps, double* slots, const double* scalars) {
  run_all(steps.data(), steps.size(), slots, scalars);
}

}  // namespace mlsysim::detail

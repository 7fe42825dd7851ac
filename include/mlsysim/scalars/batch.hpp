#pragma once
/// Several design points at once: lanes of double that the compiler turns into vector instructions.
///
/// Every lane computes exactly what the double law computes, bit for bit: the same comparisons in `min` and
/// `max`, the C library's own `pow log log2 exp` for each lane, no reassociation. Files that instantiate laws on
/// Batch outside the kernels of `tools` need -ffp-contract=off for that on machines with fused multiply-add.
///
/// Lanes are a plain array and every operation a plain loop: g++ 12 makes from it the code that vector types
/// give, on each instruction set, and the layout does not depend on the instruction set, so a call that was not
/// inlined is still correct.

#include <mlsysim/scalars/condition.hpp>
#include <mlsysim/units/overloads.hpp>

#include <cmath>

namespace mlsysim {

template <int W = 8>
struct Batch;

/// Outcome of a comparison, lane by lane; 1.0 where it holds, else 0.0 (vectorises on every instruction set).
template <int W>
struct Mask : detail::NoBranch {
  double lane[W];

  friend constexpr Mask operator&&(const Mask& a, const Mask& b) {
    Mask r{};
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] * b.lane[i];
    return r;
  }
  friend constexpr Mask operator||(const Mask& a, const Mask& b) {
    Mask r{};
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] < b.lane[i] ? b.lane[i] : a.lane[i];
    return r;
  }
  friend constexpr Mask operator!(const Mask& a) {
    Mask r{};
    for (int i = 0; i < W; ++i) r.lane[i] = 1.0 - a.lane[i];
    return r;
  }
  friend constexpr Mask operator&(const Mask& a, const Mask& b) { return a && b; }
  friend constexpr Mask operator|(const Mask& a, const Mask& b) { return a || b; }

  /// `a` in the lanes where the condition holds, else `b`.
  friend constexpr Batch<W> select(const Mask& m, const Batch<W>& a, const Batch<W>& b) {
    Batch<W> r;
    for (int i = 0; i < W; ++i) r.lane[i] = m.lane[i] != 0.0 ? a.lane[i] : b.lane[i];
    return r;
  }
  friend constexpr Batch<W> select(const Mask& m, double a, double b) { return select(m, Batch<W>(a), Batch<W>(b)); }
};

/// `W` values of a law's scalar.
/// @tparam W number of lanes; 8 fills one AVX-512 register, two of AVX2 and four of SSE2, and is fastest on all three
template <int W>
struct Batch {
  static_assert(W > 0 && (W & (W - 1)) == 0, "the number of lanes is a power of two");
  static constexpr int width = W;
  double lane[W];

  constexpr Batch() : lane{} {}
  /// The same value in every lane.
  constexpr Batch(double x) {  // NOLINT(google-explicit-constructor): literals are scalars of a law
    for (int i = 0; i < W; ++i) lane[i] = x;
  }

  friend constexpr Batch operator+(const Batch& a, const Batch& b) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] + b.lane[i];
    return r;
  }
  friend constexpr Batch operator-(const Batch& a, const Batch& b) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] - b.lane[i];
    return r;
  }
  friend constexpr Batch operator*(const Batch& a, const Batch& b) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] * b.lane[i];
    return r;
  }
  friend constexpr Batch operator/(const Batch& a, const Batch& b) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] / b.lane[i];
    return r;
  }
  friend constexpr Batch operator-(const Batch& a) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = -a.lane[i];
    return r;
  }
  friend constexpr Batch operator+(const Batch& a) { return a; }
  constexpr Batch& operator+=(const Batch& o) { return *this = *this + o; }
  constexpr Batch& operator-=(const Batch& o) { return *this = *this - o; }
  constexpr Batch& operator*=(const Batch& o) { return *this = *this * o; }
  constexpr Batch& operator/=(const Batch& o) { return *this = *this / o; }

#define MLSYSIM_COMPARE(OP)                                                        \
  friend constexpr Mask<W> operator OP(const Batch& a, const Batch& b) {           \
    Mask<W> r{};                                                                   \
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] OP b.lane[i] ? 1.0 : 0.0;    \
    return r;                                                                      \
  }
  MLSYSIM_COMPARE(<)
  MLSYSIM_COMPARE(>)
  MLSYSIM_COMPARE(<=)
  MLSYSIM_COMPARE(>=)
  MLSYSIM_COMPARE(==)
  MLSYSIM_COMPARE(!=)
#undef MLSYSIM_COMPARE

  friend constexpr Batch min(const Batch& a, const Batch& b) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = b.lane[i] < a.lane[i] ? b.lane[i] : a.lane[i];
    return r;
  }
  friend constexpr Batch max(const Batch& a, const Batch& b) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = a.lane[i] < b.lane[i] ? b.lane[i] : a.lane[i];
    return r;
  }
  friend constexpr Batch clamp(const Batch& x, const Batch& low, const Batch& high) { return min(max(x, low), high); }
  friend constexpr Batch select(bool condition, const Batch& a, const Batch& b) { return condition ? a : b; }
  friend Batch abs(const Batch& a) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = std::fabs(a.lane[i]);
    return r;
  }

#define MLSYSIM_MAP(NAME)                                                  \
  friend Batch NAME(const Batch& a) {                                      \
    Batch r;                                                               \
    for (int i = 0; i < W; ++i) r.lane[i] = std::NAME(a.lane[i]);          \
    return r;                                                              \
  }
  MLSYSIM_MAP(ceil)
  MLSYSIM_MAP(floor)
  MLSYSIM_MAP(sqrt)
  MLSYSIM_MAP(log)
  MLSYSIM_MAP(log2)
  MLSYSIM_MAP(exp)
#undef MLSYSIM_MAP
  friend Batch pow(const Batch& x, const Batch& y) {
    Batch r;
    for (int i = 0; i < W; ++i) r.lane[i] = std::pow(x.lane[i], y.lane[i]);
    return r;
  }
  friend Batch ceil_div(const Batch& count, const Batch& size) { return ceil(count / size); }
  friend constexpr Batch named(std::string_view, const Batch& x) { return x; }
};

template <int W>
inline constexpr bool is_scalar_v<Batch<W>> = true;

/// True if the condition holds in some lane; for tests and tools, not for laws.
template <int W>
[[nodiscard]] constexpr bool any(const Mask<W>& m) {
  for (int i = 0; i < W; ++i)
    if (m.lane[i] != 0.0) return true;
  return false;
}
/// True if the condition holds in every lane; for tests and tools, not for laws.
template <int W>
[[nodiscard]] constexpr bool all(const Mask<W>& m) {
  for (int i = 0; i < W; ++i)
    if (m.lane[i] == 0.0) return false;
  return true;
}

namespace detail {
template <int W>
struct LoopTraits<Batch<W>> : LoopTraits<double> {
  static constexpr bool merges = true;
  [[nodiscard]] static constexpr double upper(const Batch<W>& count) {
    double most = count.lane[0];
    for (int i = 1; i < W; ++i) {
      if (count.lane[i] != count.lane[i]) return count.lane[i];
      if (count.lane[i] > most) most = count.lane[i];
    }
    return most;
  }
  template <class S>
  static constexpr void mark_steps(S&, const Batch<W>&) {}
};
}  // namespace detail

}  // namespace mlsysim

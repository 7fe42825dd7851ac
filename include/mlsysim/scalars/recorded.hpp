#pragma once
/// The recording scalar: a law that runs on `Recorded` writes its operations to a tape once, for later reuse.
///
/// A value is a constant or a node of the recording in progress on this thread (scalars/recorder.hpp).
/// Arithmetic on constants is done at once, so only operations that depend on an input become nodes.
/// Example: with input x, `max(x * 2.0, y)` adds a constant and the nodes multiply and max. `Recorded(2.0) *
/// 3.0` adds none.

#include <mlsysim/scalars/condition.hpp>
#include <mlsysim/scalars/tape_op.hpp>
#include <mlsysim/units/overloads.hpp>

#include <cstdint>
#include <string_view>

namespace mlsysim {

struct Recorded;

namespace detail {
/// The node of an operation, or its value where all operands are constants.
[[nodiscard]] Recorded record(TapeOp op, const Recorded& a);
[[nodiscard]] Recorded record(TapeOp op, const Recorded& a, const Recorded& b);
[[nodiscard]] Recorded record(TapeOp op, const Recorded& a, const Recorded& b, const Recorded& c);
void record_name(std::string_view name, const Recorded& x);
}  // namespace detail

/// A constant, or a node of a recording.
struct Recorded {
  double value = 0.0;       ///< of a constant
  std::uint32_t node = 0;   ///< in its recording
  std::uint32_t depth = 0;  ///< recordings nest (bodies of loops): 0 is a constant, 1 the outermost recording

  constexpr Recorded() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): literals are scalars of a law
  constexpr Recorded(double x) : value(x) {}
  [[nodiscard]] static constexpr Recorded at(std::uint32_t node, std::uint32_t depth) {
    Recorded r;
    r.node = node;
    r.depth = depth;
    return r;
  }
  [[nodiscard]] constexpr bool is_constant() const { return depth == 0; }

  /// Whether both are the same constant or the same node.
  [[nodiscard]] friend constexpr bool identical(const Recorded& a, const Recorded& b) {
    return a.depth == b.depth && (a.is_constant() ? a.value == b.value : a.node == b.node);
  }

  friend Recorded operator+(const Recorded& a, const Recorded& b) {
    return detail::record(TapeOp::add, a, b);
  }
  friend Recorded operator-(const Recorded& a, const Recorded& b) {
    return detail::record(TapeOp::subtract, a, b);
  }
  friend Recorded operator*(const Recorded& a, const Recorded& b) {
    return detail::record(TapeOp::multiply, a, b);
  }
  friend Recorded operator/(const Recorded& a, const Recorded& b) {
    return detail::record(TapeOp::divide, a, b);
  }
  friend Recorded operator-(const Recorded& a) { return detail::record(TapeOp::negate, a); }
  friend Recorded operator+(const Recorded& a) { return a; }
  Recorded& operator+=(const Recorded& o) { return *this = *this + o; }
  Recorded& operator-=(const Recorded& o) { return *this = *this - o; }
  Recorded& operator*=(const Recorded& o) { return *this = *this * o; }
  Recorded& operator/=(const Recorded& o) { return *this = *this / o; }

  friend Recorded min(const Recorded& a, const Recorded& b) { return detail::record(TapeOp::min, a, b); }
  friend Recorded max(const Recorded& a, const Recorded& b) { return detail::record(TapeOp::max, a, b); }
  friend Recorded clamp(const Recorded& x, const Recorded& low, const Recorded& high) {
    return min(max(x, low), high);
  }
  friend Recorded select(bool condition, const Recorded& a, const Recorded& b) { return condition ? a : b; }
  friend Recorded abs(const Recorded& a) { return detail::record(TapeOp::abs, a); }
  friend Recorded ceil(const Recorded& a) { return detail::record(TapeOp::ceil, a); }
  friend Recorded floor(const Recorded& a) { return detail::record(TapeOp::floor, a); }
  friend Recorded ceil_div(const Recorded& count, const Recorded& size) { return ceil(count / size); }
  friend Recorded sqrt(const Recorded& a) { return detail::record(TapeOp::sqrt, a); }
  friend Recorded pow(const Recorded& x, const Recorded& y) { return detail::record(TapeOp::pow, x, y); }
  friend Recorded quadrature(const Recorded& a, const Recorded& b) {
    return detail::record(TapeOp::quadrature, a, b);
  }
  friend Recorded log(const Recorded& a) { return detail::record(TapeOp::log, a); }
  friend Recorded log2(const Recorded& a) { return detail::record(TapeOp::log2, a); }
  friend Recorded exp(const Recorded& a) { return detail::record(TapeOp::exp, a); }
  /// Names an intermediate for the derivation. The text must outlive the tape: use a literal.
  friend Recorded named(std::string_view name, const Recorded& x) {
    detail::record_name(name, x);
    return x;
  }
};

/// Outcome of a comparison, as data.
struct RecordedCondition : detail::NoBranch {
  Recorded truth;  ///< 1 where it holds, else 0

  explicit RecordedCondition(const Recorded& t) : truth(t) {}
  friend RecordedCondition operator&&(const RecordedCondition& a, const RecordedCondition& b) {
    return RecordedCondition(detail::record(TapeOp::both, a.truth, b.truth));
  }
  friend RecordedCondition operator||(const RecordedCondition& a, const RecordedCondition& b) {
    return RecordedCondition(detail::record(TapeOp::either, a.truth, b.truth));
  }
  friend RecordedCondition operator!(const RecordedCondition& a) {
    return RecordedCondition(detail::record(TapeOp::negation, a.truth));
  }
  friend RecordedCondition operator&(const RecordedCondition& a, const RecordedCondition& b) {
    return a && b;
  }
  friend RecordedCondition operator|(const RecordedCondition& a, const RecordedCondition& b) {
    return a || b;
  }

  friend Recorded select(const RecordedCondition& c, const Recorded& a, const Recorded& b) {
    return detail::record(TapeOp::select, c.truth, a, b);
  }
  friend Recorded select(const RecordedCondition& c, double a, double b) {
    return select(c, Recorded(a), Recorded(b));
  }
};

inline RecordedCondition operator<(const Recorded& a, const Recorded& b) {
  return RecordedCondition(detail::record(TapeOp::less, a, b));
}
inline RecordedCondition operator>(const Recorded& a, const Recorded& b) { return b < a; }
inline RecordedCondition operator<=(const Recorded& a, const Recorded& b) {
  return RecordedCondition(detail::record(TapeOp::less_equal, a, b));
}
inline RecordedCondition operator>=(const Recorded& a, const Recorded& b) { return b <= a; }
inline RecordedCondition operator==(const Recorded& a, const Recorded& b) {
  return RecordedCondition(detail::record(TapeOp::equal, a, b));
}
inline RecordedCondition operator!=(const Recorded& a, const Recorded& b) {
  return RecordedCondition(detail::record(TapeOp::not_equal, a, b));
}

template <> inline constexpr bool is_scalar_v<Recorded> = true;

}  // namespace mlsysim

#pragma once
/// Interval arithmetic: operations on ranges give a range that holds every value of the operation.
///
///     [a, b] + [c, d] = [a + c, b + d]        [a, b] - [c, d] = [a - d, b - c]
///     [a, b] * [c, d] = [least, greatest of a c, a d, b c, b d]        f([a, b]) = [f(a), f(b)] for rising f
///
/// Bounds are exact where each variable occurs once, and wider otherwise: write 1 - 1/n, not (n - 1)/n.
/// Bounds are rounded to nearest, not outwards. Basic operations round monotonically, so any computed point
/// lies inside. `pow log log2 exp` may differ by about 1 ulp, the error of the C library. A result that is
/// undefined on part of the range has an infinite bound on the affected side, never a NaN.
/// Example: n in [2, 4] gives [0.5, 0.75] for 1 - 1/n and [0.25, 1.5] for (n - 1)/n.

#include <mlsysim/scalars/condition.hpp>
#include <mlsysim/units/overloads.hpp>

#include <cmath>
#include <limits>

namespace mlsysim {

struct Interval;

/// Three-valued outcome of a comparison of ranges: holds everywhere, nowhere, or undecided.
struct Undecided : detail::NoBranch {
  bool can_hold = false;
  bool can_fail = false;

  constexpr Undecided(bool hold, bool fail) : can_hold(hold), can_fail(fail) {}
  [[nodiscard]] constexpr bool certain() const { return can_hold && !can_fail; }
  [[nodiscard]] constexpr bool impossible() const { return !can_hold; }

  friend constexpr Undecided operator&&(const Undecided& a, const Undecided& b) {
    return {a.can_hold && b.can_hold, a.can_fail || b.can_fail};
  }
  friend constexpr Undecided operator||(const Undecided& a, const Undecided& b) {
    return {a.can_hold || b.can_hold, a.can_fail && b.can_fail};
  }
  friend constexpr Undecided operator!(const Undecided& a) { return {a.can_fail, a.can_hold}; }
  friend constexpr Undecided operator&(const Undecided& a, const Undecided& b) { return a && b; }
  friend constexpr Undecided operator|(const Undecided& a, const Undecided& b) { return a || b; }

  friend constexpr Interval select(const Undecided& c, const Interval& a, const Interval& b);
  friend constexpr Interval select(const Undecided& c, double a, double b);
};

/// A closed range [low, high]; either end may be infinite.
struct Interval {
  static constexpr double inf = std::numeric_limits<double>::infinity();
  double low = 0.0;
  double high = 0.0;

  constexpr Interval() = default;
  /// A single point.
  constexpr Interval(double x) : low(x), high(x) {}  // NOLINT(google-explicit-constructor)
  /// The ends in either order give the same range.
  constexpr Interval(double a, double b) : low(b < a ? b : a), high(b < a ? a : b) {}
  [[nodiscard]] static constexpr Interval whole() { return {-inf, inf}; }

  [[nodiscard]] constexpr double width() const { return high - low; }
  [[nodiscard]] constexpr double middle() const { return low + 0.5 * (high - low); }
  [[nodiscard]] constexpr bool contains(double x) const { return low <= x && x <= high; }

  /// Whether both ends are equal, so that a value computed from one range holds for the other.
  friend constexpr bool identical(const Interval& a, const Interval& b) {
    return a.low == b.low && a.high == b.high;
  }

  friend constexpr Interval operator+(const Interval& a, const Interval& b) {
    return checked(a.low + b.low, a.high + b.high);
  }
  friend constexpr Interval operator-(const Interval& a, const Interval& b) {
    return checked(a.low - b.high, a.high - b.low);
  }
  friend constexpr Interval operator-(const Interval& a) { return raw(-a.high, -a.low); }
  friend constexpr Interval operator+(const Interval& a) { return a; }
  friend constexpr Interval operator*(const Interval& a, const Interval& b) {
    if (a.low >= 0 && b.low >= 0 && a.high < inf && b.high < inf) return raw(a.low * b.low, a.high * b.high);
    return spread(times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high));
  }
  /// With 0 inside the denominator the quotient is unbounded both ways; with 0 as its lower end, one way. (At
  /// its upper end both ways again: the zero that a double division meets there is +0, and gives the other
  /// infinity.)
  friend constexpr Interval operator/(const Interval& a, const Interval& b) {
    if (b.low > 0 && a.low >= 0 && a.high < inf) return raw(a.low / b.high, a.high / b.low);
    if (b.low > 0 || b.high < 0) {
      // A finite quotient by an unbounded range tends to 0, an unbounded one by it to anything.
      if ((a.low == -inf || a.high == inf) && (b.low == -inf || b.high == inf)) return whole();
      return spread(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high);
    }
    if (b.low == 0 && b.high > 0 && b.high < inf) {
      if (a.low >= 0) return raw(a.low / b.high, inf);
      if (a.high <= 0) return raw(-inf, a.high / b.high);
    }
    return whole();
  }
  constexpr Interval& operator+=(const Interval& o) { return *this = *this + o; }
  constexpr Interval& operator-=(const Interval& o) { return *this = *this - o; }
  constexpr Interval& operator*=(const Interval& o) { return *this = *this * o; }
  constexpr Interval& operator/=(const Interval& o) { return *this = *this / o; }

  friend constexpr Undecided operator<(const Interval& a, const Interval& b) {
    return {a.low < b.high, a.high >= b.low};
  }
  friend constexpr Undecided operator>(const Interval& a, const Interval& b) { return b < a; }
  friend constexpr Undecided operator<=(const Interval& a, const Interval& b) {
    return {a.low <= b.high, a.high > b.low};
  }
  friend constexpr Undecided operator>=(const Interval& a, const Interval& b) { return b <= a; }
  friend constexpr Undecided operator==(const Interval& a, const Interval& b) {
    return {a.low <= b.high && b.low <= a.high, !(a.low == a.high && b.low == b.high && a.low == b.low)};
  }
  friend constexpr Undecided operator!=(const Interval& a, const Interval& b) { return !(a == b); }

  friend constexpr Interval min(const Interval& a, const Interval& b) {
    return raw(mlsysim::min(a.low, b.low), mlsysim::min(a.high, b.high));
  }
  friend constexpr Interval max(const Interval& a, const Interval& b) {
    return raw(mlsysim::max(a.low, b.low), mlsysim::max(a.high, b.high));
  }
  friend constexpr Interval clamp(const Interval& x, const Interval& least, const Interval& most) {
    return min(max(x, least), most);
  }
  friend constexpr Interval select(bool condition, const Interval& a, const Interval& b) {
    return condition ? a : b;
  }
  friend constexpr Interval abs(const Interval& a) {
    if (a.low >= 0) return a;
    if (a.high <= 0) return -a;
    return raw(0.0, mlsysim::max(-a.low, a.high));
  }
  friend Interval ceil(const Interval& a) { return raw(std::ceil(a.low), std::ceil(a.high)); }
  friend Interval floor(const Interval& a) { return raw(std::floor(a.low), std::floor(a.high)); }
  friend Interval ceil_div(const Interval& count, const Interval& size) { return ceil(count / size); }
  /// Square roots of the part that is not negative; the whole line if there is none.
  friend Interval sqrt(const Interval& a) {
    if (!(a.high >= 0)) return whole();
    return raw(std::sqrt(mlsysim::max(a.low, 0.0)), std::sqrt(a.high));
  }
  friend Interval exp(const Interval& a) { return raw(std::exp(a.low), std::exp(a.high)); }
  /// Logarithms of the part that is not negative; the whole line if there is none.
  friend Interval log(const Interval& a) {
    if (!(a.high >= 0)) return whole();
    return raw(std::log(mlsysim::max(a.low, 0.0)), std::log(a.high));
  }
  friend Interval log2(const Interval& a) {
    if (!(a.high >= 0)) return whole();
    return raw(std::log2(mlsysim::max(a.low, 0.0)), std::log2(a.high));
  }
  /// Powers: of a base that is not negative for any exponent, of a negative one for a single whole exponent.
  friend Interval pow(const Interval& x, const Interval& y) {
    if (x.low >= 0) {
      // y * log(x) is bilinear, so its extremes lie at the corners.
      const double least = std::fabs(x.low);  // -0 to a negative odd power would be -infinity
      return spread(std::pow(least, y.low), std::pow(least, y.high), std::pow(x.high, y.low),
                    std::pow(x.high, y.high));
    }
    if (y.low != y.high || std::floor(y.low) != y.low) return whole();
    const bool odd = std::fmod(y.low, 2.0) != 0.0;
    if (y.low < 0) return Interval(1.0) / pow(x, Interval(-y.low));
    if (odd) return raw(std::pow(x.low, y.low), std::pow(x.high, y.low));
    const Interval size = abs(x);
    return raw(std::pow(size.low, y.low), std::pow(size.high, y.low));
  }
  friend Interval quadrature(const Interval& a, const Interval& b) {
    const Interval x = abs(a), y = abs(b);
    return raw(mlsysim::quadrature(x.low, y.low), mlsysim::quadrature(x.high, y.high));
  }
  friend constexpr Interval named(std::string_view, const Interval& x) { return x; }
  /// The smallest range that holds both.
  friend constexpr Interval hull(const Interval& a, const Interval& b) {
    return raw(mlsysim::min(a.low, b.low), mlsysim::max(a.high, b.high));
  }

 private:
  static constexpr Interval raw(double low, double high) {
    Interval r;
    r.low = low;
    r.high = high;
    return r;
  }
  /// "Not a number" at an end (infinity minus infinity) means that nothing is known.
  static constexpr Interval checked(double low, double high) {
    return low <= high ? raw(low, high) : whole();
  }
  /// A product of bounds: 0 times an unbounded factor is 0, because the factor itself is finite.
  static constexpr double times(double x, double y) { return x == 0 || y == 0 ? 0.0 : x * y; }
  static constexpr Interval spread(double a, double b, double c, double d) {
    const double low = mlsysim::min(mlsysim::min(a, b), mlsysim::min(c, d));
    const double high = mlsysim::max(mlsysim::max(a, b), mlsysim::max(c, d));
    const bool numbers = a == a && b == b && c == c && d == d;
    return numbers ? raw(low, high) : whole();
  }
};

constexpr Interval select(const Undecided& c, const Interval& a, const Interval& b) {
  if (!c.can_fail) return a;
  if (!c.can_hold) return b;
  return hull(a, b);
}

constexpr Interval select(const Undecided& c, double a, double b) {
  return select(c, Interval(a), Interval(b));
}

}  // namespace mlsysim

#pragma once
/// The closed overload set of laws, for `double`: `min`, `max`, `select`, `clamp`, `quadrature`, `ceil_div`
/// etc.
///
/// All take and return values. `std::max` returns a reference, which keeps GCC 12 from vectorizing loops over
/// a wrapper type. `Recorded` brings the same names in its own header. A law calls them unqualified.
/// Example: `quadrature(3.0, 4.0)` is sqrt(3^2 + 4^2) = 5, `ceil_div(1000.0, 16.0)` is 63.

#include <cmath>
#include <string_view>
#include <type_traits>

namespace mlsysim {

/// True for the scalar types that a law may be written over; each scalar header specializes it.
template <class T> inline constexpr bool is_scalar_v = false;
template <> inline constexpr bool is_scalar_v<double> = true;

/// A scalar of a law: double or Recorded.
template <class T>
concept Scalar = is_scalar_v<std::remove_cvref_t<T>>;

/// A plain number that may multiply a quantity: a literal, a count, or a scalar of a law.
template <class T>
concept Number = Scalar<T> ||(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);

namespace detail {
/// Scalar that results from two operands of which at most one is not plain arithmetic.
template <class A, class B> struct promote;
template <class A> struct promote<A, A> { using type = A; };
template <class A, class B>
  requires(!std::is_same_v<A, B> && std::is_arithmetic_v<B>)
struct promote<A, B> {
  using type = std::conditional_t<std::is_arithmetic_v<A>, double, A>;
};
template <class A, class B>
  requires(!std::is_same_v<A, B> && !std::is_arithmetic_v<B> && std::is_arithmetic_v<A>)
struct promote<A, B> {
  using type = B;
};
template <class A, class B> using promote_t = typename promote<A, B>::type;
}  // namespace detail

[[nodiscard]] constexpr double min(double a, double b) { return b < a ? b : a; }
[[nodiscard]] constexpr double max(double a, double b) { return a < b ? b : a; }
/// `a` where the condition holds, else `b`; both are evaluated.
[[nodiscard]] constexpr double select(bool condition, double a, double b) { return condition ? a : b; }
[[nodiscard]] constexpr double clamp(double x, double low, double high) { return min(max(x, low), high); }

// The C library's own functions under our name, not wrappers of them: a law written in the global namespace
// after `using namespace mlsysim` would otherwise find two functions for `pow(double, double)`.
using std::abs;
using std::ceil;
using std::exp;
using std::floor;
using std::log;
using std::log2;
using std::pow;
using std::sqrt;
/// Number of blocks of `size` that cover `count`.
[[nodiscard]] inline double ceil_div(double count, double size) { return std::ceil(count / size); }

/// sqrt(a^2 + b^2), without the scaling of `std::hypot`: for sizes below 1e154, which is every time and every
/// rate.
[[nodiscard]] inline double quadrature(double a, double b) { return std::sqrt(a * a + b * b); }

/// Names an intermediate for the derivation; the identity on every scalar but Recorded.
[[nodiscard]] constexpr double named(std::string_view, double x) { return x; }

}  // namespace mlsysim

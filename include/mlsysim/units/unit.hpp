#pragma once
/// Units for code: `mlsysim::unit::ms`, `unit::TFLOP / unit::s`, and literals such as `80_GB`.
///
///   base number = number mul / div
///
/// A unit is an exact reduced ratio of integers in two doubles. One of them is 1 for almost every unit, so a
/// conversion rounds once. Units of texts live in units/unit_registry.hpp, and a test compares the two
/// tables.
/// Example: `unit::TFLOP / unit::s` has mul 1e12 and div 1. `(3.35 * unit::TB / unit::s).base()` is 3.35e12.

#include <mlsysim/units/quantity.hpp>

#include <cstdint>
#include <numeric>

namespace mlsysim {

/// A unit of dimension `D`.
template <class D> struct Unit {
  double mul = 1.0;
  double div = 1.0;
};

namespace detail {
struct Ratio {
  double mul, div;
};
/// Cancels common factors while both parts are exactly representable integers.
constexpr Ratio reduced(double mul, double div) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  if (mul == 1.0 || div == 1.0 || mul > exact || div > exact) return {mul, div};
  const auto m = static_cast<std::uint64_t>(mul), d = static_cast<std::uint64_t>(div);
  if (static_cast<double>(m) != mul || static_cast<double>(d) != div) return {mul, div};
  const auto g = std::gcd(m, d);
  return {static_cast<double>(m / g), static_cast<double>(d / g)};
}
constexpr double to_base(double x, double mul, double div) {
  return div == 1.0 ? x * mul : mul == 1.0 ? x / div : x * mul / div;
}
}  // namespace detail

template <class D1, class D2> [[nodiscard]] constexpr auto operator*(Unit<D1> a, Unit<D2> b) {
  const auto r = detail::reduced(a.mul * b.mul, a.div * b.div);
  return Unit<canonical_dim<detail::product<D1, D2>::exps>>{r.mul, r.div};
}
template <class D1, class D2> [[nodiscard]] constexpr auto operator/(Unit<D1> a, Unit<D2> b) {
  const auto r = detail::reduced(a.mul * b.div, a.div * b.mul);
  return Unit<canonical_dim<detail::quotient<D1, D2>::exps>>{r.mul, r.div};
}

template <class S, class D>
  requires std::is_arithmetic_v<S>
[[nodiscard]] constexpr auto operator*(S x, Unit<D> u) {
  return detail::of<D::exps, double>::make(detail::to_base(static_cast<double>(x), u.mul, u.div));
}
template <class S, class D>
  requires(Scalar<S> && !std::is_arithmetic_v<S>)
[[nodiscard]] constexpr auto operator*(const S& x, Unit<D> u) {
  return detail::of<D::exps, S>::make(x * (u.mul / u.div));
}
template <class D1, class T, class D2>
[[nodiscard]] constexpr auto operator*(const Quantity<D1, T>& q, Unit<D2> u) {
  return q * Quantity<D2>::from_base(u.mul / u.div);
}
template <class D1, class T, class D2>
[[nodiscard]] constexpr auto operator/(const Quantity<D1, T>& q, Unit<D2> u) {
  // Dividing by the two parts in this order keeps 3.35 * TB / s and 3.35 * (TB / s) the same number.
  const auto one = Quantity<D2>::from_base(1.0);
  if constexpr (std::is_same_v<T, double>)
    return detail::of<detail::quotient<D1, D2>::exps, double>::make(detail::to_base(q.base(), u.div, u.mul));
  else
    return q / one * (u.div / u.mul);
}

template <class D, class T> constexpr T Quantity<D, T>::in(const Unit<D>& unit) const {
  if constexpr (std::is_same_v<T, double>)
    return detail::to_base(base_, unit.div, unit.mul);
  else
    return base_ * (unit.div / unit.mul);
}

namespace unit {
inline constexpr Unit<dim::time> ns{1, 1e9}, us{1, 1e6}, ms{1, 1e3}, s{}, min{60, 1}, h{3600, 1}, d{86400, 1},
    month{2592000, 1}, yr{31536000, 1};
inline constexpr Unit<dim::data> B{}, kB{1e3, 1}, MB{1e6, 1}, GB{1e9, 1}, TB{1e12, 1}, PB{1e15, 1},
    KiB{1024, 1}, MiB{1048576, 1}, GiB{1073741824, 1}, TiB{1099511627776, 1}, bit{1, 8}, kbit{125, 1},
    Mbit{125e3, 1}, Gbit{125e6, 1}, Tbit{125e9, 1};
inline constexpr Unit<dim::work> FLOP{}, kFLOP{1e3, 1}, MFLOP{1e6, 1}, GFLOP{1e9, 1}, TFLOP{1e12, 1},
    PFLOP{1e15, 1}, EFLOP{1e18, 1}, ZFLOP{1e21, 1};
inline constexpr Unit<dim::tokens> token{}, ktoken{1e3, 1}, Mtoken{1e6, 1}, Gtoken{1e9, 1}, Ttoken{1e12, 1};
inline constexpr Unit<dim::samples> sample{};
inline constexpr Unit<dim::requests> request{};
inline constexpr Unit<dim::params> param{}, Mparam{1e6, 1}, Gparam{1e9, 1}, Tparam{1e12, 1};
inline constexpr Unit<dim::money> USD{}, kUSD{1e3, 1}, MUSD{1e6, 1};
inline constexpr Unit<dim::carbon> gCO2e{}, kgCO2e{1e3, 1}, tCO2e{1e6, 1};
inline constexpr Unit<dim::energy> pJ{1, 1e12}, nJ{1, 1e9}, uJ{1, 1e6}, mJ{1, 1e3}, J{}, kJ{1e3, 1},
    MJ{1e6, 1}, GJ{1e9, 1}, Wh{3600, 1}, kWh{3.6e6, 1}, MWh{3.6e9, 1}, GWh{3.6e12, 1};
inline constexpr Unit<dim::water> L{}, mL{1, 1e3};
inline constexpr Unit<dim::power> W{}, mW{1, 1e3}, kW{1e3, 1}, MW{1e6, 1}, GW{1e9, 1};
inline constexpr Unit<dim::frequency> Hz{}, kHz{1e3, 1}, MHz{1e6, 1}, GHz{1e9, 1};
/// 1/100, for fractions that are written as percent.
inline constexpr Unit<dim::none> percent{1, 100};
}  // namespace unit

/// Literals for the commonest units: `using namespace mlsysim::literals; auto m = 80_GB;`
namespace literals {
#define MLSYSIM_LITERAL(NAME)                                            \
  [[nodiscard]] consteval auto operator""_##NAME(long double x) {        \
    return static_cast<double>(x) * unit::NAME;                          \
  }                                                                      \
  [[nodiscard]] consteval auto operator""_##NAME(unsigned long long x) { \
    return static_cast<double>(x) * unit::NAME;                          \
  }
MLSYSIM_LITERAL(ns)
MLSYSIM_LITERAL(us)
MLSYSIM_LITERAL(ms)
MLSYSIM_LITERAL(s)
MLSYSIM_LITERAL(min)
MLSYSIM_LITERAL(h)
MLSYSIM_LITERAL(d)
MLSYSIM_LITERAL(yr)
MLSYSIM_LITERAL(B)
MLSYSIM_LITERAL(kB)
MLSYSIM_LITERAL(MB)
MLSYSIM_LITERAL(GB)
MLSYSIM_LITERAL(TB)
MLSYSIM_LITERAL(PB)
MLSYSIM_LITERAL(KiB)
MLSYSIM_LITERAL(MiB)
MLSYSIM_LITERAL(GiB)
MLSYSIM_LITERAL(TiB)
MLSYSIM_LITERAL(bit)
MLSYSIM_LITERAL(Gbit)
MLSYSIM_LITERAL(FLOP)
MLSYSIM_LITERAL(MFLOP)
MLSYSIM_LITERAL(GFLOP)
MLSYSIM_LITERAL(TFLOP)
MLSYSIM_LITERAL(PFLOP)
MLSYSIM_LITERAL(EFLOP)
MLSYSIM_LITERAL(token)
MLSYSIM_LITERAL(Mtoken)
MLSYSIM_LITERAL(sample)
MLSYSIM_LITERAL(request)
MLSYSIM_LITERAL(param)
MLSYSIM_LITERAL(Gparam)
MLSYSIM_LITERAL(USD)
MLSYSIM_LITERAL(gCO2e)
MLSYSIM_LITERAL(kgCO2e)
MLSYSIM_LITERAL(tCO2e)
MLSYSIM_LITERAL(pJ)
MLSYSIM_LITERAL(J)
MLSYSIM_LITERAL(kJ)
MLSYSIM_LITERAL(kWh)
MLSYSIM_LITERAL(MWh)
MLSYSIM_LITERAL(L)
MLSYSIM_LITERAL(W)
MLSYSIM_LITERAL(kW)
MLSYSIM_LITERAL(MW)
MLSYSIM_LITERAL(MHz)
MLSYSIM_LITERAL(GHz)
#undef MLSYSIM_LITERAL
}  // namespace literals

}  // namespace mlsysim

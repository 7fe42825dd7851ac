#pragma once
/// Compile-time quantities: one type per dimension, one scalar in the canonical base unit inside.
///
/// Units exist only on input (`3.35 * unit::TB / unit::s`) and output (`q.in(unit::ms)`), so arithmetic costs
/// no more than that of the scalar. A dimensionless product or quotient is the bare scalar.
/// Example: `10 * unit::GB / (2 * unit::TB / unit::s)` is a `Time` of 0.005 s, and `10_GB / 5_GB` is the
/// double 2.

#include <mlsysim/units/dimension.hpp>
#include <mlsysim/units/overloads.hpp>

#include <type_traits>

namespace mlsysim {

template <class D> struct Unit;

/// A value of dimension `D` held as one scalar `T` in the canonical base unit.
/// @tparam D tag from `mlsysim::dim`
/// @tparam T scalar of the law: double or Recorded
template <class D, class T = double> class [[nodiscard]] Quantity {
 public:
  using dimension = D;
  using scalar = T;

  constexpr Quantity() : base_(0.0) {}

  /// A quantity with a double inside lifts to any scalar.
  template <class U>
    requires(std::is_same_v<U, double> && !std::is_same_v<T, double>)
  constexpr Quantity(const Quantity<D, U>& q) : base_(q.base()) {}  // NOLINT(google-explicit-constructor)

  /// From a number in the canonical base unit. Prefer `number * unit::x`.
  [[nodiscard]] static constexpr Quantity from_base(T base) {
    Quantity q;
    q.base_ = base;
    return q;
  }
  /// The number in the canonical base unit (s, B, FLOP, ... and their products).
  [[nodiscard]] constexpr const T& base() const { return base_; }
  /// The number in `unit`.
  [[nodiscard]] constexpr T in(const Unit<D>& unit) const;

  constexpr Quantity operator-() const { return from_base(-base_); }
  constexpr Quantity& operator+=(const Quantity& o) { return *this = *this + o; }
  constexpr Quantity& operator-=(const Quantity& o) { return *this = *this - o; }
  template <Number S> constexpr Quantity& operator*=(const S& s) { return *this = *this * s; }
  template <Number S> constexpr Quantity& operator/=(const S& s) { return *this = *this / s; }

  friend constexpr Quantity operator+(const Quantity& a, const Quantity& b) {
    return from_base(a.base_ + b.base_);
  }
  friend constexpr Quantity operator-(const Quantity& a, const Quantity& b) {
    return from_base(a.base_ - b.base_);
  }

  // Written out: a defaulted <=> on a double member turns `min` into three branches on g++ 12.
  friend constexpr auto operator==(const Quantity& a, const Quantity& b) { return a.base_ == b.base_; }
  friend constexpr auto operator!=(const Quantity& a, const Quantity& b) { return a.base_ != b.base_; }
  friend constexpr auto operator<(const Quantity& a, const Quantity& b) { return a.base_ < b.base_; }
  friend constexpr auto operator>(const Quantity& a, const Quantity& b) { return a.base_ > b.base_; }
  friend constexpr auto operator<=(const Quantity& a, const Quantity& b) { return a.base_ <= b.base_; }
  friend constexpr auto operator>=(const Quantity& a, const Quantity& b) { return a.base_ >= b.base_; }

 private:
  T base_;
};

/// Quantity of a dimension given by exponents; the bare scalar where they are all zero.
namespace detail {
template <Exponents E, class T> struct of {
  using type = Quantity<canonical_dim<E>, T>;
  static constexpr type make(T v) { return type::from_base(v); }
};
template <class T> struct of<Exponents{}, T> {
  using type = T;
  static constexpr type make(T v) { return v; }
};
template <class D1, class D2> struct product { static constexpr Exponents exps = D1::exps + D2::exps; };
template <class D1, class D2> struct quotient { static constexpr Exponents exps = D1::exps - D2::exps; };
template <class D> struct inverse { static constexpr Exponents exps = D::exps * -1; };
}  // namespace detail

template <class D1, class T1, class D2, class T2>
[[nodiscard]] constexpr auto operator*(const Quantity<D1, T1>& a, const Quantity<D2, T2>& b) {
  return detail::of<detail::product<D1, D2>::exps, detail::promote_t<T1, T2>>::make(a.base() * b.base());
}
template <class D1, class T1, class D2, class T2>
[[nodiscard]] constexpr auto operator/(const Quantity<D1, T1>& a, const Quantity<D2, T2>& b) {
  return detail::of<detail::quotient<D1, D2>::exps, detail::promote_t<T1, T2>>::make(a.base() / b.base());
}
template <class D, class T, Number S>
[[nodiscard]] constexpr auto operator*(const Quantity<D, T>& a, const S& s) {
  return Quantity<D, detail::promote_t<T, S>>::from_base(a.base() * s);
}
template <class D, class T, Number S>
[[nodiscard]] constexpr auto operator*(const S& s, const Quantity<D, T>& a) {
  return Quantity<D, detail::promote_t<T, S>>::from_base(s * a.base());
}
template <class D, class T, Number S>
[[nodiscard]] constexpr auto operator/(const Quantity<D, T>& a, const S& s) {
  return Quantity<D, detail::promote_t<T, S>>::from_base(a.base() / s);
}
template <class D, class T, Number S>
[[nodiscard]] constexpr auto operator/(const S& s, const Quantity<D, T>& a) {
  return detail::of<detail::inverse<D>::exps, detail::promote_t<T, S>>::make(s / a.base());
}

// The overload set on quantities, by value.
template <class D, class T>
constexpr Quantity<D, T> min(Quantity<D, T> a, std::type_identity_t<Quantity<D, T>> b) {
  return Quantity<D, T>::from_base(min(a.base(), b.base()));
}
template <class D, class T>
constexpr Quantity<D, T> max(Quantity<D, T> a, std::type_identity_t<Quantity<D, T>> b) {
  return Quantity<D, T>::from_base(max(a.base(), b.base()));
}
template <class C, class D, class T>
constexpr Quantity<D, T> select(C condition, Quantity<D, T> a, std::type_identity_t<Quantity<D, T>> b) {
  return Quantity<D, T>::from_base(select(condition, a.base(), b.base()));
}
template <class D, class T>
constexpr Quantity<D, T> clamp(Quantity<D, T> x, std::type_identity_t<Quantity<D, T>> low,
                               std::type_identity_t<Quantity<D, T>> high) {
  return min(max(x, low), high);
}
template <class D, class T> constexpr Quantity<D, T> abs(Quantity<D, T> x) {
  return Quantity<D, T>::from_base(abs(x.base()));
}
/// Square root of a quantity whose exponents are all even.
template <class D, class T> constexpr auto sqrt(Quantity<D, T> x) {
  static_assert(D::exps.even(), "sqrt of a quantity needs even exponents: multiply or divide first");
  return detail::of<D::exps.half(), T>::make(sqrt(x.base()));
}
/// sqrt(a^2 + b^2).
template <class D, class T>
constexpr Quantity<D, T> quadrature(Quantity<D, T> a, std::type_identity_t<Quantity<D, T>> b) {
  return Quantity<D, T>::from_base(quadrature(a.base(), b.base()));
}
template <class D, class T> constexpr Quantity<D, T> named(std::string_view name, Quantity<D, T> x) {
  return Quantity<D, T>::from_base(named(name, x.base()));
}

template <class T> inline constexpr bool is_quantity_v = false;
template <class D, class T> inline constexpr bool is_quantity_v<Quantity<D, T>> = true;

template <class T = double> using Time = Quantity<dim::time, T>;
template <class T = double> using Data = Quantity<dim::data, T>;
template <class T = double> using Work = Quantity<dim::work, T>;
template <class T = double> using Tokens = Quantity<dim::tokens, T>;
template <class T = double> using Samples = Quantity<dim::samples, T>;
template <class T = double> using Requests = Quantity<dim::requests, T>;
template <class T = double> using Params = Quantity<dim::params, T>;
template <class T = double> using Money = Quantity<dim::money, T>;
template <class T = double> using Carbon = Quantity<dim::carbon, T>;
template <class T = double> using Energy = Quantity<dim::energy, T>;
template <class T = double> using Water = Quantity<dim::water, T>;
template <class T = double> using Frequency = Quantity<dim::frequency, T>;
template <class T = double> using Bandwidth = Quantity<dim::bandwidth, T>;
template <class T = double> using ComputeRate = Quantity<dim::compute_rate, T>;
template <class T = double> using TokenRate = Quantity<dim::token_rate, T>;
template <class T = double> using SampleRate = Quantity<dim::sample_rate, T>;
template <class T = double> using RequestRate = Quantity<dim::request_rate, T>;
template <class T = double> using MoneyRate = Quantity<dim::money_rate, T>;
template <class T = double> using Power = Quantity<dim::power, T>;
template <class T = double> using Intensity = Quantity<dim::intensity, T>;
template <class T = double> using Efficiency = Quantity<dim::efficiency, T>;
template <class T = double> using DataPerParam = Quantity<dim::data_per_param, T>;
template <class T = double> using DataPerToken = Quantity<dim::data_per_token, T>;
template <class T = double> using WorkPerToken = Quantity<dim::work_per_token, T>;
template <class T = double> using WorkPerSample = Quantity<dim::work_per_sample, T>;
template <class T = double> using TimePerToken = Quantity<dim::time_per_token, T>;
template <class T = double> using EnergyPerToken = Quantity<dim::energy_per_token, T>;
template <class T = double> using EnergyPerData = Quantity<dim::energy_per_data, T>;
template <class T = double> using EnergyPerWork = Quantity<dim::energy_per_work, T>;
template <class T = double> using MoneyPerToken = Quantity<dim::money_per_token, T>;
template <class T = double> using MoneyPerEnergy = Quantity<dim::money_per_energy, T>;
template <class T = double> using CarbonIntensity = Quantity<dim::carbon_intensity, T>;
template <class T = double> using CarbonPerToken = Quantity<dim::carbon_per_token, T>;
template <class T = double> using WaterIntensity = Quantity<dim::water_intensity, T>;

}  // namespace mlsysim

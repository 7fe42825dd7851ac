#pragma once
/// Dimensions of quantities: eleven small integer exponents over the base dimensions, with names.
///
/// A named dimension has a tag type in `mlsysim::dim`, so that compiler messages say
/// `Quantity<dim::bandwidth>`. Every other product is `dim::derived<exponents>`. All names live in this
/// header. Otherwise one quantity could have two types in two files.
/// Example: bandwidth is `.time = -1, .data = 1`, with the canonical base unit B/s.

#include <cstdint>
#include <string_view>

namespace mlsysim {

/// Exponents of the base dimensions. Canonical base units: s, B, FLOP (integer operations too), token,
/// sample, request, param, USD, gCO2e, J, L.
struct Exponents {
  std::int8_t time{}, data{}, work{}, token{}, sample{}, request{}, param{}, money{}, carbon{}, energy{},
      water{};

  friend constexpr bool operator==(const Exponents&, const Exponents&) = default;

  [[nodiscard]] constexpr bool dimensionless() const { return *this == Exponents{}; }

  /// Exponents of a product.
  friend constexpr Exponents operator+(const Exponents& a, const Exponents& b) {
    const auto add = [](std::int8_t x, std::int8_t y) { return static_cast<std::int8_t>(x + y); };
    return {add(a.time, b.time),     add(a.data, b.data),       add(a.work, b.work),   add(a.token, b.token),
            add(a.sample, b.sample), add(a.request, b.request), add(a.param, b.param), add(a.money, b.money),
            add(a.carbon, b.carbon), add(a.energy, b.energy),   add(a.water, b.water)};
  }
  /// Exponents of a power.
  friend constexpr Exponents operator*(const Exponents& a, int n) {
    const auto mul = [n](std::int8_t x) { return static_cast<std::int8_t>(x * n); };
    return {mul(a.time),  mul(a.data),  mul(a.work),   mul(a.token),  mul(a.sample), mul(a.request),
            mul(a.param), mul(a.money), mul(a.carbon), mul(a.energy), mul(a.water)};
  }
  /// Exponents of a quotient.
  friend constexpr Exponents operator-(const Exponents& a, const Exponents& b) { return a + b * -1; }

  /// Exponents of a square root; meaningful only where `even()` holds.
  [[nodiscard]] constexpr Exponents half() const {
    const auto h = [](std::int8_t x) { return static_cast<std::int8_t>(x / 2); };
    return {h(time),  h(data),  h(work),   h(token),  h(sample), h(request),
            h(param), h(money), h(carbon), h(energy), h(water)};
  }
  [[nodiscard]] constexpr bool even() const { return half() * 2 == *this; }
};

namespace dim {

/// A product of base dimensions that has no name of its own.
template <Exponents E> struct derived {
  static constexpr Exponents exps = E;
  static constexpr std::string_view name = "derived";
};

}  // namespace dim

namespace detail {
template <Exponents E> struct canonical { using type = dim::derived<E>; };
}  // namespace detail

// The closed list of named dimensions. The macro is local to this header.
#define MLSYSIM_DIMENSION(NAME, ...)                \
  namespace dim {                                   \
  struct NAME {                                     \
    static constexpr Exponents exps{__VA_ARGS__};   \
    static constexpr std::string_view name = #NAME; \
  };                                                \
  }                                                 \
  template <> struct detail::canonical<dim::NAME::exps> { using type = dim::NAME; };

MLSYSIM_DIMENSION(time, .time = 1)
MLSYSIM_DIMENSION(data, .data = 1)
MLSYSIM_DIMENSION(work, .work = 1)
MLSYSIM_DIMENSION(tokens, .token = 1)
MLSYSIM_DIMENSION(samples, .sample = 1)
MLSYSIM_DIMENSION(requests, .request = 1)
MLSYSIM_DIMENSION(params, .param = 1)
MLSYSIM_DIMENSION(money, .money = 1)
MLSYSIM_DIMENSION(carbon, .carbon = 1)
MLSYSIM_DIMENSION(energy, .energy = 1)
MLSYSIM_DIMENSION(water, .water = 1)

MLSYSIM_DIMENSION(frequency, .time = -1)
MLSYSIM_DIMENSION(bandwidth, .time = -1, .data = 1)
MLSYSIM_DIMENSION(compute_rate, .time = -1, .work = 1)
MLSYSIM_DIMENSION(token_rate, .time = -1, .token = 1)
MLSYSIM_DIMENSION(sample_rate, .time = -1, .sample = 1)
MLSYSIM_DIMENSION(request_rate, .time = -1, .request = 1)
MLSYSIM_DIMENSION(money_rate, .time = -1, .money = 1)
MLSYSIM_DIMENSION(power, .time = -1, .energy = 1)
MLSYSIM_DIMENSION(intensity, .data = -1, .work = 1)
MLSYSIM_DIMENSION(efficiency, .work = 1, .energy = -1)
MLSYSIM_DIMENSION(data_per_param, .data = 1, .param = -1)
MLSYSIM_DIMENSION(data_per_token, .data = 1, .token = -1)
MLSYSIM_DIMENSION(data_per_sample, .data = 1, .sample = -1)
MLSYSIM_DIMENSION(work_per_token, .work = 1, .token = -1)
MLSYSIM_DIMENSION(work_per_sample, .work = 1, .sample = -1)
MLSYSIM_DIMENSION(work_per_param_token, .work = 1, .token = -1, .param = -1)
MLSYSIM_DIMENSION(tokens_per_param, .token = 1, .param = -1)
MLSYSIM_DIMENSION(tokens_per_request, .token = 1, .request = -1)
MLSYSIM_DIMENSION(time_per_token, .time = 1, .token = -1)
MLSYSIM_DIMENSION(energy_per_token, .token = -1, .energy = 1)
MLSYSIM_DIMENSION(energy_per_sample, .sample = -1, .energy = 1)
MLSYSIM_DIMENSION(energy_per_data, .data = -1, .energy = 1)
MLSYSIM_DIMENSION(energy_per_work, .work = -1, .energy = 1)
MLSYSIM_DIMENSION(money_per_token, .token = -1, .money = 1)
MLSYSIM_DIMENSION(money_per_energy, .money = 1, .energy = -1)
MLSYSIM_DIMENSION(money_per_data, .data = -1, .money = 1)
MLSYSIM_DIMENSION(money_per_carbon, .money = 1, .carbon = -1)
MLSYSIM_DIMENSION(carbon_intensity, .carbon = 1, .energy = -1)
MLSYSIM_DIMENSION(carbon_per_token, .token = -1, .carbon = 1)
MLSYSIM_DIMENSION(water_intensity, .energy = -1, .water = 1)

#undef MLSYSIM_DIMENSION

namespace dim {
/// No dimension at all: counts, fractions, ratios. Arithmetic that arrives here returns the bare scalar.
struct none {
  static constexpr Exponents exps{};
  static constexpr std::string_view name = "dimensionless";
};
}  // namespace dim

template <> struct detail::canonical<Exponents{}> { using type = dim::none; };

/// The one tag that stands for these exponents: a name where there is one, else `dim::derived`.
template <Exponents E> using canonical_dim = typename detail::canonical<E>::type;

}  // namespace mlsysim

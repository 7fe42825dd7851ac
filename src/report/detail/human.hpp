#pragma once
/// Numbers as people say them: three digits, a familiar unit, dollars, thousands apart.

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

namespace mlsysim::detail {

/// "15.2 ms", "85.9 GB": three significant digits in the unit that suits the size.
inline std::string human(double base, const Exponents& exps) {
  return exps.dimensionless() ? pretty(base, 3) : pretty(AnyQuantity::from_base(base, exps), 3);
}

/// "20.3 to 26.3 ms": the unit once where both have the same.
inline std::string human_range(double low, double high, const Exponents& exps) {
  auto a = human(low, exps);
  const auto b = human(high, exps);
  const auto unit = b.find(' ');
  if (unit != std::string::npos && a.ends_with(b.substr(unit))) a.resize(a.size() - (b.size() - unit));
  return fmt::format("{} to {}", a, b);
}

/// "1,035", "129", "2.02": whole numbers from 100 on, three digits below.
inline std::string grouped(double x) {
  if (std::abs(x) < 99.95) return fmt::format("{:.3g}", x);
  if (std::abs(x) >= 1e15) return fmt::format("{:.3g}", x);
  auto digits = fmt::format("{:.0f}", x);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (x < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

/// "15T", "800M", "12k": counts as models state theirs.
inline std::string short_count(double x) {
  for (const auto& [size, letter] :
       {std::pair{1e12, 'T'}, std::pair{1e9, 'B'}, std::pair{1e6, 'M'}, std::pair{1e3, 'k'}})
    if (x >= size) return fmt::format("{:.4g}{}", x / size, letter);
  return fmt::format("{:.4g}", x);
}

/// "$2.69", "$8,209", "$12.3 million".
inline std::string dollars(double usd) {
  if (std::abs(usd) >= 1e10) return fmt::format("${:.3g} billion", usd / 1e9);
  if (std::abs(usd) >= 1e7) return fmt::format("${:.3g} million", usd / 1e6);
  if (std::abs(usd) >= 99.5) return "$" + grouped(std::round(usd));
  if (std::abs(usd) >= 1) return fmt::format("${:.2f}", usd);
  return fmt::format("${:.3g}", usd);
}

}  // namespace mlsysim::detail

#pragma once
// Sampling of any law's inputs inside the ranges of its field table, in canonical base units.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace identity {

/// Deterministic draws, the same on every platform.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : bits_(seed) {}
  [[nodiscard]] double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  [[nodiscard]] double log_uniform(double low, double high) { return low * std::pow(high / low, uniform()); }

 private:
  std::mt19937_64 bits_;
};

/// One admissible value of a field, in its base unit: log-uniform over a wide part of its range, sometimes an
/// end of it.
inline double sample(const mlsysim::FieldInfo& field, Draw& draw) {
  const double pick = draw.uniform();
  double low = std::max(field.low, field.integral ? 1.0 : 1e-3);
  const double high = std::min(field.high, field.integral ? 4096.0 : 1e4);
  double display = draw.log_uniform(low, high);
  if (field.integral) display = std::round(display);
  if (pick < 0.06 && !field.open_low) display = field.low;
  if (pick > 0.97 && field.high < mlsysim::kUnbounded) display = field.high;
  const auto unit = mlsysim::UnitRegistry::standard().parse_unit(field.unit);
  return display * unit.mul / unit.div;
}

inline std::vector<double> sample(std::span<const mlsysim::FieldInfo> fields, Draw& draw) {
  std::vector<double> values;
  for (const auto& f : fields) values.push_back(sample(f, draw));
  return values;
}

}  // namespace identity

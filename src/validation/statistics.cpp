#include <mlsysim/validation/statistics.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {

double quantile(std::span<const double> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

ErrorStatistics statistics_of(std::span<const double> errors) {
  ErrorStatistics s;
  s.rows = errors.size();
  if (errors.empty()) return s;
  std::vector<double> sizes;
  sizes.reserve(errors.size());
  double sum = 0, signed_sum = 0;
  for (const double e : errors) {
    sizes.push_back(std::abs(e));
    sum += std::abs(e);
    signed_sum += e;
  }
  std::sort(sizes.begin(), sizes.end());
  s.mean = sum / static_cast<double>(s.rows);
  s.bias = signed_sum / static_cast<double>(s.rows);
  s.median = quantile(sizes, 0.5);
  s.p90 = quantile(sizes, 0.9);
  s.max = sizes.back();
  return s;
}

}  // namespace mlsysim

#include <mlsysim/tape/detail/quantile.hpp>
#include <mlsysim/validation/statistics.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {

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
  s.median = detail::quantile(sizes, 0.5);
  s.p90 = detail::quantile(sizes, 0.9);
  s.max = sizes.back();
  return s;
}

}  // namespace mlsysim

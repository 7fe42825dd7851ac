// Where an inversion looks first.

#include "slice.hpp"

#include <algorithm>

namespace mlsysim::detail {
namespace {

void add_logarithmic(std::vector<double>& xs, double low, double high, int n) {
  const double step = std::log(high / low) / (n - 1);
  for (int i = 0; i < n; ++i) xs.push_back(low * std::exp(step * i));
  xs.back() = high;
}

}  // namespace

std::vector<double> scan_points(double low, double high, int n) {
  std::vector<double> xs;
  if (low == high) return {low};
  const bool wide =
      (low <= 0 && high >= 0) || (low > 0 && high > 100 * low) || (high < 0 && low < 100 * high);
  for (int i = 0; i < n; ++i) xs.push_back(low + (high - low) * i / (n - 1));
  if (wide) {
    const double least = std::max(std::fabs(low), std::fabs(high)) * 1e-12;
    if (high > 0) add_logarithmic(xs, std::max(low, least), high, n);
    if (low < 0) {
      std::vector<double> mirrored;
      add_logarithmic(mirrored, std::max(-high, least), -low, n);
      for (const double x : mirrored) xs.push_back(-x);
    }
    if (low <= 0 && high >= 0) xs.push_back(0.0);
  }
  for (double& x : xs) x = std::clamp(x, low, high);
  xs.push_back(low);
  xs.push_back(high);
  std::sort(xs.begin(), xs.end());
  xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
  return xs;
}

void note_reach(Inversion& answer, const std::vector<double>& values) {
  answer.reachable_low = INFINITY;
  answer.reachable_high = -INFINITY;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    answer.reachable_low = std::min(answer.reachable_low, v);
    answer.reachable_high = std::max(answer.reachable_high, v);
  }
  if (!(answer.reachable_low <= answer.reachable_high)) answer.outcome = InverseOutcome::undefined;
}

}  // namespace mlsysim::detail

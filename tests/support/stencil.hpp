#pragma once
// Derivatives by differences of sixth order, with what they are worth: for comparison with exact ones.

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace test {

struct SixthOrder {
  double slope = 0;
  /// How far two step sizes lie apart; infinite where a kink, a step or the end of a range lies within every
  /// stencil.
  double error = std::numeric_limits<double>::infinity();
};

/// Of every result of `f` at `x`: `f(x)` gives a vector. Step sizes are tried from coarse to fine, and of two
/// that follow each other the best agreeing pair counts. It looks at `f` alone, so that it cannot hide a
/// wrong derivative.
template <class F> [[nodiscard]] std::vector<SixthOrder> sixth_order_slopes(F&& f, double x) {
  const auto at_step = [&](double h) {
    std::vector<double> out;
    static constexpr double weights[] = {45.0, -9.0, 1.0};
    for (int k = 1; k <= 3; ++k) {
      const double above = x + k * h, below = x - k * h;
      const auto up = f(above), down = f(below);
      out.resize(up.size());
      // The step that was taken, not the one that was asked for.
      const double taken = (above - below) / (2.0 * k);
      for (std::size_t r = 0; r < up.size(); ++r)
        out[r] += weights[k - 1] * (up[r] - down[r]) / (60.0 * taken);
    }
    return out;
  };
  std::vector<SixthOrder> found;
  std::vector<double> before;
  for (const double step : {8e-3, 4e-3, 1e-3, 2.5e-4}) {
    auto now = at_step(step * std::fabs(x));
    found.resize(now.size());
    for (std::size_t r = 0; r < now.size() && !before.empty(); ++r)
      if (const double apart = std::fabs(now[r] - before[r]); apart < found[r].error)
        found[r] = {before[r], apart};
    before = std::move(now);
  }
  return found;
}

}  // namespace test

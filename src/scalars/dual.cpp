#include <mlsysim/scalars/dual.hpp>

#include <cmath>

namespace mlsysim::detail {

StepProbe*& step_probe() {
  static thread_local StepProbe* probe = nullptr;
  return probe;
}

void note_step(StepProbe& probe, Rounding rounding, double x, const double* partial, int seeds) {
  const double rounded = rounding == Rounding::up ? std::ceil(x) : std::floor(x);
  const double above = rounding == Rounding::up ? rounded - x : rounded + 1.0 - x;
  const double below = rounding == Rounding::up ? x - (rounded - 1.0) : x - rounded;
  for (int i = 0; i < seeds; ++i) {
    if (partial[i] == 0.0) continue;
    const double speed = std::fabs(partial[i]);
    const double up = (partial[i] > 0 ? above : below) / speed;
    const double down = (partial[i] > 0 ? below : above) / speed;
    if (up < probe.up[i]) probe.up[i] = up;
    if (down < probe.down[i]) probe.down[i] = down;
  }
  // Weighted by position, so that one step up and another down do not cancel.
  probe.marks = probe.marks * 1.0009765625 + rounded;
}

}  // namespace mlsysim::detail

#include "explore/search/box_worker.hpp"

namespace mlsysim::detail {
namespace {

// Axes of so few rows are divided into rows.
constexpr std::uint32_t kFewRows = 4, kFewCoupled = 32;
constexpr std::size_t kKernels = 32;  // subjects whose block buffers are at hand at once

/// The box holds nothing that is looked for.
bool gone(const Box& b, const Incumbent& best) { return b.bound == HUGE_VAL || best.beats(b); }

/// The parts of a box along an axis: its halves, or its rows where there are few. Single rows have the
/// tightest bounds, and ranges of coupled rows hardly any.
std::vector<Box> divided(const Grid& grid, const Box& box, std::size_t axis) {
  const std::uint32_t rows = box.high[axis] - box.low[axis];
  const std::uint32_t count = rows <= (grid.coupled[axis] ? kFewCoupled : kFewRows) ? rows : 2;
  std::vector<Box> parts(count, box);
  for (std::uint32_t k = 0; k < count; ++k) {
    parts[k].low[axis] = box.low[axis] + rows * k / count;
    parts[k].high[axis] = box.low[axis] + rows * (k + 1) / count;
    parts[k].first = grid.first_index(parts[k]);
  }
  return parts;
}

/// Axes of several rows, as bits; where some of them couple inputs, only those.
std::uint32_t open_axes(const Grid& grid, const Box& box) {
  std::uint32_t open = 0, coupled = 0;
  for (std::size_t a = 0; a < grid.axes; ++a) {
    if (box.high[a] - box.low[a] < 2) continue;
    open |= 1u << a;
    if (grid.coupled[a]) coupled |= 1u << a;
  }
  return coupled != 0 ? coupled : open;
}
/// The axis whose splits gained most; among equals the one with most rows. kMostAxes if there are none.
std::size_t most_promising(const Grid& grid, const Box& box, std::uint32_t open) {
  std::size_t best = kMostAxes;
  const auto rows = [&](std::size_t a) { return box.high[a] - box.low[a]; };
  for (std::size_t a = 0; a < grid.axes; ++a) {
    if ((open >> a & 1u) == 0) continue;
    if (best == kMostAxes || box.gain[a] > box.gain[best] ||
        (box.gain[a] == box.gain[best] && rows(a) > rows(best)))
      best = a;
  }
  return best;
}
double gain(double before, double after) {
  if (!(after > before)) return 0;
  return before > -HUGE_VAL ? after - before : HUGE_VAL;
}

}  // namespace

BoxWorker::BoxWorker(const Grid& grid, const std::vector<Bound>& subjects, const Question& question,
                     std::size_t constraints)
    : reduction(question, constraints),
      grid_(grid),
      subjects_(subjects),
      question_(question),
      ranges_(subjects.size()),
      kernels_(std::min<std::uint64_t>(subjects.size(), kKernels)) {}

Box BoxWorker::root(std::uint64_t outer) {
  Box root = grid_.whole(outer);
  bound(root, {});
  return root;
}

std::vector<Box> BoxWorker::pieces(const Box& box) {
  auto parts = divided(grid_, box, most_promising(grid_, box, open_axes(grid_, box)));
  for (Box& part : parts) bound(part, {});
  std::erase_if(parts, [](const Box& part) { return part.bound == HUGE_VAL; });
  return parts;
}

std::vector<Box> BoxWorker::work_on(Box box, const Incumbent& best) {
  if (!grid_.is_leaf(box)) return split(box, best);
  evaluate(box);
  return {};
}

/// Sets the bound of a box; infinite where no point of it meets the constraints.
void BoxWorker::bound(Box& box, const Incumbent& best) {
  const Bound& s = subjects_[box.outer];
  box_.resize(s.columns.size());
  for (std::size_t k = 0; k < s.columns.size(); ++k) {
    const auto& c = s.columns[k];
    const std::size_t first = box.low[s.axes[k]], last = box.high[s.axes[k]];
    if (s.ascending[k]) {
      box_[k] = Interval(c.values[first], c.values[last - 1]);
      continue;
    }
    const auto [low, high] = c.values.extent(first, last);
    box_[k] = Interval(low, high);
  }
  const Compiled& q = *s.compiled;
  auto& held = ranges_[box.outer];
  if (!held) held = std::make_unique<Ranges>(q.tape);
  Ranges& ranges = *held;
  ++boxes;
  box.bound = HUGE_VAL;
  ranges.run(box_);
  for (std::size_t c = 0; c < q.constraints.size(); ++c)
    if (!q.constraints[c].possible(ranges.result(q.left_at(c)), ranges.result(q.right_at(c)))) return;
  const std::size_t objective = q.objective_at(0);
  const bool least = q.signs[0] > 0;
  const auto number = [](double low) { return std::isnan(low) ? -HUGE_VAL : low; };
  box.bound = number(least ? ranges.result(objective).low : -ranges.result(objective).high);
  // The ends of monotone inputs cost four times as much: for boxes that the first bound does not drop.
  if (!gone(box, best))
    box.bound = number(least ? ranges.tight_low(objective, box_) : -ranges.tight_high(objective, box_));
}

/// Divides a box where that raises the bound of the loosest part most, and among equals of the tightest: of
/// axes along which the objective goes one way all halves at the good end keep the bound, and dividing a fine
/// one in vain would multiply the boxes of all others.
/// Axes are tried in order of what they brought when they were last tried, until none promises more; one of
/// which half falls away ends it. An axis that couples inputs comes first, because a box of its rows is
/// bounded by all combinations of what they hold.
std::vector<Box> BoxWorker::split(Box& box, const Incumbent& best) {
  std::uint32_t open = open_axes(grid_, box);
  std::vector<Box> chosen;
  std::pair<double, double> most{-1, -1};
  for (;;) {
    const std::size_t a = most_promising(grid_, box, open);
    if (a == kMostAxes || (most.first >= 0 && box.gain[a] <= most)) break;
    open &= ~(1u << a);
    auto parts = divided(grid_, box, a);
    double loosest = HUGE_VAL, tightest = -HUGE_VAL;
    std::size_t fallen = 0;
    for (Box& part : parts) {
      bound(part, best);
      loosest = std::min(loosest, part.bound);
      tightest = std::max(tightest, part.bound);
      fallen += gone(part, best) ? 1 : 0;
    }
    box.gain[a] = {gain(box.bound, loosest), gain(box.bound, tightest)};
    const bool enough = 2 * fallen >= parts.size();
    if (enough || box.gain[a] > most) {
      most = box.gain[a];
      chosen.swap(parts);
    }
    if (enough) break;
  }
  for (Box& part : chosen) part.gain = box.gain;
  std::erase_if(chosen, [&](const Box& part) { return gone(part, best); });
  return chosen;
}

PointKernel& BoxWorker::kernel_of(std::uint64_t outer) {
  Kernel& kernel = kernels_[outer % kernels_.size()];
  if (!kernel.points || kernel.outer != outer) {
    if (!kernel.points) kernel.points.emplace(grid_.space, question_);
    kernel.points->use(subjects_[outer].subject, subjects_[outer].compiled);
    kernel.outer = outer;
  }
  return *kernel.points;
}

void BoxWorker::evaluate_row(const Box& box, PointKernel& kernel) {
  const std::uint64_t first = grid_.first_index(box), at = first - box.outer * grid_.space.inner(),
                      points = grid_.points_in(box);
  for (std::uint64_t done = 0; done < points; done += kernel.points()) {
    kernel.run(at + done,
               static_cast<std::size_t>(std::min<std::uint64_t>(PointKernel::kBlock, points - done)));
    reduction.add(kernel, first + done);
  }
}

void BoxWorker::evaluate(const Box& box) {
  PointKernel& kernel = kernel_of(box.outer);
  if (grid_.is_row(box)) return evaluate_row(box, kernel);
  kernel.run(std::span(box.low).first(grid_.axes), std::span(box.high).first(grid_.axes),
             subjects_[box.outer].axes);
  indices_.clear();
  std::array<std::uint32_t, kMostAxes> row = box.low;
  for (std::uint64_t left = grid_.points_in(box); left > 0; --left) {
    std::uint64_t at = box.outer * grid_.space.inner();
    for (std::size_t a = 0; a < grid_.axes; ++a) at += row[a] * grid_.strides[a];
    indices_.push_back(at);
    for (std::size_t a = grid_.axes; a-- > 0;) {
      if (++row[a] < box.high[a]) break;
      row[a] = box.low[a];
    }
  }
  reduction.add(kernel, indices_);
}

}  // namespace mlsysim::detail

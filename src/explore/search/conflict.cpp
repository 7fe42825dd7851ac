// Why nothing is feasible: which constraints exclude each other, and what is nearest to all of them.

#include "explore/search/block_kernels.hpp"
#include "explore/search/search.hpp"

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace mlsysim::detail {
namespace {

/// Completes `chosen` to a set of at most `size` constraints that meets every mask: the first one in order.
bool complete(const std::vector<MissWord>& masks, MissWord chosen, int size, MissWord& out) {
  const auto open = std::find_if(masks.begin(), masks.end(), [&](MissWord m) { return (m & chosen) == 0; });
  if (open == masks.end()) {
    out = chosen;
    return true;
  }
  if (size == 0) return false;
  for (MissWord left = *open; left != 0; left &= left - 1)
    if (complete(masks, chosen | (left & (~left + 1)), size - 1, out)) return true;
  return false;
}

/// Each mask holds the constraints that some point misses. Constraints that share one with every mask are met
/// together by no point; the smallest such set is the conflict.
MissWord smallest_conflict(const std::set<MissWord>& all) {
  // A point that misses a superset of constraints adds nothing to one that misses the subset.
  std::vector<MissWord> masks;
  for (const MissWord m : all)
    if (std::none_of(all.begin(), all.end(),
                     [m](MissWord other) { return other != m && (other & m) == other; }))
      masks.push_back(m);
  MissWord out = 0;
  for (int size = 1; size <= 63; ++size)
    if (complete(masks, 0, size, out)) break;
  return out;
}

/// The point that misses the fewest constraints, and of these by least.
struct Nearest {
  int missed = 64;
  double excess = HUGE_VAL;
  std::uint64_t index = 0;
  std::vector<std::pair<std::size_t, double>> lefts;  ///< constraint, value of its left side
};

}  // namespace

Conflict conflict_of(const Space& space, const Question& question) {
  PointKernel kernel(space, question);
  std::set<MissWord> masks;
  Nearest nearest;
  for (std::uint64_t outer = 0; outer < space.outer(); ++outer) {
    if (!kernel.bind(outer).empty()) continue;
    for (std::uint64_t at = 0; at < space.inner(); at += PointKernel::kBlock) {
      const auto n =
          static_cast<std::size_t>(std::min<std::uint64_t>(PointKernel::kBlock, space.inner() - at));
      kernel.run(at, n);
      const MissWord* const misses = kernel.misses();
      for (std::size_t p = 0; p < n; ++p) {
        const MissWord mask = misses[p] & ~kNotFinite;
        if (mask == 0) continue;
        masks.insert(mask);
        if ((misses[p] & kNotFinite) != 0 || std::popcount(mask) > nearest.missed) continue;
        Nearest here{
            .missed = std::popcount(mask), .excess = 0, .index = outer * space.inner() + at + p, .lefts = {}};
        for (MissWord left = mask; left != 0; left &= left - 1) {
          const auto k = static_cast<std::size_t>(std::countr_zero(left));
          const double part = kernel.relative_excess(k, p);
          here.excess = std::max(here.excess, std::isfinite(part) ? part : HUGE_VAL);
          here.lefts.emplace_back(k, kernel.left_side(k)[p]);
        }
        if (here.missed < nearest.missed || here.excess < nearest.excess) nearest = std::move(here);
      }
    }
  }
  Conflict out;
  if (masks.empty()) return out;
  const Compiled compiled(question, space.sample().entry);
  for (MissWord left = smallest_conflict(masks); left != 0; left &= left - 1)
    out.constraints.push_back(compiled.constraints[static_cast<std::size_t>(std::countr_zero(left))].text());
  if (nearest.missed > 63) return out;
  out.nearest = found_at(space, question, nearest.index);
  for (const auto& [k, value] : nearest.lefts) {
    const auto& c = compiled.constraints[k];
    out.relaxations.push_back(fmt::format("{} at {} instead of {}", c.left().text(),
                                          shown(value, c.left().exponents(), c.left().unit()),
                                          c.right().text()));
  }
  return out;
}

}  // namespace mlsysim::detail

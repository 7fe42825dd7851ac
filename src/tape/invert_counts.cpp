// Inversions for a count: no count is missed, or the answer says that one may have been.

#include "slice.hpp"

#include <mlsysim/units/detail/halving.hpp>

#include <algorithm>
#include <map>

namespace mlsysim::detail {
namespace {

constexpr std::size_t kFirst = 4096;  // counts of a law that are tried one by one
constexpr std::size_t kMost = 16384;  // and those of cells in which nothing is proven, together
constexpr int kProofs = 128;          // cells for which a proof is tried

class CountSearch {
 public:
  CountSearch(Slice& f, Counts counts) : f_(f), counts_(std::move(counts)) {}

  /// Looks at counts until nothing is missed between two that are known, or its limits are reached. @return
  /// whether it is sure
  bool look(int scan) {
    const std::size_t n = counts_.size,
                      first = std::min(n, f_.is_law() ? kFirst : static_cast<std::size_t>(scan));
    if (n == first || f_.is_law()) {
      look_at_all(0, first);
      bool sure = true;
      for (std::size_t i = first - 1, next; i + 1 < n; i = next) {
        next = std::min(n - 1, 2 * i + 1);
        (void)at(next);
        sure = settle(i, next) && sure;
      }
      return sure;
    }
    for (const double x : scan_points(0, static_cast<double>(n - 1), scan))
      (void)at(static_cast<std::size_t>(std::round(x)));
    return false;
  }

  /// Runs of counts that meet the target.
  void runs(Inversion& answer) {
    const auto met = [&](std::size_t i) { return f_.meets(at(i)); };
    const auto known = indices();
    for (std::size_t k = 0; k < known.size(); ++k) {
      if (!met(known[k])) continue;
      std::size_t last = k;
      while (last + 1 < known.size() && met(known[last + 1])) ++last;
      const std::size_t low = k > 0 ? last_whole(known[k], known[k - 1], met) : known[k],
                        high = last + 1 < known.size() ? last_whole(known[last], known[last + 1], met)
                                                       : known[last];
      answer.solutions.push_back(between(low, high));
      k = last;
    }
  }

  /// Neighboring counts between which the result passes the target, with or without meeting it.
  void passes(Inversion& answer) {
    const auto known = indices();
    for (std::size_t k = 0; k + 1 < known.size(); ++k) {
      const double here = at(known[k]), there = at(known[k + 1]);
      if (!std::isfinite(here) || !std::isfinite(there)) continue;
      const bool below = here < f_.target();
      if (below == (there < f_.target())) continue;
      const std::size_t n =
          last_whole(known[k], known[k + 1], [&](std::size_t i) { return (at(i) < f_.target()) == below; });
      if (f_.at_target(at(n)) || f_.at_target(at(n + 1))) {
        const std::size_t i = f_.at_target(at(n)) ? n : n + 1;
        answer.solutions.push_back(between(i, i));
        continue;
      }
      Solution s{.low = counts_[n],
                 .high = counts_[n + 1],
                 .value = at(n),
                 .residual = f_.residual(at(n)),
                 .jump = true};
      s.above = s.high;
      s.neighbour_high = at(n + 1);
      answer.solutions.push_back(s);
    }
  }

  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> out;
    for (const auto& [index, value] : known_) out.push_back(value);
    return out;
  }

 private:
  double at(std::size_t i) {
    const auto found = known_.lower_bound(i);
    if (found != known_.end() && found->first == i) return found->second;
    return known_.emplace_hint(found, i, f_(counts_[i]))->second;
  }

  void look_at_all(std::size_t from, std::size_t to) {
    std::vector<double> xs;
    for (std::size_t i = from; i < to; ++i) xs.push_back(counts_[i]);
    const auto found = f_(xs);
    auto hint = known_.lower_bound(from);
    for (std::size_t i = from; i < to; ++i)
      hint = std::next(known_.insert_or_assign(hint, i, found[i - from]));
    tried_ += to - from;
  }

  /// Whether the outcome changes at most once inside the cell, and only if it differs at its ends.
  bool settle(std::size_t a, std::size_t b) {
    if (b - a <= 1) return true;
    if (proofs_++ < kProofs) {
      const Interval r = f_.range(counts_[a], counts_[b]);
      if (f_.all_meet(r) || f_.none_meets(r) || f_.monotone(counts_[a], counts_[b])) return true;
    }
    if (tried_ + (b - a - 1) <= kFirst + kMost) {
      look_at_all(a + 1, b);
      return true;
    }
    if (proofs_ >= kProofs) return false;
    const std::size_t middle = a + (b - a) / 2;
    (void)at(middle);
    const bool left = settle(a, middle), right = settle(middle, b);
    return left && right;
  }

  Solution between(std::size_t low, std::size_t high) {
    Solution s{
        .low = counts_[low], .high = counts_[high], .value = at(low), .residual = f_.residual(at(low))};
    if (low > 0) {
      s.below = counts_[low - 1];
      s.neighbour_low = at(low - 1);
    }
    if (high + 1 < counts_.size) {
      s.above = counts_[high + 1];
      s.neighbour_high = at(high + 1);
    }
    return s;
  }

  [[nodiscard]] std::vector<std::size_t> indices() const {
    std::vector<std::size_t> out;
    for (const auto& [index, value] : known_) out.push_back(index);
    return out;
  }

  Slice& f_;
  Counts counts_;
  std::map<std::size_t, double> known_;
  std::size_t tried_ = 0;
  int proofs_ = 0;
};

}  // namespace

void solve_counts(Slice& f, double low, double high, int scan, Inversion& answer) {
  auto counts = f.counts(low, high);
  if (counts.size == 0) {
    answer.outcome = InverseOutcome::undefined;
    return;
  }
  CountSearch search(f, std::move(counts));
  answer.exhaustive = search.look(scan);
  note_reach(answer, search.values());
  if (answer.outcome == InverseOutcome::undefined) return;
  search.runs(answer);
  if (answer.solutions.empty() && f.relation() == Relation::equals) search.passes(answer);
}

}  // namespace mlsysim::detail

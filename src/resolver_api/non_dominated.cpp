#include <mlsysim/resolver_api/non_dominated.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace mlsysim {
namespace {

constexpr std::size_t kLeastWaiting = 512, kFirstAsked = 16;
constexpr std::size_t kFew = 32, kFewPairs = kFew * kFew;  // points and pairs that are compared one by one

/// Points in lexicographic order. One is beaten exactly by those before it that are no larger in the
/// objectives after the first.
class Sieve {
 public:
  Sieve(std::span<const double> values, std::span<const std::uint64_t> indices, std::size_t objectives)
      : values_(values.data()), d_(objectives), order_(indices.size()), beaten_(indices.size(), false) {
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const double *const x = at(a), *const y = at(b);
      for (std::size_t k = 0; k < d_; ++k)
        if (x[k] != y[k]) return x[k] < y[k];
      return indices[a] < indices[b];
    });
  }

  std::vector<std::uint32_t> run() && {
    if (d_ <= 2)
      last_objective();
    else if (d_ == 3)
      staircase();
    else
      divide(order_);
    std::erase_if(order_, [&](std::uint32_t i) { return beaten_[i]; });
    return std::move(order_);
  }

 private:
  using Points = std::vector<std::uint32_t>;
  [[nodiscard]] const double* at(std::uint32_t i) const { return values_ + i * d_; }

  void last_objective() {
    bool any = false;
    double least = HUGE_VAL;
    for (const auto i : order_) {
      const double y = at(i)[d_ - 1];
      if (any && (d_ == 1 || least <= y))
        beaten_[i] = true;
      else
        least = y;
      any = true;
    }
  }

  /// Keeps the front of the second and third objective of the points before: the third falls as the second
  /// rises.
  void staircase() {
    std::map<double, double> steps;
    for (const auto i : order_) {
      const double y = at(i)[1], z = at(i)[2];
      auto after = steps.upper_bound(y);
      if (after != steps.begin() && std::prev(after)->second <= z) {
        beaten_[i] = true;
        continue;
      }
      while (after != steps.end() && after->second >= z) after = steps.erase(after);
      steps.insert_or_assign(y, z);
    }
  }

  void divide(std::span<const std::uint32_t> points) {
    if (points.size() <= kFew) {
      for (std::size_t j = 1; j < points.size(); ++j)
        beaten_[points[j]] = beaten_[points[j]] || undercut(points.first(j), points[j], 1);
      return;
    }
    const auto first = points.first(points.size() / 2), second = points.subspan(points.size() / 2);
    divide(first);
    divide(second);
    strike({first.begin(), first.end()}, {second.begin(), second.end()}, 1);
  }

  /// Marks those of `points` that one of `by` equals or undercuts in every objective from `k` on.
  void strike(Points by, Points points, std::size_t k) {
    const auto gone = [&](std::uint32_t i) { return beaten_[i]; };
    std::erase_if(by, gone);  // dominance is transitive: their dominators are enough
    std::erase_if(points, gone);
    if (by.empty() || points.empty()) return;
    if (by.size() * points.size() <= kFewPairs) return pairs(by, points, k);
    if (k + 2 == d_) return last_two(std::move(by), std::move(points));
    const auto less = [&](std::uint32_t a, std::uint32_t b) { return at(a)[k] < at(b)[k]; };
    const auto [low, high] = std::minmax_element(by.begin(), by.end(), less);
    const double least = at(*low)[k], most = at(*high)[k];
    const auto split = [&](Points& from, double x) {  // what is not above x stays
      const auto middle =
          std::partition(from.begin(), from.end(), [&](std::uint32_t i) { return at(i)[k] <= x; });
      Points above(middle, from.end());
      from.erase(middle, from.end());
      return above;
    };
    if (least == most) {
      std::erase_if(points, [&](std::uint32_t i) { return at(i)[k] < least; });
      return strike(std::move(by), std::move(points), k + 1);
    }
    // A value that leaves some on both sides: the median, or the largest below the most.
    const auto middle = by.begin() + static_cast<std::ptrdiff_t>(by.size() / 2);
    std::nth_element(by.begin(), middle, by.end(), less);
    double x = at(*middle)[k];
    if (x == most) {
      x = least;
      for (const auto i : by)
        if (at(i)[k] < most) x = std::max(x, at(i)[k]);
    }
    Points upper = split(by, x), above = split(points, x);  // now: by <= x < upper, points <= x < above
    strike(by, above, k + 1);
    strike(std::move(upper), std::move(above), k);
    strike(std::move(by), std::move(points), k);
  }

  void pairs(const Points& by, const Points& points, std::size_t k) {
    for (const auto i : points) beaten_[i] = undercut(by, i, k);
  }
  /// Whether one of them is no larger than point `i` in every objective from `k` on.
  [[nodiscard]] bool undercut(std::span<const std::uint32_t> by, std::uint32_t i, std::size_t k) const {
    const double* const x = at(i);
    return std::any_of(by.begin(), by.end(), [&](std::uint32_t j) {
      const double* const y = at(j);
      for (std::size_t c = k; c < d_; ++c)
        if (y[c] > x[c]) return false;
      return true;
    });
  }

  void last_two(Points by, Points points) {
    const auto less = [&](std::uint32_t a, std::uint32_t b) { return at(a)[d_ - 2] < at(b)[d_ - 2]; };
    std::sort(by.begin(), by.end(), less);
    std::sort(points.begin(), points.end(), less);
    double least = HUGE_VAL;
    auto next = by.begin();
    for (const auto i : points) {
      for (; next != by.end() && at(*next)[d_ - 2] <= at(i)[d_ - 2]; ++next)
        least = std::min(least, at(*next)[d_ - 1]);
      if (next != by.begin() && least <= at(i)[d_ - 1]) beaten_[i] = true;
    }
  }

  const double* values_;
  std::size_t d_;
  std::vector<std::uint32_t> order_;
  std::vector<bool> beaten_;
};

}  // namespace

std::vector<std::uint32_t> non_dominated(std::span<const double> values,
                                         std::span<const std::uint64_t> indices, std::size_t objectives) {
  return Sieve(values, indices, objectives).run();
}

bool NonDominated::beaten(std::span<const double> x, std::uint64_t index) const {
  const auto beats = [&](std::size_t i) {
    const double* const y = values_.data() + i * objectives_;
    bool less = false;
    for (std::size_t k = 0; k < objectives_; ++k) {
      if (y[k] > x[k]) return false;
      less = less || y[k] < x[k];
    }
    return less || indices_[i] <= index;
  };
  if (objectives_ > 2) return std::any_of(first_asked_.begin(), first_asked_.end(), beats);
  // Among the points that are no larger in the first objective, the last has the smallest second one.
  std::size_t low = 0, high = reduced_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (values_[middle * objectives_] <= x[0])
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && beats(low - 1);
}

bool NonDominated::add(std::span<const double> values, std::uint64_t index) {
  objectives_ = values.size();
  if (beaten(values, index)) return false;
  values_.insert(values_.end(), values.begin(), values.end());
  indices_.push_back(index);
  if (indices_.size() - reduced_ >= std::max(kLeastWaiting, reduced_)) reduce();
  return true;
}

void NonDominated::reduce() {
  const auto kept = non_dominated(values_, indices_, objectives_);
  std::vector<double> values;
  std::vector<std::uint64_t> indices;
  values.reserve(kept.size() * objectives_);
  indices.reserve(kept.size());
  std::vector<double> most(objectives_, -HUGE_VAL);
  for (const auto i : kept) {
    indices.push_back(indices_[i]);
    for (std::size_t k = 0; k < objectives_; ++k) {
      values.push_back(values_[i * objectives_ + k]);
      most[k] = std::max(most[k], values.back());
    }
  }
  values_ = std::move(values);
  indices_ = std::move(indices);
  reduced_ = indices_.size();
  if (objectives_ <= 2) return;
  // The larger the box from a point to the worst corner of the front, the more it is likely to beat.
  std::vector<double> box(reduced_, 1.0);
  for (std::size_t i = 0; i < reduced_; ++i) {
    for (std::size_t k = 0; k < objectives_; ++k) box[i] *= most[k] - values_[i * objectives_ + k];
    if (!std::isfinite(box[i])) box[i] = 0;  // an infinity among them: no guide
  }
  first_asked_.resize(reduced_);
  std::iota(first_asked_.begin(), first_asked_.end(), 0u);
  const auto some = first_asked_.begin() + static_cast<std::ptrdiff_t>(std::min(kFirstAsked, reduced_));
  std::partial_sort(first_asked_.begin(), some, first_asked_.end(),
                    [&](auto a, auto b) { return box[a] != box[b] ? box[a] > box[b] : a < b; });
  first_asked_.erase(some, first_asked_.end());
}

std::vector<NonDominated::Entry> NonDominated::entries() const {
  std::vector<Entry> out;
  for (const auto i : non_dominated(values_, indices_, objectives_)) {
    const double* const x = values_.data() + i * objectives_;
    out.push_back({{x, x + objectives_}, indices_[i]});
  }
  return out;
}

}  // namespace mlsysim

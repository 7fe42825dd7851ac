#include <mlsysim/resolver_api/points.hpp>

#include <algorithm>

namespace mlsysim {

void PointCounts::skip(std::string_view reason, double points) {
  skipped += points;
  auto at = std::lower_bound(skip_reasons.begin(), skip_reasons.end(), reason,
                             [](const Reason& r, std::string_view name) { return r.reason < name; });
  if (at == skip_reasons.end() || at->reason != reason)
    at = skip_reasons.insert(at, {std::string(reason), 0, skip_reasons.size()});
  at->points += points;
}

void PointCounts::merge(const PointCounts& other) {
  feasible += other.feasible;
  infeasible += other.infeasible;
  not_finite += other.not_finite;
  for (const auto& r : other.skip_reasons) skip(r.reason, r.points);
}

std::vector<PointCounts::Reason> PointCounts::reasons_in_order() const {
  auto out = skip_reasons;
  std::sort(out.begin(), out.end(), [](const Reason& a, const Reason& b) { return a.first < b.first; });
  return out;
}

bool TopK::add(double value, std::uint64_t index) {
  const Entry e{value, index};
  if (entries_.size() == k_ && !(e < entries_.back())) return false;
  entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), e), e);
  if (entries_.size() > k_) entries_.pop_back();
  return true;
}

bool NearMiss::take(double by, double value, std::uint64_t at) {
  if (!(by < excess || (by == excess && by < HUGE_VAL && at < index))) return false;
  excess = by;
  left = value;
  index = at;
  return true;
}

void NearMiss::merge(const NearMiss& other) {
  violated += other.violated;
  alone += other.alone;
  take(other.excess, other.left, other.index);
}

}  // namespace mlsysim

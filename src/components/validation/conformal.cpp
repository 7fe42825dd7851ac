#include <mlsysim/validation/conformal.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kLevels[] = {0.5, 0.8, 0.95};
constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr double kMany = 5;  // folds that have percentiles of their own

/// The ends of a band, in standard deviations.
struct Ends {
  double low, high;
  [[nodiscard]] bool hold(double score) const { return score >= low && score <= high; }
};

/// Scores in order, without those of one fold.
class Scores {
 public:
  Scores(std::span<const LeftOutScore> scores, std::size_t folds, std::size_t without)
      : folds_(static_cast<double>(folds) - (without == kNone ? 0 : 1)) {
    std::vector<double> rows(folds, 0.0);
    for (const auto& m : scores) rows[m.fold] += 1;
    for (const auto& m : scores) {
      if (m.fold == without) continue;
      signed_.push_back({m.score, 1.0 / rows[m.fold]});
      sizes_.push_back({std::abs(m.score), 1.0 / rows[m.fold]});
    }
    for (auto* list : {&signed_, &sizes_})
      std::sort(list->begin(), list->end(),
                [](const Weighted& a, const Weighted& b) { return a.score < b.score; });
  }
  /// Percentiles of the scores; of few folds, which cannot tell to which side the next one lies nor how far,
  /// those of their sizes at the level of a fold more.
  [[nodiscard]] Ends band(double level) const {
    if (folds_ >= kMany) return {quantile(signed_, (1 - level) / 2), quantile(signed_, (1 + level) / 2)};
    const double size = quantile(sizes_, std::min(1.0, level * (folds_ + 1) / folds_));
    return {-size, size};
  }

 private:
  struct Weighted {
    double score, weight;
  };
  /// The least score up to which this share of the weight lies.
  [[nodiscard]] double quantile(const std::vector<Weighted>& sorted, double share) const {
    double until = 0;
    for (const auto& s : sorted)
      if ((until += s.weight) >= share * folds_ * (1 - 1e-12)) return s.score;
    return sorted.back().score;
  }
  double folds_;
  std::vector<Weighted> signed_, sizes_;
};

}  // namespace

std::vector<ConformalBand> conformal_bands(std::span<const LeftOutScore> scores, std::size_t folds) {
  const Scores all(scores, folds, kNone);
  std::vector<Scores> others;
  for (std::size_t fold = 0; fold < folds; ++fold) others.emplace_back(scores, folds, fold);
  std::vector<ConformalBand> out;
  for (const double level : kLevels) {
    std::vector<Ends> bands;
    for (const auto& o : others) bands.push_back(o.band(level));
    const auto inside =
        std::ranges::count_if(scores, [&](const LeftOutScore& m) { return bands[m.fold].hold(m.score); });
    const Ends whole = all.band(level);
    out.push_back({.level = level,
                   .low = whole.low,
                   .high = whole.high,
                   .coverage = static_cast<double>(inside) / static_cast<double>(scores.size())});
  }
  return out;
}

}  // namespace mlsysim

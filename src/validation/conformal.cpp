#include <mlsysim/validation/conformal.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr double kLevels[] = {0.5, 0.8, 0.95};
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Scores in order, without those of one fold.
class Scores {
 public:
  Scores(std::span<const LeftOutScore> scores, std::size_t folds, std::size_t without) {
    std::vector<double> rows(folds, 0.0);
    for (const auto& m : scores) rows[m.fold] += 1;
    for (const auto& m : scores)
      if (m.fold != without) sorted_.push_back({m.score, 1.0 / rows[m.fold]});
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Weighted& a, const Weighted& b) { return a.score < b.score; });
    for (auto& s : sorted_) s.until = total_ += s.weight;
  }
  /// The least score below which this share of the weight lies.
  [[nodiscard]] double quantile(double share) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), share * total_,
                                     [](const Weighted& s, double weight) { return s.until < weight; });
    return at == sorted_.end() ? sorted_.back().score : at->score;
  }

 private:
  struct Weighted {
    double score, weight, until = 0;
  };
  std::vector<Weighted> sorted_;
  double total_ = 0;
};

}  // namespace

std::vector<ConformalBand> conformal_bands(std::span<const LeftOutScore> scores, std::size_t folds) {
  const Scores all(scores, folds, kNone);
  std::vector<Scores> others;
  for (std::size_t fold = 0; fold < folds; ++fold) others.emplace_back(scores, folds, fold);
  std::vector<ConformalBand> out;
  for (const double level : kLevels) {
    const double below = (1 - level) / 2, above = (1 + level) / 2;
    double inside = 0;
    for (const auto& m : scores)
      inside += m.score >= others[m.fold].quantile(below) && m.score <= others[m.fold].quantile(above);
    out.push_back({.level = level,
                   .low = all.quantile(below),
                   .high = all.quantile(above),
                   .coverage = inside / static_cast<double>(scores.size())});
  }
  return out;
}

}  // namespace mlsysim

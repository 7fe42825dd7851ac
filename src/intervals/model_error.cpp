#include <mlsysim/intervals/model_error.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {
namespace {

constexpr double kLeastHalf = 0.005;  // of a logarithm: what repeats of one measurement differ by at least
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

bool same(const std::string& a, const std::string& b) { return !a.empty() && a == b; }

constexpr double share_of(std::size_t level) { return kIntervalLevels[level] / 100.0; }

std::string words_of(std::size_t distance, const ModelErrorBand& band) {
  if (distance == 0)
    return fmt::format("{} rows in {} group{} of its own device, engine and model", band.rows, band.groups,
                       band.groups == 1 ? "" : "s");
  return fmt::format("{} rows in {} group{}, {} step{} away, and farther ones", band.rows, band.groups,
                     band.groups == 1 ? "" : "s", distance, distance == 1 ? "" : "s");
}

}  // namespace

std::size_t error_distance(const ErrorSubject& a, const ErrorSubject& b) {
  const std::size_t device = same(a.device, b.device) ? 0 : same(a.generation, b.generation) ? 1 : 2;
  return device + (same(a.origin, b.origin) ? 0 : 1) + (same(a.family, b.family) ? 0 : 1);
}

std::size_t interval_level(int level) {
  const auto* at = std::find(kIntervalLevels.begin(), kIntervalLevels.end(), level);
  if (at == kIntervalLevels.end())
    throw InputError({.id = "mlsysim.intervals.003",
                      .message = "intervals have no such level",
                      .key = "interval",
                      .found = std::to_string(level),
                      .expected = "50, 80 or 95 percent"});
  return static_cast<std::size_t>(at - kIntervalLevels.begin());
}

ModelErrorBand ModelErrorBand::of_rate() const {
  ModelErrorBand out = *this;
  out.low = 1 / high;
  out.high = 1 / low;
  return out;
}

/// A group or a table that takes no part, and the least distance of groups that do.
struct ErrorBook::Left {
  std::size_t group = kNobody;
  std::string_view table{};
  std::size_t nothing_nearer_than = 0;

  [[nodiscard]] bool out(std::size_t g, const ResidualGroup& r) const {
    return g == group || (!table.empty() && r.table == table);
  }
};

struct ErrorBook::Mixture {
  struct Step {
    double value, until;  // and the weight of the residuals up to it, with half of what lies outside
  };
  struct Band {
    double centre, half;
    [[nodiscard]] double score(double residual) const { return std::abs(residual - centre) / half; }
  };
  std::vector<Step> steps;
  double outside = 1;                                           // weight that no group speaks for
  std::size_t distance = kFarthestGroup, groups = 0, rows = 0;  // the nearest

  /// The least residual up to which this share of the weight lies.
  [[nodiscard]] double quantile(double share) const {
    const auto at = std::ranges::lower_bound(steps, share - 1e-12, {}, &Step::until);
    return at != steps.end() ? at->value : steps.back().value;
  }
  [[nodiscard]] double weight_until(std::vector<Step>::const_iterator end) const {
    return end == steps.begin() ? outside / 2 : std::prev(end)->until;
  }
  [[nodiscard]] Band band(double level) const {
    double low = quantile((1 - level) / 2), high = quantile((1 + level) / 2);
    if (low > 0) {  // a prediction lies in its own interval
      low = 0;
      high = quantile(level + weight_until(std::ranges::lower_bound(steps, 0.0, {}, &Step::value)));
    } else if (high < 0) {
      high = 0;
      low = quantile(weight_until(std::ranges::upper_bound(steps, 0.0, {}, &Step::value)) - level);
    }
    return {(low + high) / 2, std::max(kLeastHalf, (high - low) / 2)};
  }
};

std::optional<ErrorBook::Mixture> ErrorBook::mixture(const ErrorSubject& subject, const Left& left) const {
  const auto measured = measured_.find(subject.metric);
  if (measured == measured_.end()) return std::nullopt;
  std::array<std::vector<std::size_t>, kFarthestGroup + 1> at;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].subject.metric != subject.metric || left.out(g, groups_[g])) continue;
    const auto d = error_distance(subject, groups_[g].subject);
    if (d >= left.nothing_nearer_than) at[d].push_back(g);
  }
  Mixture out;
  std::vector<double> weight(groups_.size());  // of one residual of the group
  for (std::size_t d = 0; d <= kFarthestGroup; ++d) {
    if (at[d].empty()) continue;
    out.outside /= static_cast<double>(at[d].size() + 1);
    for (const std::size_t g : at[d])
      weight[g] = out.outside / static_cast<double>(groups_[g].residuals.size());
    if (out.groups > 0) continue;
    out.distance = d;
    out.groups = at[d].size();
    for (const std::size_t g : at[d]) out.rows += groups_[g].rows;
  }
  if (out.groups == 0) return std::nullopt;
  double until = out.outside / 2;
  for (const auto& r : measured->second)
    if (weight[r.group] > 0) out.steps.push_back({r.value, until += weight[r.group]});
  return out;
}

ErrorBook::ErrorBook(std::vector<ResidualGroup> groups) : groups_(std::move(groups)) {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const double r : groups_[g].residuals) measured_[groups_[g].subject.metric].push_back({r, g});
  for (auto& [metric, residuals] : measured_) std::ranges::stable_sort(residuals, {}, &Residual::value);
  for (std::size_t d = 0; d <= kFarthestGroup; ++d)
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto of = mixture(groups_[g].subject, {.group = g, .nothing_nearer_than = d});
      if (!of || of->distance != d) continue;
      for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
        const auto band = of->band(share_of(l));
        for (const double r : groups_[g].residuals)
          scores_[d][l].push_back({g, band.score(r), 1.0 / static_cast<double>(groups_[g].residuals.size())});
      }
    }
  for (auto& levels : scores_)
    for (auto& list : levels) std::ranges::stable_sort(list, {}, &Score::score);
  for (std::size_t d = 0; d <= kFarthestGroup; ++d)
    for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) factors_[d][l] = factor(d, l, {});
}

double ErrorBook::needed(std::size_t distance, std::size_t level, const Left& left) const {
  const auto& list = scores_[distance][level];
  double groups = 0, until = 0;
  for (const auto& s : list)
    if (!left.out(s.group, groups_[s.group])) groups += s.weight;
  const double share = std::min(groups, share_of(level) * (groups + 1)) * (1 - 1e-12);
  double last = 0;
  for (const auto& s : list) {
    if (left.out(s.group, groups_[s.group])) continue;
    last = s.score;
    if ((until += s.weight) >= share) break;
  }
  return last;
}

double ErrorBook::factor(std::size_t distance, std::size_t level, const Left& left) const {
  double out = needed(distance, level, left);
  for (std::size_t d = 1; d < distance; ++d) out = std::max(out, needed(d, level, left));
  return out > 0 ? out : 1;
}

std::optional<ModelErrorBand> ErrorBook::band(const ErrorSubject& subject, int level) const {
  const auto l = interval_level(level);
  const auto of = mixture(subject, {});
  if (!of) return std::nullopt;
  const auto core = of->band(share_of(l));
  ModelErrorBand out{.level = level};
  out.widened = factors_[of->distance][l];
  out.low = std::exp(core.centre - out.widened * core.half);
  out.high = std::exp(core.centre + out.widened * core.half);
  out.distance = of->distance;
  out.groups = of->groups;
  out.rows = of->rows;
  out.basis = words_of(of->distance, out);
  return out;
}

std::vector<BandCoverage> ErrorBook::coverage() const {
  std::vector<BandCoverage> out;
  std::array<std::vector<double>, kIntervalLevels.size()> group_out;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& group = groups_[g];
    auto at = std::ranges::find(out, group.table, &BandCoverage::table);
    if (at == out.end()) at = out.insert(out.end(), BandCoverage{.table = group.table});
    const auto held = [&](const std::optional<Mixture>& of, const Left& left, std::size_t l) {
      if (!of) return 0.0;
      const auto band = of->band(share_of(l));
      const double reach = factor(of->distance, l, left);
      const auto inside =
          std::ranges::count_if(group.residuals, [&](double r) { return band.score(r) <= reach; });
      return static_cast<double>(inside) / static_cast<double>(group.residuals.size());
    };
    const Left own{.group = g}, all{.group = g, .table = group.table};
    const auto without_group = mixture(group.subject, own), without_table = mixture(group.subject, all);
    for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
      group_out[l].push_back(held(without_group, own, l));
      at->group_out[l] += group_out[l].back() * static_cast<double>(group.rows);
      at->table_out[l] += held(without_table, all, l) * static_cast<double>(group.rows);
    }
    at->rows += group.rows;
    ++at->groups;
  }
  for (auto& c : out)
    for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
      c.group_out[l] /= static_cast<double>(c.rows);
      c.table_out[l] /= static_cast<double>(c.rows);
    }
  for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) allow(out, group_out[l], l);
  return out;
}

/// A group of m rows of which a share is held: the variance of that share is p (1 - p) (c + (1 - c) / m)
/// where two of its rows agree with the correlation c, which is read from all groups at once. n rows in
/// groups are worth n / (1 + (k - 1) c) independent ones, with k the size of the group of a row, on average
/// over the rows.
void ErrorBook::allow(std::vector<BandCoverage>& tables, std::span<const double> held,
                      std::size_t level) const {
  const double p = share_of(level), variance = p * (1 - p);
  double together = 0, all = 0;
  std::map<std::string, double, std::less<>> squares;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto m = static_cast<double>(groups_[g].residuals.size());
    together += (held[g] - p) * (held[g] - p) - variance / m;
    all += variance * (1 - 1 / m);
    squares[groups_[g].table] += static_cast<double>(groups_[g].rows) * static_cast<double>(groups_[g].rows);
  }
  const double correlation = all > 0 ? std::clamp(together / all, 0.0, 1.0) : 0;
  for (auto& c : tables) {
    const auto rows = static_cast<double>(c.rows);
    const double worth = rows / (1 + (squares[c.table] / rows - 1) * correlation);
    c.allowed[level] = binomial_range(static_cast<std::size_t>(std::max(1.0, std::round(worth))), p);
  }
}

BandCoverage::Range binomial_range(std::size_t n, double p) {
  const auto count = static_cast<double>(n);
  double until = 0, log_chance = count * std::log1p(-p);
  BandCoverage::Range out{.low = 1, .high = 1};
  for (std::size_t k = 0; k <= n; ++k) {
    const auto share = static_cast<double>(k) / count;
    const double before = until;
    until += std::exp(log_chance);
    if (before <= 0.05 && until > 0.05) out.low = share;
    if (before < 0.95 && until >= 0.95) out.high = share;
    log_chance += std::log((count - static_cast<double>(k)) / (static_cast<double>(k) + 1) * p / (1 - p));
  }
  return out;
}

const ErrorBook& ErrorBook::standard() {
  static const ErrorBook book(read_residual_groups());
  return book;
}

}  // namespace mlsysim

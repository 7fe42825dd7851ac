#include <mlsysim/intervals/model_error.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {
namespace {

constexpr std::size_t kFewGroups = 3;  // whose band is read from them alone
constexpr double kLeastHalf = 0.005;   // of a logarithm: what repeats of one measurement differ by at least
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

bool same(const std::string& a, const std::string& b) { return !a.empty() && a == b; }

struct Weighted {
  double value, weight;
};

/// The least value up to which this share of the weight lies. @pre sorted, not empty
double weighted_quantile(const std::vector<Weighted>& sorted, double share) {
  double all = 0, until = 0;
  for (const auto& w : sorted) all += w.weight;
  for (const auto& w : sorted)
    if ((until += w.weight) >= share * all * (1 - 1e-12)) return w.value;
  return sorted.back().value;
}

std::string words_of(std::size_t distance, const ModelErrorBand& band) {
  constexpr std::array<std::string_view, kFarthestGroup + 1> kNear{
      "at its own device, engine and model", "at most 1 step away", "at most 2 steps away",
      "at most 3 steps away", "at most 4 steps away"};
  return fmt::format("{} rows in {} group{}, {}", band.rows, band.groups, band.groups == 1 ? "" : "s",
                     kNear[distance]);
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

struct ErrorBook::Core {
  double centre, half;
  std::size_t distance, groups, rows;

  [[nodiscard]] double score(double residual) const { return std::abs(residual - centre) / half; }
};

std::optional<ErrorBook::Core> ErrorBook::nearest(const ErrorSubject& subject, int level,
                                                  const Left& left) const {
  std::array<std::vector<std::size_t>, kFarthestGroup + 1> at;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].subject.question != subject.question || left.out(g, groups_[g])) continue;
    const auto d = error_distance(subject, groups_[g].subject);
    if (d >= left.nothing_nearer_than) at[d].push_back(g);
  }
  Core core{0, 0, 0, 0, 0};
  std::vector<Weighted> pool;
  for (std::size_t d = 0; d <= kFarthestGroup && core.groups < kFewGroups; ++d)
    for (const std::size_t g : at[d]) {
      core.distance = d;
      ++core.groups;
      core.rows += groups_[g].rows;
      for (const double r : groups_[g].residuals)
        pool.push_back({r, 1.0 / static_cast<double>(groups_[g].residuals.size())});
    }
  if (pool.empty()) return std::nullopt;
  std::sort(pool.begin(), pool.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  const double tail = (1 - level / 100.0) / 2;
  // A prediction lies in its own interval: zero belongs to the band.
  const double low = std::min(0.0, weighted_quantile(pool, tail)),
               high = std::max(0.0, weighted_quantile(pool, 1 - tail));
  core.centre = (low + high) / 2;
  core.half = std::max(kLeastHalf, (high - low) / 2);
  return core;
}

ErrorBook::ErrorBook(std::vector<ResidualGroup> groups) : groups_(std::move(groups)) {
  for (std::size_t d = 0; d <= kFarthestGroup; ++d)
    for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
      auto& list = scores_[d][l];
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const auto core =
            nearest(groups_[g].subject, kIntervalLevels[l], {.group = g, .nothing_nearer_than = d});
        if (!core || core->distance != d) continue;
        for (const double r : groups_[g].residuals)
          list.push_back({g, core->score(r), 1.0 / static_cast<double>(groups_[g].residuals.size())});
      }
      std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.score < b.score; });
    }
}

double ErrorBook::factor(std::size_t distance, std::size_t level, const Left& left) const {
  double out = 0;
  for (std::size_t d = 0; d <= distance; ++d) {
    std::vector<Weighted> list;
    for (const auto& s : scores_[d][level])
      if (!left.out(s.group, groups_[s.group])) list.push_back({s.score, s.weight});
    if (!list.empty()) out = std::max(out, weighted_quantile(list, kIntervalLevels[level] / 100.0));
  }
  return out > 0 ? out : 1;
}

std::optional<ModelErrorBand> ErrorBook::band(const ErrorSubject& subject, int level) const {
  const auto l = interval_level(level);
  const auto core = nearest(subject, level, {});
  if (!core) return std::nullopt;
  ModelErrorBand out{.level = level};
  out.widened = factor(core->distance, l, {});
  out.low = std::exp(core->centre - out.widened * core->half);
  out.high = std::exp(core->centre + out.widened * core->half);
  out.distance = core->distance;
  out.groups = core->groups;
  out.rows = core->rows;
  out.basis = words_of(core->distance, out);
  return out;
}

std::vector<BandCoverage> ErrorBook::coverage() const {
  std::vector<BandCoverage> out;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& group = groups_[g];
    auto at = std::find_if(out.begin(), out.end(), [&](const auto& c) { return c.table == group.table; });
    if (at == out.end()) at = out.insert(out.end(), BandCoverage{.table = group.table});
    const auto held = [&](const Left& left, std::size_t l) {
      const auto core = nearest(group.subject, kIntervalLevels[l], left);
      if (!core) return 0.0;
      const double reach = factor(core->distance, l, left);
      const auto inside =
          std::ranges::count_if(group.residuals, [&](double r) { return core->score(r) <= reach; });
      return static_cast<double>(inside) / static_cast<double>(group.residuals.size());
    };
    for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
      at->group_out[l] += held({.group = g}, l) * static_cast<double>(group.rows);
      at->table_out[l] += held({.group = g, .table = group.table}, l) * static_cast<double>(group.rows);
    }
    at->rows += group.rows;
    ++at->groups;
  }
  for (auto& c : out)
    for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
      c.group_out[l] /= static_cast<double>(c.rows);
      c.table_out[l] /= static_cast<double>(c.rows);
    }
  return out;
}

const ErrorBook& ErrorBook::standard() {
  static const ErrorBook book(read_residual_groups());
  return book;
}

}  // namespace mlsysim

#include <mlsysim/intervals/model_error.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {
namespace {

constexpr double kLeastHalf = 0.005;  // of a logarithm: what repeats of one measurement differ by at least
constexpr double kOtherKinds = 5;  // groups for which those of all other kinds of quantities count together
constexpr std::size_t kOtherLink = kAparts;  // the next bit: factors do not tell links apart
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
  const std::size_t software = same(a.origin, b.origin) ? 0 : same(a.software, b.software) ? 1 : 2;
  return device + software + (same(a.family, b.family) ? 0 : 1) + (a.link == b.link ? 0 : 1) +
         (a.measured == b.measured ? 0 : 1);
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

/// Groups that take no part: a group and its twin, those of a table, or all of the device, the software or
/// the kind of link of a subject.
struct ErrorBook::Left {
  std::size_t group = kNobody, twin = kNobody;
  std::string_view table{};
  const ErrorSubject* about = nullptr;
  std::size_t apart = kKnown;

  [[nodiscard]] bool out(std::size_t g, const ResidualGroup& r) const {
    return g == group || g == twin || (!table.empty() && r.table == table) ||
           (about != nullptr && (((apart & kOtherDevice) != 0 && r.subject.device == about->device) ||
                                 ((apart & kOtherSoftware) != 0 && r.subject.origin == about->origin) ||
                                 ((apart & kOtherLink) != 0 && r.subject.link == about->link)));
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
  std::size_t apart = kOtherDevice | kOtherSoftware;            // what none of the nearest shares

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

/// How many witnesses there are among groups at one distance: where all of them are of other devices, of
/// other software or have other links than the subject, no more than there are of these.
std::size_t ErrorBook::witnesses(const ErrorSubject& subject, std::span<const std::size_t> groups) const {
  std::size_t out = groups.size();
  std::vector<std::string_view> seen;  // few: groups of a device stand together
  for (const auto member : {&ErrorSubject::device, &ErrorSubject::origin, &ErrorSubject::link}) {
    seen.clear();
    bool own = false;
    for (const std::size_t g : groups) {
      const std::string_view other = groups_[g].subject.*member;
      if ((own = other == subject.*member)) break;
      if (!seen.empty() && seen.back() == other) continue;
      const auto at = std::ranges::find(seen, other);
      if (at == seen.end())
        seen.push_back(other);
      else
        std::swap(*at, seen.back());
      if (seen.size() >= out) break;
    }
    if (!own) out = std::min(out, seen.size());
  }
  return out;
}

ErrorBook::ByDistance ErrorBook::by_distance(const ErrorSubject& subject, const Left& left) const {
  ByDistance at;
  const auto of = of_metric_.find(subject.metric);
  if (of == of_metric_.end()) return at;
  for (const std::size_t g : of->second)
    if (!left.out(g, groups_[g]) && speaks(g, subject))
      at[error_distance(subject, groups_[g].subject)].push_back(g);
  return at;
}

std::optional<ErrorBook::Mixture> ErrorBook::mixture(const ErrorSubject& subject,
                                                     const ByDistance& at) const {
  Mixture out;
  std::vector<double> weight(groups_.size());  // of one residual of the group
  for (std::size_t d = 0; d <= kFarthestGroup; ++d) {
    if (at[d].empty()) continue;
    const double rest = out.outside / static_cast<double>(witnesses(subject, at[d]) + 1);
    const double each = (out.outside - rest) / static_cast<double>(at[d].size());
    out.outside = rest;
    for (const std::size_t g : at[d]) weight[g] = each / static_cast<double>(groups_[g].residuals.size());
    if (out.groups > 0) continue;
    out.distance = d;
    out.groups = at[d].size();
    for (const std::size_t g : at[d]) {
      out.rows += groups_[g].rows;
      if (same(groups_[g].subject.device, subject.device)) out.apart &= ~kOtherDevice;
      if (same(groups_[g].subject.origin, subject.origin)) out.apart &= ~kOtherSoftware;
    }
  }
  if (out.groups == 0) return std::nullopt;
  double until = out.outside / 2;
  for (const auto& r : measured_.find(subject.metric)->second)
    if (weight[r.group] > 0) out.steps.push_back({r.value, until += weight[r.group]});
  return out;
}

/// Predictions with class parameters speak for devices that have no parameters of their own. For these they
/// replace the same rows predicted with the device's own parameters.
bool ErrorBook::speaks(std::size_t group, const ErrorSubject& about) const {
  return groups_[group].unmeasured ? !about.measured : about.measured || twins_[group] == kNobody;
}

ErrorBook::ErrorBook(std::vector<ResidualGroup> groups, BandFactors factors)
    : groups_(std::move(groups)), twins_(groups_.size(), kNobody), factors_(std::move(factors)) {
  std::map<std::array<std::string_view, 6>, std::size_t> seen;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& [about, table, rows, residuals, unmeasured] = groups_[g];
    of_metric_[about.metric].push_back(g);
    const auto [at, first] =
        seen.insert({{about.metric, about.device, about.origin, about.family, about.link, table}, g});
    if (!first && groups_[at->second].unmeasured != unmeasured) {
      twins_[g] = at->second;
      twins_[at->second] = g;
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const double r : groups_[g].residuals) measured_[groups_[g].subject.metric].push_back({r, g});
  for (auto& [metric, residuals] : measured_) std::ranges::stable_sort(residuals, {}, &Residual::value);
  for (const auto& m : kMeasuredMetrics) {
    auto& of = factors_[std::string(m.kind)];
    if (of.size() == kAparts) continue;
    of.assign(kAparts, {});
    for (std::size_t apart = 0; apart < kAparts; ++apart)
      for (std::size_t l = 0; l < kIntervalLevels.size(); ++l)
        of[apart].push_back(factor(m.kind, apart, l, {}));
  }
}

const ErrorBook::Scores& ErrorBook::scores() const {
  std::call_once(scores_->once, [&] {
    auto& lists = scores_->lists;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto& [about, table, rows, residuals, unmeasured] = groups_[g];
      for (std::size_t apart = 0; apart < kAparts; ++apart) {
        const Left left{.group = g, .twin = twins_[g], .about = &about, .apart = apart};
        const auto of = mixture(about, by_distance(about, left));
        if (!of || of->apart != apart) continue;
        const double weight = static_cast<double>(rows) / static_cast<double>(residuals.size());
        for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
          const auto band = of->band(share_of(l));
          for (const double r : residuals)
            lists[apart][l].push_back({g, band.score(r), weight, kind_of(about.metric)});
        }
      }
    }
    for (auto& levels : lists)
      for (auto& list : levels) std::ranges::stable_sort(list, {}, &Score::score);
  });
  return *scores_;
}

double ErrorBook::factor(std::string_view kind, std::size_t apart, std::size_t level,
                         const Left& left) const {
  const auto& list = scores().lists[apart][level];
  double own = 0, own_groups = 0, others = 0;
  for (const auto& s : list) {
    if (left.out(s.group, groups_[s.group])) continue;
    (s.kind == kind ? own : others) += s.weight;
    if (s.kind == kind) own_groups += 1 / static_cast<double>(groups_[s.group].residuals.size());
  }
  // The groups of all other kinds count together as some of the mean weight.
  const double most = own > 0 ? kOtherKinds * own / own_groups : others,
               each = others > most ? most / others : 1;
  const double share = share_of(level) * (own + others * each) * (1 - 1e-12);
  double out = 1, until = 0;
  for (const auto& s : list) {
    if (left.out(s.group, groups_[s.group])) continue;
    out = s.score;
    if ((until += s.weight * (s.kind == kind ? 1 : each)) >= share) break;
  }
  return out > 0 ? out : 1;
}

std::optional<ModelErrorBand> ErrorBook::band(const ErrorSubject& subject, int level) const {
  const auto l = interval_level(level);
  const auto of = mixture(subject, by_distance(subject, {}));
  if (!of) return std::nullopt;
  const auto core = of->band(share_of(l));
  ModelErrorBand out{.level = level};
  out.widened = factors_.at(std::string(kind_of(subject.metric)))[of->apart][l];
  out.low = std::exp(core.centre - out.widened * core.half);
  out.high = std::exp(core.centre + out.widened * core.half);
  out.distance = of->distance;
  out.groups = of->groups;
  out.rows = of->rows;
  out.basis = words_of(of->distance, out);
  return out;
}

std::optional<ErrorBook::Held> ErrorBook::held(const ResidualGroup& group, const Left& left,
                                               std::size_t level) const {
  const auto of = mixture(group.subject, by_distance(group.subject, left));
  if (!of) return std::nullopt;
  const auto band = of->band(share_of(level));
  const double reach = factor(kind_of(group.subject.metric), of->apart, level, left);
  const auto inside =
      std::ranges::count_if(group.residuals, [&](double r) { return band.score(r) <= reach; });
  return Held{static_cast<double>(inside) / static_cast<double>(group.residuals.size()), reach * band.half};
}

std::vector<BandCoverage> ErrorBook::coverage() const {
  std::vector<BandCoverage> out;
  std::array<std::vector<double>, kIntervalLevels.size()> group_out;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& group = groups_[g];
    for (auto& shares : group_out) shares.push_back(0);
    if (group.unmeasured) continue;
    auto at = std::ranges::find(out, group.table, &BandCoverage::table);
    if (at == out.end()) at = out.insert(out.end(), BandCoverage{.table = group.table});
    const Left own{.group = g, .twin = twins_[g]}, all{.group = g, .table = group.table};
    for (std::size_t l = 0; l < kIntervalLevels.size(); ++l) {
      group_out[l].back() = held(group, own, l).value_or(Held{}).share;
      at->group_out[l] += group_out[l].back() * static_cast<double>(group.rows);
      at->table_out[l] += held(group, all, l).value_or(Held{}).share * static_cast<double>(group.rows);
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

std::vector<StratumCoverage> ErrorBook::strata() const {
  struct Sums {
    double held = 0;
    std::size_t rows = 0;
    std::vector<double> halves;
    void add(double share, double half, std::size_t n) {
      held += share * static_cast<double>(n);
      rows += n;
      halves.push_back(half);
    }
    [[nodiscard]] StratumCoverage::Kept kept() {
      if (rows == 0) return {};
      std::ranges::sort(halves);
      return {held / static_cast<double>(rows), halves[halves.size() / 2], rows};
    }
  };
  const auto level = interval_level(80);
  std::map<std::string_view, std::array<Sums, 4>> sums;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& group = groups_[g];
    const auto& about = group.subject;
    auto& of = sums[kind_of(about.metric)];
    const auto add = [&](std::size_t which, const Left& left) {
      if (const auto h = held(group, left, level)) of[which].add(h->share, h->half, group.rows);
    };
    if (!group.unmeasured) {
      add(0, {.group = g, .twin = twins_[g]});
      add(2, {.about = &about, .apart = kOtherSoftware});
      if (!about.link.empty()) add(3, {.about = &about, .apart = kOtherLink});
    }
    // A device that was left out has the figures of its class.
    if (group.unmeasured || twins_[g] == kNobody) add(1, {.about = &about, .apart = kOtherDevice});
  }
  std::vector<StratumCoverage> out;
  for (auto& [stratum, s] : sums)
    out.push_back({std::string(stratum), s[0].kept(), s[1].kept(), s[2].kept(), s[3].kept()});
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
    if (groups_[g].unmeasured) continue;
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
  static const ErrorBook book(read_residual_groups(), read_band_factors());
  return book;
}

const ErrorBook& ErrorBook::standard_of(std::string_view metric) {
  static std::mutex mutex;
  static std::map<std::string, ErrorBook, std::less<>> books;
  const std::lock_guard lock(mutex);
  auto at = books.find(metric);
  if (at != books.end()) return at->second;
  static const BandFactors shipped = read_band_factors();  // one answer asks for several metrics
  auto factors = shipped;
  const auto own = factors.find(kind_of(metric));
  if (own == factors.end() || own->second.size() != kAparts)
    factors = standard().factors();  // those of all metrics
  return books.emplace(metric, ErrorBook(read_residual_groups_of(metric), std::move(factors))).first->second;
}

}  // namespace mlsysim

#include <mlsysim/explore/ask/uncertainty.hpp>

#include "explore/ask/nothing_uncertain.hpp"
#include "explore/ask/samples.hpp"

#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/detail/quantile.hpp>
#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/interval.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::size_t kMostFigures = detail::kMostUncertainFigures;

/// One uncertain figure: what it is known by (draws of one name are the same draws), and the input that it
/// moves.
struct Moving {
  std::string name;    ///< as the answer lists it
  std::string shared;  ///< figures of this name move together
  UncertainInput input;
};

void check_options(const UncertaintyQuestion& q) {
  if (q.samples < 16 || q.samples > 16777216 || !(q.coverage > 0 && q.coverage < 1))
    throw InputError({.id = "mlsysim.explore.072",
                      .message = "the options of the sampling are out of range",
                      .found = fmt::format("{} samples, coverage {}", q.samples, q.coverage),
                      .expected = "16 to 2^24 samples and a coverage between 0 and 1"});
}

/// Whether one of the results moves when the input goes to an end of its range.
bool has_effect(const Subject& subject, const UncertainInput& u, std::span<const std::size_t> results,
                std::span<const double> base) {
  auto point = subject.point;
  for (const double x : {u.low, u.high}) {
    point[u.input] = x;
    const auto there = subject.entry(point);
    for (const std::size_t r : results)
      if (there[r] != base[r] && !(std::isnan(there[r]) && std::isnan(base[r]))) return true;
  }
  return false;
}

/// The figures of the question, and for all others those that have a range in the zoo.
std::vector<Moving> moving_of(const Subject& subject, const UncertaintyQuestion& q,
                              std::span<const std::size_t> results, std::vector<Assumption>& assumptions) {
  check_options(q);
  std::vector<Moving> out;
  for (const auto& f : q.figures) {
    out.push_back({f.input, f.input, f.at(subject)});
    for (std::size_t k = 0; k + 1 < out.size(); ++k)
      if (out[k].input.input == out.back().input.input)
        throw InputError({.id = "mlsysim.explore.073",
                          .message = fmt::format("'{}' is uncertain twice", f.input),
                          .key = f.input,
                          .expected = "one distribution per figure"});
  }
  if (q.estimates && subject.estimates) {
    const auto base = subject.entry(subject.point);
    std::size_t idle = 0;
    for (const auto& e : subject.estimates()) {
      const std::size_t input = subject.input(e.input);
      const bool asked =
          std::any_of(out.begin(), out.end(), [&](const Moving& m) { return m.input.input == input; });
      const FieldRange range = base_range(subject.entry.inputs[input]);
      const UncertainInput u{.input = input,
                             .distribution = Distribution::triangular,
                             .spread = 0,
                             .low = std::max(e.low, range.low),
                             .high = std::min(e.high, range.high)};
      if (asked) continue;
      if (!has_effect(subject, u, results, base)) {
        ++idle;
        continue;
      }
      const FieldInfo& field = subject.entry.inputs[input];
      assumptions.push_back(
          {e.input,
           fmt::format("triangular {}..{}", field_text(field, u.low, 4), field_text(field, u.high, 4)),
           fmt::format("range of {} ({})", e.figure, e.source)});
      out.push_back({e.input, e.figure, u});
    }
    if (idle > 0)
      assumptions.push_back({"other ranges of the zoo", fmt::format("{} figures", idle),
                             "they move none of the results asked for"});
  }
  if (out.empty())
    throw detail::NothingUncertain({.id = "mlsysim.explore.071",
                                    .message = "nothing is uncertain",
                                    .found = "no figure, and no range of the zoo behind the results",
                                    .expected = "at least one",
                                    .hint = "e.g. 'hardware.memory.bandwidth = normal 5 %'"});
  if (q.figures.size() > kMostFigures)
    throw InputError({.id = "mlsysim.explore.077",
                      .message = "too many figures are uncertain",
                      .found = fmt::format("{}", q.figures.size()),
                      .expected = fmt::format("at most {}", kMostFigures)});
  return out;
}

/// No more figures than the sequence has dimensions: those of the zoo that move a result least stay at their
/// values.
void keep_largest(const Subject& subject, std::vector<Moving>& moving, std::size_t asked, std::size_t result,
                  std::vector<Assumption>& assumptions) {
  if (moving.size() <= kMostFigures) return;
  const auto reach = [&](const Moving& m) {
    auto point = subject.point;
    point[m.input.input] = m.input.low;
    const double a = subject.entry(point)[result];
    point[m.input.input] = m.input.high;
    const double b = subject.entry(point)[result];
    return std::isfinite(a - b) ? std::fabs(a - b) : HUGE_VAL;
  };
  std::stable_sort(moving.begin() + static_cast<std::ptrdiff_t>(asked), moving.end(),
                   [&](const Moving& a, const Moving& b) { return reach(a) > reach(b); });
  for (std::size_t k = kMostFigures; k < moving.size(); ++k)
    std::erase_if(assumptions, [&](const Assumption& a) { return a.name == moving[k].name; });
  assumptions.push_back(
      {"smallest ranges of the zoo",
       fmt::format("{} figures stay at their values", moving.size() - kMostFigures),
       fmt::format("at most {} figures vary; these move the first result least", kMostFigures)});
  moving.resize(kMostFigures);
}

std::vector<UncertainInput> uncertain_inputs(const std::vector<Moving>& moving) {
  std::vector<UncertainInput> out;
  for (const auto& m : moving) out.push_back(m.input);
  return out;
}

/// The parts of a time; the longest of them is the bottleneck.
std::vector<std::size_t> parts_of(const Subject& s) {
  for (const std::string_view time : {"itl", "step_latency", "latency"}) {
    std::vector<std::size_t> out;
    for (const auto& part : parts_of_time(time))
      if (const auto* f = find_field(s.entry.results, part.name); f != nullptr)
        out.push_back(static_cast<std::size_t>(f - s.entry.results.data()));
    if (out.size() > 1 && find_field(s.entry.results, time) != nullptr) return out;
  }
  return {};
}

/// Leaves the numbers sorted.
void describe_samples(std::vector<double>& all, double coverage, UncertainNumber& out) {
  std::sort(all.begin(), all.end());
  double sum = 0, squares = 0;
  for (const double x : all) sum += x;
  out.mean = sum / static_cast<double>(all.size());
  for (const double x : all) squares += (x - out.mean) * (x - out.mean);
  out.sd = std::sqrt(squares / static_cast<double>(all.size() - 1));
  out.low = detail::quantile(all, 0.5 * (1 - coverage));
  out.median = detail::quantile(all, 0.5);
  out.high = detail::quantile(all, 0.5 * (1 + coverage));
}

bool bounded(const UncertainInput& u) {
  return u.distribution == Distribution::uniform || u.distribution == Distribution::triangular;
}

/// Indices of the results asked for: those of the question, or all that have a value here.
std::vector<std::size_t> wanted_results(const Subject& subject, const UncertaintyQuestion& q) {
  std::vector<std::size_t> wanted;
  for (const auto& name : q.results) wanted.push_back(subject.result(name));
  if (!wanted.empty()) return wanted;
  const auto here = subject.entry(subject.point);
  for (std::size_t r = 0; r < here.size(); ++r)
    if (!std::isnan(here[r])) wanted.push_back(r);
  if (wanted.empty())
    throw DomainError({.id = "mlsysim.explore.076",
                       .message = fmt::format("{} has no results here", subject.title),
                       .found = "nothing",
                       .expected = "a result with a value",
                       .hint = "check the inputs; mlsysim resolver run says what is missing"});
  return wanted;
}

/// Standard deviation of a figure whose value at the point is `value`.
double standard_deviation(const UncertainInput& u, double value) {
  if (u.distribution == Distribution::lognormal)
    return std::fabs(value) * std::sqrt(std::expm1(u.spread * u.spread) * std::exp(u.spread * u.spread));
  const double lo = u.low, hi = u.high, mode = value;
  if (u.distribution == Distribution::uniform) return (hi - lo) / std::sqrt(12.0);
  if (u.distribution == Distribution::triangular)
    return std::sqrt((lo * lo + hi * hi + mode * mode - lo * hi - lo * mode - hi * mode) / 18.0);
  return u.spread;
}

/// Standard deviation of a result to first order: slopes times deviations, added in quadrature.
double linear_deviation(const Subject& subject, const std::vector<UncertainInput>& figures, const Gradient& g,
                        std::size_t result) {
  double variance = 0;
  for (const auto& u : figures) {
    const Sensitivity& s = g.at(result, u.input);
    const auto one = s.value();
    const double slope = one ? *one : std::max(std::fabs(s.left), std::fabs(s.right));
    const double sd = standard_deviation(u, subject.point[u.input]);
    variance += slope * slope * sd * sd;
  }
  return std::sqrt(variance);
}

/// First-order and total indices of each figure, from the samples where it alone is exchanged.
void set_variance_shares(const detail::SampledResult& s, UncertainNumber& x) {
  const double variance = x.sd * x.sd, m = 0.5 * static_cast<double>(s.values.size());
  for (std::size_t i = 0; i < s.figures.size() && variance > 0; ++i) {
    const auto& sums = s.figures[i];
    x.first[i] = (sums.product - (x.mean - s.centre) * sums.change) / m / variance;
    x.total[i] = 0.5 * sums.square / m / variance;
  }
}

/// Guaranteed ranges of the results asked for of a law whose figures are bounded; empty for others.
std::vector<Interval> guaranteed_ranges(const Subject& subject, const std::vector<UncertainInput>& figures,
                                        std::span<const std::size_t> wanted) {
  if (!subject.entry.is_law() || !std::all_of(figures.begin(), figures.end(), bounded)) return {};
  std::vector<Interval> box(subject.point.begin(), subject.point.end());
  for (const auto& u : figures) {
    const double value = subject.point[u.input];
    box[u.input] = Interval(input_quantile(subject.entry, u, value, 1e-16),
                            input_quantile(subject.entry, u, value, 1 - 1e-16));
  }
  return bound(subject.entry, box, wanted).results;
}

}  // namespace

UncertaintyReport uncertainty(const Subject& subject, const UncertaintyQuestion& q) {
  const auto wanted = wanted_results(subject, q);
  std::vector<Assumption> assumptions;
  auto moving = moving_of(subject, q, wanted, assumptions);
  keep_largest(subject, moving, q.figures.size(), wanted.front(), assumptions);
  const auto figures = uncertain_inputs(moving);
  std::vector<std::size_t> inputs;
  for (const auto& u : figures) inputs.push_back(u.input);
  const Gradient g = q.attribution ? gradient(subject.entry, subject.point, inputs, wanted)
                                   : Gradient{.values = subject.entry(subject.point)};
  const auto parts = q.attribution ? parts_of(subject) : std::vector<std::size_t>();
  auto sampled = detail::sample(subject, {figures, wanted, parts, g.values}, q);
  UncertaintyReport out{.subject = subject.title,
                        .figures = {},
                        .ranking = {},
                        .results = {},
                        .evaluations = q.samples * (2 + (q.attribution ? figures.size() : 0)),
                        .not_finite = 0,
                        .bottleneck = {},
                        .flips = 0,
                        .gradient_method = g.method,
                        .assumptions = std::move(assumptions)};
  for (const auto& m : moving) out.figures.push_back(m.name);
  if (q.shared.part != 1) return out;
  const auto ranges = q.attribution ? guaranteed_ranges(subject, figures, wanted) : std::vector<Interval>();
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    const std::size_t r = wanted[w];
    const FieldInfo& field = subject.entry.results[r];
    UncertainNumber x{.result = field.name,
                      .meaning = field.meaning,
                      .unit = field.unit,
                      .exps = field.exps,
                      .value = g.values[r]};
    if (q.pause) q.pause();
    detail::SampledResult& samples = sampled.results[w];
    out.not_finite += samples.left_out;
    if (q.attribution) x.linear_sd = linear_deviation(subject, figures, g, r);
    x.first.assign(figures.size(), 0);
    x.total.assign(figures.size(), 0);
    if (samples.values.size() > 2) {
      describe_samples(samples.values, q.coverage, x);
      set_variance_shares(samples, x);
    }
    // A range of the whole line says nothing of a number.
    const auto tells = [&](const auto& range) {
      return std::isfinite(range.high) && std::fabs(range.high) <= 1e6 * std::fabs(x.value);
    };
    if (!ranges.empty() && tells(ranges[w])) {
      x.bound_low = ranges[w].low;
      x.bound_high = ranges[w].high;
    }
    out.results.push_back(std::move(x));
  }
  if (!parts.empty()) {
    out.bottleneck =
        subject.entry.results[parts[detail::longest(parts, [&](std::size_t r) { return g.values[r]; })]].name;
    out.flips = static_cast<double>(sampled.flips) / static_cast<double>(2 * q.samples);
  }
  return out;
}

RankingUncertainty rank(const Subject& a, const Subject& b, std::string_view result,
                        const UncertaintyQuestion& q) {
  const std::size_t ra = a.result(result), rb = b.result(result);
  std::vector<Assumption> unused;
  auto own = moving_of(a, q, std::span(&ra, 1), unused), other = moving_of(b, q, std::span(&rb, 1), unused);
  keep_largest(a, own, q.figures.size(), ra, unused);
  keep_largest(b, other, q.figures.size(), rb, unused);
  // Each figure has one dimension of the sequence, in whichever of the two subjects it occurs.
  std::vector<std::string> names;
  std::vector<std::size_t> at_own, at_other;
  for (const auto& [moving, at] : {std::pair{&own, &at_own}, {&other, &at_other}})
    for (const auto& m : *moving) {
      const auto known = std::find(names.begin(), names.end(), m.shared);
      at->push_back(static_cast<std::size_t>(known - names.begin()));
      if (known == names.end()) names.push_back(m.shared);
    }
  const auto in_a = uncertain_inputs(own), in_b = uncertain_inputs(other);
  const auto [fa, fb] = detail::first_sets({a, in_a, at_own, ra}, {b, in_b, at_other, rb}, q);
  RankingUncertainty out{.other = b.title,
                         .result = a.entry.results[ra].name,
                         .value = a.entry(a.point)[ra],
                         .other_value = b.entry(b.point)[rb]};
  if (q.shared.part != 1) return out;
  double counted = 0;
  for (std::size_t j = 0; j < q.samples; ++j) {
    const double x = fa[j], y = fb[j];
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    ++counted;
    out.below += x < y ? 1 : 0;
    out.flips += (x < y) != (out.value < out.other_value) && x != y ? 1 : 0;
  }
  if (counted == 0)
    throw SolverError({.id = "mlsysim.explore.075",
                       .message = fmt::format("'{}' is never a finite number", result),
                       .found = "no sample",
                       .expected = "finite results"});
  out.below /= counted;
  out.flips /= counted;
  return out;
}

double probability_below(const Subject& a, const Subject& b, std::string_view result,
                         const UncertaintyQuestion& q) {
  return rank(a, b, result, q).below;
}

}  // namespace mlsysim

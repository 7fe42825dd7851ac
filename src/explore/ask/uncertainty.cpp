#include <mlsysim/explore/ask/uncertainty.hpp>

#include "explore/ask/nothing_uncertain.hpp"

#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/resolve/field_text.hpp>
#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/interval.hpp>
#include <mlsysim/tape/random.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace mlsysim {
namespace {

constexpr std::size_t kMostFigures = 32;
constexpr std::array<unsigned, 2 * kMostFigures> kPrimes{
    2,   3,   5,   7,   11,  13,  17,  19,  23,  29,  31,  37,  41,  43,  47,  53,
    59,  61,  67,  71,  73,  79,  83,  89,  97,  101, 103, 107, 109, 113, 127, 131,
    137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223,
    227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311};

/// Halton's sequence with digits scrambled at random: digit -> a digit + b modulo the base, drawn for each
/// place.
class Halton {
 public:
  Halton(std::size_t dimension, std::uint64_t seed) : base_(kPrimes[dimension]) {
    double scale = 1;
    for (std::uint64_t place = 0; scale > 1e-17; ++place) {
      const auto draw = [&](std::uint64_t which) {
        return uniform_draw(seed, static_cast<std::uint32_t>(dimension), 2 * place + which);
      };
      a_.push_back(1 + static_cast<unsigned>(draw(0) * (base_ - 1)));
      b_.push_back(static_cast<unsigned>(draw(1) * base_));
      scale /= base_;
    }
  }
  double operator()(std::uint64_t index) const {
    double x = 0, scale = 1;
    for (std::size_t place = 0; place < a_.size(); ++place) {
      scale /= base_;
      x += scale * static_cast<double>((a_[place] * (index % base_) + b_[place]) % base_);
      index /= base_;
    }
    return std::clamp(x, 1e-16, 1 - 1e-16);
  }

 private:
  unsigned base_;
  std::vector<unsigned> a_, b_;
};

/// The draws of all figures: columns of the two sets.
struct Draws {
  std::vector<std::vector<double>> a, b;
};

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

/// The samples of each set that this process evaluates.
PointRange own_samples(const UncertaintyQuestion& q) {
  return shard_range(q.samples, q.shared.part, q.shared.parts);
}

bool answers_here(const UncertaintyQuestion& q) { return q.shared.part == 1; }

/// Makes columns of this process's samples those of all processes, or empty where another one answers.
void bring_together(const std::vector<std::vector<double>*>& columns, const UncertaintyQuestion& q) {
  if (!q.shared.gather) return;
  std::vector<double> own;
  for (auto* c : columns) {
    own.insert(own.end(), c->begin(), c->end());
    c->clear();
  }
  const auto all = q.shared.gather(std::move(own));
  if (!answers_here(q)) return;
  auto at = all.begin();
  for (std::uint64_t part = 1; part <= q.shared.parts; ++part) {
    const auto range = shard_range(q.samples, part, q.shared.parts);
    const auto n = static_cast<std::ptrdiff_t>(range.last - range.first);
    for (auto* c : columns) {
      c->insert(c->end(), at, at + n);
      at += n;
    }
  }
}

/// `dimensions[i]` of the sequence belongs to figure i, of `all` that there are.
Draws draws_of(const Subject& subject, const std::vector<UncertainInput>& figures,
               std::span<const std::size_t> dimensions, std::size_t all, const UncertaintyQuestion& q) {
  Draws d;
  const auto range = own_samples(q);
  const auto n = static_cast<std::size_t>(range.last - range.first);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double value = subject.point[figures[i].input];
    const Halton first(dimensions[i], q.seed), second(all + dimensions[i], q.seed);
    std::vector<double> a(n), b(n);
    for (std::size_t j = 0; j < n; ++j) {
      if (q.pause && j % 4096 == 0) q.pause();
      a[j] = input_quantile(subject.entry, figures[i], value, first(range.first + j + 1));
      b[j] = input_quantile(subject.entry, figures[i], value, second(range.first + j + 1));
    }
    d.a.push_back(std::move(a));
    d.b.push_back(std::move(b));
  }
  return d;
}

std::vector<UncertainInput> inputs_of(const std::vector<Moving>& moving) {
  std::vector<UncertainInput> out;
  for (const auto& m : moving) out.push_back(m.input);
  return out;
}

/// Results over a set of columns; those that are not kept are empty.
std::vector<std::vector<double>> evaluate(const Subject& subject, const std::vector<UncertainInput>& figures,
                                          const std::vector<const std::vector<double>*>& values,
                                          std::span<const std::size_t> kept) {
  const std::size_t n = values.at(0)->size();
  std::vector<Column> columns(subject.point.begin(), subject.point.end());
  for (std::size_t i = 0; i < figures.size(); ++i) columns[figures[i].input] = Column(*values[i]);
  std::vector<std::vector<double>> out(subject.entry.results.size(), std::vector<double>(n));
  const std::vector<std::span<double>> spans(out.begin(), out.end());
  BatchKernel(subject.entry).run(columns, spans, n);
  std::vector<std::vector<double>> few(out.size());
  for (const std::size_t r : kept) few[r] = std::move(out[r]);
  return few;
}

std::vector<const std::vector<double>*> pointers(const std::vector<std::vector<double>>& columns) {
  std::vector<const std::vector<double>*> out;
  for (const auto& c : columns) out.push_back(&c);
  return out;
}

double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The parts of a time; the longest of them is the bottleneck.
std::vector<std::size_t> parts_of(const Subject& s) {
  std::vector<std::size_t> out;
  for (const std::string_view prefix : {"decode_", "latency_"}) {
    for (const std::string_view part : {"compute", "memory", "network", "overhead"}) {
      const auto* f = find_field(s.entry.results, fmt::format("{}{}", prefix, part));
      if (f != nullptr) out.push_back(static_cast<std::size_t>(f - s.entry.results.data()));
    }
    if (out.size() > 1) return out;
    out.clear();
  }
  return out;
}

void describe_samples(const std::vector<double>& fa, const std::vector<double>& fb, double coverage,
                      UncertainNumber& out) {
  std::vector<double> all(fa);
  all.insert(all.end(), fb.begin(), fb.end());
  std::sort(all.begin(), all.end());
  double sum = 0, squares = 0;
  for (const double x : all) sum += x;
  out.mean = sum / static_cast<double>(all.size());
  for (const double x : all) squares += (x - out.mean) * (x - out.mean);
  out.sd = std::sqrt(squares / static_cast<double>(all.size() - 1));
  out.low = quantile(all, 0.5 * (1 - coverage));
  out.median = quantile(all, 0.5);
  out.high = quantile(all, 0.5 * (1 + coverage));
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

/// Results over the two sets of draws, and over the first set with one figure each from the second.
struct Evaluated {
  std::vector<std::vector<double>> a, b;                ///< [result][sample]
  std::vector<std::vector<std::vector<double>>> mixed;  ///< [figure][result][sample]
};

/// @param kept results that are asked for, once each
Evaluated evaluate_sets(const Subject& subject, const std::vector<UncertainInput>& figures,
                        std::span<const std::size_t> kept, const UncertaintyQuestion& q) {
  const std::size_t k = figures.size(), n = q.samples;
  const auto range = own_samples(q);
  // Here two draws of each figure and every result of one set; of all samples the kept results of each set,
  // and the finite ones of one result.
  const std::uint64_t bytes =
      sizeof(double) * ((range.last - range.first) * (2 * k + subject.entry.results.size()) +
                        std::uint64_t{n} * (k + 2) * (kept.size() + 1));
  if (bytes > q.memory)
    throw InputError(
        {.id = "mlsysim.explore.153",
         .message = "the samples take more memory than they may",
         .key = "samples",
         .found = fmt::format("{} samples of {} figures, {:.3g} GB", n, k, 1e-9 * static_cast<double>(bytes)),
         .expected = fmt::format("at most {:.3g} GB", 1e-9 * static_cast<double>(q.memory)),
         .hint = "take fewer samples or figures, or raise the limit (--memory)"});
  std::vector<std::size_t> dimensions(k);
  std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
  const Draws d = draws_of(subject, figures, dimensions, k, q);
  Evaluated out{
      evaluate(subject, figures, pointers(d.a), kept), evaluate(subject, figures, pointers(d.b), kept), {}};
  for (std::size_t i = 0; i < k; ++i) {
    auto columns = pointers(d.a);
    columns[i] = &d.b[i];
    out.mixed.push_back(evaluate(subject, figures, columns, kept));
  }
  std::vector<std::vector<double>*> columns;
  for (const std::size_t r : kept) {
    columns.push_back(&out.a[r]);
    columns.push_back(&out.b[r]);
    for (auto& set : out.mixed) columns.push_back(&set[r]);
  }
  bring_together(columns, q);
  return out;
}

/// Samples of one result, where it is finite in every set.
struct FiniteSamples {
  std::vector<double> a, b;
  std::vector<std::vector<double>> mixed;  ///< [figure][sample]
  std::size_t left_out = 0;
};

FiniteSamples finite_samples(const Evaluated& all, std::size_t result) {
  const std::size_t k = all.mixed.size();
  FiniteSamples out;
  out.mixed.resize(k);
  for (std::size_t j = 0; j < all.a[result].size(); ++j) {
    bool finite = std::isfinite(all.a[result][j]) && std::isfinite(all.b[result][j]);
    for (std::size_t i = 0; i < k && finite; ++i) finite = std::isfinite(all.mixed[i][result][j]);
    if (!finite) {
      ++out.left_out;
      continue;
    }
    out.a.push_back(all.a[result][j]);
    out.b.push_back(all.b[result][j]);
    for (std::size_t i = 0; i < k; ++i) out.mixed[i].push_back(all.mixed[i][result][j]);
  }
  return out;
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
void set_variance_shares(const FiniteSamples& s, UncertainNumber& x) {
  const double variance = x.sd * x.sd, m = static_cast<double>(s.a.size());
  for (std::size_t i = 0; i < s.mixed.size() && variance > 0; ++i) {
    double first = 0, total = 0;
    for (std::size_t j = 0; j < s.a.size(); ++j) {
      first += (s.b[j] - x.mean) * (s.mixed[i][j] - s.a[j]);
      total += (s.a[j] - s.mixed[i][j]) * (s.a[j] - s.mixed[i][j]);
    }
    x.first[i] = first / m / variance;
    x.total[i] = 0.5 * total / m / variance;
  }
}

/// Guaranteed ranges of all results of a law whose figures are bounded; empty for others.
std::vector<Interval> guaranteed_ranges(const Subject& subject, const std::vector<UncertainInput>& figures) {
  if (!subject.entry.is_law() || !std::all_of(figures.begin(), figures.end(), bounded)) return {};
  std::vector<Interval> box(subject.point.begin(), subject.point.end());
  for (const auto& u : figures) {
    const double value = subject.point[u.input];
    box[u.input] = Interval(input_quantile(subject.entry, u, value, 1e-16),
                            input_quantile(subject.entry, u, value, 1 - 1e-16));
  }
  return bound(subject.entry, box).results;
}

/// The longest part at the point, and the share of the samples where another part is the longest.
void describe_bottleneck(const Subject& subject, const Gradient& g, const Evaluated& all,
                         UncertaintyReport& out) {
  const auto parts = parts_of(subject);
  if (parts.empty()) return;
  const auto longest = [&](auto value) {
    std::size_t best = 0;
    for (std::size_t p = 1; p < parts.size(); ++p)
      if (value(parts[p]) > value(parts[best])) best = p;
    return best;
  };
  const std::size_t now = longest([&](std::size_t r) { return g.values[r]; }), n = all.a[parts[0]].size();
  out.bottleneck = subject.entry.results[parts[now]].name;
  std::size_t flips = 0;
  for (std::size_t j = 0; j < n; ++j)
    flips += (longest([&](std::size_t r) { return all.a[r][j]; }) != now ? 1u : 0u) +
             (longest([&](std::size_t r) { return all.b[r][j]; }) != now ? 1u : 0u);
  out.flips = static_cast<double>(flips) / static_cast<double>(2 * n);
}

}  // namespace

UncertaintyReport uncertainty(const Subject& subject, const UncertaintyQuestion& q) {
  const auto wanted = wanted_results(subject, q);
  std::vector<Assumption> assumptions;
  auto moving = moving_of(subject, q, wanted, assumptions);
  keep_largest(subject, moving, q.figures.size(), wanted.front(), assumptions);
  const auto figures = inputs_of(moving);
  std::vector<std::size_t> inputs;
  for (const auto& u : figures) inputs.push_back(u.input);
  const Gradient g = gradient(subject.entry, subject.point, inputs, wanted);
  auto kept = parts_of(subject);
  kept.insert(kept.end(), wanted.begin(), wanted.end());
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  const Evaluated all = evaluate_sets(subject, figures, kept, q);
  UncertaintyReport out{.subject = subject.title,
                        .figures = {},
                        .ranking = {},
                        .results = {},
                        .evaluations = q.samples * (figures.size() + 2),
                        .not_finite = 0,
                        .bottleneck = {},
                        .flips = 0,
                        .gradient_method = g.method,
                        .assumptions = std::move(assumptions)};
  for (const auto& m : moving) out.figures.push_back(m.name);
  if (!answers_here(q)) return out;
  const auto ranges = guaranteed_ranges(subject, figures);
  for (const std::size_t r : wanted) {
    const FieldInfo& field = subject.entry.results[r];
    UncertainNumber x{.result = field.name,
                      .meaning = field.meaning,
                      .unit = field.unit,
                      .exps = field.exps,
                      .value = g.values[r]};
    if (q.pause) q.pause();
    const FiniteSamples samples = finite_samples(all, r);
    out.not_finite += samples.left_out;
    x.linear_sd = linear_deviation(subject, figures, g, r);
    x.first.assign(figures.size(), 0);
    x.total.assign(figures.size(), 0);
    if (samples.a.size() > 1) {
      describe_samples(samples.a, samples.b, q.coverage, x);
      set_variance_shares(samples, x);
    }
    if (!ranges.empty()) {
      x.bound_low = ranges[r].low;
      x.bound_high = ranges[r].high;
    }
    out.results.push_back(std::move(x));
  }
  describe_bottleneck(subject, g, all, out);
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
  const auto in_a = inputs_of(own), in_b = inputs_of(other);
  const auto da = draws_of(a, in_a, at_own, 0, q), db = draws_of(b, in_b, at_other, 0, q);
  auto fa = evaluate(a, in_a, pointers(da.a), std::span(&ra, 1)),
       fb = evaluate(b, in_b, pointers(db.a), std::span(&rb, 1));
  bring_together({&fa[ra], &fb[rb]}, q);
  RankingUncertainty out{.other = b.title,
                         .result = a.entry.results[ra].name,
                         .value = a.entry(a.point)[ra],
                         .other_value = b.entry(b.point)[rb]};
  if (!answers_here(q)) return out;
  double counted = 0;
  for (std::size_t j = 0; j < q.samples; ++j) {
    const double x = fa[ra][j], y = fb[rb][j];
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

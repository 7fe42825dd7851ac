#include <mlsysim/explore/ask/uncertainty.hpp>

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

[[noreturn]] void refuse(std::string_view text, std::string message, std::string expected) {
  throw InputError(
      {.id = "mlsysim.explore.070",
       .message = std::move(message),
       .found = fmt::format("'{}'", text),
       .expected = std::move(expected),
       .hint =
           "e.g. 'device.memory_bandwidth = normal 5 %', 'kwh_price = uniform 0.05 USD/kWh..0.2 USD/kWh'"});
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

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

/// The figures of the question, and those that the zoo gives with a range where the question says nothing of
/// them.
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
    throw InputError({.id = "mlsysim.explore.071",
                      .message = "nothing is uncertain",
                      .found = "no figure, and no range of the zoo behind the results",
                      .expected = "at least one",
                      .hint = "e.g. 'device.memory_bandwidth = normal 5 %'"});
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

/// `dimensions[i]` of the sequence belongs to figure i, of `all` that there are.
Draws draws_of(const Subject& subject, const std::vector<UncertainInput>& figures,
               std::span<const std::size_t> dimensions, std::size_t all, const UncertaintyQuestion& q) {
  Draws d;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double value = subject.point[figures[i].input];
    const Halton first(dimensions[i], q.seed), second(all + dimensions[i], q.seed);
    std::vector<double> a(q.samples), b(q.samples);
    for (std::size_t j = 0; j < q.samples; ++j) {
      if (q.pause && j % 4096 == 0) q.pause();
      a[j] = input_quantile(subject.entry, figures[i], value, first(j + 1));
      b[j] = input_quantile(subject.entry, figures[i], value, second(j + 1));
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

/// All results over a set of columns.
std::vector<std::vector<double>> evaluate(const Subject& subject, const std::vector<UncertainInput>& figures,
                                          const std::vector<const std::vector<double>*>& values,
                                          std::size_t n) {
  std::vector<Column> columns(subject.point.begin(), subject.point.end());
  for (std::size_t i = 0; i < figures.size(); ++i) columns[figures[i].input] = Column(*values[i]);
  std::vector<std::vector<double>> out(subject.entry.results.size(), std::vector<double>(n));
  const std::vector<std::span<double>> spans(out.begin(), out.end());
  BatchKernel(subject.entry).run(columns, spans, n);
  return out;
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

/// The parts of which the longest is the bottleneck.
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

}  // namespace

UncertainFigure UncertainFigure::parse(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos)
    refuse(text, "an uncertain figure has no distribution", "NAME = DISTRIBUTION");
  UncertainFigure f;
  f.input = std::string(trimmed(text.substr(0, equals)));
  auto rest = trimmed(text.substr(equals + 1));
  const auto number = [&](std::string_view part) {
    part = trimmed(part);
    if (part.empty())
      refuse(text, "the distribution has no parameters",
             "a spread such as 5 %, or a range such as 1 us..4 us");
    const bool percent = part.ends_with('%');
    const auto q = AnyQuantity::parse(percent ? part.substr(0, part.size() - 1) : part);
    if (!std::isfinite(q.base())) refuse(text, "a parameter is not a finite number", "finite numbers");
    f.relative = percent;
    if (!percent) f.exps = q.exponents();
    return percent ? q.base() / 100 : q.base();
  };
  if (rest.starts_with("+-") || rest.starts_with("\xc2\xb1")) {
    f.distribution = Distribution::uniform;
    const double half = number(rest.substr(2));
    if (!f.relative) refuse(text, "a symmetric range is given in percent", "+-10 %");
    f.low = -half;
    f.high = half;
    return f;
  }
  const auto space = rest.find(' ');
  const auto name = rest.substr(0, space);
  rest = space == std::string_view::npos ? std::string_view() : trimmed(rest.substr(space));
  static constexpr std::pair<std::string_view, Distribution> kNames[] = {
      {"normal", Distribution::normal},
      {"lognormal", Distribution::lognormal},
      {"uniform", Distribution::uniform},
      {"triangular", Distribution::triangular}};
  const auto* known =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& k) { return k.first == name; });
  if (known == std::end(kNames))
    refuse(text, fmt::format("there is no distribution '{}'", name),
           "normal, lognormal, uniform, triangular or +-10 %");
  f.distribution = known->second;
  if (f.distribution == Distribution::normal || f.distribution == Distribution::lognormal) {
    f.spread = number(rest);
    if (f.spread < 0) refuse(text, "the spread is negative", "a spread of at least 0");
    return f;
  }
  const auto dots = rest.find("..");
  if (dots == std::string_view::npos) refuse(text, "the distribution has no range", "LOW..HIGH");
  f.low = number(rest.substr(0, dots));
  const bool relative = f.relative;
  const Exponents exps = f.exps;
  f.high = number(rest.substr(dots + 2));
  if (relative != f.relative || !(exps == f.exps))
    refuse(text, "the ends of the range are not of one kind",
           "two quantities of one dimension, or two percentages");
  if (f.low > f.high) refuse(text, "the range runs backwards", "the lower end first");
  return f;
}

UncertainInput UncertainFigure::at(const Subject& subject) const {
  UncertainInput u{.input = subject.input(input),
                   .distribution = distribution,
                   .spread = spread,
                   .low = low,
                   .high = high};
  const FieldInfo& field = subject.entry.inputs[u.input];
  const double value = subject.point[u.input];
  if (relative) {
    if (distribution == Distribution::normal) u.spread = spread * std::fabs(value);
    if (distribution == Distribution::uniform || distribution == Distribution::triangular) {
      u.low = value + low * std::fabs(value);
      u.high = value + high * std::fabs(value);
    }
  } else if (distribution != Distribution::lognormal && !(exps == field.exps)) {
    throw DimensionError({.id = "mlsysim.explore.074",
                          .message = fmt::format("the uncertainty of '{}' has the wrong unit", input),
                          .key = input,
                          .found = dimension_name(exps),
                          .expected = dimension_name(field.exps)});
  }
  (void)input_quantile(subject.entry, u, value, 0.5);  // says what is wrong with it
  return u;
}

UncertaintyReport uncertainty(const Subject& subject, const UncertaintyQuestion& q) {
  std::vector<std::size_t> wanted, inputs;
  for (const auto& name : q.results) wanted.push_back(subject.result(name));
  if (wanted.empty()) {
    // A result that is absent here is not asked for.
    const auto here = subject.entry(subject.point);
    for (std::size_t r = 0; r < here.size(); ++r)
      if (!std::isnan(here[r])) wanted.push_back(r);
    if (wanted.empty())
      throw DomainError({.id = "mlsysim.explore.076",
                         .message = fmt::format("{} has no results here", subject.title),
                         .found = "nothing",
                         .expected = "a result with a value",
                         .hint = "check the inputs; mlsysim resolver run says what is missing"});
  }
  std::vector<Assumption> assumptions;
  auto moving = moving_of(subject, q, wanted, assumptions);
  keep_largest(subject, moving, q.figures.size(), wanted.front(), assumptions);
  const auto figures = inputs_of(moving);
  const std::size_t k = figures.size(), n = q.samples;
  for (const auto& u : figures) inputs.push_back(u.input);
  std::vector<std::size_t> dimensions(k);
  std::iota(dimensions.begin(), dimensions.end(), std::size_t{0});
  const Gradient g = gradient(subject.entry, subject.point, inputs, wanted);
  const Draws d = draws_of(subject, figures, dimensions, k, q);
  const auto fa = evaluate(subject, figures, pointers(d.a), n),
             fb = evaluate(subject, figures, pointers(d.b), n);
  std::vector<std::vector<std::vector<double>>> mixed;
  for (std::size_t i = 0; i < k; ++i) {
    auto columns = pointers(d.a);
    columns[i] = &d.b[i];
    mixed.push_back(evaluate(subject, figures, columns, n));
  }
  UncertaintyReport out{.subject = subject.title,
                        .figures = {},
                        .ranking = {},
                        .results = {},
                        .evaluations = n * (k + 2),
                        .not_finite = 0,
                        .bottleneck = {},
                        .flips = 0,
                        .gradient_method = g.method,
                        .assumptions = std::move(assumptions)};
  for (const auto& m : moving) out.figures.push_back(m.name);
  std::vector<Interval> ranges;
  if (subject.entry.is_law() && std::all_of(figures.begin(), figures.end(), bounded)) {
    std::vector<Interval> box(subject.point.begin(), subject.point.end());
    for (const auto& u : figures) {
      const double value = subject.point[u.input];
      box[u.input] = Interval(input_quantile(subject.entry, u, value, 1e-16),
                              input_quantile(subject.entry, u, value, 1 - 1e-16));
    }
    ranges = bound(subject.entry, box).results;
  }
  for (const std::size_t r : wanted) {
    const FieldInfo& field = subject.entry.results[r];
    UncertainNumber x{.result = field.name,
                      .meaning = field.meaning,
                      .unit = field.unit,
                      .exps = field.exps,
                      .value = g.values[r]};
    if (q.pause) q.pause();
    // A sample without a finite number counts for nothing, in every set.
    std::vector<double> a, b;
    std::vector<std::vector<double>> ab(k);
    for (std::size_t j = 0; j < n; ++j) {
      bool finite = std::isfinite(fa[r][j]) && std::isfinite(fb[r][j]);
      for (std::size_t i = 0; i < k && finite; ++i) finite = std::isfinite(mixed[i][r][j]);
      if (!finite) {
        ++out.not_finite;
        continue;
      }
      a.push_back(fa[r][j]);
      b.push_back(fb[r][j]);
      for (std::size_t i = 0; i < k; ++i) ab[i].push_back(mixed[i][r][j]);
    }
    double linear = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const Sensitivity& s = g.at(r, figures[i].input);
      const auto one = s.value();
      const double slope = one ? *one : std::max(std::fabs(s.left), std::fabs(s.right));
      double sd = figures[i].spread;
      if (figures[i].distribution == Distribution::lognormal)
        sd = std::fabs(subject.point[figures[i].input]) * std::sqrt(std::expm1(sd * sd) * std::exp(sd * sd));
      if (bounded(figures[i])) {
        const double lo = figures[i].low, hi = figures[i].high, mode = subject.point[figures[i].input];
        sd = figures[i].distribution == Distribution::uniform
                 ? (hi - lo) / std::sqrt(12.0)
                 : std::sqrt((lo * lo + hi * hi + mode * mode - lo * hi - lo * mode - hi * mode) / 18.0);
      }
      linear += slope * slope * sd * sd;
    }
    x.linear_sd = std::sqrt(linear);
    x.first.assign(k, 0);
    x.total.assign(k, 0);
    if (a.size() > 1) {
      describe_samples(a, b, q.coverage, x);
      const double variance = x.sd * x.sd, m = static_cast<double>(a.size());
      for (std::size_t i = 0; i < k && variance > 0; ++i) {
        double first = 0, total = 0;
        for (std::size_t j = 0; j < a.size(); ++j) {
          first += (b[j] - x.mean) * (ab[i][j] - a[j]);
          total += (a[j] - ab[i][j]) * (a[j] - ab[i][j]);
        }
        x.first[i] = first / m / variance;
        x.total[i] = 0.5 * total / m / variance;
      }
    }
    if (!ranges.empty()) {
      x.bound_low = ranges[r].low;
      x.bound_high = ranges[r].high;
    }
    out.results.push_back(std::move(x));
  }
  if (const auto parts = parts_of(subject); !parts.empty()) {
    const auto longest = [&](auto value) {
      std::size_t best = 0;
      for (std::size_t p = 1; p < parts.size(); ++p)
        if (value(parts[p]) > value(parts[best])) best = p;
      return best;
    };
    const std::size_t now = longest([&](std::size_t r) { return g.values[r]; });
    out.bottleneck = subject.entry.results[parts[now]].name;
    std::size_t flips = 0;
    for (std::size_t j = 0; j < n; ++j)
      flips += (longest([&](std::size_t r) { return fa[r][j]; }) != now ? 1u : 0u) +
               (longest([&](std::size_t r) { return fb[r][j]; }) != now ? 1u : 0u);
    out.flips = static_cast<double>(flips) / static_cast<double>(2 * n);
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
  // One dimension of the sequence per figure, whoever has it.
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
  const auto fa = evaluate(a, in_a, pointers(da.a), q.samples),
             fb = evaluate(b, in_b, pointers(db.a), q.samples);
  RankingUncertainty out{.other = b.title,
                         .result = a.entry.results[ra].name,
                         .value = a.entry(a.point)[ra],
                         .other_value = b.entry(b.point)[rb]};
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

#include <mlsysim/tape/uncertainty.hpp>

#include <mlsysim/tape/batch.hpp>
#include <mlsysim/tape/gradient.hpp>
#include <mlsysim/tape/random.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::uint32_t kMaxAttempts = 1000;

double draw(const UncertainInput& u, double value, double p) {
  switch (u.distribution) {
    case Distribution::normal: return value + u.spread * normal_quantile(p);
    case Distribution::lognormal: return value * std::exp(u.spread * normal_quantile(p));
    case Distribution::uniform: return u.low + p * (u.high - u.low);
    case Distribution::triangular: break;
  }
  const double width = u.high - u.low;
  const double rise = value - u.low, fall = u.high - value;
  return p * width < rise ? u.low + std::sqrt(p * width * rise) : u.high - std::sqrt((1.0 - p) * width * fall);
}

/// Probability that the input stays below `x`, before its range cuts it.
double probability_below(const UncertainInput& u, double value, double x) {
  const auto normal = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  switch (u.distribution) {
    case Distribution::normal: return u.spread > 0 ? normal((x - value) / u.spread) : (x < value ? 0.0 : 1.0);
    case Distribution::lognormal:
      if (x <= 0) return value > 0 ? 0.0 : 1.0;
      return u.spread > 0 ? normal(std::log(x / value) / u.spread) : (x < value ? 0.0 : 1.0);
    case Distribution::uniform: return u.high > u.low ? std::clamp((x - u.low) / (u.high - u.low), 0.0, 1.0) : (x < u.low ? 0.0 : 1.0);
    case Distribution::triangular: break;
  }
  if (x <= u.low) return 0;
  if (x >= u.high) return 1;
  const double width = u.high - u.low;
  return x < value ? (x - u.low) * (x - u.low) / (width * (value - u.low)) : 1 - (u.high - x) * (u.high - x) / (width * (u.high - value));
}

/// Standard deviation of an input before its range cuts it.
double standard_deviation(const UncertainInput& u, double value) {
  const double a = u.low, b = u.high, c = value;
  switch (u.distribution) {
    case Distribution::normal: return u.spread;
    case Distribution::lognormal: {
      const double s2 = u.spread * u.spread;
      return std::fabs(value) * std::sqrt(std::expm1(s2) * std::exp(s2));
    }
    case Distribution::uniform: return (b - a) / std::sqrt(12.0);
    case Distribution::triangular: break;
  }
  return std::sqrt((a * a + b * b + c * c - a * b - a * c - b * c) / 18.0);
}

void check_spec(const LawEntry& law, const UncertainInput& u, double value) {
  const bool ranged = u.distribution == Distribution::uniform || u.distribution == Distribution::triangular;
  const std::string name = u.input < law.inputs.size() ? law.inputs[u.input].name : std::string("?");
  std::string found, expected;
  if (u.input >= law.inputs.size()) {
    found = fmt::format("input {}", u.input);
    expected = fmt::format("an index below {}", law.inputs.size());
  } else if (ranged && !(u.low <= u.high && std::isfinite(u.low) && std::isfinite(u.high))) {
    found = fmt::format("the range [{}, {}]", u.low, u.high);
    expected = "a finite range with low <= high";
  } else if (u.distribution == Distribution::triangular && !(u.low <= value && value <= u.high)) {
    found = fmt::format("the mode {} outside [{}, {}]", value, u.low, u.high);
    expected = "the value of the input inside the range";
  } else if (!ranged && !(u.spread >= 0 && std::isfinite(u.spread))) {
    found = fmt::format("the spread {}", u.spread);
    expected = "a finite spread, at least 0";
  }
  if (expected.empty()) return;
  throw InputError({.id = "mlsysim.tools.010",
                    .message = fmt::format("the uncertainty of '{}' is not one", name),
                    .key = name,
                    .found = found,
                    .expected = expected});
}

void linear(const Gradient& g, std::span<const double> in, std::span<const UncertainInput> uncertain,
            std::size_t r, UncertainResult& out) {
  double variance = 0;
  for (const auto& u : uncertain) {
    const Sensitivity& s = g.at(r, u.input);
    const auto one = s.value();
    const double slope = one ? std::fabs(*one) : std::max(std::fabs(s.left), std::fabs(s.right));
    const double part = slope * standard_deviation(u, in[u.input]);
    out.share.push_back(part * part);
    variance += part * part;
  }
  out.linear_sd = std::sqrt(variance);
  for (double& s : out.share) s = variance > 0 ? s / variance : 0.0;
}

/// Linear between the two order statistics around `p`.
double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void statistics(std::vector<double> values, double coverage, UncertainResult& out) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double total = 0, squares = 0;
  for (const double x : values) total += x;
  out.mean = total / n;
  for (const double x : values) squares += (x - out.mean) * (x - out.mean);
  out.sd = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0.0;
  out.low = quantile(values, 0.5 * (1 - coverage));
  out.median = quantile(values, 0.5);
  out.high = quantile(values, 0.5 * (1 + coverage));
}

}  // namespace

double input_quantile(const LawEntry& law, const UncertainInput& spec, double value, double p) {
  check_spec(law, spec, value);
  const FieldInfo& field = law.inputs[spec.input];
  const FieldRange range = base_range(field);
  const double below = range.low > -kUnbounded ? probability_below(spec, value, range.low) : 0.0;
  const double up_to = range.high < kUnbounded ? probability_below(spec, value, range.high) : 1.0;
  if (!(up_to - below > 1e-12))
    throw SolverError({.id = "mlsysim.tools.011",
                       .message = fmt::format("draws of '{}' do not fall into its range", field.name),
                       .key = field.name,
                       .found = fmt::format("a probability of {:g} inside", up_to - below),
                       .expected = fmt::format("values in [{}, {}]", range.low, range.high),
                       .hint = "check the spread and the unit of the uncertainty"});
  const double at = below + p * (up_to - below);
  double x = spec.spread == 0 && (spec.distribution == Distribution::normal || spec.distribution == Distribution::lognormal)
                 ? value
                 : draw(spec, value, std::clamp(at, 1e-300, 1 - 1e-16));
  if (field.integral) x = std::round(x);
  x = std::clamp(x, range.low, range.high);
  return range.open_low && x == range.low ? std::nextafter(x, HUGE_VAL) : x;
}

std::size_t draw_input(const LawEntry& law, const UncertainInput& spec, double value, std::uint64_t seed,
                       std::uint64_t first, std::span<double> out) {
  check_spec(law, spec, value);
  const FieldInfo& field = law.inputs[spec.input];
  const FieldRange range = base_range(field);
  const auto stream = static_cast<std::uint32_t>(spec.input);
  std::size_t redrawn = 0;
  for (std::size_t j = 0; j < out.size(); ++j) {
    for (std::uint32_t attempt = 0;; ++attempt) {
      double x = draw(spec, value, uniform_draw(seed, stream, first + j, attempt));
      if (field.integral) x = std::round(x);
      if ((range.open_low ? x > range.low : x >= range.low) && x <= range.high) {
        out[j] = x;
        break;
      }
      ++redrawn;
      if (attempt < kMaxAttempts) continue;
      throw SolverError({.id = "mlsysim.tools.011",
                         .message = fmt::format("draws of '{}' do not fall into its range", field.name),
                         .key = field.name,
                         .found = fmt::format("{} draws in a row outside, the last {}", attempt, x),
                         .expected = fmt::format("values in [{}, {}]", range.low, range.high),
                         .hint = "check the spread and the unit of the uncertainty"});
    }
  }
  return redrawn;
}

Uncertainty propagate(const LawEntry& law, std::span<const double> in, std::span<const UncertainInput> uncertain,
                      const UncertaintyOptions& options) {
  check_inputs(law, in);
  if (options.samples < 2 || !(options.coverage > 0 && options.coverage < 1)) {
    throw InputError({.id = "mlsysim.tools.012",
                      .message = "the sampling options are out of range",
                      .found = fmt::format("{} samples, coverage {}", options.samples, options.coverage),
                      .expected = "at least 2 samples and a coverage between 0 and 1"});
  }
  Uncertainty u;
  std::vector<std::vector<double>> draws(uncertain.size(), std::vector<double>(options.samples));
  std::vector<Column> columns(in.begin(), in.end());
  for (std::size_t k = 0; k < uncertain.size(); ++k) {
    check_spec(law, uncertain[k], uncertain[k].input < in.size() ? in[uncertain[k].input] : 0.0);
    u.redrawn += draw_input(law, uncertain[k], in[uncertain[k].input], options.seed, 0, draws[k]);
    columns[uncertain[k].input] = Column(draws[k]);
  }
  const Gradient g = gradient(law, in);
  BatchResult sampled = batch(law, columns, options.samples);
  u.gradient_method = g.method;
  u.sampling_method = sampled.method;

  // A sample counts for all results or for none, so that they describe the same population.
  std::vector<std::size_t> keep;
  for (std::size_t j = 0; j < options.samples; ++j) {
    const bool finite = std::all_of(sampled.columns.begin(), sampled.columns.end(),
                                    [&](const auto& c) { return std::isfinite(c[j]); });
    if (finite) keep.push_back(j);
  }
  u.samples = keep.size();
  u.not_finite = options.samples - keep.size();
  for (std::size_t r = 0; r < g.values.size(); ++r) {
    UncertainResult out;
    out.value = g.values[r];
    linear(g, in, uncertain, r, out);
    std::vector<double> values;
    values.reserve(keep.size());
    for (const std::size_t j : keep) values.push_back(sampled.columns[r][j]);
    statistics(std::move(values), options.coverage, out);
    u.results.push_back(std::move(out));
  }
  return u;
}

}  // namespace mlsysim

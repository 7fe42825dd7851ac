#include <mlsysim/tape/uncertainty.hpp>

#include <mlsysim/tape/random.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::uint32_t kMaxAttempts = 1000;

double draw(const UncertainInput& u, double value, double p) {
  switch (u.distribution) {
    case Distribution::normal:
      return value + u.spread * normal_quantile(p);
    case Distribution::lognormal:
      return value * std::exp(u.spread * normal_quantile(p));
    case Distribution::uniform:
      return u.low + p * (u.high - u.low);
    case Distribution::triangular:
      break;
  }
  const double width = u.high - u.low;
  const double rise = value - u.low, fall = u.high - value;
  return p * width < rise ? u.low + std::sqrt(p * width * rise)
                          : u.high - std::sqrt((1.0 - p) * width * fall);
}

/// Probability that the input stays below `x`, before its range cuts it.
double probability_below(const UncertainInput& u, double value, double x) {
  const auto normal = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
  switch (u.distribution) {
    case Distribution::normal:
      return u.spread > 0 ? normal((x - value) / u.spread) : (x < value ? 0.0 : 1.0);
    case Distribution::lognormal:
      if (x <= 0) return value > 0 ? 0.0 : 1.0;
      return u.spread > 0 ? normal(std::log(x / value) / u.spread) : (x < value ? 0.0 : 1.0);
    case Distribution::uniform:
      return u.high > u.low ? std::clamp((x - u.low) / (u.high - u.low), 0.0, 1.0) : (x < u.low ? 0.0 : 1.0);
    case Distribution::triangular:
      break;
  }
  if (x <= u.low) return 0;
  if (x >= u.high) return 1;
  const double width = u.high - u.low;
  return x < value ? (x - u.low) * (x - u.low) / (width * (value - u.low))
                   : 1 - (u.high - x) * (u.high - x) / (width * (u.high - value));
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
  double x = spec.spread == 0 && (spec.distribution == Distribution::normal ||
                                  spec.distribution == Distribution::lognormal)
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

}  // namespace mlsysim

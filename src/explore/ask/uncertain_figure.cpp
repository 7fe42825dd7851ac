// Uncertain figures: how they are written, and what they mean at the point of a subject.

#include <mlsysim/explore/ask/uncertainty.hpp>

#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

constexpr Fault kFigure{
    .id = "mlsysim.explore.070",
    .hint = "e.g. 'hardware.memory.bandwidth = normal 5 %', 'kwh_price = uniform 0.05 USD/kWh..0.2 USD/kWh'"};

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

}  // namespace

UncertainFigure UncertainFigure::parse(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos)
    throw InputError(kFigure, "an uncertain figure has no distribution", "", fmt::format("'{}'", text),
                     "NAME = DISTRIBUTION");
  UncertainFigure f;
  f.input = std::string(trimmed(text.substr(0, equals)));
  auto rest = trimmed(text.substr(equals + 1));
  const auto number = [&](std::string_view part) {
    part = trimmed(part);
    if (part.empty())
      throw InputError(kFigure, "the distribution has no parameters", "", fmt::format("'{}'", text),
                       "a spread such as 5 %, or a range such as 1 us..4 us");
    const bool percent = part.ends_with('%');
    const auto q = AnyQuantity::parse(percent ? part.substr(0, part.size() - 1) : part);
    if (!std::isfinite(q.base()))
      throw InputError(kFigure, "a parameter is not a finite number", "", fmt::format("'{}'", text),
                       "finite numbers");
    f.relative = percent;
    if (!percent) f.exps = q.exponents();
    return percent ? q.base() / 100 : q.base();
  };
  if (rest.starts_with("+-") || rest.starts_with("\xc2\xb1")) {
    f.distribution = Distribution::uniform;
    const double half = number(rest.substr(2));
    if (!f.relative)
      throw InputError(kFigure, "a symmetric range is given in percent", "", fmt::format("'{}'", text),
                       "+-10 %");
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
    throw InputError(kFigure, fmt::format("there is no distribution '{}'", name), "",
                     fmt::format("'{}'", text), "normal, lognormal, uniform, triangular or +-10 %");
  f.distribution = known->second;
  if (f.distribution == Distribution::normal || f.distribution == Distribution::lognormal) {
    f.spread = number(rest);
    if (f.spread < 0)
      throw InputError(kFigure, "the spread is negative", "", fmt::format("'{}'", text),
                       "a spread of at least 0");
    return f;
  }
  const auto dots = rest.find("..");
  if (dots == std::string_view::npos)
    throw InputError(kFigure, "the distribution has no range", "", fmt::format("'{}'", text), "LOW..HIGH");
  f.low = number(rest.substr(0, dots));
  const bool relative = f.relative;
  const Exponents exps = f.exps;
  f.high = number(rest.substr(dots + 2));
  if (relative != f.relative || !(exps == f.exps))
    throw InputError(kFigure, "the ends of the range are not of one kind", "", fmt::format("'{}'", text),
                     "two quantities of one dimension, or two percentages");
  if (f.low > f.high)
    throw InputError(kFigure, "the range runs backwards", "", fmt::format("'{}'", text),
                     "the lower end first");
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

}  // namespace mlsysim

#include "explore/space/axis_files.hpp"

#include <mlsysim/resolver_api/axes.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/detail/trimmed.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace mlsysim {
namespace {

constexpr std::size_t kMostListed = 65536;    // members of a range that stands beside values of other kinds
constexpr double kMostValues = 4294967295.0;  // rows of an axis are counted in 32 bits

constexpr const char* kAxis{"mlsysim.explore.030"};

std::vector<std::string_view> split(std::string_view s, char by) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0;;) {
    const auto end = s.find(by, at);
    out.push_back(detail::trimmed(s.substr(at, end == std::string_view::npos ? end : end - at)));
    if (end == std::string_view::npos) return out;
    at = end + 1;
  }
}

double number_of(std::string_view text, std::string_view whole) {
  double x = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (failed != std::errc{} || end != text.data() + text.size() || !std::isfinite(x))
    throw InputError(kAxis, fmt::format("'{}' is no number", text), "axis", fmt::format("'{}'", whole),
                     "a finite number");
  return x;
}

const double* base_of(const DynamicValue& v) { return std::get_if<double>(&v.value); }

std::size_t checked_count(double count, std::string_view text) {
  if (!(count >= 1) || count > kMostValues)
    throw InputError(kAxis, fmt::format("an axis of {:g} values", count), "axis", fmt::format("'{}'", text),
                     "1 to 2^32 - 1 values", "use fewer values, or bounds and optimize");
  return static_cast<std::size_t>(count);
}

/// low..high with how it is divided: "*2", "+8", ":64", ":64log" or nothing.
Axis range_of(std::string_view whole, double low, double high, std::string_view tail, const Exponents& exps) {
  if (!std::isfinite(low) || !std::isfinite(high))
    throw InputError(kAxis, "an end of the range is not a finite number", "axis", fmt::format("'{}'", whole),
                     "finite numbers");
  if (low > high)
    throw InputError(kAxis, "the range runs backwards", "axis", fmt::format("'{}'", whole),
                     "the lower end first");
  if (tail.starts_with(":")) {
    tail.remove_prefix(1);
    const bool log = tail.ends_with("log");
    if (log) tail.remove_suffix(3);
    const std::size_t n = checked_count(number_of(detail::trimmed(tail), whole), whole);
    if (log && !(low > 0))
      throw InputError(kAxis, "a range in equal ratios starts above zero", "axis", fmt::format("'{}'", whole),
                       "a positive lower end");
    return Axis::between(low, high, n, log ? Spacing::logarithmic : Spacing::linear, exps);
  }
  if (tail.starts_with("*")) {
    const double ratio = number_of(detail::trimmed(tail.substr(1)), whole);
    if (!(ratio > 1) || !(low > 0))
      throw InputError(kAxis, "a ratio above 1 and a positive start are needed", "axis",
                       fmt::format("'{}'", whole), "e.g. 1..64*2");
    // The logarithms may be off by one member at the end.
    const double last = high * (1 + 1e-12);
    std::size_t n = checked_count(std::floor((std::log(last) - std::log(low)) / std::log(ratio)) + 1, whole);
    while (n > 1 && low * std::pow(ratio, static_cast<double>(n - 1)) > last) --n;
    while (low * std::pow(ratio, static_cast<double>(n)) <= last) ++n;
    return Axis::ratios(low, ratio, n, exps);
  }
  if (tail.empty() && !exps.dimensionless())
    throw InputError(kAxis, "a range of quantities needs a number of values", "axis",
                     fmt::format("'{}'", whole),
                     fmt::format("e.g. {}:10 for ten values, {}*2 to double", whole, whole));
  const double step = tail.empty() ? 1 : number_of(detail::trimmed(tail.substr(1)), whole);
  if (!(step > 0))
    throw InputError(kAxis, "the step is not positive", "axis", fmt::format("'{}'", whole), "a step above 0");
  return Axis::steps(low, step, checked_count(std::floor((high - low) / step * (1 + 1e-12)) + 1, whole),
                     exps);
}

}  // namespace

std::string SpaceAxis::title() const {
  return !caption.empty() ? caption : fmt::format("{}", fmt::join(names, ", "));
}

namespace {

std::string text_of(const DynamicValue& value) {
  const auto* o = std::get_if<ObjectRef>(&value.value);
  const auto name = o != nullptr && o->object != nullptr ? spec_name(*o) : std::string_view();
  return name.empty() ? value.text() : std::string(name);
}

}  // namespace

std::string SpaceAxis::text(std::size_t row, std::size_t k) const { return text_of(value(row, k)); }

std::string SpaceAxis::label(std::size_t row) const {
  if (row < labels.size()) return labels[row];
  std::string out;
  for (std::size_t k = 0; k < names.size(); ++k) out += (k == 0 ? "" : " x ") + text(row, k);
  return out;
}

DynamicValue SpaceAxis::value(std::size_t row, std::size_t k) const {
  return rows.empty() ? DynamicValue(Value(numbers[row]), numbers.exponents()) : rows[row][k];
}

namespace {

/// A range holds no values; its members beside values of other kinds are held one by one.
void refuse_long_list(const SpaceAxis& axis, std::size_t members) {
  if (axis.rows.size() + members > kMostListed)
    throw InputError(kAxis, fmt::format("a range of {} values stands beside values of another kind", members),
                     "axis", fmt::format("'{}'", axis.title()),
                     fmt::format("at most {} values there", kMostListed),
                     "give the other values an axis of their own");
}

/// Turns the numbers of an axis into rows.
void list_numbers(SpaceAxis& axis) {
  refuse_long_list(axis, axis.numbers.size());
  std::vector<std::vector<DynamicValue>> rows;
  for (std::size_t i = 0; i < axis.numbers.size(); ++i) rows.push_back({axis.value(i)});
  axis.rows = std::move(rows);
  axis.numbers = Axis();
}

/// Whether values of this dimension can be kept as numbers; if not, what was kept so becomes rows.
bool takes_number(SpaceAxis& axis, const Exponents& exps) {
  if (!axis.rows.empty()) return false;
  if (axis.numbers.size() == 0) axis.numbers = Axis(exps);
  if (axis.numbers.exponents() == exps) return true;
  list_numbers(axis);
  return false;
}

}  // namespace

void SpaceAxis::add(DynamicValue value) {
  if (const double* x = base_of(value); x != nullptr && takes_number(*this, value.exps)) {
    numbers.add(*x);
    return;
  }
  if (rows.empty()) list_numbers(*this);
  rows.push_back({std::move(value)});
}

void SpaceAxis::add(const Axis& range) {
  if (takes_number(*this, range.exponents())) return numbers.add(range);
  refuse_long_list(*this, range.size());
  for (std::size_t i = 0; i < range.size(); ++i)
    rows.push_back({DynamicValue(Value(range[i]), range.exponents())});
}

SpaceAxis range_axis(std::string name, const AnyQuantity& low, const AnyQuantity& high, std::size_t count,
                     Spacing spacing) {
  if (!(low.exponents() == high.exponents()))
    throw DimensionError({.id = "mlsysim.explore.031",
                          .message = "the ends of a range have different dimensions",
                          .key = name,
                          .found = dimension_name(high.exponents()),
                          .expected = dimension_name(low.exponents())});
  const auto tail = fmt::format(":{}{}", count, spacing == Spacing::logarithmic ? "log" : "");
  const auto range = range_of(name, low.base(), high.base(), tail, low.exponents());
  return {.names = {std::move(name)}, .rows = {}, .labels = {}, .numbers = range};
}

SpaceAxis numbers_axis(std::string name, std::vector<double> base, const Exponents& exps) {
  for (const double x : base)
    if (!std::isfinite(x))
      throw InputError(kAxis, "an axis holds a value that is not finite", "axis", fmt::format("'{}'", name),
                       "finite numbers");
  return {.names = {std::move(name)}, .rows = {}, .labels = {}, .numbers = Axis(std::move(base), exps)};
}

SpaceAxis divisors_axis(std::string name, double n) {
  return {.names = {std::move(name)}, .rows = {}, .labels = {}, .numbers = divisors_of(n)};
}

SpaceAxis degrees_axis(double accelerators, std::vector<std::string> names) {
  const Axis all = divisors_of(accelerators);
  SpaceAxis out{std::move(names), {}, {}};
  std::vector<DynamicValue> row;
  const std::function<void(double)> extend = [&](double left) {
    if (row.size() == out.names.size()) {
      out.rows.push_back(row);
      return;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (std::fmod(left, all[i]) != 0) continue;
      row.emplace_back(all[i]);
      extend(left / all[i]);
      row.pop_back();
    }
  };
  extend(accelerators);
  return out;
}

namespace {

/// The rest of a range behind ".." as its end and how it is divided: "16 request/s" and "*2".
std::pair<std::string_view, std::string_view> end_and_tail(std::string_view rest) {
  // "1e+3" and "TB/s*2": a plus inside a number is none, a star is always a ratio.
  const auto at = std::min(rest.find_first_of(":*+", 1), rest.size());
  return {detail::trimmed(rest.substr(0, at)), rest.substr(at)};
}

/// The text behind a number; empty where the text does not begin with one.
std::string_view unit_text(std::string_view text) {
  double x = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), x);
  return failed != std::errc{} ? std::string_view()
                               : text.substr(static_cast<std::size_t>(end - text.data()));
}

bool is_bare_number(std::string_view text) {
  double x = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), x);
  return failed == std::errc{} && end == text.data() + text.size();
}

}  // namespace

SpaceAxis parse_axis(std::string_view text,
                     const std::function<DynamicValue(std::string_view, std::string_view)>& value) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw InputError(kAxis, "an axis has no name and values", "axis", fmt::format("'{}'", text),
                     "NAME=VALUES", "e.g. batch_size=1,8,64");
  SpaceAxis axis;
  for (const auto name : split(text.substr(0, equals), ',')) {
    if (name.empty())
      throw InputError(kAxis, "a name of the axis is empty", "axis", fmt::format("'{}'", text),
                       "NAME=VALUES, or names separated by commas");
    axis.names.emplace_back(name);
  }
  const auto given = detail::trimmed(text.substr(equals + 1));
  if (given.empty())
    throw InputError(kAxis, "the axis is empty", "axis", fmt::format("'{}'", text), "at least one value");
  if (given.starts_with("@"))
    return detail::axis_in_file(std::move(axis.names), std::string(detail::trimmed(given.substr(1))), value);
  if (given.starts_with("divisors(") && given.ends_with(")") && axis.names.size() == 1)
    return divisors_axis(axis.names[0], number_of(detail::trimmed(given.substr(9, given.size() - 10)), text));
  if (given.starts_with("degrees(") && given.ends_with(")"))
    return degrees_axis(number_of(detail::trimmed(given.substr(8, given.size() - 9)), text), axis.names);
  const auto items = split(given, ',');
  // A unit behind the last value is that of all: "1,2,4 request/s" and "300..700 W*2".
  const auto last_dots = items.back().find("..");
  const auto last = last_dots == std::string_view::npos
                        ? items.back()
                        : end_and_tail(items.back().substr(last_dots + 2)).first;
  const auto unit = unit_text(last);
  const bool shared =
      axis.names.size() == 1 && !unit.empty() && !value(axis.names[0], last).exps.dimensionless();
  const auto read = [&](std::string_view one) {
    return value(axis.names[0],
                 shared && is_bare_number(one) ? fmt::format("{}{}", one, unit) : std::string(one));
  };
  for (const auto item : items) {
    if (item.empty())
      throw InputError(kAxis, "a value of the axis is empty", "axis", fmt::format("'{}'", text),
                       "values separated by commas");
    const auto dots = axis.names.size() == 1 ? item.find("..") : std::string_view::npos;
    if (dots != std::string_view::npos) {
      const auto [end, tail] = end_and_tail(item.substr(dots + 2));
      const auto low = read(detail::trimmed(item.substr(0, dots))), high = read(end);
      if (base_of(low) == nullptr || base_of(high) == nullptr)
        throw InputError(kAxis, "a range has ends that are no numbers", "axis", fmt::format("'{}'", text),
                         "numbers");
      axis.add(range_of(text, *base_of(low), *base_of(high), tail, low.exps));
      continue;
    }
    if (axis.names.size() == 1) {
      auto one = read(item);
      // A name says more than "a hardware".
      if (std::holds_alternative<ObjectRef>(one.value)) {
        axis.labels.resize(axis.size());
        axis.labels.emplace_back(item);
      }
      axis.add(std::move(one));
    } else {
      const auto parts = split(item, 'x');
      if (parts.size() != axis.names.size())
        throw InputError(
            kAxis, fmt::format("'{}' has {} values for {} names", item, parts.size(), axis.names.size()),
            "axis", fmt::format("'{}'", text), "one value per name, joined by x",
            "e.g. tp_size,pp_size=1x8,2x4");
      std::vector<DynamicValue> row;
      for (std::size_t i = 0; i < parts.size(); ++i) row.push_back(value(axis.names[i], parts[i]));
      axis.rows.push_back(std::move(row));
    }
  }
  return axis;
}

}  // namespace mlsysim

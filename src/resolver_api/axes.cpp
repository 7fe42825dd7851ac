#include <mlsysim/resolver_api/axes.hpp>

#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {

Axis range(double first, double last, double step) {
  const double count = std::floor((last - first) / step * (1 + 1e-12)) + 1;
  if (!(step > 0) || !(first <= last) || !(count < 1e9))
    throw DomainError({.id = "mlsysim.resolve.006",
                       .message = "an axis needs first <= last, a positive step and fewer than 1e9 values",
                       .key = "range",
                       .found = fmt::format("range({}, {}, {})", first, last, step),
                       .expected = "for example range(1, 8)"});
  return Axis::steps(first, step, static_cast<std::size_t>(count));
}

Axis divisors_of(double n) {
  if (!(n >= 1) || n != std::floor(n) || n > 9007199254740992.0)
    throw DomainError({.id = "mlsysim.resolve.007",
                       .message = "only whole numbers from 1 to 2^53 have divisors here",
                       .key = "divisors_of",
                       .found = fmt::format("{}", n),
                       .expected = "a whole number"});
  std::vector<double> low, high;
  const auto whole = static_cast<std::uint64_t>(n);
  for (std::uint64_t d = 1; d <= whole / d; ++d) {
    if (whole % d != 0) continue;
    low.push_back(static_cast<double>(d));
    if (d != whole / d) high.push_back(static_cast<double>(whole / d));
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return {std::move(low), Exponents{}};
}

void detail::check_axes(std::span<const FieldInfo> fields, std::span<const Axis> axes) {
  if (axes.size() != fields.size())
    throw InputError({.id = "mlsysim.resolve.008",
                      .message = "a grid needs one axis for each member of its point",
                      .key = "Grid",
                      .found = fmt::format("{} axes", axes.size()),
                      .expected = fmt::format("{}", fields.size())});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (fields[i].kind != ValueKind::number && fields[i].kind != ValueKind::quantity)
      throw InputError({.id = "mlsysim.resolve.009",
                        .message = fmt::format("member '{}' of a grid's point is no number", fields[i].name),
                        .key = fields[i].name,
                        .found = std::string(name_of(fields[i].kind)),
                        .expected = "a number or a quantity"});
    if (!(axes[i].exponents() == fields[i].exps))
      throw DimensionError(
          {.id = "mlsysim.resolve.010",
           .message = fmt::format("the axis of member '{}' has another dimension", fields[i].name),
           .key = fields[i].name,
           .found = dimension_name(axes[i].exponents()),
           .expected = dimension_name(fields[i].exps)});
  }
}

}  // namespace mlsysim

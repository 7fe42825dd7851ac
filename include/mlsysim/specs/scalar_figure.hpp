#pragma once
/// A named number of the zoo that belongs to no spec: a price, a default, a lead time or a failure rate.
///
/// Example: "cloud.electricity" is 0.12 USD/kWh, in base units 3.33e-8 USD/J.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <optional>
#include <string>

namespace mlsysim {

struct Entry;

/// One number with its unit, under a name such as "cloud.electricity".
struct ScalarFigure {
  std::string name;
  AnyQuantity value;
  std::optional<AnyQuantity> low, high;  ///< range in which the value lies, same dimension
  std::string region;
  std::string per;     ///< counted thing where the unit does not name it: "card", "server"
  std::string detail;  ///< boundary, failure mode or scope, in words
  std::optional<double> year;
  const Entry* entry = nullptr;

  /// The value in its dimension. @throws DimensionError naming both dimensions and the authored text
  template <class D> [[nodiscard]] auto quantity() const { return value.as<D>(); }

  template <class F = ScalarFigure> static constexpr auto fields() {
    return rows(field(&F::name, "name", "", "key of the figure"),
                field(&F::value, "value", "", "the figure with its unit"),
                field(&F::low, "low", "", "lower end"), field(&F::high, "high", "", "upper end"),
                field(&F::region, "region", "", "where it holds").defaulted("unstated"),
                field(&F::per, "per", "", "what it is counted by").defaulted("the unit"),
                field(&F::detail, "detail", "", "boundary, failure mode or scope").defaulted("unstated"),
                field(&F::year, "year", "", "year of the figure").within(1970, 2100));
  }
};

template <> struct ObjectType<ScalarFigure> { static constexpr std::string_view name = "figure"; };

}  // namespace mlsysim

#pragma once
// Named figures of the standard zoo that the catalogue works with; each use is noted.

#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/timing/figures.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <optional>
#include <string_view>

namespace mlsysim::detail {

/// The figures of the standard zoo.
[[nodiscard]] inline Figures zoo_figures(Notes& notes) { return {standard_zoo(), notes}; }

/// The figure of this name in its dimension.
template <class Dim> [[nodiscard]] Quantity<Dim> figure(std::string_view name, Notes& notes) {
  return zoo_figures(notes).figure<Dim>(name);
}

/// The plain number of this name.
[[nodiscard]] inline double number(std::string_view name, Notes& notes) {
  return zoo_figures(notes).number(name);
}

/// The efficiency of a request, or the textbook's convention (noted).
[[nodiscard]] inline double textbook_efficiency(const std::optional<double>& given, const Conventions& c,
                                                Notes& notes) {
  if (!given) notes.assume("efficiency", c.textbook_efficiency, kDefaults);
  return given.value_or(c.textbook_efficiency);
}

}  // namespace mlsysim::detail

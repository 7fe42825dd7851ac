#pragma once
// Named figures of the zoo that the catalogue works with; each use is noted.

#include <mlsysim/resolve/notes.hpp>
#include <mlsysim/spec/zoo.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <string>
#include <string_view>

namespace mlsysim::detail {

/// Where a figure comes from: the work that its entry cites.
inline std::string source_of(const ScalarFigure& figure) {
  return figure.entry != nullptr && !figure.entry->source.ref.empty() ? figure.entry->source.ref : "the zoo";
}

/// The figure of this name in its dimension, noted as an assumption.
template <class Dim> [[nodiscard]] Quantity<Dim> figure(std::string_view name, Notes& notes) {
  const ScalarFigure& f = standard_zoo().scalar(name);
  const Quantity<Dim> value = f.quantity<Dim>();
  if (notes.wanted()) notes.assume(name, value, source_of(f));
  return value;
}

/// The plain number of this name, noted as an assumption.
[[nodiscard]] inline double number(std::string_view name, Notes& notes) {
  const ScalarFigure& f = standard_zoo().scalar(name);
  const double value = f.quantity<dim::none>();
  if (notes.wanted()) notes.assume(name, value, source_of(f));
  return value;
}

/// The fidelity of a model that needs no shape of a workload.
[[nodiscard]] inline Fidelity refined_by_default(const std::optional<Fidelity>& fidelity) {
  return fidelity.value_or(Fidelity::operator_level);
}

}  // namespace mlsysim::detail

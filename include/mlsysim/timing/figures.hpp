#pragma once
/// Reads named parameters of the zoo, such as failure rates, and notes each use with the work that it cites.
///
/// Example: `figures.figure<dim::time>("Gpu")` returns 50,000 h, the mean time between failures of a GPU.

#include <mlsysim/resolver_api/notes.hpp>
#include <mlsysim/specs/zoo.hpp>

#include <string>
#include <string_view>

namespace mlsysim {

class Figures {
 public:
  Figures(const Zoo& zoo, Notes& notes) : zoo_(&zoo), notes_(&notes) {}

  /// The parameter of this name in its dimension.
  template <class Dim> [[nodiscard]] Quantity<Dim> figure(std::string_view name) const {
    const ScalarFigure& f = zoo_->scalar(name);
    const Quantity<Dim> value = f.quantity<Dim>();
    if (notes_->wanted()) notes_->assume(name, value, source_of(f));
    return value;
  }
  /// The plain number of this name.
  [[nodiscard]] double number(std::string_view name) const {
    const ScalarFigure& f = zoo_->scalar(name);
    const double value = f.quantity<dim::none>();
    if (notes_->wanted()) notes_->assume(name, value, source_of(f));
    return value;
  }
  [[nodiscard]] Notes& notes() const { return *notes_; }

 private:
  /// The work that the parameter's entry cites.
  static std::string source_of(const ScalarFigure& f) {
    return f.entry != nullptr && !f.entry->source.ref.empty() ? f.entry->source.ref : "the zoo";
  }

  const Zoo* zoo_;
  Notes* notes_;
};

}  // namespace mlsysim

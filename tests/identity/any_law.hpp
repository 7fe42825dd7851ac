#pragma once
// Every law of the physics room seen through its field tables: columns of scalars in base units in and out.
// The tests are then plain code, and the laws are instantiated once.

#include <mlsysim/scalars/batch.hpp>
#include <mlsysim/scalars/dual.hpp>
#include <mlsysim/tape/interval.hpp>
#include <mlsysim/table/describe.hpp>
#include <mlsysim/table/law.hpp>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace identity {

using mlsysim::FieldInfo;
using Lanes = mlsysim::Batch<8>;
using Slopes = mlsysim::Dual<16>;

/// Index of the field of this name; their number where there is none.
inline std::size_t index_of(std::span<const FieldInfo> fields, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(fields, name, &FieldInfo::name) - fields.begin());
}

/// A law with one column per flattened input and result.
struct AnyLaw {
  template <class T> using Run = std::vector<T> (*)(const std::vector<T>&);

  mlsysim::LawInfo info;
  std::span<const FieldInfo> inputs, results;
  Run<double> solve;  ///< throws DomainError where an input is outside its declared range
  Run<Lanes> lanes;
  Run<mlsysim::Interval> bound;
  Run<Slopes> slopes;

  [[nodiscard]] std::size_t input(std::string_view name) const { return index_of(inputs, name); }
  [[nodiscard]] std::size_t result(std::string_view name) const { return index_of(results, name); }
};

[[nodiscard]] const std::vector<AnyLaw>& all_laws();

}  // namespace identity

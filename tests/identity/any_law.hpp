#pragma once
// Every law of the physics room seen through its field tables: numbers in base units in and out, and its
// tape. The tests are then plain code, and the laws are instantiated once.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/reflect/law.hpp>
#include <mlsysim/tape/bound.hpp>
#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/tape.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

namespace identity {

using mlsysim::FieldInfo;

/// Index of the field of this name; their number where there is none.
inline std::size_t index_of(std::span<const FieldInfo> fields, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(fields, name, &FieldInfo::name) - fields.begin());
}

/// A law with one number per flattened input and result.
struct AnyLaw {
  mlsysim::LawInfo info;
  std::span<const FieldInfo> inputs, results;
  const mlsysim::LawEntry* entry;

  /// The law on double. @throws DomainError where an input is outside its declared range
  [[nodiscard]] std::vector<double> solve(const std::vector<double>& values) const;
  [[nodiscard]] const mlsysim::Tape& tape() const { return entry->tape(); }
  [[nodiscard]] std::size_t input(std::string_view name) const { return index_of(inputs, name); }
  [[nodiscard]] std::size_t result(std::string_view name) const { return index_of(results, name); }
};

[[nodiscard]] const std::vector<AnyLaw>& all_laws();

/// An end of the field's admissible range in its base unit.
[[nodiscard]] inline double limit(const FieldInfo& f, double display) {
  const auto unit = mlsysim::UnitRegistry::standard().parse_unit(f.unit);
  return std::fabs(display) >= mlsysim::kUnbounded ? display : display * unit.mul / unit.div;
}

}  // namespace identity

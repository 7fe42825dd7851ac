#pragma once
/// The YAML definition of a table.

#include <mlsysim/validation/measured_table.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <functional>

namespace mlsysim::detail {

/// Reads a definition strictly: unknown keys, unknown inputs and missing keys are errors, all reported at
/// once.
/// @param open reads the CSV file that the definition names
[[nodiscard]] MeasuredTable read_definition(const YamlDocument& document,
                                            const std::function<CsvTable(const std::string& file)>& open);

/// Base units of one measured unit; an empty text is a plain number.
/// @param key of the unit, for the message @throws DimensionError for a unit that does not suit the measurand
[[nodiscard]] double unit_factor(const Measurand& measurand, std::string_view unit, std::string key,
                                 const Location& where = {});

}  // namespace mlsysim::detail

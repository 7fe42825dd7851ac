#pragma once
/// The YAML definition of a table.

#include <mlsysim/validation/measured_table.hpp>
#include <mlsysim/zoo/yaml_document.hpp>

#include <functional>

namespace mlsysim::detail {

/// Reads a definition strictly: unknown keys, unknown inputs and missing keys are errors, all reported at once.
/// @param open reads the CSV file that the definition names
[[nodiscard]] MeasuredTable read_definition(const YamlDocument& document,
                                            const std::function<CsvTable(const std::string& file)>& open);

}  // namespace mlsysim::detail

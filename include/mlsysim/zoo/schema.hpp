#pragma once
/// JSON Schema (draft-07) of the zoo's files, for editors that complete and check YAML.
///
/// Example: `kind_of_type("workload")` is "model", and `json_schema("hardware")` has the title
/// "mlsysim/hardware@1".

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// The kinds of files that have a schema: "hardware", "model", ...
[[nodiscard]] std::vector<std::string> zoo_kinds();

/// The kind of the files that hold a type of spec ("workload" is in "model"); empty for a type that the zoo
/// does not hold, and for figures, which have several kinds.
[[nodiscard]] std::string_view kind_of_type(std::string_view type);

/// The schema of the files of a kind, made from the field tables: units, ranges, defaults, choices.
/// @throws LookupError for an unknown kind
[[nodiscard]] std::string json_schema(std::string_view kind);

}  // namespace mlsysim

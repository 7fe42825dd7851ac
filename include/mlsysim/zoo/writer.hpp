#pragma once
/// Writes entries of the zoo as canonical YAML. Reading the text and writing it again gives the same bytes.
///
/// Example: `yaml_scalar("H100")` is H100, and `yaml_scalar("yes")` is "yes" in quotes.

#include <mlsysim/specs/zoo.hpp>

#include <string>
#include <string_view>

namespace mlsysim {

/// A whole file with this one entry: schema line, then every field that differs from its default, in the
/// order of the field table, with its source. Numbers are written as authored. A number that was changed
/// since is written exactly, in the field's unit, without a source of its own. A spec made by hand gets the
/// source "illustrative".
template <ZooSpec T> [[nodiscard]] std::string to_yaml(const T& spec);

/// The file of an entry of any kind. @throws LookupError when the entry is not one of this zoo
[[nodiscard]] std::string to_yaml(const Zoo& zoo, const Entry& entry);

/// A text as a YAML scalar in double quotes.
[[nodiscard]] std::string yaml_quoted(std::string_view text);
/// A text as a YAML scalar, with quotes only where it needs them.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace mlsysim

#pragma once
/// Writes the text beside a number that all forms of a derivation share: its origin, results and source.
///
/// Example: `source_of` gives "williams2009roofline, eq. (1)" for a law with that source and place.

#include <mlsysim/tape/derivation.hpp>

#include <string>
#include <vector>

namespace mlsysim::detail {

/// Where a number of a record came from: another call, or an expression that is short enough to read beside
/// it; empty for anything else.
[[nodiscard]] std::string origin_of(const Derivation& derivation, const DerivedValue& value,
                                    std::size_t record);
/// The first result of each of some calls, on one line; of many calls those of the first.
[[nodiscard]] std::string results_line(const Derivation& derivation, const std::vector<std::size_t>& records);
/// The source of a law and the place in it.
[[nodiscard]] std::string source_of(const LawInfo& law);

}  // namespace mlsysim::detail

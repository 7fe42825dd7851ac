#pragma once
/// Suggestions for misspelled names, by edit distance.
///
/// Edits are insertions, deletions, replacements and swaps of neighbors. Letter case and `-_. ` do not count.
/// Example: `edit_distance("Llama3-8b", "llama3_8B")` is 0. `did_you_mean("H10", {"H100", "A100", "B200"})`
/// is "did you mean 'H100' or 'A100'?".

#include <mlsysim/units/error.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Fewest edits that turn `a` into `b`.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The closest candidates, nearest first, at most `most`; empty when none is near (distance <= 2, or <= a
/// third of the length, or one name contains the other).
[[nodiscard]] std::vector<std::string> near_misses(std::string_view name,
                                                   std::span<const std::string> candidates,
                                                   std::size_t most = 3);

/// "did you mean 'a' or 'b'?", or an empty text.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// Facts of the error that `name` is not among `known`, with the names that exist and the nearest ones.
/// @param expected text to use instead of "one of" the names
[[nodiscard]] ErrorFacts unknown_name(std::string id, std::string message, std::string_view name,
                                      std::span<const std::string> known, std::string expected = {},
                                      Location where = {});

}  // namespace mlsysim

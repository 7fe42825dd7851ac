#pragma once
/// Names close to a misspelt one.

#include <mlsysim/units/error.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// Edits (insert, delete, replace, swap of neighbours; letter case and `-_. ` ignored) that turn `a` into
/// `b`.
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

/// The closest candidates, nearest first, at most `most`; empty when none is near (distance <= 2, or <= a
/// third of the length, or one name contains the other).
[[nodiscard]] std::vector<std::string> near_misses(std::string_view name,
                                                   std::span<const std::string> candidates,
                                                   std::size_t most = 3);

/// "did you mean 'a' or 'b'?", or an empty text.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// Facts about a name that is none of `known`: which there are, and which is near.
/// @param expected what was due where not "one of" the names
[[nodiscard]] ErrorFacts unknown_name(std::string id, std::string message, std::string_view name,
                                      std::span<const std::string> known, std::string expected = {},
                                      Location where = {});

}  // namespace mlsysim

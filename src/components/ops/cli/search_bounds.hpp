#pragma once
// Branch and bound of several processes that share the best value: ranks of mpirun, or tasks of a job array
// that read each other's states.

#include "cli/questions.hpp"

#include <mlsysim/explore/search/parts.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::cli {

inline constexpr std::string_view kBoundedSchema =
    "mlsysim/bounded@1";  ///< state of a part, for others and merge

/// Result of all ranks together, on rank 0; empty on the others.
[[nodiscard]] std::optional<BoundedPart> bounded_on_ranks(const AskedSpace& s, const ExploreOptions& how);

/// The part of one task. What it finds is in its state as soon as it is found; what the other parts have
/// found is read from theirs, whose names are those of `pattern`, {shard} for the part.
/// @throws InputError for a pattern without {shard}, and for states that answer another question
[[nodiscard]] Answer bounded_with_states(const AskedSpace& s, const ExploreOptions& how,
                                         const SearchRequest& asked, const std::string& pattern,
                                         const nlohmann::ordered_json& request, const RenderOptions& options);

/// Whether a file is such a state. @throws InputError for a file that cannot be read
[[nodiscard]] bool is_bounded_state(const std::string& path);
/// The states of all parts as one. @throws InputError where one is missing, twice there or not finished
[[nodiscard]] BoundedPart merged_bounds(const AskedSpace& s, const std::vector<std::string>& paths);

}  // namespace mlsysim::cli

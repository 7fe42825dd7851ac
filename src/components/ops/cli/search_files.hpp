#pragma once
/// Files of a search: the state that a run leaves behind for --resume and merge, and the rows of --rows.

#include "ranks.hpp"

#include <mlsysim/explore/search/explore.hpp>

#include <nlohmann/json.hpp>

#include <atomic>
#include <string>
#include <string_view>

namespace mlsysim::cli {

inline constexpr std::string_view kShardSchema =
    "mlsysim/shard@2";  ///< state of a search, for --resume and merge
inline constexpr std::string_view kRowsSchema = "mlsysim/rows@2";  ///< state of a run with --rows

/// Reads a state file, and checks it against its checksum. The result is an object of this schema with an
/// object "request".
/// @throws InputError for a file that cannot be read, or is none such
[[nodiscard]] nlohmann::ordered_json read_state_file(const std::string& path, std::string_view schema);
/// For members that are not what they should be. @throws InputError always
[[noreturn]] void refuse_state_file(const std::string& path, std::string_view schema,
                                    const std::string& found);

/// Puts a state in the place of a file, whole or not at all, sealed with its length and checksum.
/// @throws InputError when that fails
void replace_state_file(const std::string& path, const nlohmann::ordered_json& state);
/// Whether there is a state to go on from; checked before the search, not after it. Without --resume a file
/// that exists is replaced only with --overwrite.
/// @throws InputError for a file that may not be replaced, or something that is no regular file
[[nodiscard]] bool goes_on_from_state(const SearchRequest& asked);

/// k and n of "k/n"; 1 and 1 for nothing; of "auto" or "auto/n" those of the task of a job array that this
/// is, by the variables of Slurm, Kubernetes, AWS Batch, PBS or mpirun. @throws InputError
struct Shard {
  std::uint64_t k = 1, n = 1;
};
[[nodiscard]] Shard shard_of(const std::string& text);

/// Writes every point of the shard to a file as it is computed: CSV, or a JSON object per line. With --state
/// the run can be gone on with, to the same bytes. Of ranks rank 0 writes, `with` is where they meet; their
/// number may be another when the run is gone on with.
/// @throws InputError for options that rows have no place for, and for files that cannot be written
[[nodiscard]] Answer write_rows(const Space& space, const Question& question,
                                const nlohmann::ordered_json& request, const SearchRequest& asked,
                                const mlsysim_ranks* with, const std::atomic<bool>& interrupted,
                                const RenderOptions& options);

}  // namespace mlsysim::cli

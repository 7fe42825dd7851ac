#pragma once
/// JSON of files that nobody vouches for: bounded in size and depth, and with the words that Python adds.

#include <mlsysim/units/error.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace mlsysim::detail {

using Json = nlohmann::json;

/// @throws InputError for a text that is no JSON, nests too deeply, or is no object
[[nodiscard]] Json parse_json(std::string_view text, const std::string& file);
/// The bytes of a file, `limit` of them at most. @throws InputError where it cannot be read, or is longer
/// and `whole` is asked for
enum class Extent : std::uint8_t { whole, beginning };
[[nodiscard]] std::string read_bytes(const std::filesystem::path& file, std::uint64_t limit, Extent extent);

/// A value as a message shows it: short.
[[nodiscard]] std::string shown(const Json& value);

inline constexpr std::uint64_t kJsonLimit = 64ull << 20;

}  // namespace mlsysim::detail

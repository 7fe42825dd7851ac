#pragma once
/// Seals a JSON object with its length and CRC-32, so that damage of a stored state is found.
///
/// Example: `sealed` of {"n":1} is {"n":1,"length":6,"crc32":"ff61ec38"}. Six bytes come before the comma.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlsysim::files {

/// CRC-32 (of zlib) of bytes, going on from that of the bytes before.
[[nodiscard]] std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0);

/// A JSON object with two more members: "length" of the text before them, and "crc32" of that text.
[[nodiscard]] std::string sealed(std::string_view object);

/// Describes how a sealed text differs from its length and checksum; none where both match.
[[nodiscard]] std::optional<std::string> damage_of(std::string_view text);

}  // namespace mlsysim::files

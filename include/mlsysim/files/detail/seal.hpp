#pragma once
/// States that tell when they are damaged: JSON with its length and checksum at its end.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlsysim::files {

/// CRC-32 (of zlib) of bytes, going on from that of the bytes before.
[[nodiscard]] std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0);

/// A JSON object with two members more, "length" (that of what comes before them) and "crc32" (its
/// checksum).
[[nodiscard]] std::string sealed(std::string_view object);

/// Describes how a sealed text differs from its length and checksum; none where both match.
[[nodiscard]] std::optional<std::string> damage_of(std::string_view text);

}  // namespace mlsysim::files

#include <mlsysim/files/detail/seal.hpp>

#include <fmt/format.h>
#include <zlib.h>

namespace mlsysim::files {
namespace {

std::string seal_of(std::string_view before) {
  return fmt::format(",\"length\":{},\"crc32\":\"{:08x}\"}}", before.size(), checksum(before));
}

}  // namespace

std::uint32_t checksum(std::string_view bytes, std::uint32_t before) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::string sealed(std::string_view object) {
  object.remove_suffix(1);  // its brace
  return std::string(object) + seal_of(object);
}

std::optional<std::string> damage_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto at = text.rfind(",\"length\":");
  if (at == std::string_view::npos || !text.ends_with("\"}"))
    return fmt::format("no length and checksum at the end of its {} bytes", text.size());
  const auto before = text.substr(0, at), given = text.substr(at);
  const auto own = seal_of(before);
  if (given == own) return std::nullopt;
  return fmt::format("{} instead of {}", given.substr(1), own.substr(1));
}

}  // namespace mlsysim::files

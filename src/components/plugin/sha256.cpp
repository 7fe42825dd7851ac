#include "detail/elf.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include <sha2.h>

namespace mlsysim::plugin::detail {

std::string sha256(std::string_view bytes) {
  std::array<char, SHA256_DIGEST_STRING_LENGTH> text{};
  ::SHA256Data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), text.data());
  return text.data();
}

std::string read_file(const std::filesystem::path& file, std::uint64_t limit) {
  auto read = files::try_read(file, limit);
  if (read.fault == files::ReadFault::none) return std::move(read.bytes);
  throw PluginError({.id = "mlsysim.plugin.001",
                     .message = "a file cannot be read",
                     .key = file.generic_string(),
                     .found = read.found,
                     .expected = fmt::format("a readable file of at most {} bytes", limit),
                     .where = {file.generic_string()}});
}

}  // namespace mlsysim::plugin::detail

#include <mlsysim/files/detail/folders.hpp>

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

namespace mlsysim::files {

void make_folders(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed) return;
  throw InputError({.id = "mlsysim.files.010",
                    .message = "a folder cannot be made",
                    .key = folder.generic_string(),
                    .found = fmt::format("'{}': {}", folder.generic_string(), failed.message()),
                    .expected = "a folder, or a place where one may be made",
                    .hint = "check the path and the permissions",
                    .where = {.file = folder.generic_string()}});
}

}  // namespace mlsysim::files

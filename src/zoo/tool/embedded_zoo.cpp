// The zoo inside the program: one packed stream (pack_zoo.py), which is unpacked once into the cache folder
// of the user. There it is a zoo as any other, with a cache of its own, and every command that reads the zoo
// finds it.

#include "zoo/detail/zoo_cache.hpp"
#include "zoo_blob.hpp"

#include <mlsysim/files/detail/files.hpp>

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

asm(".pushsection .rodata\n"
    ".balign 16\n"
    "mlsysim_zoo_blob: .incbin \"" MLSYSIM_ZOO_BLOB
    "\"\n"
    "mlsysim_zoo_blob_end:\n"
    ".popsection\n");
extern "C" {
[[gnu::visibility("hidden")]] extern const unsigned char mlsysim_zoo_blob[];
[[gnu::visibility("hidden")]] extern const unsigned char mlsysim_zoo_blob_end[];
const char* mlsysim_embedded_zoo();
}

namespace mlsysim::cli {
namespace {

namespace fs = std::filesystem;

/// Whether a folder can be relied on: it belongs to the caller or to root, and others cannot write to it.
bool is_own(const fs::path& folder) {
  struct stat facts {};
  return ::lstat(folder.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         (facts.st_uid == ::geteuid() || facts.st_uid == 0) && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Folders that may hold the unpacked zoo: the user's cache, then one of the user's in the folder for
/// temporary files.
std::vector<fs::path> roots() {
  std::vector<fs::path> out;
  if (!files::secure()) {
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    const char* const home = std::getenv("HOME");
    if (cache != nullptr && *cache == '/')
      out.push_back(fs::path(cache) / "mlsysim");
    else if (home != nullptr && *home == '/')
      out.push_back(fs::path(home) / ".cache/mlsysim");
  }
  out.emplace_back(fmt::format("/tmp/mlsysim-{}", ::geteuid()));
  return out;
}

bool write_files(const fs::path& folder) {
  std::string raw(kZooUnpacked, '\0');
  uLongf size = raw.size();
  if (::uncompress(reinterpret_cast<Bytef*>(raw.data()), &size, mlsysim_zoo_blob,
                   static_cast<uLong>(mlsysim_zoo_blob_end - mlsysim_zoo_blob)) != Z_OK)
    return false;
  for (std::string_view rest = raw; !rest.empty();) {
    std::uint32_t lengths[2];
    std::memcpy(lengths, rest.data(), sizeof lengths);
    const auto path = folder / rest.substr(sizeof lengths, lengths[0]);
    fs::create_directories(path.parent_path());
    const int file = files::begin(path, {.replace = files::Replace::any});
    const int failed = files::put(file, rest.substr(sizeof lengths + lengths[0], lengths[1]));
    if (::close(file) != 0 || failed != 0) return false;
    rest.remove_prefix(sizeof lengths + lengths[0] + lengths[1]);
  }
  return true;
}

/// Unpacks beside and renames: a folder of this name is whole. Another process may be faster, which is as
/// good.
void unpack(const fs::path& root, const fs::path& zoo) {
  auto beside = (root / "unpacking-XXXXXX").string();
  if (::mkdtemp(beside.data()) == nullptr) return;
  std::error_code ignored;
  try {
    if (write_files(beside)) {
      try {
        detail::write_cache(beside, fs::path(beside) / detail::kCacheName);
      } catch (const std::exception&) {
        fs::remove(fs::path(beside) / detail::kCacheName, ignored);  // it is only slower without
      }
      fs::permissions(beside,
                      fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                          fs::perms::others_read | fs::perms::others_exec,
                      ignored);
      fs::rename(beside, zoo, ignored);
    }
  } catch (const std::exception&) {
    // A full disk, for instance: the next folder is tried.
  }
  fs::remove_all(beside, ignored);
}

std::string unpacked_zoo() {
  for (const auto& root : roots()) {
    const auto zoo = root / fmt::format("zoo-{}", kZooDigest);
    if (is_own(root) && is_own(zoo)) return zoo.string();
    std::error_code failed;
    fs::create_directories(root.parent_path(), failed);
    ::mkdir(root.c_str(), 0700);
    if (!is_own(root)) continue;
    unpack(root, zoo);
    if (is_own(zoo)) return zoo.string();
  }
  return {};
}

}  // namespace
}  // namespace mlsysim::cli

/// The unpacked zoo of this program; empty where no folder can be written.
const char* mlsysim_embedded_zoo() {
  static const std::string folder = mlsysim::cli::unpacked_zoo();
  return folder.c_str();
}

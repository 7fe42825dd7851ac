#pragma once
/// A binary copy of the parsed trees, keyed by the content of each file.
///
/// The cache only saves parsing and reading: a tree is used when its file has the size and the hash that it
/// was made from, or the size and an earlier time of change than the cache. A damaged cache is ignored as a
/// whole, and every tree is checked before use. A cache is sound where all entries were read without a
/// problem when it was written; they need not be read before they are asked for.

#include "yaml_tree.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

inline constexpr std::string_view kCacheName = "zoo.cache";

struct CachedTree {
  std::uint64_t hash = 0;
  std::uint64_t bytes = 0;  ///< size of the file
  YamlTree tree;
};

/// Trees by path relative to the zoo's folder, with '/' between folders.
class TreeCache {
 public:
  /// The cache of a folder; empty when there is none or it is not usable.
  [[nodiscard]] static TreeCache read(const std::filesystem::path& file);
  /// The trees of a serialized cache; empty when it is not usable. They lie in these bytes, as an array of
  /// nodes may. @param kept holds the bytes; none where the caller does
  [[nodiscard]] static TreeCache parse(std::string_view bytes, std::shared_ptr<const void> kept = {});

  void add(std::string path, CachedTree tree);
  /// Takes out the tree of a file with this content.
  [[nodiscard]] std::optional<YamlTree> take(const std::string& path, std::string_view content);
  /// Takes out the tree of a file that has not changed since; its content is read only where its size and
  /// times leave doubt. @throws InputError for a file that cannot be read
  [[nodiscard]] std::optional<YamlTree> take_unchanged(const std::string& path,
                                                       const std::filesystem::path& file);
  [[nodiscard]] bool sound() const { return sound_; }
  void set_sound(bool sound) { sound_ = sound; }
  [[nodiscard]] std::string serialise() const;
  [[nodiscard]] std::size_t size() const { return trees_.size(); }
  /// Gives the pages of its file back, which was read whole; those that are read again come again.
  void rest() const;

 private:
  std::map<std::string, CachedTree> trees_;
  bool sound_ = false;
  std::shared_ptr<const std::string_view> mapped_{};  ///< the file, where it is one
  std::optional<std::int64_t> written_{};             ///< when the file of the cache was last changed [ns]
};

/// Parses every file of a zoo and writes its cache; gives the number of trees.
/// @throws ErrorList for files that cannot be parsed, InputError when the cache cannot be written
std::size_t write_cache(const std::filesystem::path& zoo, const std::filesystem::path& cache);

/// YAML files below a folder, sorted by relative path; the paths are relative with '/'.
[[nodiscard]] std::vector<std::string> yaml_files(const std::filesystem::path& folder);

}  // namespace mlsysim::detail

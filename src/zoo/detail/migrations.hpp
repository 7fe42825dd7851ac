#pragma once
/// Forward migrations of old files: from one version of a kind's schema to the next.

#include "yaml_tree.hpp"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::detail {

/// What a migration has to say.
struct MigrationLog {
  const SourceText& source;
  Problems& problems;                                        ///< keys that the old version did not know
  std::vector<std::pair<std::size_t, std::string>> notes{};  ///< of an entry, by its position in the file
};

/// Turns the tree of a file of `from` into one of version `from + 1`.
struct Migration {
  std::string_view kind;
  int from;
  YamlTree (*apply)(const YamlTree& tree, MigrationLog& log);
};
using MigrationTable = std::span<const Migration>;

/// The migrations that ship.
[[nodiscard]] MigrationTable shipped_migrations();

/// Models as sizes of one transformer become stacks of layers.
[[nodiscard]] YamlTree model_1_to_2(const YamlTree& tree, MigrationLog& log);

/// A copy of the tree in which the key of this dotted path is renamed, in every entry: ("memory.size",
/// "capacity").
[[nodiscard]] YamlTree rename_key(const YamlTree& tree, std::string_view path, std::string_view new_name);

}  // namespace mlsysim::detail

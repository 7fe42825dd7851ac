#pragma once
/// Forward migrations of old files: from one version of a kind's schema to the next.

#include "yaml_tree.hpp"

#include <span>
#include <string_view>

namespace mlsysim::detail {

/// Turns the tree of a file of `from` into one of version `from + 1`.
struct Migration {
  std::string_view kind;
  int from;
  YamlTree (*apply)(const YamlTree& tree);
};
using MigrationTable = std::span<const Migration>;

/// The migrations that ship. Every schema is at its first version, so there are none yet.
[[nodiscard]] MigrationTable shipped_migrations();

/// A copy of the tree in which the key of this dotted path is renamed, in every entry: ("memory.size",
/// "capacity").
[[nodiscard]] YamlTree rename_key(const YamlTree& tree, std::string_view path, std::string_view new_name);

}  // namespace mlsysim::detail

#pragma once
/// A tree of a YAML text that can be changed: what migrations work on.

#include "yaml_tree.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// A node and what is below it. Of a map keys and values alternate in `items`.
struct EditNode {
  NodeKind kind = NodeKind::null;
  std::string text{};
  bool quoted = false;
  Place at{};
  std::vector<EditNode> items{};

  [[nodiscard]] static EditNode of(NodeRef node);
  [[nodiscard]] static EditNode map(Place at) { return {.kind = NodeKind::map, .at = at}; }
  [[nodiscard]] static EditNode list(Place at) { return {.kind = NodeKind::sequence, .at = at}; }
  [[nodiscard]] static EditNode scalar(std::string text, Place at) {
    return {.kind = NodeKind::scalar, .text = std::move(text), .at = at};
  }

  /// The value of a key of this map, or null.
  [[nodiscard]] EditNode* find(std::string_view key);
  /// Takes a key out of this map with its value.
  [[nodiscard]] std::optional<EditNode> take(std::string_view key);
  /// Adds a key to this map.
  void put(std::string_view key, EditNode value);
  [[nodiscard]] bool empty() const { return items.empty(); }
};

/// The tree as readers take it.
[[nodiscard]] YamlTree tree_of(const EditNode& root);

}  // namespace mlsysim::detail

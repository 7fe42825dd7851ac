#pragma once
/// Our own tree of a YAML text: strict, positioned, and flat enough to be written to a cache as it is.
///
/// yaml-cpp's nodes are not used: they accept duplicate keys, read `no` as false and lose positions. The tree
/// is built from its parser events. Refused: duplicate keys, anchors, aliases, tags, several documents,
/// booleans other than `true` and `false`, keys that are no plain text, nesting beyond 64. Files of other
/// programs (`YamlForm::foreign`) have anchors, tags and the booleans of YAML 1.1.

#include "problems.hpp"

#include <mlsysim/zoo/detail/yaml_document.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

inline constexpr int kDeepestNesting = 64;

enum class NodeKind : std::uint8_t { null, scalar, sequence, map };

/// One node, in document order: a collection's children follow it, up to `end`. Keys and values of a map
/// alternate.
struct YamlNode {
  std::uint32_t text = 0, size = 0;  // of a scalar, in the pool
  std::uint32_t end = 0;             // index after the last node of this subtree
  std::uint32_t line = 0, column = 0;
  NodeKind kind = NodeKind::null;
  std::uint8_t quoted = 0;
  std::uint16_t unused = 0;
};

/// A view; copies share what holds it.
struct YamlTree {
  std::span<const YamlNode> nodes;
  std::string_view pool;
  std::shared_ptr<const void> kept{};  ///< keeps both; none where the caller does

  /// Whether every index is in bounds and the nesting is consistent; a tree from outside must pass before
  /// use.
  [[nodiscard]] bool consistent() const;
};

/// The nodes and texts of a tree that is being built.
struct YamlParts {
  std::vector<YamlNode> nodes;
  std::string pool;

  [[nodiscard]] YamlTree tree() && {
    const auto kept = std::make_shared<const YamlParts>(std::move(*this));
    return {kept->nodes, kept->pool, kept};
  }
};

/// A node of a tree that outlives it.
class NodeRef {
 public:
  NodeRef(const YamlTree& tree, std::uint32_t index) : tree_(&tree), index_(index) {}

  [[nodiscard]] NodeKind kind() const { return node().kind; }
  [[nodiscard]] bool quoted() const { return node().quoted != 0; }
  [[nodiscard]] std::string_view text() const { return tree_->pool.substr(node().text, node().size); }
  [[nodiscard]] Place place() const { return {node().line, node().column}; }
  [[nodiscard]] bool is_map() const { return kind() == NodeKind::map; }
  [[nodiscard]] bool is_sequence() const { return kind() == NodeKind::sequence; }
  [[nodiscard]] bool is_scalar() const { return kind() == NodeKind::scalar; }
  /// Neither collection nor null, and written without quotes.
  [[nodiscard]] bool is_plain() const { return is_scalar() && !quoted(); }
  [[nodiscard]] std::uint32_t index() const { return index_; }

  /// The value of a key of this map, if any.
  [[nodiscard]] std::optional<NodeRef> find(std::string_view key) const;

  /// Calls f(item) for the items of a sequence.
  template <class F> void for_each_item(F&& f) const {
    for (std::uint32_t i = index_ + 1; i < node().end; i = tree_->nodes[i].end) f(NodeRef(*tree_, i));
  }
  /// Calls f(key, value) for the pairs of a map.
  template <class F> void for_each_pair(F&& f) const {
    for (std::uint32_t k = index_ + 1; k < node().end;) {
      const std::uint32_t v = tree_->nodes[k].end;
      f(NodeRef(*tree_, k), NodeRef(*tree_, v));
      k = tree_->nodes[v].end;
    }
  }
  /// "the text 'x'", "a list", "a map", "nothing"
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] const YamlNode& node() const { return tree_->nodes[index_]; }
  const YamlTree* tree_;
  std::uint32_t index_;
};

/// Reads a text into a tree; empty when something stopped the reading. Every fault is added to `problems`.
[[nodiscard]] std::optional<YamlTree> parse_yaml(const SourceText& source, Problems& problems,
                                                 YamlForm form = YamlForm::own);

}  // namespace mlsysim::detail

#include "detail/edit_tree.hpp"

namespace mlsysim::detail {

EditNode EditNode::of(NodeRef node) {
  EditNode out{.kind = node.kind(), .at = node.place()};
  if (node.is_scalar()) out.text = std::string(node.text());
  out.quoted = node.quoted();
  if (node.is_map())
    node.for_each_pair([&](NodeRef key, NodeRef value) {
      out.items.push_back(of(key));
      out.items.push_back(of(value));
    });
  else if (node.is_sequence())
    node.for_each_item([&](NodeRef item) { out.items.push_back(of(item)); });
  return out;
}

EditNode* EditNode::find(std::string_view key) {
  if (kind != NodeKind::map) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2)
    if (items[i].text == key) return &items[i + 1];
  return nullptr;
}

std::optional<EditNode> EditNode::take(std::string_view key) {
  EditNode* value = find(key);
  if (value == nullptr) return std::nullopt;
  EditNode out = std::move(*value);
  const auto pair = items.begin() + (value - items.data()) - 1;
  items.erase(pair, pair + 2);
  return out;
}

void EditNode::put(std::string_view key, EditNode value) {
  items.push_back(scalar(std::string(key), value.at));
  items.push_back(std::move(value));
}

namespace {

void append(YamlTree& tree, const EditNode& node) {
  const auto index = tree.nodes.size();
  YamlNode& out = tree.nodes.emplace_back();
  out.kind = node.kind;
  out.quoted = node.quoted ? 1 : 0;
  out.line = node.at.line;
  out.column = node.at.column;
  if (node.kind == NodeKind::scalar) {
    out.text = static_cast<std::uint32_t>(tree.pool.size());
    out.size = static_cast<std::uint32_t>(node.text.size());
    tree.pool += node.text;
  }
  for (const auto& item : node.items) append(tree, item);
  tree.nodes[index].end = static_cast<std::uint32_t>(tree.nodes.size());
}

}  // namespace

YamlTree tree_of(const EditNode& root) {
  YamlTree tree;
  append(tree, root);
  return tree;
}

}  // namespace mlsysim::detail

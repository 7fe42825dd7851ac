#include "detail/migrations.hpp"

namespace mlsysim::detail {
namespace {

void rename_in(YamlTree& out, NodeRef map, std::string_view path, std::string_view new_name) {
  if (!map.is_map()) return;
  const auto dot = path.find('.');
  const auto first = path.substr(0, dot);
  map.for_each_pair([&](NodeRef key, NodeRef value) {
    if (key.text() != first) return;
    if (dot != std::string_view::npos) {
      rename_in(out, value, path.substr(dot + 1), new_name);
      return;
    }
    auto& node = out.nodes[key.index()];
    node.text = static_cast<std::uint32_t>(out.pool.size());
    node.size = static_cast<std::uint32_t>(new_name.size());
    out.pool += new_name;
  });
}

}  // namespace

MigrationTable shipped_migrations() {
  static constexpr Migration table[] = {{"model", 1, &model_1_to_2}};
  return table;
}

YamlTree rename_key(const YamlTree& tree, std::string_view path, std::string_view new_name) {
  YamlTree out = tree;
  if (const auto entries = NodeRef(tree, 0).find("entries"))
    entries->for_each_item([&](NodeRef entry) { rename_in(out, entry, path, new_name); });
  return out;
}

}  // namespace mlsysim::detail

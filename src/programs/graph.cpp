// The modules of a program as a graph.

#include "detail/amounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace mlsysim {
namespace {

/// The first parts of a path.
std::string_view prefix(std::string_view path, int depth) {
  std::size_t at = 0;
  for (int i = 0; i < depth; ++i) {
    at = path.find('/', at);
    if (at == std::string_view::npos) return path;
    ++at;
  }
  return path.substr(0, at == 0 ? 0 : at - 1);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 32) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  return out;
}

}  // namespace

std::string program_graph(const Program& p, GraphLanguage language, int depth) {
  struct Module {
    double ops = 0, macs = 0;
  };
  std::vector<std::string_view> order;
  std::map<std::string_view, std::size_t> number;
  std::vector<Module> modules;
  const auto node = [&](std::string_view path) {
    const auto [at, fresh] = number.emplace(path, modules.size());
    if (fresh) {
      modules.emplace_back();
      order.push_back(path);
    }
    return at->second;
  };
  constexpr auto none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> maker(p.values.size(), none);
  std::map<std::pair<std::size_t, std::size_t>, double> edges;
  for (const auto v : p.inputs) maker[v] = node("inputs");
  for (const auto& op : p.ops) {
    if (op.touch == Touch::none) {
      for (const auto r : op.results) maker[r] = op.operands.empty() ? none : maker[op.operands[0]];
      continue;
    }
    // Without modules an operator stands for itself.
    const auto at = node(op.path.empty() ? op.name : prefix(op.path, depth));
    modules[at].ops += op.times;
    modules[at].macs += op.macs() * op.times;
    for (const auto v : op.operands)
      if (maker[v] != none && maker[v] != at) edges[{maker[v], at}] += p.values[v].type.bytes() * op.times;
    for (const auto r : op.results) maker[r] = at;
  }
  const bool dot = language == GraphLanguage::dot;
  std::string out =
      dot ? "digraph program {\n  rankdir=TB;\n  node [shape=box, fontname=sans];\n" : "flowchart TB\n";
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto facts = modules[i].ops == 0 ? std::string()
                       : modules[i].macs > 0
                           ? fmt::format("{:g} operators, {:.4g} MACs", modules[i].ops, modules[i].macs)
                           : fmt::format("{:g} operators", modules[i].ops);
    const auto name = escaped(order[i].empty() ? "top" : order[i]);
    out += dot ? fmt::format("  n{} [label=\"{}\\n{}\"];\n", i, name, facts)
               : fmt::format("  n{}[\"{}<br/>{}\"]\n", i, name, facts);
  }
  for (const auto& [ends, bytes] : edges)
    out += dot ? fmt::format("  n{} -> n{} [label=\"{:.4g} B\"];\n", ends.first, ends.second, bytes)
               : fmt::format("  n{} -->|{:.4g} B| n{}\n", ends.first, bytes, ends.second);
  return out + (dot ? "}\n" : "");
}

}  // namespace mlsysim

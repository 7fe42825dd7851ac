// The modules of a program as a graph.

#include "detail/amounts.hpp"

#include <mlsysim/model_graphs/program_graph.hpp>

#include <map>

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

}  // namespace

DrawnGraph graph_of(const Program& p, int depth) {
  DrawnGraph out{.title = p.name, .nodes = {}, .edges = {}};
  std::map<std::string_view, std::size_t> number;
  const auto node = [&](std::string_view path) {
    const auto [at, fresh] = number.emplace(path, out.nodes.size());
    if (fresh) out.nodes.push_back({.name = std::string(path.empty() ? "top" : path)});
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
    out.nodes[at].operators += op.times;
    out.nodes[at].macs += op.macs() * op.times;
    for (const auto v : op.operands)
      if (maker[v] != none && maker[v] != at) edges[{maker[v], at}] += p.values[v].type.bytes() * op.times;
    for (const auto r : op.results) maker[r] = at;
  }
  for (const auto& [ends, bytes] : edges) out.edges.push_back({ends.first, ends.second, bytes});
  return out;
}

void add_shares(DrawnGraph& graph, const std::vector<std::pair<std::string, double>>& times) {
  double whole = 0;
  for (const auto& [path, time] : times) whole += time;
  if (!(whole > 0)) return;
  for (auto& n : graph.nodes) n.share = 0;
  for (const auto& [path, time] : times) {
    DrawnGraph::Node* best = nullptr;
    for (auto& n : graph.nodes)
      if (path.starts_with(n.name) && (path.size() == n.name.size() || path[n.name.size()] == '/') &&
          (best == nullptr || n.name.size() > best->name.size()))
        best = &n;
    if (best != nullptr) *best->share += time / whole;
  }
}

std::string program_graph(const Program& p, GraphLanguage language, int depth) {
  return drawn(graph_of(p, depth), language == GraphLanguage::dot ? GraphForm::dot : GraphForm::mermaid);
}

}  // namespace mlsysim

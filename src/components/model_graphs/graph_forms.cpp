// Graphs as DOT, Mermaid, SVG and JSON.

#include <mlsysim/model_graphs/program_graph.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace mlsysim {
namespace {

using Json = nlohmann::ordered_json;

std::string dot_text(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 32) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  return out;
}
/// Mermaid's labels know the entities of HTML, and a quote would end them.
std::string entities(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 32)
      out += c;
  }
  return out;
}

/// Fills from white to blue by share, and the color of words on them: a contrast of 4.5 or more on each.
struct Fill {
  const char *fill, *words;
};
Fill fill_of(const std::optional<double>& share) {
  static constexpr std::array<Fill, 5> steps{Fill{"#f2f6fb", "#111111"},
                                             {"#cfe0f3", "#111111"},
                                             {"#9cc2e6", "#111111"},
                                             {"#2f6fb0", "#ffffff"},
                                             {"#0b3d73", "#ffffff"}};
  if (!share) return {"#ffffff", "#111111"};
  const double x = *share < 0.02 ? 0 : *share < 0.1 ? 1 : *share < 0.25 ? 2 : *share < 0.5 ? 3 : 4;
  return steps[static_cast<std::size_t>(x)];
}

std::string facts_of(const DrawnGraph::Node& n) {
  std::string out;
  if (n.operators > 0) out = fmt::format("{:g} operators", n.operators);
  if (n.macs > 0) out += fmt::format(", {:.4g} MACs", n.macs);
  if (n.share) out += fmt::format("{}{:.3g} % of the time", out.empty() ? "" : ", ", 100 * *n.share);
  return out;
}
std::string words_of(const DrawnGraph::Edge& e) {
  return !e.cut.empty() ? "break: " + e.cut : e.bytes > 0 ? fmt::format("{:.4g} B", e.bytes) : std::string();
}

std::string dot(const DrawnGraph& g) {
  std::string out =
      "digraph program {\n  rankdir=TB;\n  node [shape=box, style=filled, fillcolor=white, fontname=sans];\n";
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const auto& n = g.nodes[i];
    const auto f = fill_of(n.share);
    out += fmt::format("  n{} [label=\"{}\\n{}\"{}];\n", i, dot_text(n.name), facts_of(n),
                       n.share ? fmt::format(", fillcolor=\"{}\", fontcolor=\"{}\"", f.fill, f.words) : "");
  }
  for (const auto& e : g.edges)
    out += fmt::format("  n{} -> n{} [label=\"{}\"{}];\n", e.from, e.to, dot_text(words_of(e)),
                       e.cut.empty() ? "" : ", style=dashed, color=\"#990000\", fontcolor=\"#990000\"");
  return out + "}\n";
}

std::string mermaid(const DrawnGraph& g) {
  std::string out = "flowchart TB\n", styles;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const auto& n = g.nodes[i];
    out += fmt::format("  n{}[\"{}<br/>{}\"]\n", i, entities(n.name), facts_of(n));
    if (const auto f = fill_of(n.share); n.share)
      styles += fmt::format("  style n{} fill:{},color:{}\n", i, f.fill, f.words);
  }
  for (const auto& e : g.edges) {
    const auto words = entities(words_of(e));
    out += fmt::format("  n{} {}{} n{}\n", e.from, e.cut.empty() ? "-->" : "-.->",
                       words.empty() ? "" : "|\"" + words + "\"|", e.to);
  }
  return out + styles;
}

std::string json(const DrawnGraph& g) {
  Json out{
      {"schema", "mlsysim/graph@1"}, {"title", g.title}, {"nodes", Json::array()}, {"edges", Json::array()}};
  for (const auto& n : g.nodes) {
    Json row{{"name", n.name}, {"operators", n.operators}, {"macs", n.macs}};
    if (n.share) row["share"] = *n.share;
    out["nodes"].push_back(std::move(row));
  }
  for (const auto& e : g.edges) {
    Json row{{"from", e.from}, {"to", e.to}, {"bytes", e.bytes}};
    if (!e.cut.empty()) row["cut"] = e.cut;
    out["edges"].push_back(std::move(row));
  }
  return detail::json_document(out);
}

/// The beginning of a text that a box or a line has room for.
std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  auto end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end) + "…";
}

/// Layers from top to bottom: a node stands below all that it needs and that runs before it.
std::string svg(const DrawnGraph& g) {
  constexpr double kWidth = 230, kHeight = 44, kAcross = 260, kDown = 96, kEdge = 20;
  std::vector<std::size_t> layer(g.nodes.size(), 0);
  for (std::size_t i = 0; i < g.nodes.size(); ++i)
    for (const auto& e : g.edges)
      if (e.to == i && e.from < i) layer[i] = std::max(layer[i], layer[e.from] + 1);
  std::map<std::size_t, std::size_t> filled;
  std::vector<std::pair<double, double>> place;
  double right = kWidth, bottom = kHeight;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    place.emplace_back(kEdge + kAcross * static_cast<double>(filled[layer[i]]++),
                       kEdge + kDown * static_cast<double>(layer[i]));
    right = std::max(right, place[i].first + kWidth);
    bottom = std::max(bottom, place[i].second + kHeight);
  }
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} "
      "{1:g}\" role=\"img\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<title>{2}</title>\n<desc>{3} nodes and {4} edges, from "
      "top to bottom in the order "
      "in which they run</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      right + kEdge, bottom + kEdge, entities(g.title), g.nodes.size(), g.edges.size());
  for (const auto& e : g.edges) {
    const auto [x1, y1] = place[e.from];
    const auto [x2, y2] = place[e.to];
    const bool down = y2 > y1;
    const double ax = x1 + kWidth / 2, ay = down ? y1 + kHeight : y1, bx = x2 + kWidth / 2,
                 by = down ? y2 : y2 + kHeight;
    const char* colour = e.cut.empty() ? "#555555" : "#990000";
    out += fmt::format("<g><title>{}</title><path d=\"M{:g} {:g}L{:g} {:g}\" stroke=\"{}\"{} fill=\"none\"/>",
                       entities(words_of(e)), ax, ay, bx, by, colour,
                       e.cut.empty() ? "" : " stroke-width=\"2\" stroke-dasharray=\"6 4\"");
    const double mx = (ax + bx) / 2, my = (ay + by) / 2;
    if (!e.cut.empty())  // a bar across the line: the cut is seen without its color, too
      out += fmt::format("<path d=\"M{:g} {:g}L{:g} {:g}\" stroke=\"{}\" stroke-width=\"3\"/>", mx - 14, my,
                         mx + 14, my, colour);
    out += fmt::format("<text x=\"{:g}\" y=\"{:g}\" fill=\"{}\">{}</text></g>\n",
                       mx + (e.cut.empty() ? 4 : 18), my + 4, colour, entities(shortened(words_of(e), 48)));
  }
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const auto& n = g.nodes[i];
    const auto f = fill_of(n.share);
    const auto [x, y] = place[i];
    out += fmt::format(
        "<g><title>{0}: {1}</title><rect x=\"{2:g}\" y=\"{3:g}\" width=\"{4:g}\" height=\"{5:g}\" rx=\"4\" "
        "fill=\"{6}\" stroke=\"#555555\"/>"
        "<text x=\"{7:g}\" y=\"{8:g}\" fill=\"{9}\">{10}</text><text x=\"{7:g}\" y=\"{11:g}\" fill=\"{9}\" "
        "font-size=\"10\">{12}</text></g>\n",
        entities(n.name), facts_of(n), x, y, kWidth, kHeight, f.fill, x + 8, y + 18, f.words,
        entities(shortened(n.name, 34)), y + 35, shortened(facts_of(n), 46));
  }
  return out + "</svg>\n";
}

}  // namespace

std::string drawn(const DrawnGraph& graph, GraphForm form) {
  switch (form) {
    case GraphForm::dot:
      return dot(graph);
    case GraphForm::mermaid:
      return mermaid(graph);
    case GraphForm::svg:
      return svg(graph);
    case GraphForm::json:
      break;
  }
  return json(graph);
}

}  // namespace mlsysim

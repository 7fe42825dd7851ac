#pragma once
/// Graphs of programs for display: modules with the bytes between them, and compiler graphs with the breaks
/// that cut them.
///
/// Forms are DOT, Mermaid, SVG and JSON.
/// Example: tests/data/programs/stablehlo/mnist_mlp.mlir as DOT has the node "dot, 2 operators, 1.016e+05
/// MACs". The edge from the inputs to it carries 3136 B: 784 values in fp32.

#include <mlsysim/model_graphs/program.hpp>
#include <mlsysim/reflect/choice.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

/// Forms of graphs. SVG has a layout of its own; JSON has every number that the others show.
enum class GraphForm : std::uint8_t { dot, mermaid, svg, json };
template <> inline constexpr auto names_of<GraphForm> = ChoiceNames{"form of graphs"};

/// A graph whose nodes are in the order in which they run.
struct DrawnGraph {
  struct Node {
    std::string name;
    double operators = 0, macs = 0;
    std::optional<double> share{};  ///< of the time of all; darker where it is larger
  };
  struct Edge {
    std::size_t from = 0, to = 0;
    double bytes = 0;
    std::string cut{};  ///< why the graph ends here and another one begins; drawn as a cut
  };
  std::string title;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

/// The modules of a program and the data between them, collapsed to the first `depth` parts of their paths.
[[nodiscard]] DrawnGraph graph_of(const Program& program, int depth = 3);
/// Gives nodes their shares of times that are known by paths of operators; a path belongs to the node with
/// the longest name that it begins with.
void add_shares(DrawnGraph& graph, const std::vector<std::pair<std::string, double>>& times);
/// The graph as text. Every text is escaped for its form.
[[nodiscard]] std::string drawn(const DrawnGraph& graph, GraphForm form);

}  // namespace mlsysim

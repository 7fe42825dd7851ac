#include "detail/graph.hpp"

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

namespace mlsysim::detail {

std::size_t PipelineGraph::find_stage(std::string_view wanted) const {
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (stages[i].name == wanted) return i;
  return kNone;
}

std::size_t PipelineGraph::find_given(std::string_view key) const {
  for (std::size_t i = 0; i < givens.size(); ++i)
    if (givens[i].key == canonical_key(key)) return i;
  return kNone;
}

std::vector<std::string> PipelineGraph::stage_names() const {
  std::vector<std::string> names;
  for (const auto& s : stages) names.push_back(s.name);
  return names;
}

std::size_t PipelineGraph::stage_at(std::string_view wanted) const {
  const auto i = find_stage(wanted);
  if (i != kNone) return i;
  const auto names = stage_names();
  throw LookupError(unknown_name(
      "mlsysim.pipeline.001", fmt::format("pipeline '{}' has no stage '{}'", name, wanted), wanted, names));
}

std::string describe_source(const PipelineGraph& graph, const PipelineSource& source) {
  std::string text;
  if (source.stage != kNone) {
    const auto& s = graph.stages[source.stage];
    text = fmt::format("{}.{}", s.name, s.resolver->outputs()[source.field].name);
  } else {
    text = fmt::format("given '{}'", graph.givens[source.given].key);
  }
  for (const auto* a : source.chain) text += " -> " + a->to;
  return text;
}

}  // namespace mlsysim::detail

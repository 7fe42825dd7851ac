#include "detail/assembler.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {

using detail::kNone;

void PipelineAssembler::sort_stages() {
  auto& stages = graph_->stages;
  std::vector<std::size_t> order;
  std::vector<bool> placed(stages.size(), false);
  const auto ready = [&](const detail::PipelineStage& s) {
    for (const auto& input : s.inputs)
      for (const auto& source : input.sources)
        if (source.stage != kNone && !placed[source.stage]) return false;
    return true;
  };
  // Always the first ready stage of the listing: the listing breaks ties and nothing else does.
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < stages.size() && !moved; ++s) {
      if (placed[s] || !ready(stages[s])) continue;
      placed[s] = moved = true;
      order.push_back(s);
    }
  }
  if (order.size() < stages.size()) {
    report_cycle(placed);
    return;
  }
  std::vector<std::size_t> place(stages.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<detail::PipelineStage> sorted;
  for (const auto s : order) sorted.push_back(std::move(stages[s]));
  stages = std::move(sorted);
  for (auto& s : stages)
    for (auto& input : s.inputs)
      for (auto& source : input.sources)
        if (source.stage != kNone) source.stage = place[source.stage];
}

void PipelineAssembler::report_cycle(const std::vector<bool>& placed) {
  const auto& stages = graph_->stages;
  struct Step {
    std::size_t stage;
    std::string text;
  };
  // Walking upstream among the stages that could not be placed must come back to one that was seen.
  std::vector<Step> walk;
  std::size_t at = static_cast<std::size_t>(std::find(placed.begin(), placed.end(), false) - placed.begin());
  for (;;) {
    const auto seen = std::find_if(walk.begin(), walk.end(), [&](const Step& s) { return s.stage == at; });
    if (seen != walk.end()) {
      walk.erase(walk.begin(), seen);
      break;
    }
    for (const auto& input : stages[at].inputs) {
      const auto blocked =
          std::find_if(input.sources.begin(), input.sources.end(),
                       [&](const detail::PipelineSource& s) { return s.stage != kNone && !placed[s.stage]; });
      if (blocked == input.sources.end()) continue;
      walk.push_back(
          {at, fmt::format("{}.{}", stages[at].name, stages[at].resolver->inputs()[input.field].name)});
      walk.back().text = detail::describe_source(*graph_, *blocked) + " -> " + walk.back().text;
      at = blocked->stage;
      break;
    }
  }
  std::vector<std::string> names, chain;
  for (auto it = walk.rbegin(); it != walk.rend(); ++it) {
    names.push_back(stages[it->stage].name);
    chain.push_back(it->text);
  }
  names.push_back(names.front());
  problem("014", fmt::format("the stages form a cycle: {}", fmt::join(names, " -> ")), names.front(),
          fmt::format("{}", fmt::join(chain, ", ")), "results that flow one way",
          "give one of these inputs instead, or solve the loop inside one Solver");
}

void PipelineAssembler::finish() {
  auto& stages = graph_->stages;
  const auto once = [](std::vector<std::size_t>& list, std::size_t item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  };
  for (std::size_t s = 0; s < stages.size(); ++s) {
    auto& stage = stages[s];
    for (const auto& output : stage.resolver->outputs())
      if (is_bare_number(output)) stage.result_numbers.push_back(output.offset);
    for (const auto& input : stage.inputs) {
      const auto& to = stage.resolver->inputs()[input.field];
      const bool plain =
          input.sources.size() == 1 && input.sources[0].stage != kNone && input.sources[0].chain.empty();
      if (!plain && !input.sources.empty()) stage.loose.push_back(input.field);
      for (const auto& source : input.sources) {
        if (source.stage == kNone) {
          once(graph_->givens[source.given].consumers, s);
          continue;
        }
        auto& producer = stages[source.stage];
        once(stage.upstream, source.stage);
        once(plain ? producer.consumers : producer.loose_consumers, s);
        stage.level = std::max(stage.level, producer.level + 1);
        if (!plain) continue;
        const auto& from = producer.resolver->outputs()[source.field];
        const bool static_memory =
            !is_dynamic(from) && !is_dynamic(to) && from.size == to.size && from.kind != ValueKind::any;
        auto kind = detail::PipelineEdge::Kind::general;
        if (is_bare_number(from) && is_bare_number(to))
          kind = detail::PipelineEdge::Kind::number;
        else if (static_memory && from.kind == to.kind && from.set == to.set) {
          const bool bare = (to.kind == ValueKind::flag && to.size == sizeof(bool)) ||
                            (to.kind == ValueKind::object && to.size == sizeof(void*)) ||
                            (to.kind == ValueKind::choice && to.size <= sizeof(int) && !to.nullable);
          if (bare)
            kind = detail::PipelineEdge::Kind::bytes;
          else if (to.kind == ValueKind::text && to.size == sizeof(std::string))
            kind = detail::PipelineEdge::Kind::text;
        }
        stage.edges.push_back({source.stage, from.offset, to.offset, to.size, kind, input.range, &from, &to});
      }
    }
  }
}

}  // namespace mlsysim

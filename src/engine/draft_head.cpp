#include "detail/draft_head.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {

std::vector<std::string> draft_head_kinds() { return {"eagle", "mtp", "medusa"}; }

std::optional<DraftHead> draft_head(std::string_view kind, const Workload& model) {
  const auto kinds = draft_head_kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return std::nullopt;
  const Stack* main = model.main();
  if (main == nullptr || main->layers.empty()) return std::nullopt;
  DraftHead out{.model = model, .note = {}};
  Stack head = *main;
  const auto own = std::find_if(model.stacks.begin(), model.stacks.end(),
                                [](const Stack& s) { return s.role == StackRole::draft; });
  if (kind == "mtp" && own != model.stacks.end()) {
    head = *own;
    head.role = StackRole::decoder;
    if (!head.own_embedding) head.input = main->input;
    out.note = fmt::format("the draft is the layers that {} has for it", model.name);
  } else if (kind == "medusa") {
    head.layers = {LayerRun{}};
    head.layers[0].times = 1;
    head.mixer = {};
    head.feed_forward = {};
    head.feed_forward.dense.emplace();
    head.feed_forward.dense->width = head.hidden.value_or(0) / 2;
    head.feed_forward.dense->gated = false;
    out.note = "the draft is a square matrix and an output matrix for each token";
  } else {
    LayerRun last = head.layers.back();
    last.times = 1;
    if (last.pattern.size() > 1) last.pattern = {last.pattern.back()};
    head.layers = {last};
    out.note = fmt::format("the draft is one layer like the last of {}, with its embedding and output matrix",
                           model.name);
  }
  out.model.name = fmt::format("{} {} head", model.name, kind);
  out.model.stacks = {std::move(head)};
  out.model.parameters.reset();
  out.model.active_parameters.reset();
  out.model.entry = nullptr;
  return out;
}

}  // namespace mlsysim::detail

#include "detail/draft_head.hpp"

#include <mlsysim/engine/detail/model_name.hpp>
#include <mlsysim/units/detail/lower.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mlsysim::detail {
namespace {

/// A square matrix, as two of half its rows, and an output matrix: the tied one, as no embedding is read.
void make_medusa(Stack& head) {
  head.layers = {LayerRun{}};
  head.layers[0].times = 1;
  head.mixer = {};
  head.reach = {};
  head.feed_forward = {};
  head.feed_forward.dense.emplace();
  head.feed_forward.dense->width = head.hidden.value_or(0) / 2;
  head.feed_forward.dense->gated = false;
  head.residual = {};
  head.residual.norms = 0;
  head.input = {.vocab = head.input.vocab};
  head.output = {};
  head.output.norm = false;
  head.output.tied = head.own_embedding = true;
}

/// The last layer alone. Heads of EAGLE have one feed-forward in place of experts, as wide as the experts of
/// a token together. Layers for multi-token prediction keep the experts of their model.
void keep_last_layer(Stack& head, bool experts) {
  Stack one = head;
  for_each_place(head, [&](const LayerPlace& p) {
    one.mixer = *p.mixer;
    one.reach = *p.reach;
    one.residual = *p.residual;
    one.feed_forward = *p.feed_forward;
  });
  one.layers = {LayerRun{}};
  one.layers[0].times = 1;
  if (const auto& e = one.feed_forward.experts; e && !experts) {
    const double width = e->width.value_or(0);
    DenseFeedForward dense;
    dense.width = e->top_k.value_or(0) * width + e->shared.value_or(0) * e->shared_width.value_or(width);
    dense.gated = e->gated;
    one.feed_forward = {.dense = dense, .experts = {}};
  }
  head = std::move(one);
}

}  // namespace

std::string_view head_in(std::string_view name) {
  const std::string small = lower(name);
  for (const std::string_view kind : {"eagle", "mtp", "medusa"})
    if (small.find(kind) != std::string::npos) return kind;
  return {};
}

std::optional<DraftHead> draft_head(std::string_view kind, const Workload& model) {
  if (kind.empty() || head_in(kind) != kind) return std::nullopt;
  const Stack* main = model.main();
  if (main == nullptr || main->layers.empty()) return std::nullopt;
  DraftHead out{.model = model, .note = {}};
  Stack head = *main;
  const auto own = std::find_if(model.stacks.begin(), model.stacks.end(),
                                [](const Stack& s) { return s.role == StackRole::draft; });
  head.role = StackRole::draft;
  head.own_embedding = false;
  if (kind == "mtp" && own != model.stacks.end()) {
    head = *own;
    if (!head.own_embedding) head.input = main->input;
    out.note = fmt::format("the draft is the layers that {} has for it", model.name);
  } else if (kind == "medusa") {
    make_medusa(head);
    out.note = "the draft is a square matrix and an output matrix for each token";
  } else {
    const bool experts = kind == "mtp";
    keep_last_layer(head, experts);
    out.note = fmt::format(
        "the draft is one layer like the last of {}{}, whose embedding and output matrix it uses", model.name,
        model.is_moe() && !experts ? ", with one feed-forward in place of experts" : "");
  }
  out.model.name = fmt::format("{} {} head", model.name, kind);
  out.model.stacks = {std::move(head)};
  out.model.parameters.reset();
  out.model.active_parameters.reset();
  out.model.entry = nullptr;
  return out;
}

}  // namespace mlsysim::detail

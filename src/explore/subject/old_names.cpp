#include "explore/subject/old_names.hpp"

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim {
namespace {

/// An old name below "shape." or "workload.", and the ends of the paths that have its number now.
struct OldName {
  std::string_view name;
  std::array<std::string_view, 2> ends;
};
constexpr OldName kOldNames[] = {
    {"shape.layers", {"times"}},
    {"shape.hidden", {"].hidden"}},
    {"shape.ffn", {"feed_forward.dense.width"}},
    {"shape.heads", {"mixer.grouped.heads", "mixer.latent.heads"}},
    {"shape.kv_heads", {"mixer.grouped.kv_heads"}},
    {"shape.head_dim", {"mixer.grouped.head_dim"}},
    {"shape.qk_dim", {"mixer.grouped.head_dim"}},
    {"shape.v_dim", {"mixer.grouped.value_head_dim", "mixer.latent.value_head_dim"}},
    {"shape.vocab", {"input.vocab"}},
    {"shape.norms_per_layer", {"residual.norms"}},
    {"shape.token_types", {"input.token_types"}},
    {"shape.classes", {"output.classes"}},
    {"shape.outputs", {"output.classes"}},
    {"shape.image_size", {"input.image_size"}},
    {"shape.patch_size", {"input.patch_size"}},
    {"shape.window", {"reach.window"}},
    {"shape.experts", {"feed_forward.experts.count"}},
    {"shape.top_k", {"feed_forward.experts.top_k"}},
    {"shape.expert_ffn", {"feed_forward.experts.width"}},
    {"shape.shared_experts", {"feed_forward.experts.shared"}},
    {"shape.shared_ffn", {"feed_forward.experts.shared_width"}},
    {"shape.routed_hidden", {"feed_forward.experts.latent"}},
    {"shape.q_lora", {"mixer.latent.q_lora_rank", "mixer.grouped.q_lora_rank"}},
    {"shape.kv_lora", {"mixer.latent.kv_lora_rank"}},
    {"shape.nope", {"mixer.latent.nope_head_dim"}},
    {"shape.rope", {"mixer.latent.rope_head_dim"}},
    {"shape.index_heads", {"reach.select.heads"}},
    {"shape.index_dim", {"reach.select.head_dim"}},
    {"shape.index_top_k", {"reach.select.top_k"}},
    {"shape.output_rank", {"mixer.grouped.output_rank"}},
    {"shape.output_groups", {"mixer.grouped.output_groups"}},
    {"shape.linear_key_heads", {"mixer.linear.key_heads"}},
    {"shape.linear_value_heads", {"mixer.linear.value_heads"}},
    {"shape.linear_head_dim", {"mixer.linear.key_head_dim"}},
    {"shape.conv_width", {"mixer.linear.conv_width"}},
    {"moe.experts", {"feed_forward.experts.count"}},
    {"moe.top_k", {"feed_forward.experts.top_k"}},
    {"moe.shared_experts", {"feed_forward.experts.shared"}},
    {"moe.expert_ffn", {"feed_forward.experts.width"}},
    {"moe.shared_expert_ffn", {"feed_forward.experts.shared_width"}},
    {"attention.q_lora_rank", {"mixer.latent.q_lora_rank", "mixer.grouped.q_lora_rank"}},
    {"attention.kv_lora_rank", {"mixer.latent.kv_lora_rank"}},
    {"attention.nope_head_dim", {"mixer.latent.nope_head_dim"}},
    {"attention.rope_head_dim", {"mixer.latent.rope_head_dim"}},
    {"attention.value_head_dim", {"mixer.latent.value_head_dim"}},
    {"attention.sliding_window", {"reach.window"}},
    {"attention.chunk", {"reach.chunk"}},
    {"linear_attention.key_heads", {"mixer.linear.key_heads"}},
    {"linear_attention.value_heads", {"mixer.linear.value_heads"}},
    {"linear_attention.head_dim", {"mixer.linear.key_head_dim"}},
    {"linear_attention.conv_width", {"mixer.linear.conv_width"}},
    {"state_space.state_size", {"mixer.state_space.state_size"}},
    {"state_space.expand", {"mixer.state_space.expand"}},
    {"state_space.conv_width", {"mixer.state_space.conv_width"}},
    {"extra.layers", {"outline.layers"}},
};

bool ends_in(std::string_view path, const OldName& old) {
  for (const auto end : old.ends) {
    if (end.empty() || !path.ends_with(end)) continue;
    const auto before = path.size() - end.size();
    if (end.front() == ']' || (before > 0 && path[before - 1] == '.')) return true;
  }
  return false;
}

/// Whose sizes a name is of, and the rest of it.
std::pair<std::string_view, std::string_view> split(std::string_view name) {
  if (name.starts_with("draft.")) return {"draft_model.", name.substr(6)};
  for (const std::string_view owner : {"workload.", "draft_model."})
    if (name.starts_with(owner)) return {owner, name.substr(owner.size())};
  return {"workload.", name};
}

}  // namespace

const FieldInfo* find_input(std::span<const FieldInfo> inputs, std::string_view name) {
  if (const FieldInfo* exact = find_field(inputs, name); exact != nullptr) return exact;
  // Members of the plan that have the scenario's own name by now.
  constexpr std::string_view plan = "plan.";
  if (name.starts_with(plan))
    if (const FieldInfo* own = find_field(inputs, name.substr(plan.size())); own != nullptr) return own;
  const auto [owner, rest] = split(name);
  for (const OldName& old : kOldNames) {
    if (old.name != rest) continue;
    std::vector<const FieldInfo*> found;
    std::string_view stack;
    for (const FieldInfo& f : inputs) {
      if (!f.name.starts_with(owner) || !ends_in(f.name, old)) continue;
      // The first stack that has such a number answers.
      const auto of = std::string_view(f.name).substr(0, f.name.find(']'));
      if (stack.empty()) stack = of;
      if (of == stack) found.push_back(&f);
    }
    if (found.size() < 2) return found.empty() ? nullptr : found.front();
    std::vector<std::string> names;
    for (const auto* f : found) names.push_back(f->name);
    throw LookupError(
        {.id = "mlsysim.explore.152",
         .message = fmt::format("'{}' is an old name for more than one number of this model", name),
         .key = std::string(name),
         .found = fmt::format("{} of them", found.size()),
         .expected = fmt::format("one of {}", fmt::join(names, ", ")),
         .hint = fmt::format("e.g. '{}'", names.front())});
  }
  return nullptr;
}

}  // namespace mlsysim

// Which feed-forward a layer has.

#include "detail/layers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {

Activation LayerReader::activation() const {
  const auto name = c_.text("activation");
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name.starts_with("gelu")) return Activation::gelu;
  if (name == "relu") return Activation::relu;
  if (name == "relu2") return Activation::relu2;
  if (name == "swigluoai") return Activation::swiglu_oai;
  if (name == "situ") return Activation::situ;
  if (!name.empty()) c_.note(fmt::format("the activation '{}' is not known; it changes no size", name));
  return Activation::unstated;
}

bool guessed_gate(const Config& c) {
  const auto name = c.text("activation");
  return name.empty() || name == "silu" || name == "swish" || name.starts_with("swiglu") ||
         name == "gelu_pytorch_tanh";
}

bool LayerReader::has_experts(int layer) const {
  const auto count = c_.count("experts");
  if (!count || *count == 0) return false;
  for (const char* key : {"is_moe", "enable_moe_block"})
    if (const Json* routed = c_.at(key); routed != nullptr && *routed == false) return false;
  if (const Json* types = c_.list("mlp_layer_types", depth_)) {
    (void)c_.of_field("first_dense");
    (void)c_.of_field("moe_every");
    const Json& type = (*types)[static_cast<std::size_t>(layer)];
    if (type != "dense" && type != "sparse")
      c_.refuse_key("mlp_layer_types", "holds an unknown kind", type, "dense or sparse");
    return type == "sparse";
  }
  if (const Json* dense = c_.at("mlp_only_layers"); dense != nullptr && dense->is_array())
    if (std::find(dense->begin(), dense->end(), layer) != dense->end()) return false;
  const double first = c_.count_or("first_dense", 0);
  std::string_view key;
  const Json* every = c_.of_field("moe_every", &key);
  if (every != nullptr && every->is_array()) {
    const Json* list = c_.list(key, depth_);
    return (*list)[static_cast<std::size_t>(layer)] == 1;
  }
  if (layer < first) return false;
  const double step =
      every == nullptr ? c_.count_or("moe_every", 1) : checked_count(*every, c_.file(), std::string(key));
  if (step <= 1) return true;
  // One family counts from the first layer with experts, the others from the end of a period.
  return key == "moe_layer_freq" ? layer % static_cast<int>(step) == 0
                                 : (layer + 1) % static_cast<int>(step) == 0;
}

Experts LayerReader::experts() const {
  Experts e;
  e.count = c_.needed("experts");
  e.top_k = c_.needed("top_k");
  if (*e.top_k > *e.count)
    c_.refuse_key("num_experts_per_tok", "is more than there are experts", *e.top_k,
                  fmt::format("at most {:g}", *e.count));
  const auto own = c_.count("moe_width");
  e.width = own ? *own : c_.needed("width");
  if (!own && !c_.trait(expert_width))
    c_.note("moe_intermediate_size is not stated: experts have the width intermediate_size");
  const auto shared_width = c_.count("shared_width");
  auto shared = c_.count_or("shared", 0);
  // A shared expert may be told by its width alone.
  if (shared == 0 && shared_width && *shared_width > 0) shared = 1;
  if (c_.type() == "llama4_text") shared = 1;
  if (shared > 0) e.shared = shared;
  if (shared > 0 && shared_width && *shared_width > 0 && *shared_width != *e.width)
    e.shared_width = *shared_width / shared;
  if (const auto latent = c_.count("expert_latent"); latent && *latent > 0) e.latent = latent;
  e.latent_norm = c_.flag("latent_norm").value_or(false);
  if (const auto groups = c_.count("expert_groups"); groups && *groups > 1) {
    e.groups = groups;
    e.limited_groups = c_.count("limited_groups");
    e.routing = Routing::grouped;
  } else {
    (void)c_.of_field("limited_groups");
  }
  e.gated = !c_.trait(ungated);
  e.bias = c_.trait(expert_bias);
  e.router_bias = c_.flag("router_bias").value_or(c_.trait(router_bias));
  e.shared_gate = c_.trait(shared_gate);
  e.activation = activation();
  return e;
}

double LayerReader::default_width() const {
  const Json* ratio = c_.at("expansion_ratio");
  if (ratio == nullptr) ratio = c_.at("mlp_ratio");
  if (ratio != nullptr && ratio->is_number() && ratio->get<double>() > 0 && ratio->get<double>() < 1e3)
    return ratio->get<double>() * hidden_;
  if (c_.family() == nullptr)
    c_.note("the width of the feed-forward is not stated: four times the hidden width");
  return 4 * hidden_;
}

Named<FeedForward> LayerReader::feed_forward(int layer) const {
  FeedForward f;
  const bool moe = has_experts(layer);
  std::string name;
  if (moe) {
    f.experts = experts();
    name = "experts";
    if (layer < c_.count_or("hash_layers", 0)) {
      f.experts->routing = Routing::hash;
      name = "experts by hash";
    }
  }
  if (!moe || c_.trait(joint_kinds)) {
    DenseFeedForward d;
    const auto own = c_.count("dense_width");
    const auto width = c_.count("width");
    d.width = own && *own > 0 ? *own : width && *width > 0 ? *width : default_width();
    // The first Qwen states the width of both halves of its gate.
    if (c_.type() == "qwen") d.width = *d.width / 2;
    // Without routed experts the one that all tokens share is left (GraniteMoeHybridMLP).
    if (c_.type() == "granitemoehybrid") d.width = c_.needed("shared_width");
    const auto kind = c_.text("gate_kind");
    d.gated = !c_.trait(ungated) || kind.ends_with("glu") ||
              (c_.trait(gate_width) && c_.flag("gated").value_or(kind.starts_with("gated")));
    if (c_.family() == nullptr) d.gated = guessed_gate(c_);
    d.bias = c_.flag("mlp_bias").value_or(c_.trait(mlp_biases));
    d.activation = activation();
    f.dense = d;
    name += "dense";
  } else {
    (void)c_.of_field("width");
    (void)c_.of_field("dense_width");
  }
  return {name, f};
}

}  // namespace mlsysim::detail

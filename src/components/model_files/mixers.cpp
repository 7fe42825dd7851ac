// Which mixer a layer has, and what it sees.

#include "detail/layers.hpp"

#include <fmt/format.h>

#include <cmath>

namespace mlsysim::detail {
namespace {

/// A number of the group `linear_attn_config`, which has names of its own.
double inner(const Config& c, const Json& group, const char* key) {
  const auto found = group.find(key);
  const auto path = std::string("linear_attn_config.") + key;
  if (found == group.end())
    throw InputError("mlsysim.model_files.011", fmt::format("'{}' is missing", path), path, "no such key",
                     "a count above 0", "correct the file", {c.file()});
  return checked_count(*found, c.file(), path);
}

Reach only_window(double tokens) {
  Reach r;
  r.window = tokens;
  return r;
}
Reach only_chunk(double tokens) {
  Reach r;
  r.chunk = tokens;
  return r;
}

std::optional<Precision> state_format(const Config& c) {
  for (const char* key : {"mamba_ssm_dtype", "mamba_ssm_cache_dtype"})
    if (const Json* stated = c.at(key)) {
      if (*stated == "float32") return Precision::fp32;
      if (*stated == "bfloat16") return Precision::bf16;
      if (*stated == "float16") return Precision::fp16;
      c.refuse_key(key, "is no format of a state", *stated, "float32, bfloat16 or float16");
    }
  return std::nullopt;
}

}  // namespace

Named<Mixer> LayerReader::mixer(int layer, Kind kind) const {
  (void)layer;
  if (kind == Kind::linear) return linear();
  if (kind == Kind::state_space) return state_space();
  if (kind == Kind::none) return {"none", {}};
  if (c_.has("kv_lora_rank")) return latent();
  return grouped(kind);
}

std::optional<double> LayerReader::kv_heads(double heads) const {
  if (const Json* group = c_.at("attn_config"); group != nullptr && group->is_object())
    if (const auto own = group->find("kv_n_heads"); own != group->end() && own->is_number())
      return checked_count(*own, c_.file(), "attn_config.kv_n_heads");
  const auto stated = c_.count("kv_heads");
  // One head of keys and values, where a class of its time says so.
  if (c_.type() == "falcon") {
    if (c_.flag("new_architecture").value_or(false)) return stated.value_or(heads);
    return c_.flag("multi_query").value_or(true) ? 1 : heads;
  }
  if (c_.type() == "gpt_bigcode") return c_.flag("multi_query").value_or(true) ? 1 : heads;
  if (c_.type() == "chatglm") return c_.flag("multi_query").value_or(false) ? stated.value_or(2) : heads;
  return stated;
}

GroupedAttention LayerReader::plain_attention() const {
  GroupedAttention a;
  a.heads = c_.needed("heads");
  const auto kv = kv_heads(*a.heads);
  a.kv_heads = kv.value_or(*a.heads);
  a.head_dim = c_.count("head_dim");
  if (!a.head_dim) {
    if (static_cast<long long>(hidden_) % static_cast<long long>(*a.heads) != 0)
      c_.refuse_key("num_attention_heads", "does not divide hidden_size", *a.heads,
                    "a divisor of hidden_size, or head_dim");
    a.head_dim = hidden_ / *a.heads;
  }
  if (!kv && !c_.trait(biases) && !c_.trait(ungated) && !c_.trait(encoder))
    c_.note(
        fmt::format("num_key_value_heads is not stated: every one of the {:g} heads has its own", *a.heads));
  const bool bias = c_.flag("attention_bias").value_or(false);
  a.qkv_bias = bias || c_.flag("qkv_bias").value_or(c_.trait(qkv_bias));
  a.output_bias = (bias && c_.type() != "glm" && c_.type() != "glm4") || c_.trait(output_bias);
  a.sinks = c_.trait(sinks);
  a.output_gate = c_.flag("output_gate").value_or(c_.trait(output_gate));
  a.qk_norm = c_.trait(full_norm) ? QkNorm::full : c_.trait(head_norm) ? QkNorm::head : QkNorm::none;
  if (const Json* norm = c_.at("use_qk_norm"); norm != nullptr && *norm == true && c_.type() != "llama4_text")
    a.qk_norm = c_.text("qk_norm_type") == "per_head" ? QkNorm::head : QkNorm::full;
  return a;
}

Named<Mixer> LayerReader::grouped(Kind kind) const {
  Mixer m;
  GroupedAttention a = plain_attention();
  std::string name = "grouped";
  if (kind == Kind::window) {
    a.heads = c_.count_or("window_heads", *a.heads);
    a.kv_heads = c_.count_or("window_kv_heads", *a.kv_heads);
    a.head_dim = c_.count_or("window_head_dim", *a.head_dim);
    a.value_head_dim = c_.count("window_value_head_dim");
    a.sinks = c_.flag("window_sinks").value_or(a.sinks);
    if (c_.has("swa_num_key_value_heads") || c_.has("global_head_dim")) name = "grouped window";
  } else {
    a.value_head_dim = c_.count("value_head_dim");
    a.sinks = c_.flag("full_sinks").value_or(a.sinks);
    a.head_dim = c_.count_or("global_head_dim", *a.head_dim);
    a.kv_heads = c_.count_or("global_kv_heads", *a.kv_heads);
    a.shared_kv = c_.flag("shared_kv").value_or(false);
  }
  if (a.value_head_dim && *a.value_head_dim == *a.head_dim) a.value_head_dim.reset();
  // The low ranks on both sides of one shared head (DeepSeek-V4).
  if (const auto rank = c_.count("output_rank"); rank && *rank > 0) {
    a.output_rank = rank;
    a.output_groups = c_.needed("output_groups");
    a.q_lora_rank = c_.needed("q_lora_rank");
    a.rope_dim = c_.count("rope_head_dim");
    a.shared_kv = true;
  }
  if (const auto n = c_.count("borrowing_layers"); n && *n > 0)
    c_.refuse_key("num_kv_shared_layers", "is not read yet", *n, "0");
  m.grouped = a;
  return {name, m};
}

Named<Mixer> LayerReader::latent() const {
  LatentAttention a;
  a.heads = c_.needed("heads");
  a.q_lora_rank = c_.count("q_lora_rank");
  a.kv_lora_rank = c_.needed("kv_lora_rank");
  a.nope_head_dim = c_.needed("nope_head_dim");
  a.rope_head_dim = c_.count_or("rope_head_dim", 0);
  a.value_head_dim = c_.needed("value_head_dim");
  a.output_gate = c_.flag("output_gate").value_or(false);
  c_.understood({"num_key_value_heads", "head_dim", "qk_head_dim", "mla_use_nope"});
  Mixer m;
  m.latent = a;
  return {"latent", m};
}

Named<Mixer> LayerReader::linear() const {
  LinearAttention l;
  if (const Json* group = c_.at("linear_attn_config"); group != nullptr && group->is_object()) {
    l.rule = LinearRule::kda;
    l.key_heads = l.value_heads = inner(c_, *group, "num_heads");
    l.key_head_dim = inner(c_, *group, "head_dim");
    l.conv_width = inner(c_, *group, "short_conv_kernel_size");
    // The gate goes through the width of a head unless the file says otherwise (Kimi Linear).
    if (const auto full = group->find("use_full_rank_gate"); full == group->end() || *full != true) {
      l.gate_rank = l.key_head_dim;
      c_.note("use_full_rank_gate is not true: the gate of linear layers has the rank of a head");
    }
  } else {
    l.key_heads = c_.needed("linear_key_heads");
    l.value_heads = c_.needed("linear_value_heads");
    l.key_head_dim = c_.needed("linear_key_dim");
    l.value_head_dim = c_.needed("linear_value_dim");
    if (l.value_head_dim == l.key_head_dim) l.value_head_dim.reset();
    l.conv_width = c_.count("linear_conv");
  }
  l.state_precision = state_format(c_);
  Mixer m;
  m.linear = l;
  return {"linear", m};
}

Named<Mixer> LayerReader::state_space() const {
  StateSpace s;
  s.state_size = c_.needed("state_size");
  if (c_.trait(recurrent) && c_.type() != "mamba2") {
    s.rule = StateSpaceRule::mamba1;
    const auto inner = c_.count("width");
    s.expand = inner && *inner > 0 ? *inner / hidden_ : c_.needed("ssm_expand");
    s.dt_rank = c_.count("ssm_rank").value_or(std::ceil(hidden_ / 16));
    s.conv_width = c_.needed("ssm_conv");
    s.conv_bias = c_.flag("ssm_conv_bias").value_or(true);
    s.projection_bias = c_.flag("every_bias").value_or(false);
    s.state_precision = state_format(c_);
    if (!s.state_precision) c_.note("the format of the recurrent state is not stated: fp32");
    c_.understood({"expand"});
    Mixer m;
    m.state_space = s;
    return {"state space", m};
  }
  s.rule = StateSpaceRule::mamba2;
  s.heads = c_.needed("ssm_heads");
  s.head_dim = c_.needed("ssm_head_dim");
  s.groups = c_.needed("ssm_groups");
  s.conv_width = c_.needed("ssm_conv");
  s.chunk = c_.count("ssm_chunk");
  s.conv_bias = c_.flag("ssm_conv_bias").value_or(true);
  s.projection_bias = c_.flag("ssm_bias").value_or(c_.flag("every_bias").value_or(false));
  s.state_precision = state_format(c_);
  if (!s.state_precision) c_.note("the format of the recurrent state is not stated: fp32");
  c_.understood({"expand", "mamba_hidden_act"});
  Mixer m;
  m.state_space = s;
  return {"state space", m};
}

Named<Reach> LayerReader::reach(int layer, Kind kind) const {
  if (c_.has("compress_ratios")) return compressed(layer);
  if (kind == Kind::window) return {"window", only_window(c_.needed("window"))};
  if (kind == Kind::chunk) return {"chunk", only_chunk(c_.needed("chunk"))};
  if (kind == Kind::full) return selected(layer);
  return {"all", {}};
}

Named<Reach> LayerReader::selected(int layer) const {
  Selection s;
  std::string name = "selected";
  if (const auto heads = c_.count("index_heads"); heads && *heads > 0) {
    s.heads = heads;
    s.head_dim = c_.needed("index_head_dim");
    s.top_k = c_.needed("index_top_k");
    if (const auto pool = c_.count("index_pool"); pool && *pool > 1) s.pool = pool;
    if (const Json* types = c_.list("indexer_types", depth_)) {
      const Json& type = (*types)[static_cast<std::size_t>(layer)];
      if (type != "full" && type != "shared")
        c_.refuse_key("indexer_types", "holds an unknown kind", type, "full or shared");
      s.shared = type == "shared";
      if (s.shared) name = "selected, shared";
    }
  } else if (const Json* group = c_.at("sparse_attention_config"); group != nullptr && group->is_object()) {
    const auto number = [&](const char* key) {
      const auto found = group->find(key);
      if (found == group->end())
        c_.refuse_key("sparse_attention_config", std::string("has no ") + key, *group, "a count");
      return checked_count(*found, c_.file(), std::string("sparse_attention_config.") + key);
    };
    const auto often = group->find("sparse_attention_freq");
    if (often != group->end() && often->is_array() && static_cast<double>(often->size()) >= depth_ &&
        (*often)[static_cast<std::size_t>(layer)] == 0)
      return {"all", {}};
    s.heads = number("sparse_num_index_heads");
    s.head_dim = number("sparse_index_dim");
    s.top_k = number("sparse_topk_blocks");
    s.block = number("sparse_block_size");
  } else {
    return {"all", {}};
  }
  Reach r;
  r.select = s;
  return {name, r};
}

Named<Reach> LayerReader::compressed(int layer) const {
  const Json& ratio = (*c_.list("compress_ratios", depth_))[static_cast<std::size_t>(layer)];
  const double times = checked_count(ratio, c_.file(), "compress_ratios");
  Reach r;
  r.window = c_.needed("window");
  if (times == 0) return {"window", r};
  r.compress = times;
  // Few tokens an entry: entries overlap, and an index chooses among them (DeepSeek-V4).
  r.overlapping = times <= 4;
  if (r.overlapping) {
    Selection s;
    s.heads = c_.needed("index_heads");
    s.head_dim = c_.needed("index_head_dim");
    s.top_k = c_.needed("index_top_k");
    r.select = s;
  }
  return {fmt::format("compressed {:g}", times), r};
}

}  // namespace mlsysim::detail

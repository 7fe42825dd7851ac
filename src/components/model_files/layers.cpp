#include "detail/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// More layers than any model has; a longer list would only cost time.
constexpr double kMostLayers = 10000;

}  // namespace

LayerReader::LayerReader(const Config& config) : c_(config), depth_(0), hidden_(config.needed("hidden")) {
  depth_ = letters().empty() ? config.needed("layers") : static_cast<double>(letters().size());
  if (!letters().empty()) config.understood({"num_hidden_layers"});
  if (depth_ > kMostLayers)
    config.refuse_key("num_hidden_layers", "is more than a model has", depth_,
                      fmt::format("at most {:g} layers", kMostLayers));
}

std::vector<WholeLayer> LayerReader::layers() const {
  std::vector<WholeLayer> out;
  const auto list = letters();
  for (const char letter : list) out.push_back(lettered(letter));
  if (!list.empty()) return out;
  const Json* blocks = c_.list("block_configs", depth_);
  for (int i = 0; i < static_cast<int>(depth_); ++i) {
    if (blocks != nullptr) {
      out.push_back(block(i, (*blocks)[static_cast<std::size_t>(i)]));
      continue;
    }
    const Kind kind = kind_of(i);
    if (kind == Kind::state_space && c_.trait(recurrent)) {
      out.push_back({mixer(i, kind), {"all", {}}, {"none", {}}, residual(true)});
      continue;
    }
    out.push_back({mixer(i, kind), reach(i, kind), feed_forward(i), residual(false)});
  }
  return out;
}

std::string LayerReader::letters() const {
  if (const Json* pattern = c_.at("hybrid_override_pattern")) {
    if (!pattern->is_string()) c_.refuse_key("hybrid_override_pattern", "is no text", *pattern, "letters");
    return pattern->get<std::string>();
  }
  const Json* list = c_.at("layers_block_type");
  if (list == nullptr) return {};
  std::string out;
  for (const auto& name : *list) {
    const std::string word = name.is_string() ? name.get<std::string>() : "";
    // The second of two words is that of transformers 5.
    out += word == "mamba" || word == "linear_attention"     ? 'M'
           : word == "attention" || word == "full_attention" ? '*'
           : word == "moe"                                   ? 'E'
           : word == "mlp"                                   ? '-'
                                                             : '?';
  }
  return out;
}

WholeLayer LayerReader::lettered(char letter) const {
  WholeLayer out{{"none", {}}, {"all", {}}, {"none", {}}, residual(true)};
  if (letter == 'M') {
    out.mixer = state_space();
  } else if (letter == '*') {
    out.mixer = grouped(Kind::full);
  } else if (letter == 'E') {
    out.feed_forward = {"experts", {.dense = std::nullopt, .experts = experts()}};
  } else if (letter == '-') {
    out.feed_forward = {"dense",
                        {.dense = DenseFeedForward{.width = c_.needed("width"),
                                                   .gated = !c_.trait(ungated),
                                                   .bias = c_.flag("mlp_bias").value_or(false),
                                                   .activation = activation()},
                         .experts = std::nullopt}};
  } else {
    c_.refuse_key("hybrid_override_pattern", "has an unknown letter", std::string(1, letter),
                  "M (Mamba), * (attention), E (experts) or - (dense)");
  }
  return out;
}

std::optional<LayerReader::Kind> LayerReader::kind_by_name(int layer) const {
  const Json* types = c_.list("layer_types", depth_);
  if (types == nullptr) return std::nullopt;
  const Json& name = (*types)[static_cast<std::size_t>(layer)];
  const std::string word = name.is_string() ? name.get<std::string>() : shown(name);
  if (word == "full_attention" || word == "attention" || word == "deepseek_sparse_attention" ||
      word == "indexed_attention")
    return Kind::full;
  if (c_.has("mamba_n_heads") && (word == "mamba" || word == "linear_attention")) return Kind::state_space;
  if (word == "sliding_attention") return Kind::window;
  if (word == "chunked_attention") return Kind::chunk;
  if (word == "linear_attention") return Kind::linear;
  c_.refuse_key("layer_types", "holds an unknown kind", name,
                "full_attention, sliding_attention, chunked_attention, linear_attention or "
                "deepseek_sparse_attention");
}

std::optional<LayerReader::Kind> LayerReader::kind_by_lists(int layer) const {
  if (const Json* linear = c_.at("linear_attn_config"); linear != nullptr && linear->is_object()) {
    const auto full = linear->find("full_attn_layers"), kda = linear->find("kda_layers");
    if (full != linear->end() && full->is_array() && kda != linear->end() && kda->is_array()) {
      // The lists of one family count from 1 and those of another from 0: together they name every layer.
      const auto holds = [](const Json& list, int i) {
        return std::find(list.begin(), list.end(), i) != list.end();
      };
      const int first = holds(*full, 0) || holds(*kda, 0) ? 0 : 1;
      if (holds(*full, layer + first)) return Kind::full;
      if (holds(*kda, layer + first)) return Kind::linear;
      c_.refuse_key("linear_attn_config", "does not name every layer", *linear,
                    fmt::format("layer {} in full_attn_layers or kda_layers", layer + first));
    }
  }
  if (c_.type() == "bamba") {  // without a list no layer attends
    const Json* attends = c_.at("attn_layer_indices");
    const bool full = attends != nullptr && attends->is_array() &&
                      std::find(attends->begin(), attends->end(), layer) != attends->end();
    return full ? Kind::full : Kind::state_space;
  }
  if (const Json* pattern = c_.list("hybrid_layer_pattern", depth_))
    return (*pattern)[static_cast<std::size_t>(layer)] == 1 ? Kind::window : Kind::full;
  return std::nullopt;
}

LayerReader::Kind LayerReader::kind_of(int layer) const {
  if (c_.trait(recurrent)) return Kind::state_space;
  if (const auto every = c_.count("global_every"); every && *every > 0) {
    (void)c_.at("layer_types");
    return layer % static_cast<int>(*every) == 0 ? Kind::full : Kind::window;
  }
  // GPT-Neo: every second layer sees a window (attention_types, attention_layers).
  if (c_.type() == "gpt_neo") {
    c_.understood({"attention_types", "attention_layers"});
    return layer % 2 == 1 ? Kind::window : Kind::full;
  }
  if (const auto listed = kind_by_lists(layer)) {
    (void)c_.at("layer_types");
    return *listed;
  }
  if (const auto named = kind_by_name(layer)) {
    (void)c_.of_field("full_every");
    return *named;
  }
  const bool last_of_period = [&] {
    const auto every = c_.count("full_every");
    return every && *every > 0 && (layer + 1) % static_cast<int>(*every) == 0;
  }();
  if (c_.of_field("linear_value_heads") != nullptr) return last_of_period ? Kind::full : Kind::linear;
  if (c_.trait(every_fourth)) {
    if (const Json* rotated = c_.list("no_rope_layers", depth_); rotated != nullptr && !rotated->empty())
      return (*rotated)[static_cast<std::size_t>(layer)] == 0 ? Kind::full : Kind::chunk;
    const Json* every = c_.at("no_rope_layer_interval");
    const int period =
        every == nullptr ? 4 : static_cast<int>(checked_count(*every, c_.file(), "no_rope_layer_interval"));
    if (every == nullptr)
      c_.note("no_rope_layers is not stated: every fourth layer sees everything, as Llama4TextConfig has it");
    return (layer + 1) % std::max(period, 1) == 0 ? Kind::full : Kind::chunk;
  }
  if (c_.flag("window_used") == false || !c_.count("window")) return Kind::full;
  if (c_.of_field("full_every") != nullptr || default_of(c_.type(), "full_every"))
    return last_of_period ? Kind::full : Kind::window;
  if (c_.trait(window_even)) return layer % 2 == 0 ? Kind::window : Kind::full;
  if (c_.trait(window_all)) return Kind::window;
  if (!c_.has("compress_ratios"))
    c_.note("sliding_window is stated, and nothing says which layers have it: none is taken to");
  return Kind::full;
}

Named<Residual> LayerReader::residual(bool one_part) const {
  Residual r;
  r.norms = one_part || c_.trait(one_norm) ? 1
            : c_.trait(bare_norms)         ? 0
            : c_.trait(joint_kinds)        ? 7
            : c_.trait(four_norms)         ? 4
                                           : 2;
  r.norm_bias = c_.trait(biases) || c_.trait(norm_bias);
  r.parallel = c_.flag("parallel").value_or(c_.trait(parallel));
  // One norm feeds both parts of the first Falcons, two those of the later ones.
  if (c_.type() == "falcon") {
    r.parallel = c_.flag("parallel").value_or(true);
    const auto own = c_.count("parallel_norms");
    r.norms = !r.parallel ? 2 : own ? *own : c_.flag("new_architecture").value_or(false) ? 2 : 1;
  }
  // The second norm of a StableLM goes with the sequence of its parts.
  if (c_.type() == "stablelm" && r.parallel) r.norms = 1;
  r.streams = std::max(c_.count_or("streams", 1), 1.0);
  if (const Json* every = c_.at("attn_res_block_size"); every != nullptr)
    c_.note(fmt::format("attention over earlier residuals every {} layers is not modelled", shown(*every)));
  return {"residual", r};
}

WholeLayer LayerReader::block(int layer, const Json& config) const {
  const auto bad = [&](const Json& found) {
    c_.refuse_key(fmt::format("block_configs[{}]", layer), "is not understood", found,
                  "attention with n_heads_in_group or no_op, ffn with ffn_mult or no_op");
  };
  if (!config.is_object() || !config.contains("attention") || !config.contains("ffn") ||
      !config["attention"].is_object() || !config["ffn"].is_object())
    bad(config);
  const Json &attention = config["attention"], &ffn = config["ffn"];
  const auto is_true = [](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && *found == true;
  };
  for (const char* key : {"replace_with_linear", "unshifted_sink"})
    if (is_true(attention, key) || is_true(ffn, key)) bad(config);
  WholeLayer out{{"none", {}}, {"all", {}}, {"none", {}}, residual(false)};
  const double heads = c_.needed("heads");
  double parts = 0;
  c_.understood({"num_key_value_heads", "intermediate_size"});
  if (!is_true(attention, "no_op")) {
    const auto group = attention.find("n_heads_in_group");
    if (group == attention.end() || !group->is_number()) bad(attention);
    GroupedAttention a;
    a.heads = heads;
    a.kv_heads = heads / std::max(1.0, checked_count(*group, c_.file(), "n_heads_in_group"));
    a.head_dim = c_.count("head_dim").value_or(hidden_ / heads);
    out.mixer.name = fmt::format("grouped {}", *a.kv_heads);
    out.mixer.part.grouped = a;
    ++parts;
  }
  if (!is_true(ffn, "no_op")) {
    const auto times = ffn.find("ffn_mult");
    if (times == ffn.end() || !times->is_number() || !(times->get<double>() > 0) ||
        times->get<double>() > 1e3)
      bad(ffn);
    // The class rounds up to a multiple of 256 (DeciLMConfig).
    const double width = std::ceil(std::floor(2 * times->get<double>() * hidden_ / 3) / 256) * 256;
    out.feed_forward = {
        fmt::format("dense {}", width),
        {.dense = DenseFeedForward{.width = width, .activation = activation()}, .experts = std::nullopt}};
    ++parts;
  }
  out.residual.part.norms = parts;
  out.residual.name = fmt::format("{} norms", parts);
  return out;
}

}  // namespace mlsysim::detail

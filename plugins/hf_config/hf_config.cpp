// An importer and an exporter: config.json of a model hub to an entry of the zoo, and any entry to CSV. An
// importer that guesses gives a wrong model with a straight face, so this one refuses what it does not know.
#include <mlsysim/plugin/mlsysim_plugin.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cctype>
#include <ctime>
#include <string>
#include <vector>

namespace {

using namespace mlsysim;
using Json = nlohmann::json;

[[noreturn]] void refuse(std::string_view file, std::string message, std::string found,
                         std::string expected) {
  throw InputError({.id = "hf_config.001",
                    .message = std::move(message),
                    .key = std::string(file),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = "give the config.json of a decoder of a known family, or write the entry by hand",
                    .where = {std::string(file)}});
}

/// A name that the zoo takes, from the name of the file: "meta-llama--Llama-3.json" gives Llama_3.
std::string entry_name(std::string_view file) {
  auto name = std::string(file.substr(file.find_last_of('/') + 1));
  if (const auto dot = name.rfind(".json"); dot != std::string::npos) name.resize(dot);
  if (const auto dashes = name.find("--"); dashes != std::string::npos) name.erase(0, dashes + 2);
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) name.insert(0, "Model_");
  return name;
}

/// Where a family keeps its experts.
enum class Experts { none, local, qwen, deepseek };
/// Which layers see a window only.
enum class Window { never, every_layer, every_second, listed };

/// What a config.json leaves to the code of its family. A key that it does not hold has the default of that
/// code, and defaults differ, so a family is imported only when it is in this table.
struct Family {
  std::string_view type;
  Experts experts;
  Window window;
  bool kv_heads_may_lack;      ///< every head has its own keys then
  bool head_dim_may_lack;      ///< hidden / heads then
  bool tied;                   ///< where tie_word_embeddings is not stated
  std::string_view attention;  ///< further fields of attention, of experts, and of the joins
  std::string_view experts_with{}, residual{};
};
// Every one of them has a gated feed-forward layer, whatever hidden_act is: SwiGLU with silu, GeGLU with
// gelu.
constexpr std::array<Family, 11> kFamilies{{
    {"llama", Experts::none, Window::never, true, true, false, ""},
    {"mistral", Experts::none, Window::every_layer, false, true, false, ""},
    {"mixtral", Experts::local, Window::every_layer, false, true, false, ""},
    {"qwen2", Experts::none, Window::never, false, true, false, ", qkv_bias: true"},
    {"qwen3", Experts::none, Window::never, false, false, false, ", qk_norm: head"},
    {"qwen3_moe", Experts::qwen, Window::never, false, false, false, ", qk_norm: head"},
    {"gemma", Experts::none, Window::never, false, false, true, ""},
    {"gemma2", Experts::none, Window::every_second, false, false, true, "", "", "norms: 4"},
    {"gpt_oss", Experts::local, Window::listed, false, false, false, ", sinks: true",
     ", bias: true, router_bias: true"},
    {"deepseek_v3", Experts::deepseek, Window::never, false, true, false, ""},
    {"kimi_k2", Experts::deepseek, Window::never, false, true, false, ""},
}};

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc)};
}

/// One config.json; what it cannot be sure of it refuses.
class Config {
 public:
  Config(std::string_view file, std::string_view bytes)
      : file_(file), json_(Json::parse(bytes, nullptr, false)) {
    if (!json_.is_object())
      refuse(file_, "the file is no JSON object", "something else", "{\"model_type\": ..., ...}");
    std::string known;
    for (const auto& f : kFamilies) known += (known.empty() ? "" : ", ") + std::string(f.type);
    const auto* type = at("model_type");
    if (type == nullptr) refuse(file_, "'model_type' is missing", "no such key", "one of " + known);
    for (const auto& f : kFamilies)
      if (type->is_string() && type->get<std::string>() == f.type) family_ = &f;
    if (family_ == nullptr)
      refuse(file_, "the model is of a family that is not imported", type->dump(), "one of " + known);
  }

  [[nodiscard]] std::string entry() const {
    const auto layers = count("num_hidden_layers"), hidden = count("hidden_size"),
               heads = count("num_attention_heads");
    const auto ffn = count("intermediate_size"), vocab = count("vocab_size");
    const auto kv_heads = family_->kv_heads_may_lack && at("num_key_value_heads") == nullptr
                              ? heads
                              : count("num_key_value_heads");
    activation();
    if (flag("mlp_bias", false))
      refuse(file_, "biases of the feed-forward layer are not imported", "\"mlp_bias\": true", "false");
    const auto latent = family_->experts == Experts::deepseek;
    const auto window = window_of(layers);
    std::vector<bool> dense(static_cast<std::size_t>(layers), true);
    const auto dense_width = "{dense: {width: " + text(ffn) + "}}", experts = experts_of(ffn, dense);
    std::string stack = "  - hidden: " + text(hidden) + "\n    layers: [" +
                        runs(window, dense, experts.empty() ? "" : dense_width) + "]\n    mixer: {" +
                        (latent ? latent_of(heads) : grouped_of(hidden, heads, kv_heads)) + "}\n";
    if (!window.empty()) stack += "    reach: {window: " + text(count("sliding_window")) + "}\n";
    stack += "    feed_forward: " + (experts.empty() ? dense_width : experts) + "\n";
    if (!family_->residual.empty()) stack += "    residual: {" + std::string(family_->residual) + "}\n";
    stack += "    input: {vocab: " + text(vocab) + "}\n";
    if (flag("tie_word_embeddings", family_->tied)) stack += "    output: {tied: true}\n";
    std::string note = "config.json of a model hub";
    if (at("num_nextn_predict_layers") != nullptr && count_or_zero("num_nextn_predict_layers") > 0)
      note += "; without its layers for further tokens";
    return "schema: mlsysim/model@2\nentries:\n- name: " + entry_name(file_) +
           "\n  source: {kind: secondary, note: " + note + ", recorded: " + today() +
           "}\n  category: language\n  architecture: decoder\n" +
           (at("max_position_embeddings") != nullptr
                ? "  max_positions: " + text(count("max_position_embeddings")) + "\n"
                : "") +
           "  stacks:\n" + stack;
  }

 private:
  using Count = long long;
  static std::string text(Count n) { return std::to_string(n); }

  [[nodiscard]] const Json* at(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] const Json& needed(const char* key, const char* expected) const {
    const auto* value = at(key);
    if (value == nullptr) refuse(file_, std::string("'") + key + "' is missing", "no such key", expected);
    return *value;
  }
  [[nodiscard]] Count count_or_zero(const char* key) const {
    const auto& value = needed(key, "a whole number");
    if (!value.is_number_integer() || value.get<Count>() < 0)
      refuse(file_, std::string("'") + key + "' is no count", value.dump(), "a whole number");
    return value.get<Count>();
  }
  [[nodiscard]] Count count(const char* key) const {
    if (const auto n = count_or_zero(key); n > 0) return n;
    refuse(file_, std::string("'") + key + "' is no count", "0", "a whole number above 0");
  }
  [[nodiscard]] bool flag(const char* key, bool otherwise) const {
    const auto* value = at(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean())
      refuse(file_, std::string("'") + key + "' is no flag", value->dump(), "true or false");
    return value->get<bool>();
  }

  /// It changes no size, but an unknown one may belong to another feed-forward layer.
  void activation() const {
    const bool gemma = family_->type.starts_with("gemma");
    const auto* key = gemma && at("hidden_act") == nullptr ? "hidden_activation" : "hidden_act";
    const auto* known = gemma ? "gelu or gelu_pytorch_tanh" : "silu";
    const auto& value = needed(key, known);
    if (!value.is_string() || (gemma ? value != "gelu" && value != "gelu_pytorch_tanh" : value != "silu"))
      refuse(file_, std::string("'") + key + "' is not that of " + std::string(family_->type), value.dump(),
             known);
  }

  [[nodiscard]] Count head_dim(Count hidden, Count heads) const {
    if (family_->experts == Experts::deepseek) return count("qk_nope_head_dim") + count("qk_rope_head_dim");
    if (!family_->head_dim_may_lack || at("head_dim") != nullptr) return count("head_dim");
    if (hidden % heads != 0)
      refuse(file_, "'hidden_size' is no multiple of 'num_attention_heads'",
             text(hidden) + " and " + text(heads), "a multiple, or 'head_dim'");
    return hidden / heads;
  }

  [[nodiscard]] std::string latent_of(Count heads) const {
    return "latent: {heads: " + text(heads) + ", q_lora_rank: " + text(count("q_lora_rank")) +
           ", kv_lora_rank: " + text(count("kv_lora_rank")) +
           ", nope_head_dim: " + text(count("qk_nope_head_dim")) +
           ", rope_head_dim: " + text(count("qk_rope_head_dim")) +
           ", value_head_dim: " + text(count("v_head_dim")) + "}";
  }
  [[nodiscard]] std::string grouped_of(Count hidden, Count heads, Count kv_heads) const {
    return "grouped: {heads: " + text(heads) + ", kv_heads: " + text(kv_heads) +
           ", head_dim: " + text(head_dim(hidden, heads)) + std::string(family_->attention) +
           (flag("attention_bias", false) ? ", qkv_bias: true, output_bias: true" : "") + "}";
  }

  /// Which layers see a window only; none where no layer does.
  [[nodiscard]] std::vector<bool> window_of(Count layers) const {
    if (family_->experts == Experts::deepseek) return {};
    if (flag("use_sliding_window", false))
      refuse(file_, "a window in some layers is not imported for this family", "\"use_sliding_window\": true",
             "false");
    if (family_->window == Window::never || at("sliding_window") == nullptr) return {};
    std::vector<bool> out(static_cast<std::size_t>(layers), true);
    if (family_->window == Window::every_second)
      for (std::size_t i = 1; i < out.size(); i += 2) out[i] = false;
    if (family_->window != Window::listed) return out;
    const auto& list = needed("layer_types", "the kind of each layer");
    if (static_cast<Count>(list.size()) != layers)
      refuse(file_, "'layer_types' does not name every layer", std::to_string(list.size()) + " kinds",
             text(layers));
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i] != "full_attention" && list[i] != "sliding_attention")
        refuse(file_, "'layer_types' holds an unknown kind", list[i].dump(),
               "full_attention or sliding_attention");
      out[i] = list[i] == "sliding_attention";
    }
    return out;
  }

  /// The layers in order. A period of up to two layers is a pattern, and equal layers in a row are one run.
  /// @param dense_width of the layers without experts, empty where all are alike
  [[nodiscard]] static std::string runs(const std::vector<bool>& window, const std::vector<bool>& dense,
                                        const std::string& dense_width) {
    const auto layer = [&](std::size_t i) {
      std::string out;
      if (!window.empty() && !window[i]) out = "reach: {}";
      if (!dense_width.empty() && dense[i])
        out += (out.empty() ? "" : ", ") + ("feed_forward: " + dense_width);
      return "{" + out + "}";
    };
    std::string list;
    for (std::size_t at = 0; at < dense.size();) {
      std::size_t alone = at + 1, pairs = at + 2;
      while (alone < dense.size() && layer(alone) == layer(at)) ++alone;
      while (pairs < dense.size() && layer(pairs) == layer(pairs - 2)) ++pairs;
      const bool in_turn = alone == at + 1 && pairs >= at + 4;
      const std::size_t times = in_turn ? (pairs - at) / 2 : alone - at;
      const auto pattern = in_turn ? layer(at) + ", " + layer(at + 1) : layer(at);
      list += (list.empty() ? "" : ", ") + ("{times: " + std::to_string(times)) +
              (pattern == "{}" ? "}" : ", pattern: [" + pattern + "]}");
      at += times * (in_turn ? 2 : 1);
    }
    return list;
  }

  /// The mixture of experts, and which layers have none; empty for a dense model.
  [[nodiscard]] std::string experts_of(Count ffn, std::vector<bool>& dense) const {
    const auto moe = [&](Count experts, Count top_k, Count shared, Count width, std::string_view more = {}) {
      std::string out =
          "{experts: {count: " + text(experts) + ", top_k: " + text(top_k) + ", width: " + text(width);
      if (shared > 0) out += ", shared: " + text(shared);
      return out + std::string(family_->experts_with) + std::string(more) + "}}";
    };
    const auto layers = static_cast<Count>(dense.size());
    switch (family_->experts) {
      case Experts::none:
        for (const auto& [key, value] : json_.items())
          if (key.find("expert") != std::string::npos && !value.is_null())
            refuse(file_, std::string(family_->type) + " is a dense family, and the file speaks of experts",
                   "\"" + key + "\": " + value.dump(), "no such key");
        return {};
      case Experts::local:
        dense.assign(dense.size(), false);
        return moe(count("num_local_experts"), count("num_experts_per_tok"), 0, ffn);
      case Experts::qwen:
        if (count("decoder_sparse_step") != 1)
          refuse(file_, "experts in some layers only are not imported",
                 "\"decoder_sparse_step\": " + text(count("decoder_sparse_step")), "1");
        dense.assign(dense.size(), false);
        if (const auto* list = at("mlp_only_layers"); list != nullptr)
          for (const auto& i : *list) {
            if (!i.is_number_integer() || i.get<Count>() < 0 || i.get<Count>() >= layers)
              refuse(file_, "'mlp_only_layers' names a layer that there is not", i.dump(),
                     "0 to " + text(layers - 1));
            dense[static_cast<std::size_t>(i.get<Count>())] = true;
          }
        return moe(count("num_experts"), count("num_experts_per_tok"), 0, count("moe_intermediate_size"));
      case Experts::deepseek: {
        if (count("moe_layer_freq") != 1)
          refuse(file_, "experts in some layers only are not imported",
                 "\"moe_layer_freq\": " + text(count("moe_layer_freq")), "1");
        const auto first = count_or_zero("first_k_dense_replace");
        if (first >= layers)
          refuse(file_, "every layer is dense", "\"first_k_dense_replace\": " + text(first),
                 "less than num_hidden_layers");
        for (Count i = first; i < layers; ++i) dense[static_cast<std::size_t>(i)] = false;
        // The selection of experts has a learned bias with this method.
        if (needed("topk_method", "noaux_tc") != "noaux_tc")
          refuse(file_, "the choice of experts is not imported", at("topk_method")->dump(), "noaux_tc");
        return moe(count("n_routed_experts"), count("num_experts_per_tok"), count_or_zero("n_shared_experts"),
                   count("moe_intermediate_size"), ", router_bias: true");
      }
    }
    return {};
  }

  std::string_view file_;
  Json json_;
  const Family* family_ = nullptr;
};

std::string import_config(std::string_view file, std::string_view bytes) {
  return Config(file, bytes).entry();
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string export_csv(const MlsObject* object) {
  std::string out = "path,value,unit\n";
  for (const auto& f : plugin::sdk::figures(object)) {
    if (f.kind == MLS_OBJECT) continue;
    const auto value = f.kind == MLS_NUMBER ? format_exact(f.number)
                       : f.kind == MLS_FLAG ? std::string(f.flag ? "true" : "false")
                                            : f.text;
    out += quoted(f.path) + "," + quoted(value) + "," + (f.kind == MLS_NUMBER ? f.text : "") + "\n";
  }
  return out;
}

}  // namespace

MLSYSIM_PLUGIN(({.name = "hf-config",
                 .space = "hf",
                 .version = "1.0.0",
                 .summary = "Models from config.json files, entries as CSV",
                 .license = "Apache-2.0",
                 .threads = MLS_THREAD_SAFE,
                 .flags = MLS_PLUGIN_UNLOADABLE})) {
  plugin.importer("ConfigJson", "A decoder from the config.json of a model hub", "config.json",
                  &import_config);
  plugin.exporter("FiguresCsv", "Every figure of an entry in base units", "csv", &export_csv);
}

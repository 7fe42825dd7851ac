// Headers of GGUF files, versions 2 and 3: their keys are those of a configuration under other names.

#include <mlsysim/model_files/model_file.hpp>
#include <mlsysim/units/detail/json_text.hpp>

#include "detail/formats.hpp"

#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace mlsysim {
namespace detail {
namespace {

constexpr std::uint64_t kMostItems = 1u << 24;  ///< of a list or of tensors; a vocabulary is the longest

/// Architecture names of llama.cpp, each with the `model_type` of its configuration on a model hub.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kTypes{{{"llama", "llama"},
                                                                                {"qwen2", "qwen2"},
                                                                                {"qwen3", "qwen3"},
                                                                                {"qwen3moe", "qwen3_moe"},
                                                                                {"gemma", "gemma"},
                                                                                {"gemma2", "gemma2"},
                                                                                {"gemma3", "gemma3_text"},
                                                                                {"deepseek2", "deepseek_v3"},
                                                                                {"gpt-oss", "gpt_oss"},
                                                                                {"gpt2", "gpt2"},
                                                                                {"bert", "bert"},
                                                                                {"phi3", "phi3"},
                                                                                {"olmo2", "olmo2"},
                                                                                {"glm4moe", "glm4_moe"},
                                                                                {"smollm3", "smollm3"}}};

/// Keys below the name of the architecture, and those of a configuration that mean the same.
constexpr std::array<std::pair<std::string_view, std::string_view>, 21> kKeys{
    {{"block_count", "num_hidden_layers"},
     {"embedding_length", "hidden_size"},
     {"feed_forward_length", "intermediate_size"},
     {"context_length", "max_position_embeddings"},
     {"vocab_size", "vocab_size"},
     {"attention.head_count", "num_attention_heads"},
     {"attention.head_count_kv", "num_key_value_heads"},
     {"attention.key_length", "head_dim"},
     {"attention.sliding_window", "sliding_window"},
     {"attention.sliding_window_pattern", "sliding_window_pattern"},
     {"attention.q_lora_rank", "q_lora_rank"},
     {"attention.kv_lora_rank", "kv_lora_rank"},
     {"expert_count", "num_experts"},
     {"expert_used_count", "num_experts_per_tok"},
     {"expert_feed_forward_length", "moe_intermediate_size"},
     {"expert_shared_count", "n_shared_experts"},
     {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
     {"expert_group_count", "n_group"},
     {"expert_group_used_count", "topk_group"},
     {"leading_dense_block_count", "first_k_dense_replace"},
     {"nextn_predict_layers", "num_nextn_predict_layers"}}};

/// Formats of tensors: values and bytes of a block, and the width of a value without its scales. The fifth
/// bit of a value, where there is one, lies among the scales.
struct Ggml {
  std::uint32_t id;
  std::string_view name;
  std::uint64_t values, bytes;
  Precision precision;
};
constexpr std::array kFormats{
    Ggml{0, "F32", 1, 4, Precision::fp32},         Ggml{1, "F16", 1, 2, Precision::fp16},
    Ggml{30, "BF16", 1, 2, Precision::bf16},       Ggml{2, "Q4_0", 32, 18, Precision::int4},
    Ggml{3, "Q4_1", 32, 20, Precision::int4},      Ggml{6, "Q5_0", 32, 22, Precision::int4},
    Ggml{7, "Q5_1", 32, 24, Precision::int4},      Ggml{8, "Q8_0", 32, 34, Precision::int8},
    Ggml{12, "Q4_K", 256, 144, Precision::int4},   Ggml{13, "Q5_K", 256, 176, Precision::int4},
    Ggml{14, "Q6_K", 256, 210, Precision::fp6},    Ggml{20, "IQ4_NL", 32, 18, Precision::int4},
    Ggml{23, "IQ4_XS", 256, 136, Precision::int4}, Ggml{39, "MXFP4", 32, 17, Precision::fp4},
    Ggml{10, "Q2_K", 256, 84, Precision::int4},    Ggml{11, "Q3_K", 256, 110, Precision::int4},
    Ggml{16, "IQ2_XXS", 256, 66, Precision::int4}, Ggml{17, "IQ2_XS", 256, 74, Precision::int4},
    Ggml{18, "IQ3_XXS", 256, 98, Precision::int4}, Ggml{19, "IQ1_S", 256, 50, Precision::int4},
    Ggml{21, "IQ3_S", 256, 110, Precision::int4},  Ggml{22, "IQ2_S", 256, 82, Precision::int4},
    Ggml{29, "IQ1_M", 256, 56, Precision::int4}};

/// Reads numbers and texts one after the other; every length is checked against what is left.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  template <class N> N number() {
    N out{};
    std::memcpy(&out, take(sizeof(N)).data(), sizeof(N));  // the format is little-endian, as are our machines
    return out;
  }
  std::string text() {
    const auto length = number<std::uint64_t>();
    return std::string(take(length));
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_)
      bad("the header is cut off", fmt::format("{} B at byte {}", count, at_),
          fmt::format("at most {} B", bytes_.size() - at_));
    const auto out = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return out;
  }
  [[noreturn]] void bad(std::string message, std::string found, std::string expected) const {
    throw InputError("mlsysim.model_files.021", std::move(message), "", std::move(found), std::move(expected),
                     "download the file again", {file_});
  }
  [[nodiscard]] std::size_t at() const { return at_; }

  /// A value of a type of the format; of a list its length and, where all are alike, the member.
  Json value(std::uint32_t type, int depth = 0) {
    switch (type) {
      case 0:
        return number<std::uint8_t>();
      case 1:
        return number<std::int8_t>();
      case 2:
        return number<std::uint16_t>();
      case 3:
        return number<std::int16_t>();
      case 4:
        return number<std::uint32_t>();
      case 5:
        return number<std::int32_t>();
      case 6:
        return number<float>();
      case 7:
        return number<std::uint8_t>() != 0;
      case 8:
        return text();
      case 10:
        return number<std::uint64_t>();
      case 11:
        return number<std::int64_t>();
      case 12:
        return number<double>();
      case 9:
        break;
      default:
        bad("a value has an unknown type", std::to_string(type), "0 to 12");
    }
    if (depth > 4) bad("lists nest too deeply", "more than 4 levels", "4 levels");
    const auto of = number<std::uint32_t>();
    const auto count = number<std::uint64_t>();
    if (count > kMostItems)
      bad("a list is too long", std::to_string(count), fmt::format("at most {}", kMostItems));
    Json list = Json::array();
    for (std::uint64_t i = 0; i < count; ++i) {
      auto item = value(of, depth + 1);
      if (i < 4096) list.push_back(std::move(item));
    }
    return {{"count", count}, {"items", std::move(list)}};
  }

 private:
  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 0;
};

TensorGroup group_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (name.starts_with("token_embd")) return TensorGroup::embedding;
  if (name.starts_with("output.")) return TensorGroup::head;
  if (has("_exps")) return TensorGroup::experts;
  if (has("_shexp")) return TensorGroup::shared_experts;
  if (has("ffn_gate_inp")) return TensorGroup::router;
  if (has(".ffn_") && !has("norm")) return TensorGroup::dense;
  if (has(".attn_") && !has("norm")) return TensorGroup::attention;
  if (has(".ssm_")) return TensorGroup::linear;
  return TensorGroup::all;
}

/// The formats of the groups: the one that holds most bytes stands for a group.
void set_formats(ModelFile& m, const std::map<TensorGroup, std::map<std::string_view, double>>& bytes) {
  for (const auto& [group, of] : bytes) {
    const auto most = std::max_element(of.begin(), of.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto format =
        std::find_if(kFormats.begin(), kFormats.end(), [&](const Ggml& f) { return f.name == most->first; });
    StoredFormat f;
    f.tensors = group;
    f.precision = format->precision;
    const double values = static_cast<double>(format->values), held = static_cast<double>(format->bytes);
    const double scale = held - values * bytes_per_element(format->precision);
    if (scale < 0) {
      f.bits = 8 * held / values;
    } else if (scale > 0) {
      f.block = values;
      f.scale = scale * unit::B;
    }
    m.workload.formats.push_back(f);
    if (of.size() > 1)
      m.notes.push_back(fmt::format("{} tensors have {} formats: all are taken as {}", name_of(group),
                                    of.size(), most->first));
  }
}

/// The keys of a configuration, from those of the header.
Json config_of(const Json& keys, const std::string& file) {
  const auto arch = keys.value("general.architecture", Json());
  const auto type =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return arch == t.first; });
  Json out = {{"model_type", type == kTypes.end() ? (arch.is_string() ? arch : Json()) : Json(type->second)}};
  if (!arch.is_string())
    throw InputError("mlsysim.model_files.013", "the file does not say what model it is",
                     "general.architecture", shown(arch), "e.g. llama", "give a GGUF file of a model",
                     {file});
  for (const auto& [own, theirs] : kKeys) {
    const auto found = keys.find(arch.get<std::string>() + "." + std::string(own));
    if (found == keys.end()) continue;
    if (!found->is_object()) {
      out[std::string(theirs)] = *found;
      continue;
    }
    // A list has a member for each layer: only equal ones are read.
    const auto& items = (*found)["items"];
    for (const auto& item : items)
      if (items.empty() || item != items.front())
        throw InputError("mlsysim.model_files.022", fmt::format("'{}' differs between layers", own),
                         std::string(own), shown(items), "one value for all layers",
                         "give the config.json of the model", {file});
    if (!items.empty()) out[std::string(theirs)] = items.front();
  }
  if (!out.contains("vocab_size"))
    if (const auto tokens = keys.find("tokenizer.ggml.tokens"); tokens != keys.end() && tokens->is_object())
      out["vocab_size"] = (*tokens)["count"];
  if (out.contains("kv_lora_rank")) {
    // Lengths of an MLA head: with rotation, and the part that is rotated.
    const auto number = [&](const char* key) { return keys.value(arch.get<std::string>() + "." + key, 0.0); };
    const double rope = number("rope.dimension_count");
    const double whole = number("attention.key_length_mla") > 0 ? number("attention.key_length_mla")
                                                                : number("attention.key_length");
    const double v = number("attention.value_length_mla") > 0 ? number("attention.value_length_mla")
                                                              : number("attention.value_length");
    out["qk_rope_head_dim"] = rope;
    out["qk_nope_head_dim"] = whole - rope;
    out["v_head_dim"] = v;
    out.erase("head_dim");
  }
  return out;
}

}  // namespace
}  // namespace detail

ModelFile read_gguf(std::string_view bytes, std::uint64_t size, const std::string& name) {
  using namespace detail;
  Reader in(bytes, name);
  if (in.take(4) != "GGUF") in.bad("the file is no GGUF", "another beginning", "the letters GGUF");
  const auto version = in.number<std::uint32_t>();
  if (version != 2 && version != 3)
    in.bad("the version of the file is not known", std::to_string(version), "2 or 3");
  const auto tensors = in.number<std::uint64_t>(), pairs = in.number<std::uint64_t>();
  if (tensors > kMostItems || pairs > kMostItems)
    in.bad("the header names too much", fmt::format("{} tensors, {} keys", tensors, pairs),
           fmt::format("at most {}", kMostItems));
  Json keys = Json::object();
  for (std::uint64_t i = 0; i < pairs; ++i) {
    auto key = in.text();
    keys[key] = in.value(in.number<std::uint32_t>());
  }
  std::map<TensorGroup, std::map<std::string_view, double>> of_groups;
  double elements = 0, held = 0;
  bool own_head = false;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    const auto tensor = in.text();
    const auto dims = in.number<std::uint32_t>();
    if (dims > 4)
      in.bad(fmt::format("tensor '{}' has too many extents", tensor), std::to_string(dims), "at most 4");
    double count = 1;
    for (std::uint32_t d = 0; d < dims; ++d) count *= static_cast<double>(in.number<std::uint64_t>());
    const auto id = in.number<std::uint32_t>();
    const auto offset = in.number<std::uint64_t>();
    const auto format =
        std::find_if(kFormats.begin(), kFormats.end(), [&](const Ggml& f) { return f.id == id; });
    if (format == kFormats.end())
      in.bad(fmt::format("tensor '{}' has a format that is not known", tensor), std::to_string(id),
             "F32, F16, BF16, Q4_0 to Q8_0, Q2_K to Q6_K, IQ1 to IQ4 or MXFP4");
    const double long_ = count / static_cast<double>(format->values) * static_cast<double>(format->bytes);
    if (static_cast<double>(offset) + long_ > static_cast<double>(size))
      in.bad(fmt::format("tensor '{}' ends behind the file", tensor),
             fmt::format("{:.0f} B at {}", long_, offset), fmt::format("within {} B", size));
    of_groups[group_of(tensor)][format->name] += long_;
    elements += count;
    held += long_;
    own_head = own_head || tensor == "output.weight";
  }
  Json config = config_of(keys, name);
  config["tie_word_embeddings"] = tensors > 0 && !own_head;
  const auto text = detail::json_text(config);
  ModelFile m = read_config({.config = text, .quantization = {}, .generation = {}}, name);
  m.entry.source.note = fmt::format("header of a GGUF file of version {}", version);
  std::erase_if(m.notes, [](const std::string& note) { return note.starts_with("dtype "); });
  if (tensors > 0) {
    m.workload.formats.clear();
    set_formats(m, of_groups);
    m.workload.parameters = Params<>::from_base(elements);
    m.notes.push_back(fmt::format("{} tensors, {:.0f} weights, {:.0f} B", tensors, elements, held));
  }
  return m;
}

}  // namespace mlsysim

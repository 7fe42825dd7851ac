#include "detail/formats.hpp"

#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/lower.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <regex>

namespace mlsysim::detail {
namespace {

/// Names under which files know the matrices of a group, one spelling each.
struct Module {
  TensorGroup group;
  std::string_view name;
};
constexpr std::string_view kInFeedForward = "layers.{}.mlp.experts.0.gate_proj";
constexpr std::array kModules{
    Module{TensorGroup::attention, "layers.{}.self_attn.q_proj"},
    Module{TensorGroup::attention, "layers.{}.self_attn.q_b_proj"},
    Module{TensorGroup::attention, "layers.{}.attn.wq_b"},
    Module{TensorGroup::attention, "layers.{}.mixer.q_proj"},
    Module{TensorGroup::linear, "layers.{}.linear_attn.in_proj_qkv"},
    Module{TensorGroup::linear, "layers.{}.mixer.in_proj"},
    Module{TensorGroup::dense, "layers.{}.mlp.gate_proj"},
    Module{TensorGroup::dense, "layers.{}.feed_forward.gate_proj"},
    Module{TensorGroup::shared_experts, "layers.{}.mlp.shared_experts.gate_proj"},
    Module{TensorGroup::shared_experts, "layers.{}.mlp.shared_expert.gate_proj"},
    Module{TensorGroup::shared_experts, "layers.{}.ffn.shared_experts.w1"},
    Module{TensorGroup::shared_experts, "layers.{}.mixer.shared_experts.up_proj"},
    Module{TensorGroup::shared_experts, "layers.{}.block_sparse_moe.shared_experts.gate_proj"},
    Module{TensorGroup::shared_experts, "layers.{}.feed_forward.shared_expert.gate_proj"},
    Module{TensorGroup::experts, kInFeedForward},
    Module{TensorGroup::experts, "layers.{}.experts.0.gate_proj"},  // beside a dense network: Gemma 4
    Module{TensorGroup::experts, "layers.{}.feed_forward.experts.0.gate_proj"},
    Module{TensorGroup::experts, "layers.{}.ffn.experts.0.w1"},
    Module{TensorGroup::experts, "layers.{}.mixer.experts.0.up_proj"},
    Module{TensorGroup::experts, "layers.{}.block_sparse_moe.experts.0.w1"},
    Module{TensorGroup::head, "lm_head"},
    Module{TensorGroup::head, "head"},
    Module{TensorGroup::draft, "mtp.layers.0.self_attn.q_proj"},
    Module{TensorGroup::tower, "visual.blocks.0.attn.qkv"},
    Module{TensorGroup::tower, "vision_tower.encoder.blocks.0.wqkv"},
};

/// One number format of weights and its scales.
struct Scheme {
  Precision precision = Precision::bf16;
  double block = 0, block_rows = 0, scale_bytes = 0;
  double bits = 0;  ///< of a weight with its scales, where no format has so many; 0: those of the format
};

StoredFormat stored(TensorGroup group, const Scheme& s) {
  StoredFormat f;
  f.tensors = group;
  f.precision = s.precision;
  if (s.bits > 0) {
    f.bits = s.bits;
  } else if (s.block > 0) {
    f.block = s.block;
    if (s.block_rows > 1) f.block_rows = s.block_rows;
    f.scale = s.scale_bytes * unit::B;
  }
  return f;
}

std::string word(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
/// A length of blocks of weights, in values. @throws InputError for one that no file means
double block_size(const Json& value, const char* key) {
  constexpr double kMost = 1e9;
  const double x = value.is_number() ? value.get<double>() : 0;
  if (x >= 1 && x <= kMost && std::floor(x) == x) return x;
  throw InputError("mlsysim.model_files.026", fmt::format("'{}' is no size of a block of weights", key), key,
                   shown(value), fmt::format("a whole number from 1 to {:g}", kMost),
                   "correct the file, or write the entry by hand (docs/how-to/add-a-model.md)");
}
double number(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

/// Formats by the names that tools give them. NVFP4 has an FP8 scale for 16 values, MXFP4 an 8-bit exponent
/// for 32.
std::optional<Scheme> scheme_named(const std::string& name) {
  const auto n = lower(name);
  if (n.find("nvfp4") != std::string::npos) return Scheme{Precision::fp4, 16, 1, 1};
  if (n.find("mxfp4") != std::string::npos) return Scheme{Precision::fp4, 32, 1, 1};
  if (n.find("mxfp8") != std::string::npos) return Scheme{Precision::fp8, 32, 1, 1};
  if (n.find("fp8") != std::string::npos || n.find("float8") != std::string::npos)
    return Scheme{Precision::fp8, 0, 0, 0};
  if (n.find("int4") != std::string::npos || n.find("w4a16") != std::string::npos)
    return Scheme{Precision::int4, 0, 0, 0};
  if (n.find("int8") != std::string::npos || n.find("w8a8") != std::string::npos)
    return Scheme{Precision::int8, 0, 0, 0};
  return std::nullopt;
}

/// The weights of a group of compressed-tensors or modelopt.
std::optional<Scheme> scheme_of_group(const Json& group, const std::string& overall) {
  const auto weights = group.find("weights");
  if (weights == group.end() || !weights->is_object()) return std::nullopt;
  const double bits = number(*weights, "num_bits", 0), size = number(*weights, "group_size", 0);
  const bool floats = word(*weights, "type") != "int";
  Scheme s;
  if (bits == 8)
    s.precision = floats ? Precision::fp8 : Precision::int8;
  else if (bits == 4)
    s.precision = floats ? Precision::fp4 : Precision::int4;
  else
    return std::nullopt;
  if (size > 0) {
    s.block = block_size(weights->at("group_size"), "group_size");
    s.block_rows = 1;
    // FP4 keeps 8-bit scales, other groups those of 16 bits.
    s.scale_bytes = s.precision == Precision::fp4 || overall.find("mx") != std::string::npos ? 1 : 2;
  }
  return s;
}

/// Parts of a model before the names of its layers.
std::string_view without_model(std::string_view name) {
  for (const std::string_view prefix :
       {"model.language_model.", "language_model.model.", "model.", "backbone.", "language_model."})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

/// A name with `{}` for each number between its dots: "layers.17.mlp*" is "layers.{}.mlp*".
std::string any_layer(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const auto end = std::min(name.find_first_not_of("0123456789", i), name.size());
    const bool begins = i == 0 || name[i - 1] == '.';
    const bool ends = end == name.size() || name[end] == '.' || name[end] == '*';
    if (end > i && begins && ends)
      out += "{}";
    else
      out += name.substr(i, std::max(end - i, std::size_t{1}));
    i = std::max(end, i + 1);
  }
  return out;
}

/// The expression of a pattern; nothing where it is none, or one that could run for ever: those that files
/// hold are short and of `.*` and choices.
std::optional<std::regex> expression_of(std::string_view pattern) {
  if (pattern.size() > 200 || pattern.find("+)") != std::string_view::npos ||
      pattern.find("*)") != std::string_view::npos)
    return std::nullopt;
  try {
    return std::regex(std::string(pattern.substr(3)));
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

/// Names and patterns of a list. Those that differ by their layers alone are one, with the number of layers
/// that they name; a pattern without a layer names all.
class NamedModules {
 public:
  void add(std::string_view pattern) {
    if (pattern.starts_with("re:")) {
      // An expression without a number speaks of every layer.
      const bool some = pattern.find_first_of("0123456789") != std::string_view::npos;
      if (auto made = expression_of(pattern)) expressions_.push_back({std::move(*made), some});
      return;
    }
    auto any = any_layer(without_model(pattern));
    const bool one_layer = any.find("{}") != std::string::npos;
    patterns_[std::move(any)] += one_layer ? 1 : kAll;
  }
  /// Whether the list names a module, with `{}` for its layer, in most of the `layers` that have it.
  [[nodiscard]] bool names(std::string_view module, double layers) const {
    const auto any = any_layer(module);
    double named = 0;
    for (const auto& [pattern, count] : patterns_)
      if (names_module(pattern, any)) named += count;
    if (named >= std::max(1.0, layers / 2)) return true;
    for (std::size_t k = 0; k < expressions_.size(); ++k) {
      const auto& [expression, some] = expressions_[k];
      const bool each = some && k < kMostExpressions;
      for (int i = 0; i < (each ? kMostLayers : 1); ++i)
        if (std::regex_search(in_layer(module, i), expression)) named += each ? 1 : kAll;
    }
    return named >= std::max(1.0, layers / 2);
  }

 private:
  static constexpr double kAll = 1e9;
  static constexpr int kMostLayers = 256;
  static constexpr std::size_t kMostExpressions = 64;  // that are tried on every layer; others on the first
  struct Expression {
    std::regex regex;
    bool some;  ///< it names layers by their numbers
  };
  static std::string in_layer(std::string_view module, int layer) {
    std::string out(module);
    if (const auto at = out.find("{}"); at != std::string::npos) out.replace(at, 2, std::to_string(layer));
    return out;
  }
  std::map<std::string, double, std::less<>> patterns_;
  std::vector<Expression> expressions_;
};

class Quantization {
 public:
  explicit Quantization(const Json& json) : json_(json) {
    for (const char* key : {"ignore", "modules_to_not_convert", "exclude_modules", "llm_int8_skip_modules"})
      if (const auto list = json.find(key); list != json.end() && list->is_array())
        for (const auto& item : *list)
          if (item.is_string()) ignored_.add(item.get<std::string>());
    read_layers();
    read_groups();
  }
  /// Whether a module is left out in most of the `layers` that have it.
  [[nodiscard]] bool ignores(std::string_view module, double layers) const {
    return ignored_.names(module, layers);
  }
  /// The scheme of a module that is not left out, by the rows that name it, else by the one of the file.
  [[nodiscard]] std::optional<Scheme> of(std::string_view module, double layers) const {
    const bool experts_only = json_.contains("moe_quant_algo");
    if (experts_only && module.find(".experts.") == std::string_view::npos) return whole();
    if (rows_.empty()) return whole();
    for (const auto& row : rows_)
      if (row.every || row.named.names(module, layers)) return row.scheme;
    return std::nullopt;
  }

  /// Whether the file is one of MLX, which quantizes embedding and head, too.
  [[nodiscard]] bool of_mlx() const {
    return word(json_, "quant_method").empty() && number(json_, "bits", 0) > 0 &&
           number(json_, "group_size", 0) > 0;
  }
  /// The scheme of the head, where it has bits of its own (EXL2, EXL3).
  [[nodiscard]] std::optional<Scheme> of_head() const {
    if (const double bits = number(json_, "head_bits", 0); bits >= 1 && bits < 16) return narrow(bits);
    return of_mlx() ? whole() : std::nullopt;
  }

 private:
  /// A scheme and the modules that have it.
  struct Row {
    std::optional<Scheme> scheme;
    NamedModules named;
    bool every = false;
  };

  /// Modules with a scheme of their own, one by one (modelopt).
  void read_layers() {
    const auto list = json_.find("quantized_layers");
    if (list == json_.end() || !list->is_object()) return;
    std::map<std::string, Row> by_scheme;
    for (const auto& [module, how] : list->items()) {
      if (!how.is_object()) continue;
      auto& row = by_scheme[json_ascii(how)];
      if (!row.scheme) row.scheme = scheme_named(word(how, "quant_algo"));
      if (row.scheme && row.scheme->block > 0 && number(how, "group_size", 0) > 0)
        row.scheme->block = block_size(how.at("group_size"), "group_size");
      row.named.add(module);
    }
    for (auto& [name, row] : by_scheme) rows_.push_back(std::move(row));
  }
  /// Groups of modules (compressed-tensors, and modelopt beside its list).
  void read_groups() {
    const auto groups = json_.find("config_groups");
    if (!rows_.empty() || groups == json_.end() || !groups->is_object()) return;
    for (const auto& [name, group] : groups->items()) {
      if (!group.is_object()) continue;
      Row row{scheme_of_group(group, word(json_, "format")), {}, false};
      const auto targets = group.find("targets");
      row.every = targets == group.end() || !targets->is_array();
      for (const auto& t : row.every ? Json::array() : *targets) {
        row.every = row.every || t == "Linear";
        if (t.is_string()) row.named.add(t.get<std::string>());
      }
      rows_.push_back(std::move(row));
    }
    // Groups that name their modules go before one that is for all others.
    std::stable_partition(rows_.begin(), rows_.end(), [](const Row& row) { return !row.every; });
  }

  /// The one scheme of the whole file.
  [[nodiscard]] std::optional<Scheme> whole() const {
    const auto method = word(json_, "quant_method");
    if (const auto block = json_.find("weight_block_size");
        block != json_.end() && block->is_array() && block->size() == 2) {
      const double scale = word(json_, "scale_fmt") == "ue8m0" ? 1 : 4;
      return Scheme{Precision::fp8, block_size((*block)[1], "weight_block_size"),
                    block_size((*block)[0], "weight_block_size"), scale};
    }
    if (const double bits = stated_bits(); bits > 0) return few_bits(bits);
    if (torchao_type().find("float8") != std::string::npos) return scheme_named("fp8");
    // MXFP4 of gpt-oss is for experts; the names of what is left out say so.
    if (auto s = scheme_named(word(json_, "quant_algo"))) return s;
    return scheme_named(method.empty() ? word(json_, "fmt") : method == "fp8" ? "fp8" : method);
  }

  /// The bits of methods that are named for how they round: AWQ, GPTQ and their like, bitsandbytes.
  [[nodiscard]] double stated_bits() const {
    if (json_.value("load_in_4bit", Json()) == true) return 4;
    if (json_.value("load_in_8bit", Json()) == true) return 8;
    const auto torchao = torchao_type();
    if (torchao.find("int4") != std::string::npos) return 4;
    if (torchao.find("int8") != std::string::npos) return 8;
    return number(parameters(), "nbits", number(json_, "bits", number(json_, "w_bit", 0)));
  }
  /// The section that HQQ and torchao keep their numbers in, or the whole.
  [[nodiscard]] const Json& parameters() const {
    const Json* at = &json_;
    for (const char* key : {"quant_config", "weight_quant_params", "quant_type", "default", "_data"})
      if (const auto inner = at->find(key); inner != at->end() && inner->is_object()) at = &*inner;
    return *at;
  }
  /// "int4weightonlyconfig" or "int4_weight_only".
  [[nodiscard]] std::string torchao_type() const {
    if (word(json_, "quant_method") != "torchao") return {};
    auto name = word(json_, "quant_type");
    if (const auto type = json_.find("quant_type"); type != json_.end() && type->is_object())
      if (const auto own = type->find("default"); own != type->end() && own->is_object())
        name = word(*own, "_type");
    return lower(name);
  }
  /// Groups have a scale of 16 bits and a zero; those of bitsandbytes one value of 32 bits, or of 8 where it
  /// is rounded again.
  [[nodiscard]] std::optional<Scheme> few_bits(double bits) const {
    if (!(bits >= 1 && bits <= 8)) return std::nullopt;
    if (const auto mode = scheme_named(word(json_, "mode")); of_mlx() && mode) return mode;
    Scheme s{bits < 8 ? Precision::int4 : Precision::int8, 0, 1, of_mlx() ? 4 : 2 + bits / 8};
    if (word(json_, "quant_method") != "bitsandbytes") {
      for (const char* key : {"group_size", "q_group_size"})
        if (number(parameters(), key, 0) > 0) s.block = block_size(parameters().at(key), key);
    } else if (bits == 4) {
      s.block = 64;
      s.scale_bytes = json_.value("bnb_4bit_use_double_quant", Json()) == true ? 1 : 4;
    }
    if (bits != 4 && bits != 8) s.bits = bits + (s.block > 0 ? 8 * s.scale_bytes / s.block : 0);
    return s;
  }
  /// A number of bits, scales included.
  static Scheme narrow(double bits) {
    return {bits < 8 ? Precision::int4 : Precision::int8, 0, 0, 0, bits == 4 || bits == 8 ? 0 : bits};
  }

  const Json& json_;
  NamedModules ignored_;
  std::vector<Row> rows_;
};

/// Layers of the main stack that have matrices of a group, and whether their experts lie beside a dense
/// network rather than in its place.
struct GroupLayers {
  std::map<TensorGroup, double> of;
  bool beside_dense = false;
};

GroupLayers layers_by_group(const Workload& workload) {
  GroupLayers out;
  const Stack* main = workload.main();
  if (main == nullptr) return out;
  for_each_place(*main, [&](const LayerPlace& p) {
    const double times = p.run->times.value_or(1) * (p.layer == nullptr ? 1 : p.layer->times.value_or(1));
    const auto& m = *p.mixer;
    const auto& f = *p.feed_forward;
    if (m.grouped || m.latent) out.of[TensorGroup::attention] += times;
    if (m.linear || m.state_space || m.recurrent) out.of[TensorGroup::linear] += times;
    if (f.dense) out.of[TensorGroup::dense] += times;
    if (f.experts) out.of[TensorGroup::experts] += times;
    if (f.experts && f.experts->shared > 0) out.of[TensorGroup::shared_experts] += times;
    out.beside_dense = out.beside_dense || (f.dense && f.experts);
  });
  return out;
}

bool glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<Precision> plain_format(const std::string& name) {
  if (name == "bfloat16") return Precision::bf16;
  if (name == "float16") return Precision::fp16;
  if (name == "float32") return Precision::fp32;
  return std::nullopt;
}

}  // namespace

bool names_module(std::string_view pattern, std::string_view module) {
  if (pattern.starts_with("re:")) {
    const auto expression = expression_of(pattern);
    return expression && std::regex_search(std::string(module), *expression);
  }
  pattern = without_model(pattern);
  if (pattern.find('*') != std::string_view::npos)
    return glob(pattern, module) || glob(std::string(pattern) + ".*", module);
  // A whole name, or the beginning of a path.
  return module == pattern ||
         (module.starts_with(pattern) && module.size() > pattern.size() && module[pattern.size()] == '.');
}

namespace {

/// Gives each group of tensors its scheme. @returns whether one but head, tower and draft has one
bool put_schemes(Workload& workload, const Json& q, const Quantization& quantization) {
  const bool experts_only = word(q, "quant_method") == "mxfp4";
  const auto layers = layers_by_group(workload);
  const auto depth = workload.main() == nullptr ? 1 : workload.main()->depth();
  std::vector<TensorGroup> done;
  const auto in_layers = [&](TensorGroup group) {
    const auto found = layers.of.find(group);
    return found == layers.of.end() ? depth : found->second;
  };
  const auto left_out = [&](const Module& module) {
    return std::find(done.begin(), done.end(), module.group) != done.end() ||
           (experts_only && module.group != TensorGroup::experts) ||
           (layers.beside_dense && module.name == kInFeedForward);
  };
  std::map<std::string_view, std::optional<Scheme>> schemes;  // by module
  bool any = false;
  for (const auto& module : kModules) {
    if (left_out(module)) continue;
    const bool layered = module.name.starts_with("layers.");
    const double count = layered ? in_layers(module.group) : 1;
    // One spelling that is left out speaks for the group: the others are not in the file.
    if (quantization.ignores(module.name, count)) {
      done.push_back(module.group);
      continue;
    }
    const auto& scheme = schemes[module.name] = quantization.of(module.name, count);
    any = any || (scheme && layered);
  }
  for (const auto& module : kModules) {
    if (left_out(module)) continue;
    const auto& scheme = schemes[module.name];
    if (!scheme) continue;
    // Heads, towers and drafts are quantized only where a file names them.
    const bool named = q.contains("quantized_layers") || module.group == TensorGroup::draft;
    if ((module.group == TensorGroup::head || module.group == TensorGroup::tower) && !named) continue;
    workload.formats.push_back(stored(module.group, *scheme));
    done.push_back(module.group);
  }
  const auto head = any ? quantization.of_head() : std::nullopt;
  if (head) workload.formats.push_back(stored(TensorGroup::head, *head));
  if (head && quantization.of_mlx()) workload.formats.push_back(stored(TensorGroup::embedding, *head));
  return any;
}

/// The name of a file may state a format of which its text says nothing: older files of modelopt keep it
/// beside them.
void note_stated_format(const Workload& workload, Precision base, std::vector<std::string>& notes) {
  const auto name = lower(workload.name);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (scheme_named(name) || has("awq") || has("gptq") || has("4bit") || has("8bit"))
    notes.push_back(
        fmt::format("the name '{}' states a format, and no quantization_config does: weights are taken "
                    "as {}; put hf_quant_config.json beside config.json, or say --weight-format",
                    workload.name, name_of(base)));
}

}  // namespace

void read_formats(Workload& workload, const Json& config, const Json& text, const Json& beside,
                  const std::string& file, std::vector<std::string>& notes) {
  (void)file;
  const auto base = [&] {
    for (const Json* section : {&text, &config})
      for (const char* key : {"dtype", "torch_dtype"})
        if (const auto named = plain_format(word(*section, key))) return *named;
    notes.push_back("dtype is not stated: bf16");
    return Precision::bf16;
  }();
  workload.formats.push_back(stored(TensorGroup::all, {base, 0, 0, 0}));
  const Json* q = nullptr;
  for (const Json* section : {&config, &text})
    if (const auto found = section->find("quantization_config");
        q == nullptr && found != section->end() && found->is_object())
      q = &*found;
  if (beside.is_object())
    if (const auto found = beside.find("quantization");
        q == nullptr && found != beside.end() && found->is_object())
      q = &*found;
  if (q != nullptr) {
    const Quantization quantization(*q);
    const bool any = put_schemes(workload, *q, quantization);
    if (!any)
      notes.push_back(fmt::format(
          "quantization_config is not understood (quant_method {}): weights are taken as {}",
          word(*q, "quant_method").empty() ? "not stated" : word(*q, "quant_method"), name_of(base)));
  }
  if (q == nullptr) note_stated_format(workload, base, notes);
  if (word(config, "expert_dtype") == "fp4" || word(text, "expert_dtype") == "fp4") {
    std::erase_if(workload.formats, [](const StoredFormat& f) { return f.tensors == TensorGroup::experts; });
    workload.formats.push_back(stored(TensorGroup::experts, {Precision::fp4, 32, 1, 1}));
  }
  if (q != nullptr)
    for (const char* key : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
      const auto found = q->find(key);
      if (found == q->end() || found->is_null()) continue;
      const bool eight = found->is_object() ? number(*found, "num_bits", 0) == 8
                                            : lower(shown(*found)).find("fp8") != std::string::npos;
      if (eight) workload.formats.push_back(stored(TensorGroup::cache, {Precision::fp8, 0, 0, 0}));
      break;
    }
}

}  // namespace mlsysim::detail

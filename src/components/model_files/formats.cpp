#include "detail/formats.hpp"

#include <mlsysim/units/detail/lower.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

namespace mlsysim::detail {
namespace {

/// Names under which files know the matrices of a group, one spelling each. A layer in the middle of the
/// model stands for all.
struct Module {
  TensorGroup group;
  std::string_view name;
};
constexpr std::array kModules{
    Module{TensorGroup::attention, "layers.{}.self_attn.q_proj"},
    Module{TensorGroup::attention, "layers.{}.self_attn.q_b_proj"},
    Module{TensorGroup::attention, "layers.{}.attn.wq_b"},
    Module{TensorGroup::attention, "layers.{}.mixer.q_proj"},
    Module{TensorGroup::linear, "layers.{}.linear_attn.in_proj_qkv"},
    Module{TensorGroup::linear, "layers.{}.mixer.in_proj"},
    Module{TensorGroup::dense, "layers.{}.mlp.gate_proj"},
    Module{TensorGroup::shared_experts, "layers.{}.mlp.shared_experts.gate_proj"},
    Module{TensorGroup::shared_experts, "layers.{}.mlp.shared_expert.gate_proj"},
    Module{TensorGroup::shared_experts, "layers.{}.ffn.shared_experts.w1"},
    Module{TensorGroup::shared_experts, "layers.{}.mixer.shared_experts.up_proj"},
    Module{TensorGroup::experts, "layers.{}.mlp.experts.0.gate_proj"},
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
};

StoredFormat stored(TensorGroup group, const Scheme& s) {
  StoredFormat f;
  f.tensors = group;
  f.precision = s.precision;
  if (s.block > 0) {
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

class Quantization {
 public:
  Quantization(const Json& json, double layers) : json_(json), layers_(layers) {
    for (const char* key : {"ignore", "modules_to_not_convert", "exclude_modules", "llm_int8_skip_modules"})
      if (const auto list = json.find(key); list != json.end() && list->is_array())
        for (const auto& item : *list)
          if (item.is_string()) ignored_.push_back(item.get<std::string>());
  }
  [[nodiscard]] bool ignores(std::string_view module) const {
    return std::any_of(ignored_.begin(), ignored_.end(),
                       [&](const std::string& p) { return names_module(p, module); });
  }
  /// The scheme of a module, by the groups that name it, else by the one scheme of the file.
  [[nodiscard]] std::optional<Scheme> of(std::string_view module) const {
    if (ignores(module)) return std::nullopt;
    const auto groups = json_.find("config_groups");
    const bool experts_only = json_.contains("moe_quant_algo");
    if (experts_only && module.find(".experts.") == std::string_view::npos) return whole();
    if (groups == json_.end() || !groups->is_object()) return whole();
    for (const auto& [name, group] : groups->items()) {
      if (!group.is_object()) continue;
      const auto targets = group.find("targets");
      const bool every = targets == group.end() || !targets->is_array();
      bool named = every;
      if (!every)
        for (const auto& t : *targets)
          named = named || (t.is_string() && (t == "Linear" || names_module(t.get<std::string>(), module)));
      if (named) return scheme_of_group(group, word(json_, "format"));
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string module_name(std::string_view pattern) const {
    std::string out(pattern);
    if (const auto at = out.find("{}"); at != std::string::npos)
      out.replace(at, 2, std::to_string(static_cast<int>(layers_ / 2)));
    return out;
  }

  /// Bits of a weight for which there is no format; 0 where there is one, or none are stated.
  [[nodiscard]] double odd_bits() const {
    const double bits = stated_bits();
    return bits > 0 && bits < 8 && bits != 4 ? bits : 0;
  }

 private:
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
    // Formats have 4 or 8 bits: others are held in the next larger one, with a note.
    Scheme s{bits <= 4 ? Precision::int4 : Precision::int8, 0, 1, 2 + bits / 8};
    if (word(json_, "quant_method") != "bitsandbytes") {
      for (const char* key : {"group_size", "q_group_size"})
        if (number(parameters(), key, 0) > 0) s.block = block_size(parameters().at(key), key);
    } else if (bits == 4) {
      s.block = 64;
      s.scale_bytes = json_.value("bnb_4bit_use_double_quant", Json()) == true ? 1 : 4;
    }
    return s;
  }

  const Json& json_;
  double layers_;
  std::vector<std::string> ignored_;
};

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
    // A hostile expression could run for ever: those that files hold are short and of `.*` and choices.
    if (pattern.size() > 200 || pattern.find("+)") != std::string_view::npos ||
        pattern.find("*)") != std::string_view::npos)
      return false;
    try {
      return std::regex_search(std::string(module), std::regex(std::string(pattern.substr(3))));
    } catch (const std::regex_error&) {
      return false;
    }
  }
  for (const std::string_view prefix :
       {"model.language_model.", "language_model.model.", "model.", "backbone.", "language_model."})
    if (pattern.starts_with(prefix)) {
      pattern.remove_prefix(prefix.size());
      break;
    }
  if (pattern.find('*') != std::string_view::npos)
    return glob(pattern, module) || glob(std::string(pattern) + ".*", module);
  // A whole name, or the beginning of a path.
  return module == pattern ||
         (module.starts_with(pattern) && module.size() > pattern.size() && module[pattern.size()] == '.');
}

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
    const Stack* main = workload.main();
    const Quantization quantization(*q, main == nullptr ? 1 : main->depth());
    if (const double bits = quantization.odd_bits(); bits > 0)
      notes.push_back(fmt::format("weights of {:g} bits are counted as int{}, the next larger format", bits,
                                  bits < 4 ? 4 : 8));
    const bool experts_only = word(*q, "quant_method") == "mxfp4";
    std::vector<TensorGroup> done;
    bool any = false;
    for (const auto& module : kModules) {
      if (std::find(done.begin(), done.end(), module.group) != done.end()) continue;
      if (experts_only && module.group != TensorGroup::experts) continue;
      const auto name = quantization.module_name(module.name);
      const auto scheme = quantization.of(name);
      // One spelling that is left out speaks for the group: the others are not in the file.
      if (quantization.ignores(name))
        done.push_back(module.group);
      else if (scheme && module.group != TensorGroup::head && module.group != TensorGroup::tower &&
               module.group != TensorGroup::draft)
        any = true;
    }
    for (const auto& module : kModules) {
      if (std::find(done.begin(), done.end(), module.group) != done.end()) continue;
      if (experts_only && module.group != TensorGroup::experts) continue;
      const auto scheme = quantization.of(quantization.module_name(module.name));
      if (!scheme) continue;
      // Heads, towers and drafts are quantized only where a file names them.
      const bool named = q->contains("quantized_layers") || module.group == TensorGroup::draft;
      if ((module.group == TensorGroup::head || module.group == TensorGroup::tower) && !named) continue;
      workload.formats.push_back(stored(module.group, *scheme));
      done.push_back(module.group);
    }
    if (!any)
      notes.push_back(fmt::format(
          "quantization_config is not understood (quant_method {}): weights are taken as {}",
          word(*q, "quant_method").empty() ? "not stated" : word(*q, "quant_method"), name_of(base)));
  }
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

// Which model an engine means by a name, and which formats the name states.

#include <mlsysim/engine/detail/model_name.hpp>

#include <mlsysim/engine/field_input.hpp>
#include <mlsysim/units/detail/lower.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace mlsysim::detail {
namespace {

using NameParts = std::vector<std::string>;

/// How many beginnings of an unknown name are looked up, the longest first.
constexpr int kBeginnings = 12;

bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Calls f(part) for each part of a name, as written, until it returns false. Signs separate parts, and so
/// does a digit behind a letter: "Llama3_8B" and "Llama-3-8B" have the same parts, "opt-1.3b" and "opt-13b"
/// do not.
template <class F> bool each_part(std::string_view name, F&& f) {
  const auto in_part = [&](std::size_t i) { return std::isalnum(static_cast<unsigned char>(name[i])) != 0; };
  for (std::size_t i = 0; i < name.size();) {
    if (!in_part(i)) {
      ++i;
      continue;
    }
    const std::size_t begin = i++;
    while (i < name.size() && in_part(i) && !(digit(name[i]) && !digit(name[i - 1]))) ++i;
    if (!f(name.substr(begin, i - begin))) return false;
  }
  return true;
}

/// The parts of a name in lower case.
NameParts parts_of(std::string_view name) {
  NameParts out;
  each_part(name, [&](std::string_view part) {
    out.push_back(lower(part));
    return true;
  });
  return out;
}

/// Parts that name a fine-tuned copy. All copies have the shape of the model.
constexpr auto kVariants = std::to_array<std::string_view>({"instruct", "chat", "hf", "base", "it", "pt"});
/// Endings that name a file format or a method of quantization, and no width.
constexpr auto kPackaging = std::to_array<std::string_view>(
    {"dynamic",   "static", "block", "quantized", "unsloth", "gguf",    "mlx",         "dwq",  "qat",
     "bnb",       "marlin", "hqq",   "onnx",      "ud",      "imatrix", "smoothquant", "exl",  "ggml",
     "gptqmodel", "32g",    "64g",   "128g",      "inc",     "sym",     "per",         "token"});
/// Publishers that some hubs write in front of the name: "Qwen_Qwen3-8B-GGUF".
constexpr auto kPublishers = std::to_array<std::string_view>(
    {"qwen",           "google",      "mistralai",    "microsoft",   "meta-llama",    "deepseek-ai",
     "nvidia",         "openai",      "allenai",      "ibm-granite", "huggingfacetb", "zai-org",
     "thudm",          "tiiuae",      "coherelabs",   "cohereforai", "moonshotai",    "baidu",
     "bytedance-seed", "lgai-exaone", "agentica-org", "nousresearch"});

/// An ending that states formats; parts are joined by spaces.
struct FormatEnding {
  std::string_view ending;
  WeightFormat weights;
  bool cache_fp8 = false;
  bool nearest = false;  ///< the format itself has no figures: the nearest one that has
};
/// Endings that are not the name of a format.
constexpr auto kFormats = std::to_array<FormatEnding>({
    {"gptq int 8", WeightFormat::w8a16},
    {"fp 8 kv", WeightFormat::fp8, true},
    {"bnb 4bit", WeightFormat::nf4},
    {"w 4a 16", WeightFormat::int4},
    {"w 8a 8", WeightFormat::int8},
    {"w 8a 8 fp 8", WeightFormat::fp8},
    {"fp 4", WeightFormat::nvfp4},
    {"4bit", WeightFormat::int4},
    {"8bit", WeightFormat::w8a16},
    {"6bit", WeightFormat::q6_k},
    {"awq", WeightFormat::int4},
    {"gptq", WeightFormat::int4},
    {"autoround", WeightFormat::int4},
    {"4 bit", WeightFormat::int4},
    {"8 bit", WeightFormat::w8a16},
    {"nvfp 4a 16", WeightFormat::nvfp4},
    {"w 4a 8", WeightFormat::int4},
    {"w 4afp 8", WeightFormat::int4},
    {"mxfp 4 moe", WeightFormat::mxfp4},
    {"mxfp 4 preview", WeightFormat::mxfp4},
    {"mxfp 4 q 8", WeightFormat::mxfp4},
    {"float 8", WeightFormat::fp8},
    {"float 8dq", WeightFormat::fp8},  // of torchao, and the next two
    {"int 8 int 4", WeightFormat::int4},
    {"8da 4w", WeightFormat::int4},
    {"f 16", WeightFormat::fp16},
    {"w 4a 16 g 128", WeightFormat::int4},
    {"4bits", WeightFormat::int4},
    {"8bits", WeightFormat::w8a16},
    {"gptq 4b", WeightFormat::int4},
    {"gptq 8b", WeightFormat::w8a16},
    {"w int 4 a bf 16", WeightFormat::int4},
    {"w mxfp 4 a mxfp 4", WeightFormat::mxfp4},
    {"w fp 8 a fp 8", WeightFormat::fp8},
    {"it qat", WeightFormat::q4_0},  // Gemma, trained for this format
});
/// Endings of GGUF files and of MLX that no format is named for: the nearest one stands in. Files of the XL
/// kinds choose a format for each layer.
constexpr auto kFileFormats = std::to_array<FormatEnding>({
    {"q 2 k l", WeightFormat::q2_k, false, true},
    {"q 2 k xl", WeightFormat::q2_k, false, true},
    {"q 2 k s", WeightFormat::q2_k, false, true},
    {"q 3 k xl", WeightFormat::q3_k_m, false, true},
    {"q 4 k xl", WeightFormat::q4_k_m, false, true},
    {"q 4 k l", WeightFormat::q4_k_m, false, true},
    {"q 5 k l", WeightFormat::q5_k_m, false, true},
    {"q 5 k xl", WeightFormat::q5_k_m, false, true},
    {"q 6 k l", WeightFormat::q6_k, false, true},
    {"q 6 k xl", WeightFormat::q6_k, false, true},
    {"q 8 k xl", WeightFormat::q8_0, false, true},
    {"2bit", WeightFormat::iq2_xs, false, true},
    {"3bit", WeightFormat::q3_k_s, false, true},
    {"5bit", WeightFormat::q5_0, false, true},
    {"q 4", WeightFormat::int4, false, true},
    {"q 8", WeightFormat::q8_0, false, true},
    {"i 1", WeightFormat::as_stored},
    {"exl 2", WeightFormat::as_stored},
    {"exl 3", WeightFormat::as_stored},
});

/// MLX stores every tensor in blocks of 64 with a scale and a shift of 16 bits each: 4.5 bits, as q4_0 has.
constexpr FormatEnding kMlxFour{"4bit", WeightFormat::q4_0, false, true};
/// With 8 bits, 8.5, as q8_0 has.
constexpr FormatEnding kMlxEight{"8bit", WeightFormat::q8_0, false, true};

bool any_of(std::string_view part, const auto& words) {
  return std::find(words.begin(), words.end(), part) != words.end();
}

NameParts without_variants(NameParts parts) {
  std::erase_if(parts, [](const auto& part) { return any_of(part, kVariants); });
  return parts;
}

const Workload* entry_of(const NameParts& wanted, const Zoo& zoo, bool exact) {
  const auto same = [&](std::string_view name) {
    auto next = wanted.begin();
    const bool all = each_part(name, [&](std::string_view part) {
      const std::string word = lower(part);
      if (next == wanted.end() || word != *next) return !exact && any_of(word, kVariants);
      ++next;
      return true;
    });
    return all && next == wanted.end();
  };
  for (const Workload* model : zoo.all<Workload>()) {
    if (same(model->name)) return model;
    if (const auto* entry = model->entry; entry != nullptr)
      if (std::any_of(entry->aliases.begin(), entry->aliases.end(), same)) return model;
  }
  return nullptr;
}

/// "Meta-Llama-3-8B" is "Llama-3-8B", too.
void drop_maker(NameParts& parts) {
  if (parts.size() > 1 && parts.front() == "meta") parts.erase(parts.begin());
}

/// The entry with these parts: under the name itself, or under that of another fine-tuned copy.
const Workload* entry_of(NameParts wanted, const Zoo& zoo) {
  drop_maker(wanted);
  if (const auto* found = entry_of(wanted, zoo, true)) return found;
  const auto plain = without_variants(std::move(wanted));
  return plain.empty() ? nullptr : entry_of(plain, zoo, false);
}

/// The endings that are names of formats themselves.
const std::vector<FormatEnding>& names_of_formats() {
  static const auto words = [] {
    std::vector<std::string> out;
    for (const auto name : Choices<WeightFormat>::names)
      out.push_back(fmt::format("{}", fmt::join(parts_of(name), " ")));
    return out;
  }();
  static const auto endings = [] {
    std::vector<FormatEnding> out;
    for (std::size_t i = 1; i < words.size(); ++i) out.push_back({words[i], static_cast<WeightFormat>(i)});
    return out;
  }();
  return endings;
}

/// The longest ending that states a format.
const FormatEnding* format_ending(const NameParts& parts) {
  const FormatEnding* found = nullptr;
  const auto look = [&](const FormatEnding& f) {
    const auto words = static_cast<std::size_t>(std::count(f.ending.begin(), f.ending.end(), ' ')) + 1;
    if (words >= parts.size() || (found != nullptr && f.ending.size() <= found->ending.size())) return;
    const auto begin = parts.end() - static_cast<std::ptrdiff_t>(words);
    if (fmt::format("{}", fmt::join(begin, parts.end(), " ")) == f.ending) found = &f;
  };
  std::for_each(names_of_formats().begin(), names_of_formats().end(), look);
  std::for_each(kFormats.begin(), kFormats.end(), look);
  std::for_each(kFileFormats.begin(), kFileFormats.end(), look);
  return found;
}

/// Whether the name ends in the version of a quantization: "NVFP4-v2".
bool ends_in_recipe(const NameParts& parts) {
  const auto n = parts.size();
  return n > 3 && parts[n - 2] == "v" && digit(parts[n - 1].front()) &&
         format_ending({parts.begin(), parts.end() - 2}) != nullptr;
}

/// The name of a checkpoint in the place where it lies: a folder, a bucket, a page of the hub
/// ("https://huggingface.co/Qwen/Qwen3-8B/tree/main"), or the hub's cache on a machine
/// ("models--Qwen--Qwen3-8B/snapshots/b968826d").
std::string_view own_name(std::string_view place) {
  for (const std::string_view end : {"/snapshots/", "/tree/", "/resolve/", "/blob/"})
    place = place.substr(0, std::min(place.find(end), place.size()));
  while (place.ends_with('/')) place.remove_suffix(1);
  if (const auto slash = place.find_last_of('/'); slash != std::string_view::npos)
    place.remove_prefix(slash + 1);
  if (place.starts_with("models--")) place.remove_prefix(place.rfind("--") + 2);
  return place;
}

/// Whether a GGUF file of a model keeps the matrices that are published in 4 bits. Those in MXFP4 stay as
/// they are in every file, those of other formats where the file has 16 bits or states none.
bool kept_in_gguf(const Workload& model, const FormatEnding* stated) {
  const bool wide =
      stated == nullptr || stated->weights == WeightFormat::bf16 || stated->weights == WeightFormat::fp16;
  return std::any_of(model.formats.begin(), model.formats.end(), [&](const StoredFormat& f) {
    return bytes_per_element(f.precision) <= 0.5 &&
           (wide || (f.precision == Precision::fp4 && f.block == 32.0));
  });
}

/// Formats and notes of a name that is an entry's.
ModelName with_formats(std::string_view name, std::string_view own, const Workload& found,
                       const FormatEnding* stated, bool packaged, bool gguf) {
  ModelName out{.entry = found.name};
  out.notes.push_back(fmt::format("'{}' is taken for {} of the zoo", name, found.name));
  if (gguf && kept_in_gguf(found, stated)) {
    out.as_published = true;
    out.notes.push_back(fmt::format("'{}' is taken to be stored as {} is published", name, found.name));
  } else if (stated != nullptr) {
    out.weight_format = name_of(stated->weights);
    if (stated->cache_fp8) out.cache_format = name_of(Precision::fp8);
    out.notes.push_back(fmt::format("the name '{}' states {} weights{}", own, out.weight_format,
                                    stated->cache_fp8 ? " and an fp8 cache"
                                    : stated->nearest
                                        ? ", the nearest: the format that it names has no figures"
                                        : "; it does not state a cache format"));
  } else if (packaged) {
    out.notes.push_back(
        fmt::format("'{}' is quantized, but the name states no format: say --weight-format", own));
  }
  return out;
}

/// Parts of a name as `ModelName::checkpoint` has them.
std::string words_of_name(NameParts parts) {
  drop_maker(parts);
  return fmt::format("{}", fmt::join(parts, " "));
}

/// Those of a name that is not the entry's own.
std::string checkpoint_of(std::string_view name, const Workload& entry) {
  return detail::lower(name) == detail::lower(entry.name) ? std::string() : words_of_name(parts_of(name));
}

}  // namespace

ModelName model_of(std::string_view name, const Zoo& zoo, bool gguf) {
  if (const auto* exact = zoo.find<Workload>(name))
    return {.entry = std::string(name), .checkpoint = checkpoint_of(name, *exact)};
  for (const std::string_view end : {".json", ".gguf", ".yaml", ".yml", ".safetensors"})
    if (name.ends_with(end)) return {.entry = std::string(name)};
  const auto own = own_name(name);
  const Workload* found = zoo.find<Workload>(own);
  const FormatEnding* stated = nullptr;
  bool packaged = false;
  auto wanted = parts_of(own);
  for (; found == nullptr && !wanted.empty();) {
    found = entry_of(wanted, zoo);
    if (found != nullptr) break;
    if (ends_in_recipe(wanted)) wanted.resize(wanted.size() - 2);
    if (const auto* format = format_ending(wanted)) {
      const auto words = std::count(format->ending.begin(), format->ending.end(), ' ') + 1;
      wanted.resize(wanted.size() - static_cast<std::size_t>(words));
      if (format->weights == WeightFormat::as_stored)
        packaged = true;
      else if (stated == nullptr)
        stated = format;
    } else if (any_of(wanted.back(), kVariants) || any_of(wanted.back(), kPackaging)) {
      gguf = gguf || wanted.back() == "gguf";
      packaged =
          packaged || wanted.back() == "gguf" || wanted.back() == "quantized" || wanted.back() == "mlx";
      wanted.pop_back();
    } else {
      break;
    }
  }
  if (found == nullptr) {
    const auto line = own.find('_');
    const auto publisher = detail::lower(own.substr(0, line == std::string_view::npos ? 0 : line));
    return any_of(publisher, kPublishers) ? model_of(own.substr(line + 1), zoo, gguf) : ModelName{};
  }
  const auto all = parts_of(name);
  const bool mlx = std::find(all.begin(), all.end(), "mlx") != all.end();
  if (mlx && stated != nullptr && stated->weights == WeightFormat::int4) stated = &kMlxFour;
  if (mlx && stated != nullptr && stated->weights == WeightFormat::w8a16) stated = &kMlxEight;
  auto out = with_formats(name, own, *found, stated, packaged, gguf);
  if (!checkpoint_of(own, *found).empty()) out.checkpoint = words_of_name(std::move(wanted));
  return out;
}

std::string known_beginning(std::string_view name, const Zoo& zoo) {
  const auto own = own_name(name);
  int left = kBeginnings;
  for (auto end = own.find_last_of("-_.:"); end != std::string_view::npos && end > 2 && left-- > 0;
       end = own.find_last_of("-_.:", end - 1)) {
    const auto begin = own.substr(0, end);
    if (begin.find_first_of("0123456789") == std::string_view::npos) break;  // a maker, or a kind of models
    if (const auto model = model_of(begin, zoo); !model.entry.empty())
      return fmt::format("'{}' is {} of the zoo, and what '{}' changes is not known; ", begin, model.entry,
                         own.substr(end + 1));
  }
  return {};
}

bool names_checkpoint(std::string_view name, std::string_view checkpoint) {
  auto own = parts_of(name);
  drop_maker(own);
  const auto asked = parts_of(checkpoint);
  return asked == own || without_variants(asked) == own;
}

}  // namespace mlsysim::detail

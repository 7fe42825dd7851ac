#include "detail/flag_table.hpp"

#include "detail/settings.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/detail/yaml_document.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <span>

namespace mlsysim::detail {
namespace {

constexpr auto kTakes = std::to_array<std::string_view>(
    {"text", "count", "number", "share", "bytes", "toggle", "switch", "words", "json", "file"});

using Meaning = std::pair<std::string_view, std::string_view>;
constexpr auto kMeanings = std::to_array<Meaning>({
    {"model", "the model"},
    {"model_file", "the file of the model in its repository"},
    {"model_family", "the family of the model"},
    {"draft_model", "the model that proposes tokens"},
    {"draft_method", "what proposes tokens: a model, or a head on the model"},
    {"draft_tokens", "tokens proposed for each check"},
    {"tp", "ranks that divide each layer"},
    {"pp", "pipeline stages"},
    {"dp", "copies that share the requests"},
    {"cp", "ranks that share a sequence"},
    {"ep", "ranks over which experts are spread"},
    {"etp", "ranks that divide each expert"},
    {"expert_parallel", "experts are spread over the ranks of all copies"},
    {"attention_parallel", "attention runs whole on each rank"},
    {"attention_dp", "groups of ranks, each with attention of its own"},
    {"nodes", "machines"},
    {"per_node", "devices of a machine"},
    {"devices", "all devices"},
    {"visible", "the devices that the processes see"},
    {"context", "tokens of the longest request"},
    {"long_context", "requests may be longer than the positions of the model"},
    {"requests", "requests at once"},
    {"pass_tokens", "tokens of the largest pass"},
    {"chunk", "tokens of a chunk of a prompt"},
    {"chunked", "prompts are divided into chunks"},
    {"eager", "kernels are launched one by one"},
    {"towers", "towers of images and sound lie in memory"},
    {"pooling", "what a pass computes of a prompt is the answer"},
    {"all_context", "tokens of all requests together"},
    {"memory_fraction", "share of the memory that the engine takes"},
    {"cache_bytes", "bytes of the cache"},
    {"page", "tokens of a block of the cache"},
    {"cache_format", "format of keys and values"},
    {"format", "format of weights and arithmetic"},
    {"weight_format", "format of the weights"},
    {"global_batch", "sequences of a step"},
    {"micro_batch", "sequences of a micro-batch of a rank"},
    {"local_batch", "sequences of a step of a rank"},
    {"accumulation", "passes whose gradients are summed"},
    {"sequence", "tokens of a sequence"},
    {"virtual_layers", "layers of an interleaved stage"},
    {"virtual_stages", "interleaved stages of a device"},
    {"sequence_parallel", "norms are divided by the sequence"},
    {"schedule", "order of the micro-batches"},
    {"distributed_optimizer", "optimizer states are divided"},
    {"optimizer_instances", "groups, each of which divides the states"},
    {"fsdp", "weights, gradients and states are divided"},
    {"fsdp_stage", "what of a replica is divided"},
    {"zero", "what of a replica is divided"},
    {"shard", "ranks over which states are divided"},
    {"shard_degree", "ranks over which a replica is divided"},
    {"replicate", "groups, each of which divides a replica"},
    {"reshard", "weights are given back after the forward pass"},
    {"prefetch", "weights are gathered ahead in the backward pass"},
    {"overlap_gradients", "gradients are exchanged beside the backward pass"},
    {"overlap_weights", "weights are gathered beside the forward pass"},
    {"gradients_bf16", "gradients have 16 bits"},
    {"gradients_fp32", "gradients have 32 bits"},
    {"gradient_format", "format in which gradients are exchanged"},
    {"recompute", "what is computed again in the backward pass"},
    {"recompute_selective", "attention is computed again in the backward pass"},
    {"recompute_all", "layers are computed again in the backward pass"},
    {"recompute_method", "which layers recompute"},
    {"recompute_layers", "layers that recompute"},
    {"bf16", "bf16 arithmetic"},
    {"fp16", "fp16 arithmetic"},
    {"fp8", "fp8 products"},
    {"fp4", "fp4 products"},
    {"optimizer", "the optimizer"},
    {"offload_optimizer", "optimizer states lie in host memory"},
    {"offload_states", "where optimizer states lie"},
    {"offload_weights", "where weights lie"},
    {"offload_share", "share of the states in host memory"},
    {"offload_all", "weights and states lie in host memory"},
    {"attention", "whether scores stay on chip"},
    {"fused", "chains of element-wise operations run as one kernel"},
    {"compiler", "what fuses chains of operations"},
});
/// Quantities of weights in host memory while a model serves.
constexpr auto kHost = std::to_array<Meaning>({
    {"host_weights", "bytes of weights of a device that lie in host memory"},
    {"device_layers", "layers that lie on the device"},
    {"places_itself", "the engine moves to host memory what does not fit"},
    {"free_margin", "MiB of a device that stay free"},
    {"host_expert_layers", "layers whose routed experts lie in host memory"},
    {"host_experts", "routed experts lie in host memory"},
    {"placed_tensors", "where tensors lie"},
    {"split", "what each device holds: whole layers, a part of each, or everything"},
    {"device_shares", "shares of the layers of each device"},
});
/// Quantities of the load of a benchmark.
constexpr auto kLoad = std::to_array<Meaning>({
    {"prompt", "tokens of a prompt"},
    {"answer", "tokens of an answer"},
    {"batch", "requests that come at once"},
});
/// Quantities of fine-tuning recipes.
constexpr auto kRecipe = std::to_array<Meaning>({
    {"pure_bf16", "weights, gradients and states have 16 bits"},
    {"model_format", "format in which weights are loaded"},
    {"keeps_activations", "no layer is computed again"},
    {"deepspeed_file", "the file of DeepSpeed, or its stage"},
    {"accelerate_file", "the file of Accelerate"},
    {"fsdp_words", "how FSDP divides a replica"},
    {"adapter", "what is trained: all weights, or adapters"},
    {"use_peft", "adapters are trained"},
    {"lora_rank", "rank of adapters"},
    {"lora_targets", "products that have adapters"},
    {"lora_mlp", "the feed-forward part has adapters"},
    {"load_4bit", "frozen weights have 4 bits"},
    {"load_8bit", "frozen weights have 8 bits"},
    {"quantization_bit", "bits of frozen weights"},
    {"trl", "the arguments are those of TRL"},
    {"optimizer_in_backward", "each layer is updated in the backward pass, and its gradients are freed"},
    {"fused_loss", "head and loss run as one kernel, part by part"},
});
constexpr auto kShape = std::to_array<Meaning>({
    {"layers", "layers"},
    {"hidden", "width of the model"},
    {"feed_forward", "width of the feed-forward part"},
    {"vocabulary", "tokens that there are"},
    {"heads", "heads of the queries"},
    {"kv_heads", "heads of keys and values"},
    {"grouped", "several queries share keys"},
    {"experts", "experts of a layer"},
    {"top_k", "experts that a token takes"},
    {"expert_width", "width of an expert"},
    {"shared_width", "width of all shared experts together"},
    {"expert_layers", "layers that have experts"},
    {"head_dim", "width of a head"},
    {"latent", "attention works on latents"},
    {"q_rank", "width of the latent of queries"},
    {"kv_rank", "width of the latent of keys and values"},
    {"nope_dim", "width of a head without rotation"},
    {"rope_dim", "width of a head that is rotated"},
    {"value_dim", "width of a head's values"},
    {"gated", "a third matrix gates the feed-forward part"},
    {"no_biases", "products have no biases"},
    {"qkv_bias", "queries, keys and values have biases"},
    {"qk_norm", "norms on queries and keys"},
    {"norm", "kind of norm"},
    {"untied", "embedding and output matrix are two"},
    {"positions", "positions that are learned, or the longest sequence"},
    {"position_kind", "how positions are told"},
    {"rotary", "positions are rotated"},
    {"no_positions", "no positions are learned"},
    {"vocabulary_step", "number of which the vocabulary is made a multiple"},
    {"hidden_dropout", "dropout of hidden states"},
    {"attention_dropout", "dropout of attention scores"},
    {"flash", "scores stay on chip"},
    {"script", "what the script trains"},
});

std::string folded(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

class TableReader {
 public:
  explicit TableReader(const YamlDocument& document) : doc_(document) {}

  [[noreturn]] void fault(const YamlValue& at, std::string found, std::string expected) const {
    throw InputError(doc_.placed({.id = "mlsysim.launch.014",
                                  .message = "the table of flags is not well formed",
                                  .found = std::move(found),
                                  .expected = std::move(expected),
                                  .hint = "docs/how-to/launch-files.md shows the form of a row"},
                                 at));
  }
  [[nodiscard]] std::vector<std::string> list(const YamlValue& value) const {
    if (value.kind != YamlValue::Kind::sequence) fault(value, value.describe(), "a list");
    std::vector<std::string> out;
    for (const auto& item : value.items) out.push_back(item.text);
    return out;
  }
  [[nodiscard]] double number(const YamlValue& value) const {
    const auto x = number_of(value.text);
    if (!x) fault(value, value.describe(), "a number");
    return *x;
  }
  /// An item of `defaults`.
  [[nodiscard]] FlagDefault usual(const YamlValue& item) const {
    if (item.kind != YamlValue::Kind::map) fault(item, item.describe(), "a map");
    FlagDefault out;
    for (const auto& [key, value] : item.pairs) {
      if (key.text == "sets")
        out.sets = value.text;
      else if (key.text == "value" || key.text == "word")
        out.text = value.text, out.value = key.text == "word" ? 0 : number(value);
      else if (key.text == "of")
        out.of = value.text;
      else if (key.text == "multiple")
        out.multiple = number(value);
      else if (key.text == "when")
        out.when = value.text;
      else if (key.text == "without") {
        for (const auto& name : value.items.empty() ? std::vector{value.text} : list(value)) {
          const auto format = choice_of<Precision>(name);
          if (!format) fault(value, value.describe(), "a format, or a list of them");
          out.without.push_back(*format);
        }
      } else if (key.text == "guess")
        out.guess = value.text == "true";
      else if (key.text == "source")
        out.source = value.text;
      else
        fault(key, key.describe(), "sets, value, word, of, multiple, when, without, guess or source");
    }
    for (const auto& quantity : {out.sets, out.of, out.when})
      if (!quantity.empty() && meaning_of(quantity).empty())
        fault(item, fmt::format("'{}'", quantity), "a quantity that is known");
    if (out.sets.empty() || out.text.empty() || out.source.empty())
      fault(item, "a part is missing", "sets, value or word, and source");
    return out;
  }
  /// The rows of an item: one, or one for each name of `each`.
  [[nodiscard]] std::vector<FlagRow> rows(const YamlValue& item) const {
    if (item.kind != YamlValue::Kind::map) fault(item, item.describe(), "a map");
    FlagRow row;
    std::vector<std::string> names;
    for (const auto& [key, value] : item.pairs) {
      if (key.text == "flag")
        names = {value.text};
      else if (key.text == "each")
        names = list(value);
      else if (key.text == "also")
        row.also = list(value);
      else if (key.text == "unless")
        row.unless = list(value);
      else if (key.text == "sets")
        row.sets = value.text;
      else if (key.text == "ignored" || key.text == "contradicts") {
        row.use = key.text == "ignored" ? FlagUse::ignored : FlagUse::contradicts;
        row.why = value.text;
      } else if (key.text == "takes") {
        const auto at = std::find(kTakes.begin(), kTakes.end(), value.text);
        if (at == kTakes.end())
          fault(value, value.describe(), fmt::format("one of {}", fmt::join(kTakes, ", ")));
        row.takes = static_cast<Takes>(at - kTakes.begin());
      } else if (key.text == "means") {
        for (const auto& [from, to] : value.pairs) row.means[from.text] = to.text;
      } else {
        fault(key, key.describe(), "flag, each, also, takes, sets, means, unless, ignored or contradicts");
      }
    }
    if (names.empty()) fault(item, "no flag", "flag or each");
    if (!row.sets.empty() && meaning_of(row.sets).empty())
      fault(item, fmt::format("sets '{}'", row.sets), "a quantity that is known");
    const bool container = row.takes == Takes::json || row.takes == Takes::file;
    if (row.sets.empty() == row.why.empty() && !(row.sets.empty() && container))
      fault(item, "no end of the flag, or two", "one of sets, ignored and contradicts");
    std::vector<FlagRow> out;
    for (const auto& name : names) {
      out.push_back(row);
      out.back().flag = name;
    }
    return out;
  }

 private:
  const YamlDocument& doc_;
};

}  // namespace

bool concerns(const FlagDefault& row, const HardwareNode* device) {
  return row.without.empty() ||
         (device != nullptr && std::none_of(row.without.begin(), row.without.end(), [&](Precision format) {
            return device->compute.dense[format].has_value();
          }));
}

std::string_view meaning_of(std::string_view quantity) {
  for (const std::span<const Meaning> table :
       {std::span<const Meaning>(kMeanings), std::span<const Meaning>(kHost),
        std::span<const Meaning>(kRecipe), std::span<const Meaning>(kLoad), std::span<const Meaning>(kShape)})
    for (const auto& [name, meaning] : table)
      if (name == quantity) return meaning;
  return {};
}

FlagTable read_flag_table(std::string text, const std::string& name) {
  const auto doc = YamlDocument::parse(std::move(text), name);
  const TableReader reader(doc);
  FlagTable out;
  const YamlValue* rows = nullptr;
  if (doc.root().kind != YamlValue::Kind::map) reader.fault(doc.root(), doc.root().describe(), "a map");
  for (const auto& [key, value] : doc.root().pairs) {
    if (key.text == "engine")
      out.engine = value.text;
    else if (key.text == "version")
      out.version = value.text;
    else if (key.text == "source")
      out.source = value.text;
    else if (key.text == "abbreviates")
      out.abbreviates = value.text == "true";
    else if (key.text == "file_wins")
      out.file_wins = value.text == "true";
    else if (key.text == "flags")
      rows = &value;
    else if (key.text == "defaults" || key.text == "refused")
      for (const auto& item : value.items)
        (key.text == "defaults" ? out.defaults_ : out.refused_).push_back(reader.usual(item));
    else
      reader.fault(key, key.describe(),
                   "engine, version, source, abbreviates, file_wins, flags, defaults or refused");
  }
  if (rows == nullptr || out.engine.empty() || out.version.empty() || out.source.empty())
    reader.fault(doc.root(), "a part is missing", "engine, version, source and flags");
  for (const auto& item : rows->items)
    for (auto& row : reader.rows(item)) {
      for (const auto& spelling : row.also)
        if (!out.places_.emplace(folded(spelling), out.rows_.size()).second)
          reader.fault(item, fmt::format("'{}' twice", spelling), "each name once");
      if (!out.places_.emplace(folded(row.flag), out.rows_.size()).second)
        reader.fault(item, fmt::format("'{}' twice", row.flag), "each name once");
      out.rows_.push_back(std::move(row));
    }
  return out;
}

const FlagRow* FlagTable::find(std::string_view name, const Location& where) const {
  const auto asked = folded(name);
  if (const auto at = places_.find(asked); at != places_.end()) return &rows_[at->second];
  if (!abbreviates || asked.size() < 2) return nullptr;
  std::vector<std::string> names;
  const FlagRow* only = nullptr;
  bool several = false;
  for (auto at = places_.lower_bound(asked); at != places_.end() && at->first.starts_with(asked); ++at) {
    if (at->first.find('.') != std::string::npos) continue;
    several = several || (only != nullptr && only != &rows_[at->second]);
    only = &rows_[at->second];
    names.push_back(at->first);
  }
  if (several)
    throw InputError({.id = "mlsysim.launch.008",
                      .message = fmt::format("'--{}' is the beginning of several flags", name),
                      .key = std::string(name),
                      .found = fmt::format("'--{}'", name),
                      .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                      .hint = "write the flag out",
                      .where = where});
  return only;
}

const FlagRow* FlagTable::section_of(std::string_view name) const {
  auto asked = folded(name);
  for (auto dot = asked.rfind('.'); dot != std::string::npos; dot = asked.rfind('.')) {
    asked.resize(dot);
    if (const auto at = places_.find(asked); at != places_.end() && !rows_[at->second].why.empty())
      return &rows_[at->second];
  }
  return nullptr;
}

const FlagTable& flag_table(LaunchFormat format) {
  static std::array<std::unique_ptr<const FlagTable>, Choices<LaunchFormat>::names.size()> tables;
  static std::mutex guard;
  if (format == LaunchFormat::nemo) format = LaunchFormat::megatron;  // the same fields, with underscores
  const std::lock_guard lock(guard);
  auto& table = tables[static_cast<std::size_t>(format)];
  if (table == nullptr) {
    const auto file = zoo_directory() / "launch" / fmt::format("{}.yaml", name_of(format));
    table = std::make_unique<const FlagTable>(
        read_flag_table(files::read(file, "a table of launch flags", 1 << 20), file.string()));
  }
  return *table;
}

}  // namespace mlsysim::detail

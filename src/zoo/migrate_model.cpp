// Models of version 1 of the schema: sizes of one transformer, attention, experts and free numbers. Version 2
// lists stacks of layers.

#include "detail/edit_tree.hpp"
#include "detail/migrations.hpp"
#include "detail/read_context.hpp"

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace mlsysim::detail {
namespace {

constexpr double kMostLayers = 100'000;  // that are written one by one before they are put into runs

/// The tables of version 1 that become stacks, with their keys.
struct OldTable {
  std::string_view name;
  std::vector<std::string> keys;
};
const std::array<OldTable, 6>& old_tables() {
  static const std::array<OldTable, 6> tables{
      {{"shape",
        {"layers",
         "hidden",
         "ffn",
         "heads",
         "kv_heads",
         "head_dim",
         "vocab",
         "gated_ffn",
         "tied_embeddings",
         "learned_positions",
         "biases",
         "norm_biases",
         "qkv_biases",
         "attention_biases",
         "expert_biases",
         "router_biases",
         "head_bias",
         "attention_sinks",
         "shared_expert_gate",
         "embedding_norm",
         "final_norm",
         "qk_norm",
         "pooler",
         "norms_per_layer",
         "token_types",
         "classes",
         "image_size",
         "patch_size"}},
       {"attention",
        {"kind", "q_lora_rank", "kv_lora_rank", "nope_head_dim", "rope_head_dim", "value_head_dim",
         "sliding_window", "full_attention_layers", "chunk", "pattern"}},
       {"moe",
        {"experts", "top_k", "shared_experts", "expert_ffn", "shared_expert_ffn", "dense_layers",
         "moe_every"}},
       {"linear_attention", {"kind", "layers", "key_heads", "value_heads", "head_dim", "conv_width"}},
       {"state_space", {"state_size", "expand", "conv_width", "dt_rank"}},
       {"extra",
        {"layers",
         "hidden",
         "heads",
         "experts",
         "top_k",
         "image_size",
         "action_chunk_horizon",
         "action_dim",
         "latent_size",
         "context_tokens",
         "context_width",
         "blocks_per_level",
         "index_heads",
         "index_head_dim",
         "index_top_k",
         "window_only_layers",
         "compress4_layers",
         "compress128_layers",
         "o_lora_rank",
         "o_groups",
         "attention_output_gate",
         "routed_expert_hidden_size",
         "mtp_layers",
         "expert_groups",
         "limited_groups",
         "hash_routed_layers"}}}};
  return tables;
}

/// What one layer has of each: indices into lists of alternatives; -1 is "whatever the stack says".
struct LayerForm {
  int mixer = 0, reach = 0, feed_forward = 0;
  friend bool operator==(const LayerForm&, const LayerForm&) = default;
};
struct FormRun {
  std::size_t times = 1;
  std::vector<std::pair<std::size_t, LayerForm>> pattern;  ///< how often in a row, and what
};

/// Layers in order as runs of patterns: at each place the pattern that covers most layers.
std::vector<FormRun> runs_of(const std::vector<LayerForm>& layers) {
  constexpr std::size_t longest = 12;
  std::vector<FormRun> out;
  for (std::size_t at = 0; at < layers.size();) {
    std::size_t period = 1, covered = 1;
    for (std::size_t p = 1; p <= longest && at + 2 * p <= layers.size(); ++p) {
      std::size_t end = at + p;
      while (end < layers.size() && layers[end] == layers[end - p]) ++end;
      const std::size_t times = (end - at) / p;
      if (times < 2 || times * p <= covered) continue;
      period = p;
      covered = times * p;
    }
    FormRun run{.times = covered / period, .pattern = {}};
    for (std::size_t i = at; i < at + period; ++i) {
      if (!run.pattern.empty() && run.pattern.back().second == layers[i])
        ++run.pattern.back().first;
      else
        run.pattern.emplace_back(1, layers[i]);
    }
    out.push_back(std::move(run));
    at += covered;
  }
  return out;
}

/// The alternative that is stated at most places of the runs: the stack's own, so that the fewest are.
template <class Get> int most_stated(const std::vector<FormRun>& runs, const Get& get) {
  std::map<int, std::pair<std::size_t, std::size_t>> count;
  for (const auto& run : runs)
    for (const auto& [times, form] : run.pattern) {
      if (get(form) < 0) continue;
      auto& [places, layers] = count[get(form)];
      ++places;
      layers += times * run.times;
    }
  int best = 0;
  std::pair<std::size_t, std::size_t> most{};
  for (const auto& [which, found] : count)
    if (found > most) {
      best = which;
      most = found;
    }
  return best;
}

/// One entry of version 1, taken apart.
class OldModel {
 public:
  OldModel(EditNode& entry, MigrationLog& log, std::size_t index) : entry_(entry), log_(log), index_(index) {
    if (const auto* name = entry.find("name")) at_ = name->at;
    for (const auto& table : old_tables()) {
      EditNode* found = entry.find(table.name);
      if (found == nullptr || found->kind != NodeKind::map) continue;  // the reader refuses another form
      check_keys(*found, table);
      old_[table.name] = *entry.take(table.name);
    }
  }

  void migrate() {
    if (old_.empty()) return;
    EditNode outline = EditNode::map(at_), action = EditNode::map(at_);
    for (const char* key : {"layers", "hidden", "heads", "experts", "top_k", "image_size"})
      move("extra", key, outline, key, "outline");
    move("extra", "action_chunk_horizon", action, "horizon", "action");
    move("extra", "action_dim", action, "dim", "action");
    for (const char* key : {"latent_size", "context_tokens", "context_width", "blocks_per_level"})
      move_diffusion(key);
    if (find("shape", "layers") != nullptr || find("shape", "hidden") != nullptr) {
      EditNode list = EditNode::list(at_);
      stacks(list);
      entry_.put("stacks", std::move(list));
    }
    if (!outline.empty()) entry_.put("outline", std::move(outline));
    if (!action.empty()) entry_.put("action", std::move(action));
    rename_decisions();
  }

 private:
  void check_keys(EditNode& map, const OldTable& table) {
    for (std::size_t i = 0; i < map.items.size(); i += 2) {
      const auto& key = map.items[i];
      if (std::find(table.keys.begin(), table.keys.end(), key.text) != table.keys.end()) continue;
      auto near = did_you_mean(key.text, table.keys);
      const auto name = fmt::format("{}.{}", table.name, key.text);
      log_.problems.add(ZooFault::unknown_key, log_.source, key.at,
                        {.message = fmt::format("unknown key {}", quoted_text(name)),
                         .key = name,
                         .found = quoted_text(key.text),
                         .expected = fmt::format("one of {}", fmt::join(table.keys, ", ")),
                         .hint = near.empty() ? "remove it, or keep it as a comment" : std::move(near)});
    }
  }

  [[nodiscard]] EditNode* find(std::string_view table, std::string_view key) {
    const auto found = old_.find(table);
    return found == old_.end() ? nullptr : found->second.find(key);
  }
  /// The number of a key, alone or with its source; nothing where it is none.
  [[nodiscard]] std::optional<double> number(std::string_view table, std::string_view key) {
    EditNode* node = find(table, key);
    if (node != nullptr && node->kind == NodeKind::map) node = node->find("value");
    if (node == nullptr || node->kind != NodeKind::scalar) return std::nullopt;
    if (node->text == "true") return 1;
    if (node->text == "false") return 0;
    return strict_number(node->text);
  }
  [[nodiscard]] bool flag(std::string_view table, std::string_view key) {
    return number(table, key).value_or(0) != 0;
  }
  [[nodiscard]] std::string text(std::string_view table, std::string_view key) {
    const EditNode* node = find(table, key);
    return node == nullptr ? "" : node->text;
  }
  static EditNode truth(bool on, Place at) { return EditNode::scalar(on ? "true" : "false", at); }
  [[nodiscard]] EditNode count(double n) const { return EditNode::scalar(fmt::format("{}", n), at_); }

  /// Moves a value with its source to where it belongs now.
  void move(std::string_view table, std::string_view key, EditNode& to, std::string_view name,
            std::string_view path) {
    EditNode* node = find(table, key);
    if (node == nullptr) return;
    to.put(name, *node);
    renamed_[fmt::format("{}.{}", table, key)] = fmt::format("{}.{}", path, name);
  }
  void move_diffusion(std::string_view key) {
    if (find("extra", key) == nullptr) return;
    if (entry_.find("diffusion") == nullptr) entry_.put("diffusion", EditNode::map(at_));
    move("extra", key, *entry_.find("diffusion"), key, "diffusion");
  }
  void put_flag(EditNode& to, std::string_view name, bool on) {
    if (on) to.put(name, truth(true, at_));
  }
  void put_table(EditNode& to, std::string_view name, EditNode table) {
    if (!table.empty()) to.put(name, std::move(table));
  }
  static EditNode wrapped(std::string_view name, EditNode table) {
    EditNode out = EditNode::map(table.at);
    out.put(name, std::move(table));
    return out;
  }

  [[nodiscard]] bool latent() {
    return find("attention", "kv_lora_rank") != nullptr || text("attention", "kind") == "mla";
  }
  [[nodiscard]] bool compressed() { return text("attention", "kind") == "compressed"; }

  [[nodiscard]] EditNode main_mixer() {
    const char* const path = latent() ? "stacks[0].mixer.latent" : "stacks[0].mixer.grouped";
    EditNode a = EditNode::map(at_);
    move("shape", "heads", a, "heads", path);
    if (latent()) {
      for (const char* key :
           {"q_lora_rank", "kv_lora_rank", "nope_head_dim", "rope_head_dim", "value_head_dim"})
        move("attention", key, a, key, path);
      put_flag(a, "output_gate", flag("extra", "attention_output_gate"));
      return wrapped("latent", std::move(a));
    }
    if (find("state_space", "state_size") != nullptr && find("shape", "heads") == nullptr) {
      EditNode s = EditNode::map(at_);
      for (const char* key : {"state_size", "expand", "conv_width", "dt_rank"})
        move("state_space", key, s, key, "stacks[0].mixer.state_space");
      return wrapped("state_space", std::move(s));
    }
    for (const char* key : {"kv_heads", "head_dim"}) move("shape", key, a, key, path);
    if (compressed()) {
      move("attention", "rope_head_dim", a, "rope_dim", path);
      move("attention", "q_lora_rank", a, "q_lora_rank", path);
      move("extra", "o_lora_rank", a, "output_rank", path);
      move("extra", "o_groups", a, "output_groups", path);
      put_flag(a, "shared_kv", true);
    }
    const bool all = flag("shape", "attention_biases");
    put_flag(a, "qkv_bias", all || flag("shape", "qkv_biases"));
    put_flag(a, "output_bias", all);
    put_flag(a, "sinks", flag("shape", "attention_sinks"));
    put_flag(a, "output_gate", flag("extra", "attention_output_gate"));
    move("shape", "qk_norm", a, "qk_norm", path);
    if (a.empty()) return a;
    return wrapped("grouped", std::move(a));
  }
  [[nodiscard]] EditNode linear_mixer() {
    EditNode l = EditNode::map(at_);
    const auto rule = text("linear_attention", "kind");
    l.put("rule", EditNode::scalar(rule == "kda" ? "kda" : "gated_delta", at_));
    for (const char* key : {"key_heads", "value_heads"})
      move("linear_attention", key, l, key, "mixer.linear");
    move("linear_attention", "head_dim", l, "key_head_dim", "mixer.linear");
    move("linear_attention", "conv_width", l, "conv_width", "mixer.linear");
    return wrapped("linear", std::move(l));
  }
  [[nodiscard]] EditNode selection() {
    EditNode s = EditNode::map(at_);
    move("extra", "index_heads", s, "heads", "stacks[0].reach.select");
    move("extra", "index_head_dim", s, "head_dim", "stacks[0].reach.select");
    move("extra", "index_top_k", s, "top_k", "stacks[0].reach.select");
    return s;
  }
  [[nodiscard]] EditNode dense() {
    EditNode d = EditNode::map(at_);
    move("shape", "ffn", d, "width", "stacks[0].feed_forward.dense");
    if (!flag("shape", "gated_ffn")) d.put("gated", truth(false, at_));
    return wrapped("dense", std::move(d));
  }
  [[nodiscard]] EditNode experts(bool hashed) {
    constexpr std::string_view path = "stacks[0].feed_forward.experts";
    EditNode e = EditNode::map(at_);
    move("moe", "experts", e, "count", path);
    move("moe", "top_k", e, "top_k", path);
    move("moe", "expert_ffn", e, "width", path);
    if (number("moe", "shared_experts").value_or(0) != 0) move("moe", "shared_experts", e, "shared", path);
    move("moe", "shared_expert_ffn", e, "shared_width", path);
    move("extra", "routed_expert_hidden_size", e, "latent", path);
    move("extra", "expert_groups", e, "groups", path);
    move("extra", "limited_groups", e, "limited_groups", path);
    if (!flag("shape", "gated_ffn")) e.put("gated", truth(false, at_));
    put_flag(e, "bias", flag("shape", "expert_biases"));
    put_flag(e, "router_bias", flag("shape", "router_biases"));
    put_flag(e, "shared_gate", flag("shape", "shared_expert_gate"));
    if (hashed || find("extra", "expert_groups") != nullptr)
      e.put("routing", EditNode::scalar(hashed ? "hash" : "grouped", at_));
    return wrapped("experts", std::move(e));
  }

  /// The alternatives of a layer: 0 is the main one of each.
  void list_alternatives() {
    mixers_ = {main_mixer()};
    if (number("linear_attention", "layers").value_or(0) > 0) mixers_.push_back(linear_mixer());
    EditNode whole = EditNode::map(at_), part = EditNode::map(at_), window = EditNode::map(at_);
    move("attention", "sliding_window", window, "window", "stacks[0].reach");
    const bool indexed = number("extra", "index_heads").value_or(0) > 0;
    if (compressed()) {
      EditNode by4 = window, by128 = window;
      by4.put("compress", count(4));
      by4.put("overlapping", truth(true, at_));
      if (indexed) by4.put("select", selection());
      by128.put("compress", count(128));
      reaches_ = {std::move(window), std::move(by4), std::move(by128)};
    } else {
      if (indexed) whole.put("select", selection());
      part = std::move(window);
      if (part.empty()) move("attention", "chunk", part, "chunk", "stacks[0].reach");
      reaches_ = {std::move(whole), std::move(part)};
    }
    feed_forwards_ = {dense()};
    if (number("moe", "experts")) {
      feed_forwards_.push_back(experts(false));
      if (number("extra", "hash_routed_layers").value_or(0) > 0) feed_forwards_.push_back(experts(true));
    }
  }

  /// Which layers of `all` are of the rarer kind, of which there are `some`: by the words of the old key
  /// 'pattern', else the last ones, and a note says so.
  [[nodiscard]] std::vector<bool> placed(std::size_t all, std::size_t some) {
    static constexpr std::array<std::pair<std::string_view, std::size_t>, 5> words{
        {{"fourth layer", 4},
         {"alternate", 2},
         {"five local layers, then one", 6},
         {"three chunked layers, then one", 4},
         {"three linear layers, then one", 4}}};
    const auto pattern = text("attention", "pattern");
    std::vector<bool> out(all);
    for (const auto& [word, step] : words) {
      if (pattern.find(word) == std::string::npos) continue;
      const bool last = pattern.find("and in the last") != std::string::npos;
      for (std::size_t i = 0; i < all; ++i) out[i] = i % step == step - 1 || (last && i + 1 == all);
    }
    if (static_cast<std::size_t>(std::count(out.begin(), out.end(), true)) == some) return out;
    std::fill(out.begin(), out.end(), false);
    std::fill(out.end() - static_cast<std::ptrdiff_t>(some), out.end(), true);
    if (some > 0 && some < all)
      log_.notes.emplace_back(
          index_, "the order of its layers was not stated: those that see the whole context come last");
    return out;
  }

  [[nodiscard]] static std::size_t within(double x, std::size_t most) {
    return x >= 1 ? std::min(static_cast<std::size_t>(x), most) : 0;
  }

  void place_mixers(std::vector<LayerForm>& layers) {
    const std::size_t all = layers.size();
    const std::size_t linear = within(number("linear_attention", "layers").value_or(0), all);
    if (compressed()) {
      const std::size_t by4 = within(number("extra", "compress4_layers").value_or(0), all);
      std::size_t by128 = within(number("extra", "compress128_layers").value_or(0), all - by4), four = by4;
      std::size_t i = 0;
      for (; i < all - by4 - by128; ++i) layers[i].reach = 0;
      // More of the long blocks than of the short ones stand first; then they take turns, short ones first.
      for (const std::size_t first = by128 > by4 ? by128 - by4 + 1 : 0, end = i + first; i < end;
           ++i, --by128)
        layers[i].reach = 2;
      for (bool short_one = true; i < all; ++i, short_one = !short_one) {
        const bool four_now = (short_one && four > 0) || by128 == 0;
        layers[i].reach = four_now ? 1 : 2;
        --(four_now ? four : by128);
      }
      return;
    }
    const bool part = !reaches_[1].empty();
    const std::size_t stated = within(number("attention", "full_attention_layers").value_or(0), all - linear);
    if (linear > 0) {
      const auto attends = placed(all, all - linear);
      std::size_t whole = part ? stated : all;
      for (std::size_t i = all; i-- > 0;) {
        layers[i].mixer = attends[i] ? 0 : 1;
        layers[i].reach = !attends[i] ? -1 : whole > 0 ? 0 : 1;
        if (attends[i] && whole > 0) --whole;
      }
    } else if (part) {
      const auto whole = placed(all, stated);
      for (std::size_t i = 0; i < all; ++i) layers[i].reach = whole[i] ? 0 : 1;
    }
  }
  void place_feed_forwards(std::vector<LayerForm>& layers) {
    if (feed_forwards_.size() < 2) return;
    const std::size_t first = within(number("moe", "dense_layers").value_or(0), layers.size()),
                      every = std::max<std::size_t>(1, within(number("moe", "moe_every").value_or(1), 1000)),
                      hashed = within(number("extra", "hash_routed_layers").value_or(0), layers.size());
    for (std::size_t i = first; i < layers.size(); ++i)
      if ((i - first + 1) % every == 0) layers[i].feed_forward = i < hashed ? 2 : 1;
  }

  [[nodiscard]] EditNode run_list(EditNode& stack) {
    EditNode list = EditNode::list(at_);
    const double layers = number("shape", "layers").value_or(0);
    const bool whole = layers >= 1 && layers <= kMostLayers &&
                       layers == static_cast<double>(static_cast<std::size_t>(layers));
    std::vector<LayerForm> forms(whole ? static_cast<std::size_t>(layers) : 1);
    place_mixers(forms);
    place_feed_forwards(forms);
    const auto runs = runs_of(forms);
    const LayerForm own{most_stated(runs, [](const LayerForm& f) { return f.mixer; }),
                        most_stated(runs, [](const LayerForm& f) { return f.reach; }),
                        most_stated(runs, [](const LayerForm& f) { return f.feed_forward; })};
    for (const auto& run : runs) list.items.push_back(run_node(run, own));
    if (runs.size() == 1 && list.items[0].find("pattern") == nullptr) {
      list.items[0] = EditNode::map(at_);
      move("shape", "layers", list.items[0], "times", "stacks[0].layers[0]");
    }
    put_table(stack, "mixer", mixers_[static_cast<std::size_t>(own.mixer)]);
    put_table(stack, "reach", reaches_[static_cast<std::size_t>(own.reach)]);
    put_table(stack, "feed_forward", feed_forwards_[static_cast<std::size_t>(own.feed_forward)]);
    return list;
  }
  [[nodiscard]] EditNode run_node(const FormRun& run, const LayerForm& own) {
    EditNode pattern = EditNode::list(at_);
    for (const auto& [times, form] : run.pattern) {
      EditNode layer = EditNode::map(at_);
      if (times > 1 && run.pattern.size() > 1) layer.put("times", count(static_cast<double>(times)));
      const auto state = [&](std::string_view name, int which, int of_stack,
                             const std::vector<EditNode>& all) {
        if (which >= 0 && which != of_stack) layer.put(name, all[static_cast<std::size_t>(which)]);
      };
      state("mixer", form.mixer, own.mixer, mixers_);
      state("reach", form.reach, own.reach, reaches_);
      state("feed_forward", form.feed_forward, own.feed_forward, feed_forwards_);
      pattern.items.push_back(std::move(layer));
    }
    EditNode out = EditNode::map(at_);
    const double times = static_cast<double>(run.times * (run.pattern.size() > 1 ? 1 : run.pattern[0].first));
    if (times > 1) out.put("times", count(times));
    if (pattern.items.size() > 1 || !pattern.items[0].empty()) out.put("pattern", std::move(pattern));
    return out;
  }

  void stacks(EditNode& list) {
    list_alternatives();
    EditNode stack = EditNode::map(at_);
    const EditNode* architecture = entry_.find("architecture");
    if (architecture != nullptr && architecture->text == "encoder")
      stack.put("role", EditNode::scalar("encoder", at_));
    move("shape", "hidden", stack, "hidden", "stacks[0]");
    EditNode rest = EditNode::map(at_);
    EditNode runs = run_list(rest);
    if (find("shape", "layers") != nullptr) stack.put("layers", std::move(runs));
    for (auto& item : rest.items) stack.items.push_back(std::move(item));
    EditNode residual = EditNode::map(at_), input = EditNode::map(at_), output = EditNode::map(at_);
    move("shape", "norms_per_layer", residual, "norms", "stacks[0].residual");
    put_flag(residual, "norm_bias", flag("shape", "norm_biases"));
    move("shape", "vocab", input, "vocab", "stacks[0].input");
    if (const EditNode* positions = entry_.find("max_positions");
        positions != nullptr && flag("shape", "learned_positions"))
      input.put("positions", *positions);
    for (const char* key : {"token_types", "image_size", "patch_size"})
      move("shape", key, input, key, "stacks[0].input");
    put_flag(input, "norm", flag("shape", "embedding_norm"));
    put_flag(output, "tied", flag("shape", "tied_embeddings"));
    put_flag(output, "bias", flag("shape", "head_bias"));
    if (find("shape", "final_norm") != nullptr && !flag("shape", "final_norm"))
      output.put("norm", truth(false, at_));
    put_flag(output, "pooler", flag("shape", "pooler"));
    move("shape", "classes", output, "classes", "stacks[0].output");
    put_table(stack, "residual", std::move(residual));
    put_table(stack, "input", std::move(input));
    put_table(stack, "output", std::move(output));
    put_flag(stack, "biases", flag("shape", "biases"));
    const EditNode main = stack;
    list.items.push_back(std::move(stack));
    if (number("extra", "mtp_layers").value_or(0) > 0) list.items.push_back(draft(main));
  }
  /// The layers that propose further tokens are like those of the model.
  [[nodiscard]] EditNode draft(const EditNode& main) {
    EditNode stack = EditNode::map(at_), run = EditNode::map(at_), runs = EditNode::list(at_), from = main;
    stack.put("role", EditNode::scalar("draft", at_));
    if (auto hidden = from.take("hidden")) stack.put("hidden", std::move(*hidden));
    move("extra", "mtp_layers", run, "times", "stacks[1].layers[0]");
    runs.items.push_back(std::move(run));
    stack.put("layers", std::move(runs));
    put_table(stack, "mixer", mixers_[0]);
    put_table(stack, "reach", compressed() ? reaches_[0] : EditNode::map(at_));
    put_table(stack, "feed_forward", feed_forwards_[feed_forwards_.size() > 1 ? 1 : 0]);
    return stack;
  }

  void rename_decisions() {
    EditNode* decisions = entry_.find("decisions");
    if (decisions == nullptr || decisions->kind != NodeKind::sequence) return;
    for (auto& decision : decisions->items)
      if (EditNode* field = decision.find("field"))
        if (const auto found = renamed_.find(field->text); found != renamed_.end())
          field->text = found->second;
  }

  EditNode& entry_;
  MigrationLog& log_;
  std::size_t index_;
  Place at_{};
  std::map<std::string_view, EditNode> old_;
  std::map<std::string, std::string, std::less<>> renamed_;  ///< paths of version 1 and what they are now
  std::vector<EditNode> mixers_, reaches_, feed_forwards_;
};

}  // namespace

YamlTree model_1_to_2(const YamlTree& tree, MigrationLog& log) {
  EditNode root = EditNode::of(NodeRef(tree, 0));
  if (EditNode* entries = root.find("entries"); entries != nullptr && entries->kind == NodeKind::sequence)
    for (std::size_t i = 0; i < entries->items.size(); ++i)
      if (entries->items[i].kind == NodeKind::map) OldModel(entries->items[i], log, i).migrate();
  return tree_of(root);
}

}  // namespace mlsysim::detail

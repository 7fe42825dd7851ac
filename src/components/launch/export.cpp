// Plans as launches: quantities first, then the spelling of the engine from its table.

#include "detail/load_line.hpp"
#include "detail/planned.hpp"
#include "detail/pools.hpp"
#include "detail/settings.hpp"

#include <mlsysim/engine/detail/checkpoints.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/resolver_api/field_text.hpp>
#include <mlsysim/units/detail/json_text.hpp>
#include <mlsysim/units/detail/quoted.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using detail::count_text;
using detail::FlagTable;
using Json = nlohmann::ordered_json;

/// One setting of the launch that is written.
struct Told {
  std::string quantity, value;
};

/// The row that gives a quantity; none where the engine has no flag for it.
const detail::FlagRow* row_of(const FlagTable& table, std::string_view quantity) {
  const auto& rows = table.rows();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.sets == quantity; });
  return found == rows.end() ? nullptr : &*found;
}

/// A plan and what it becomes.
class Exporter {
 public:
  Exporter(const Scenario& scenario, LaunchFormat format, const std::string& checkpoint)
      : s_(scenario), r_(scenario, notes_), format_(format), table_(detail::flag_table(format)) {
    model_ = !checkpoint.empty()        ? checkpoint
             : r_.mode() == Mode::serve ? detail::repository_of(s_.workload->name)
                                        : s_.workload->name;
    own_checkpoint_ = !checkpoint.empty();
    dp_ = r_.accelerators() / (r_.tp_size() * s_.pp_size * (r_.mode() == Mode::train ? s_.cp_size : 1));
  }

  std::vector<Told> tell() {
    const bool serves =
        format_ == LaunchFormat::vllm || format_ == LaunchFormat::sglang || format_ == LaunchFormat::trtllm;
    const bool writes = serves || format_ == LaunchFormat::megatron || format_ == LaunchFormat::deepspeed ||
                        format_ == LaunchFormat::torchtitan;
    if (!writes || (r_.mode() == Mode::serve) != serves || r_.mode() == Mode::infer)
      throw InputError(
          "mlsysim.launch.018", fmt::format("{} does not start such a plan", name_of(format_)), "to",
          fmt::format("mode {}", name_of(r_.mode())),
          "vllm, sglang or trtllm for a plan that serves; megatron, deepspeed or torchtitan for one that "
          "trains",
          "choose another engine, or another mode");
    if (serves)
      serving();
    else
      training();
    return std::move(told_);
  }
  [[nodiscard]] const std::string& model() const { return model_; }
  [[nodiscard]] double devices() const { return r_.accelerators(); }
  [[nodiscard]] double per_node() const { return r_.fleet().node->accelerators_per_node; }
  [[nodiscard]] double nodes() const { return r_.fleet().count; }

 private:
  /// Adds a setting. A quantity without a flag of the engine is left out, and `lost_fields` reports it.
  void tell(std::string quantity, std::string_view value) {
    if (row_of(table_, quantity) != nullptr) told_.push_back({std::move(quantity), std::string(value)});
  }
  void tell(std::string quantity, double value) { tell(std::move(quantity), count_text(value)); }
  void above_one(std::string quantity, double value) {
    if (value > 1) tell(std::move(quantity), value);
  }
  /// The engine's word for a format of ours; empty where it has none.
  template <class E> [[nodiscard]] std::string word(std::string_view quantity, E format) const {
    std::string ours(name_of(format));
    // vLLM has several formats of 8 bits: this one is of every kind of attention.
    if (format_ == LaunchFormat::vllm && quantity == "cache_format" && ours == "fp8") return ours;
    for (const auto& row : table_.rows())
      if (row.sets == quantity) {
        for (const auto& [theirs, meant] : row.means)
          if (meant == ours && (theirs == ours || !row.means.contains(ours))) return theirs;
        if (quantity == "cache_format" && ours == "fp8") return ours;
      }
    return {};
  }
  /// Tells the format of the plan. False where the engine has no word for it.
  bool tell_format() {
    const auto told = [&](const char* quantity, const std::string& theirs) {
      if (!theirs.empty()) tell(quantity, theirs);
      return !theirs.empty();
    };
    if (s_.weight_format) return told("weight_format", word("weight_format", *s_.weight_format));
    if (!s_.precision) return true;
    return told("format", word("format", *s_.precision)) ||
           told("weight_format", word("weight_format", *s_.precision));
  }
  /// Refuses weights that the engine would not load: it has no word for their format, or the repository
  /// holds them in fewer bits, in another one.
  void tell_served_format(bool own_checkpoint) {
    const bool spoken = tell_format();
    if (own_checkpoint) return;
    const bool narrow = detail::holds_narrow(*s_.workload);
    if (detail::repository_holds(s_) || (spoken && !narrow)) return;
    const auto wanted = s_.weight_format ? name_of(*s_.weight_format) : name_of(*s_.precision);
    throw InputError(
        "mlsysim.launch.180",
        fmt::format("{} does not load {} with weights in {}", name_of(format_), model_, wanted),
        s_.weight_format ? "weight_format" : "precision", std::string(wanted),
        narrow ? "the format in which its repository holds it" : "a format that the engine makes of 16 bits",
        "name a repository in that format with --checkpoint, or leave the format out");
  }

  void serving() {
    const double tp = r_.tp_size(), ep = s_.ep_size;
    double copies = r_.accelerators() / (tp * s_.pp_size);
    if (format_ == LaunchFormat::trtllm) {
      tell("tp", tp * ep);
      if (ep > 1) {
        tell("ep", ep);
        tell("attention_parallel", "true");
      }
      copies = ep;
    } else if (format_ == LaunchFormat::sglang && ep > 1) {
      tell("tp", tp * ep);
      tell("dp", ep);
      tell("attention_parallel", "true");
      copies = 1;  // its limit of requests is that of all groups
    } else {
      tell("tp", tp);
      above_one("dp", copies);
      if (ep > 1) tell("expert_parallel", "true");
    }
    above_one("pp", s_.pp_size);
    // Only the means of lengths that differ are known here: the engine admits what the model takes.
    if (s_.seq_len_cv.value_or(0) == 0 && s_.output_tokens_cv.value_or(0) == 0)
      tell("context", detail::tokens_held(*s_.workload, r_.seq_len(), r_.asked().output_tokens.value_or(0)));
    tell("requests", std::max(1.0, std::ceil(s_.batch_size / copies)));
    if (s_.prefill_chunk_tokens) {
      const double chunk = *s_.prefill_chunk_tokens;
      if (format_ == LaunchFormat::sglang)
        tell("chunk", chunk * (ep > 1 ? ep : 1));
      else
        tell("pass_tokens", chunk);
      if (format_ == LaunchFormat::trtllm) tell("chunked", "true");
    }
    if (s_.memory_fraction) tell("memory_fraction", *s_.memory_fraction);
    if (s_.kv_cache_memory) tell("cache_bytes", *s_.kv_cache_memory / unit::B);
    tell_served_format(own_checkpoint_);
    if (s_.execution == Execution::eager) tell("eager", "true");
    if (s_.kv_precision)
      if (const auto theirs = word("cache_format", *s_.kv_precision); !theirs.empty())
        tell("cache_format", theirs);
    if (s_.draft_model != nullptr) {
      tell("draft_model", s_.draft_model->name);
      if (s_.draft_tokens) tell("draft_tokens", *s_.draft_tokens);
    }
  }

  /// Sequences of a micro-batch of one rank.
  [[nodiscard]] double micro_batch() const {
    const double local = s_.batch_size / dp_;
    if (s_.microbatch_size) return *s_.microbatch_size;
    if (s_.microbatch_count) return std::max(1.0, std::floor(local / *s_.microbatch_count));
    return s_.pp_size > 1 ? 1 : std::max(1.0, std::floor(local / s_.gradient_accumulation_steps));
  }

  void training() {
    if (format_ != LaunchFormat::deepspeed || r_.tp_size() > 1) tell("tp", r_.tp_size());
    above_one("pp", s_.pp_size);
    above_one("cp", s_.cp_size);
    above_one("ep", s_.ep_size);
    tell("global_batch", s_.batch_size);
    if (format_ != LaunchFormat::torchtitan)
      tell("micro_batch", micro_batch());
    else
      tell("local_batch", s_.batch_size / dp_);
    if (format_ != LaunchFormat::deepspeed) tell("sequence", r_.seq_len());
    if (format_ == LaunchFormat::megatron) megatron();
    if (format_ == LaunchFormat::deepspeed) deepspeed();
    if (format_ == LaunchFormat::torchtitan) torchtitan();
  }

  void megatron() {
    above_one("virtual_stages", s_.v_stages);
    if (r_.tp_size() > 1 && s_.sequence_parallel) tell("sequence_parallel", "true");
    if (s_.zero_stage == 1) tell("distributed_optimizer", "true");
    if (s_.zero_stage > 1) {
      tell("fsdp", "true");
      tell("fsdp_stage", s_.zero_stage == 2 ? "optim_grads" : "optim_grads_params");
    }
    if (s_.overlap_efficiency.value_or(1) > 0) tell("overlap_gradients", "true");
    recompute();
    if (s_.recomputation == Recomputation::full) {
      tell("recompute_method", "uniform");
      tell("recompute_layers", "1");
    }
    const Precision p = s_.precision.value_or(Precision::bf16);
    if (p == Precision::fp16)
      tell("fp16", "true");
    else if (p != Precision::fp32)
      tell("bf16", "true");
    if (p == Precision::fp8) tell("fp8", "hybrid");
    if (s_.gradient_precision.value_or(p) != Precision::fp32) tell("gradients_bf16", "true");
    tell("optimizer", name_of(s_.optimizer));
    const Stack* stack = s_.workload->stacks.empty() ? nullptr : &s_.workload->stacks.front();
    if (stack == nullptr || !stack->hidden) return;
    tell("layers", stack->depth());
    tell("hidden", *stack->hidden);
    if (const auto& a = stack->mixer.grouped; a && a->heads) {
      tell("heads", *a->heads);
      if (a->qkv_bias && !stack->biases) tell("qkv_bias", "true");
      if (a->head_dim && *a->head_dim != *stack->hidden / *a->heads) tell("head_dim", *a->head_dim);
      if (a->kv_heads && *a->kv_heads != *a->heads) {
        tell("grouped", "true");
        tell("kv_heads", *a->kv_heads);
      }
    }
    bool gated = false;
    if (const auto& e = stack->feed_forward.experts; e && e->count) {
      tell("experts", *e->count);
      if (e->top_k) tell("top_k", *e->top_k);
      if (e->width) tell("expert_width", *e->width);
      gated = e->gated;
    } else if (const auto& d = stack->feed_forward.dense; d && d->width) {
      tell("feed_forward", *d->width);
      gated = d->gated;
    }
    if (gated) tell("gated", "true");
    if (!stack->output.tied) tell("untied", "true");
    if (!stack->biases) tell("no_biases", "true");
    if (!stack->residual.norm_bias) tell("norm", "RMSNorm");
    if (stack->mixer.grouped && stack->mixer.grouped->qk_norm != QkNorm::none) tell("qk_norm", "true");
    if (stack->input.positions)
      tell("positions", *stack->input.positions);
    else
      tell("position_kind", "rope");
    if (stack->input.vocab) tell("vocabulary", *stack->input.vocab);
    if (!s_.dropout) {
      tell("hidden_dropout", 0.0);
      tell("attention_dropout", 0.0);
    }
  }
  void recompute() {
    const auto kind = s_.recomputation.value_or(Recomputation::selective);
    if (kind != Recomputation::none) tell("recompute", name_of(kind));
  }
  void deepspeed() {
    tell("zero", s_.zero_stage);
    if (s_.shard_size) tell("shard", *s_.shard_size);
    if (s_.precision == Precision::fp16)
      tell("fp16", "true");
    else if (s_.precision.value_or(Precision::bf16) != Precision::fp32)
      tell("bf16", "true");
    tell("optimizer", s_.optimizer == OptimizerKind::adam    ? "Adam"
                      : s_.optimizer == OptimizerKind::adamw ? "AdamW"
                      : s_.optimizer == OptimizerKind::muon  ? "Muon"
                                                             : "SGD");
    if (s_.offload_states > 0) tell("offload_states", "cpu");
    if (s_.offload_states > 0 && s_.offload_states < 1) tell("offload_share", s_.offload_states);
    if (s_.offload_weights == 1) tell("offload_weights", "cpu");
    if (s_.gradient_precision) tell("gradient_format", name_of(*s_.gradient_precision));
    if (s_.overlap_efficiency == 0) tell("overlap_gradients", "false");
  }
  void torchtitan() {
    tell("model", model_);
    const double group = s_.zero_stage > 0 ? s_.shard_size.value_or(dp_ * s_.cp_size) / s_.cp_size : 1;
    tell("replicate", std::max(1.0, dp_ / group));
    tell("shard_degree", group);
    if (s_.zero_stage > 1) tell("reshard", s_.zero_stage == 3 ? "always" : "never");
    if (s_.pp_size > 1)
      tell("schedule", s_.schedule == Schedule::gpipe         ? "GPipe"
                       : s_.schedule == Schedule::zero_bubble ? "ZBVZeroBubble"
                                                              : "1F1B");
    tell_format();
    if (s_.gradient_precision)
      if (const auto theirs = word("gradient_format", *s_.gradient_precision); !theirs.empty())
        tell("gradient_format", theirs);
    tell("recompute", name_of(s_.recomputation.value_or(Recomputation::selective)));
    tell("fused", s_.kernel_fusion ? "true" : "false");
    if (s_.optimizer == OptimizerKind::adamw || s_.optimizer == OptimizerKind::adam)
      tell("optimizer", s_.optimizer == OptimizerKind::adam ? "Adam" : "AdamW");
  }

  const Scenario& s_;
  Notes notes_;
  ResolvedScenario r_;
  LaunchFormat format_;
  const FlagTable& table_;
  std::string model_;
  bool own_checkpoint_ = false;
  double dp_ = 1;
  std::vector<Told> told_;
};

std::string as_command(const Exporter& plan, const FlagTable& table, LaunchFormat format,
                       const std::vector<Told>& told) {
  std::string out =
      format == LaunchFormat::vllm ? fmt::format("vllm serve {}", detail::shell_word(plan.model()))
      : format == LaunchFormat::sglang
          ? fmt::format("python3 -m sglang.launch_server --model-path {}", detail::shell_word(plan.model()))
      : format == LaunchFormat::llama_cpp
          ? fmt::format("llama-server --hf-repo {}", detail::shell_word(plan.model()))
          : fmt::format("torchrun --nproc-per-node {} --nnodes {} pretrain_gpt.py", plan.per_node(),
                        plan.nodes());
  for (const auto& [quantity, value] : told) {
    const auto& row = *row_of(table, quantity);
    const bool bare = row.takes == detail::Takes::switched || row.takes == detail::Takes::toggle;
    out += fmt::format(" \\\n  --{}", row.flag);
    if (!bare) out += " " + detail::shell_word(value);
  }
  return out + "\n";
}

/// Values as JSON has them.
Json json_value(const detail::FlagRow& row, const std::string& value) {
  if (row.takes == detail::Takes::toggle) return value == "true";
  if (const auto x = detail::number_of(value); x && row.takes != detail::Takes::text) {
    if (std::floor(*x) == *x && std::abs(*x) < 1e15) return static_cast<std::int64_t>(*x);
    return *x;
  }
  return value;
}

Json as_tree(const FlagTable& table, const std::vector<Told>& told) {
  Json out = Json::object();
  for (const auto& [quantity, value] : told) {
    const auto& row = *row_of(table, quantity);
    Json* at = &out;
    std::string_view path = row.flag;
    for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
      at = &(*at)[std::string(path.substr(0, dot))];
      path.remove_prefix(dot + 1);
    }
    (*at)[std::string(path)] = json_value(row, value);
  }
  return out;
}

std::string text_of(const Json& json, int indent = -1) { return detail::json_text(json, indent); }

std::string as_sections(const Json& tree, std::string_view section, std::string_view line) {
  std::string out;
  for (const auto& [key, value] : tree.items())
    if (!value.is_object()) out += fmt::format(fmt::runtime(line), key, text_of(value));
  for (const auto& [key, value] : tree.items()) {
    if (!value.is_object()) continue;
    out += fmt::format(fmt::runtime(section), key);
    for (const auto& [inner, leaf] : value.items())
      out += (section.ends_with(":\n") ? "  " : "") + fmt::format(fmt::runtime(line), inner, text_of(leaf));
  }
  return out;
}

/// Fields of the scenario that the written launch does not give back when it is read.
std::vector<std::string> lost_fields(const Scenario& scenario, const Exporter& plan, const std::string& text,
                                     LaunchFormat format, std::string name) {
  LaunchQuestion q{.text = text, .name = std::move(name), .format = format};
  q.fields["workload"] = scenario.workload->name;
  q.model = scenario.workload;
  q.fields["hardware"] = "./device.yaml";  // stands for one device, whatever it is
  const bool counted = format == LaunchFormat::megatron;
  if (!counted && !detail::serves(format)) q.fields["accelerators"] = count_text(plan.devices());
  if (scenario.draft_model != nullptr) q.fields["draft_model"] = scenario.draft_model->name;
  const auto back = [&] {
    try {
      return read_launch(q, Zoo{});
    } catch (const Error& error) {  // such as a batch that the replicas do not share evenly
      const auto& why = error.facts();
      throw InputError("mlsysim.launch.018", fmt::format("{} does not start such a plan", name_of(format)),
                       why.key, why.found, why.expected, "change the batch or the degrees of the plan");
    }
  }();
  std::vector<std::string> out;
  const Scenario plain;
  for (const auto& f : describe<Scenario>()) {
    if (f.kind == ValueKind::object || f.name == "name" || f.name == "mode") continue;
    if (f.name == "rent" || f.name == "payment") continue;  // what a device costs is not the engine's
    const auto text_of = [&](const Scenario& s) { return field_text(f, f.read(&s), 17); };
    const auto wanted = text_of(scenario);
    if (wanted == text_of(plain)) continue;
    auto found = back.fields.find(f.name);
    // A format of all weights is told as that of the matrices.
    if (found == back.fields.end() && f.name == "precision" && !scenario.weight_format)
      found = back.fields.find("weight_format");
    const bool same =
        found != back.fields.end() &&
        (found->second == wanted ||
         (detail::number_of(wanted) && detail::number_of(found->second) == detail::number_of(wanted)));
    if (!same) out.push_back(fmt::format("{} {}", f.name, wanted));
  }
  for (const auto* object : {"grid", "datacenter"})
    if ((std::string_view(object) == "grid" ? scenario.grid != nullptr : scenario.datacenter != nullptr))
      out.emplace_back(object);
  return out;
}

/// The commands of both pools, of which a script starts one.
LaunchText export_pools(const Scenario& scenario, LaunchFormat format, const std::string& checkpoint) {
  if (format != LaunchFormat::vllm && format != LaunchFormat::sglang)
    throw InputError("mlsysim.launch.021", fmt::format("{} has no command for a pool", name_of(format)), "to",
                     fmt::format("{:g} prefill workers", *scenario.prefill_replicas), "vllm or sglang",
                     "choose one of these, or leave prefill_replicas out");
  LaunchText out;
  for (const auto& pool : detail::launched_pools(scenario, format)) {
    auto each = export_launch(pool.each, format, checkpoint);
    each.text.insert(each.text.find_last_not_of('\n') + 1, pool.flags);
    out.text += fmt::format("# {:g} of this {} worker:\n{}", pool.replicas, pool.name, each.text);
    out.not_carried = std::move(each.not_carried);  // alike
  }
  return out;
}

}  // namespace

LaunchText export_launch(const Scenario& asked, LaunchFormat format, const std::string& checkpoint) {
  const Scenario scenario = detail::with_requests(asked);
  if (scenario.prefill_replicas) return export_pools(scenario, format, checkpoint);
  Exporter plan(scenario, format, checkpoint);
  const auto told = plan.tell();
  const auto& table = detail::flag_table(format);
  LaunchText out;
  std::string name = "launch.sh", head;
  switch (format) {
    case LaunchFormat::trtllm:
      name = "launch.yaml";
      head = fmt::format("# trtllm-serve {} --config THIS\n",
                         detail::one_line(detail::shell_word(plan.model())));
      out.text = as_sections(as_tree(table, told), "{}:\n", "{}: {}\n");
      break;
    case LaunchFormat::deepspeed:
      name = "launch.json";
      out.text = text_of(as_tree(table, told), 2) + "\n";
      break;
    case LaunchFormat::torchtitan:
      name = "launch.toml";
      head = fmt::format("# {} devices\n", plan.devices());
      out.text = as_sections(as_tree(table, told), "[{}]\n", "{} = {}\n");
      break;
    default:
      out.text = as_command(plan, table, format, told);
  }
  Scenario loaded = scenario;
  loaded.load = asked.load;
  loaded.arrival_rate = asked.arrival_rate;
  if (detail::serves(format)) head += detail::load_line(loaded);
  out.not_carried = lost_fields(loaded, plan, head + out.text, format, name);
  if (format == LaunchFormat::deepspeed) return out;  // JSON has no comments
  std::string comments = fmt::format("# Flags of {} {}.\n", table.engine, table.version) + head;
  for (const auto& lost : out.not_carried)
    comments += fmt::format("# not carried: {}\n", detail::one_line(lost));
  out.text = comments + out.text;
  return out;
}

}  // namespace mlsysim

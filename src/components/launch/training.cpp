// Flags of training, as a plan.

#include "detail/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// Degrees and devices of a launch.
struct TrainingRanks {
  double tp = 1, pp = 1, cp = 1, ep = 1;
  double devices = 1;
  [[nodiscard]] double replicas() const {
    return devices / (tp * pp * cp);
  }  ///< that have sequences of their own
};

TrainingRanks ranks_of(Settings& s, Launch& launch, const Zoo& zoo) {
  TrainingRanks r{.tp = std::max(1.0, s.number_or("tp", 1)),  // DeepSpeed writes 0 for none
                  .pp = s.number_or("pp", 1),
                  .cp = std::max(1.0, s.number_or("cp", 1)),
                  .ep = s.number_or("ep", 1)};
  const double model = r.tp * r.pp * r.cp;
  const auto asked = launch.fields.find("accelerators");
  const double replicate = s.number_or("replicate", 1), shard = s.number_or("shard_degree", -1);
  const auto seen = seen_devices(s, launch, zoo);
  if (asked != launch.fields.end())
    r.devices = number_of(asked->second).value_or(0);
  else if (s.has("devices"))
    r.devices = *s.number("devices");
  else if (s.has("per_node"))
    r.devices = *s.number("per_node") * s.number_or("nodes", 1);
  else if (shard > 0)
    r.devices = replicate * shard * model;
  else if (seen && std::fmod(*seen, model * r.ep * replicate) == 0) {
    r.devices = *seen;
    launch.notes.push_back(fmt::format("a rank starts on each of {} devices, as no flag says how many do",
                                       count_text(r.devices)));
  } else {
    r.devices = model * r.ep * replicate;
    launch.notes.push_back(fmt::format(
        "the launch does not say how many devices there are: {}, as few as it can have; --accelerators "
        "says otherwise",
        count_text(r.devices)));
  }
  if (r.devices < model || std::fmod(r.devices, model) != 0)
    throw DomainError({.id = "mlsysim.launch.016",
                       .message = "the devices do not divide into copies of the model",
                       .key = "tp, pp, cp",
                       .found = fmt::format("{} devices, tp {} x pp {} x cp {}", r.devices, r.tp, r.pp, r.cp),
                       .expected = fmt::format("a multiple of {}", model),
                       .hint = "give the number of devices with --accelerators",
                       .where = s.where("tp")});
  if (r.ep > 1 && std::fmod(r.replicas(), r.ep) != 0) {
    s.end("ep", FlagUse::contradicts,
          fmt::format("experts are spread over data-parallel ranks, and {} do not divide {}", r.ep,
                      r.replicas()));
    r.ep = 1;
  }
  if (s.has("etp") && s.number("etp") != r.tp)
    s.end("etp", FlagUse::contradicts, "experts are divided as the layers are");
  return r;
}

/// Sequences of a step and of a micro-batch.
void put_batch(Settings& s, Launch& launch, const TrainingRanks& r) {
  const double dp = r.replicas();
  auto micro = s.number("micro_batch");
  auto accumulation = s.number("accumulation");
  std::optional<double> whole = s.number("global_batch");
  if (whole && *whole <= 0) whole.reset();
  const bool torchtune = s.text("model").starts_with("torchtune.");
  if (torchtune && !micro)
    launch.notes.push_back("the batch of the recipe is not known: --batch-size says it");
  if (launch.format == LaunchFormat::trainer && !whole && (micro || !torchtune)) {
    if (!micro) {
      micro = s.number_or_usual("micro_batch");
      launch.notes.push_back(fmt::format("a rank has {} sequences, as no key says otherwise", *micro));
    }
    accumulation = s.number_or_usual("accumulation");
  }
  if (!whole && s.has("local_batch")) whole = *s.number("local_batch") * dp;
  if (whole && accumulation && !micro) micro = std::max(1.0, std::floor(*whole / (dp * *accumulation)));
  if (!whole && micro) whole = *micro * accumulation.value_or(1) * dp;
  if (whole && micro && std::fmod(*whole, *micro * dp) != 0)
    s.clash("micro_batch", "the micro-batches do not make up the batch",
            fmt::format("a batch of {} in micro-batches of {} on {} replicas", *whole, *micro, dp),
            "a batch that they divide");
  if (whole && micro && accumulation && *micro * *accumulation * dp != *whole)
    s.clash("accumulation", "batch, micro-batch and accumulation contradict each other",
            fmt::format("{} x {} x {} replicas, and {}", *micro, *accumulation, dp, *whole), "equal numbers");
  if (whole) launch.fields["batch_size"] = count_text(*whole);
  if (whole && micro) launch.fields["microbatch_size"] = count_text(*micro);
}

/// Interleaved stages: given as layers of one, or as their number.
void put_stages(Settings& s, Launch& launch, const TrainingRanks& r) {
  double stages = s.number_or("virtual_stages", 1);
  if (const auto layers = s.number("virtual_layers")) {
    const Workload* model = s.model;
    const double depth = s.has("layers")                              ? *s.number("layers")
                         : model != nullptr && !model->stacks.empty() ? model->stacks.front().depth()
                                                                      : 0;
    stages = depth / (r.pp * *layers);
    if (depth == 0 || std::floor(stages) != stages)
      s.clash("virtual_layers", "the layers do not divide into interleaved stages",
              fmt::format("{} layers, {} stages of {} each", depth, r.pp, *layers), "a divisor");
  }
  if (stages > 1 && r.pp > 1)
    launch.fields["v_stages"] = count_text(stages);
  else
    for (const auto* q : {"virtual_stages", "virtual_layers"})
      s.end(q, FlagUse::ignored, "without effect here");
}

/// Offloads what the name of a file of DeepSpeed says, and returns words for a note. Stage 3 offloads states
/// and weights (ds_z3_offload_config.json, zero3_bf16_cpuoffload_all.json), or the weights alone
/// (zero3_bf16_cpuoffload_params.json).
std::string offload_of_name(std::string_view name, double stage, Launch& launch) {
  if (name.find("offload") == std::string_view::npos) return {};
  for (const std::string_view none : {"no_offload", "nooffload", "no-offload", "without_offload"})
    if (name.find(none) != std::string_view::npos) return {};
  const bool weights = stage == 3, states = name.find("offload_params") == std::string_view::npos;
  if (states) launch.fields["offload_states"] = launch.fields["offload_gradients"] = "1";
  if (weights) launch.fields["offload_weights"] = "1";
  return fmt::format(", with {} in host memory", !states   ? "the weights"
                                                 : weights ? "optimizer states and weights"
                                                           : "optimizer states");
}

/// The stage that the name of a file states where the file is not there: "ds_z3_offload.json".
double stage_of_name(Settings& s, Launch& launch) {
  std::optional<double> out;
  for (const auto* quantity : {"deepspeed_file", "accelerate_file"}) {
    const auto name = s.text(quantity);
    if (name.empty() || s.has("zero")) continue;
    for (const std::string_view word : {"zero", "z", "stage", "zero_stage_", "stage_", "zero_"})
      for (const char stage : {'1', '2', '3', '0'})
        if (!out && name.rfind(std::string(word) + stage) != std::string::npos) out = stage - '0';
    if (!out) {
      s.end(quantity, FlagUse::contradicts, "the file is not beside the launch: say --zero-stage");
      continue;
    }
    launch.notes.push_back(fmt::format("'{}' is not beside the launch: its name says stage {:.0f}{}", name,
                                       *out, offload_of_name(name, *out, launch)));
  }
  return out.value_or(0);
}

/// The stage that the words of --fsdp name, as `zero` has it, and what they offload.
std::string put_fsdp_words(Settings& s, Launch& launch) {
  constexpr auto strategies =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"hybrid_shard_zero2", "hybrid 2"},
                                                                    {"hybrid_shard", "hybrid 3"},
                                                                    {"full_shard", "3"},
                                                                    {"shard_grad_op", "2"},
                                                                    {"no_shard", "0"}});
  const auto words = s.text("fsdp_words");
  if (words.find("offload") != std::string::npos)
    for (const auto* field : {"offload_states", "offload_gradients", "offload_weights"})
      launch.fields[field] = "1";
  for (const auto& [word, stage] : strategies)
    if (words.find(word) != std::string::npos) return std::string(stage);
  const auto otherwise = s.text("zero");
  if (otherwise.empty())
    s.end("fsdp_words", FlagUse::contradicts, "no word names what is divided: say --zero-stage");
  return otherwise;
}

/// Sets the ZeRO stage, the shard size in ranks, the offloaded shares and backward prefetching.
void put_sharding(Settings& s, Launch& launch, const TrainingRanks& r) {
  double zero = stage_of_name(s, launch), shard = s.number_or("shard", 1);
  const auto stage = s.has("fsdp_words") ? put_fsdp_words(s, launch) : s.text("zero");
  if (stage.starts_with("hybrid ")) {
    zero = stage.back() - '0';
    const auto nodes = launch.fields.find("node_count");
    if (!launch.fields.contains("accelerators")) {
      s.end(s.has("fsdp_words") ? "fsdp_words" : "zero", FlagUse::contradicts,
            "hybrid sharding: say --shard-size, the ranks of a group");
    } else {
      const double machine =
          nodes == launch.fields.end() ? 8 : r.devices / number_of(nodes->second).value_or(1);
      shard = std::min(std::max(1.0, machine / (r.tp * r.pp * r.cp)), r.replicas());
      launch.notes.push_back(
          fmt::format("hybrid sharding is taken to be inside machines of {} ranks", shard));
    }
  } else if (!stage.empty()) {
    zero = number_of(stage).value_or(0);
  }
  if (s.on("distributed_optimizer")) zero = 1;
  if (s.on("fsdp") && stage.empty())
    zero = s.number_or("fsdp_stage", 3);
  else if (s.has("fsdp_stage"))
    s.end("fsdp_stage", FlagUse::ignored, "without FSDP it has no effect");
  if (const auto groups = s.number("optimizer_instances"); groups && *groups > 1)
    shard = r.replicas() / *groups;
  if (launch.format == LaunchFormat::torchtitan) {
    const double replicate = s.number_or("replicate", 1);
    const double degree = s.number_or("shard_degree", -1);
    const double ranks = degree > 0 ? degree : r.replicas() / replicate;
    zero =
        ranks > 1 ? (s.text("reshard") == "never" || (s.text("reshard") != "always" && r.pp > 1) ? 2 : 3) : 0;
    if (replicate > 1) shard = ranks * r.cp;
  }
  const bool shards = launch.format == LaunchFormat::accelerate || launch.format == LaunchFormat::trainer;
  if (shards && s.has("reshard") && !s.has("zero") && !s.has("fsdp_words")) zero = s.on("reshard") ? 3 : 2;
  if (zero > 0) launch.fields["zero_stage"] = count_text(zero);
  if (zero > 0 && shard > 1) launch.fields["shard_size"] = count_text(shard);
  const double part = s.number_or("offload_share", 1);
  const auto outside = [&](std::string_view where) { return s.has(where) && s.text(where) != "none"; };
  const bool states = outside("offload_states");
  if (states || s.on("offload_optimizer")) launch.fields["offload_states"] = count_text(part);
  // DeepSpeed and FSDP move gradients to the host as they are made; Megatron-LM keeps them on the device.
  if (states || s.on("offload_all")) launch.fields["offload_gradients"] = count_text(states ? part : 1.0);
  if (outside("offload_weights")) launch.fields["offload_weights"] = "1";
  if (s.on("offload_all")) launch.fields["offload_states"] = launch.fields["offload_weights"] = "1";
  for (const auto* q : {"offload_states", "offload_weights"})
    if (s.text(q) == "nvme")
      s.end(q, FlagUse::contradicts, "what is offloaded lies in host memory, not on a disk");
  if (s.has("prefetch")) launch.fields["backward_prefetch"] = s.on("prefetch") ? "true" : "false";
}

void put_recomputation(Settings& s, Launch& launch, const TrainingRanks& r) {
  const bool megatron = launch.format == LaunchFormat::megatron || launch.format == LaunchFormat::nemo;
  std::string kind = s.text("recompute");
  if (kind.empty() && s.on("recompute_selective")) kind = "selective";
  if (s.has("recompute_all")) kind = s.on("recompute_all") ? "full" : "none";
  // LLaMA-Factory recomputes unless it is told not to.
  if (kind.empty() && launch.format == LaunchFormat::trainer && s.flag_name("adapter") == "finetuning_type")
    kind = s.on("keeps_activations") ? "none" : "full";
  // Megatron keeps every activation where nobody says otherwise, and so do FSDP and torchtitan without a
  // mode.
  if (kind.empty() && launch.format != LaunchFormat::mlperf && launch.format != LaunchFormat::deepspeed) {
    kind = "none";
    launch.notes.push_back("nothing is recomputed, as no flag asks for it");
  }
  if (!kind.empty()) launch.fields["recomputation"] = kind;
  const auto layers = s.number("recompute_layers");
  if (megatron && kind == "full" && s.text("recompute_method") == "block" && layers && s.has("layers"))
    launch.fields["recomputed_share"] = count_text(std::min(1.0, *layers * r.pp / *s.number("layers")));
  else if (layers)
    s.end("recompute_layers", FlagUse::ignored,
          kind == "full" ? "all layers recompute, one unit after the other"
                         : "without full recomputation it has no effect");
}

void put_formats(Settings& s, Launch& launch) {
  auto& fields = launch.fields;
  const bool megatron = launch.format == LaunchFormat::megatron || launch.format == LaunchFormat::nemo;
  put_format(s, launch, "format", "precision");
  if (s.on("bf16") && s.on("fp16"))
    s.clash("fp16", "two formats are asked for", "bf16 and fp16", "one of them");
  if (s.on("bf16") || s.on("pure_bf16")) fields["precision"] = "bf16";
  if (s.on("fp16")) fields["precision"] = "fp16";
  if (launch.format == LaunchFormat::megatron && !fields.contains("precision")) fields["precision"] = "fp32";
  const bool fp8 = s.has("fp8") && s.text("fp8") != "false" && s.text("fp8") != "null";
  if (fp8) fields["precision"] = "fp8";
  if (s.has("fp4")) fields["precision"] = "fp4";
  // Megatron keeps and reduces gradients of bf16 weights in fp32 unless it is told not to.
  if (megatron && (s.on("bf16") || fp8))
    fields["gradient_precision"] =
        s.on("gradients_bf16") || s.flag("gradients_fp32") == false ? "bf16" : "fp32";
  if (s.has("gradient_format")) put_format(s, launch, "gradient_format", "gradient_precision");
  const auto optimizer = s.text("optimizer");
  if (choice_of<OptimizerKind>(optimizer))
    fields["optimizer"] = optimizer;
  else if (!optimizer.empty())
    s.end("optimizer", FlagUse::contradicts, "states are those of sgd, adam, adamw or muon: say --optimizer");
  if (s.has("attention")) fields["attention_kernel"] = s.text("attention");
  if (s.has("fused")) fields["kernel_fusion"] = s.on("fused") ? "true" : "false";
  if (s.has("compiler"))
    fields["kernel_fusion"] = s.text("compiler") == "no" || s.text("compiler") == "NO" ? "false" : "true";
}

/// Adapters, the formats of what is frozen, and of states, as recipes of the Trainer and of torchtune say
/// them.
void put_adapters(Settings& s, Launch& launch) {
  auto& fields = launch.fields;
  const auto adapter = s.text("adapter"), model = s.text("model");
  const bool quantized = adapter == "qlora" || model.find(".qlora_") != std::string::npos;
  const bool adapts = adapter == "lora" || quantized || s.on("use_peft") ||
                      model.find(".lora_") != std::string::npos || (adapter.empty() && s.has("lora_rank"));
  const double bits = s.number_or("quantization_bit", s.on("load_4bit") ? 4 : s.on("load_8bit") ? 8 : 16);
  if (adapts) {
    const double rank = s.number_or_usual("lora_rank");
    fields["lora_rank"] = count_text(rank);
    if (!s.has("lora_rank"))
      launch.notes.push_back(fmt::format("adapters have rank {}, as no key says otherwise", rank));
    const auto targets = s.text("lora_targets");
    const bool all = targets.find("all") != std::string::npos || targets == "true" ||
                     targets.find("up_proj") != std::string::npos ||
                     targets.find("w1") != std::string::npos || s.on("lora_mlp") ||
                     (targets.empty() && s.flag_name("adapter") == "finetuning_type");
    fields["lora_modules"] = all ? "all" : "attention";
    if (quantized || bits == 4)
      fields["weight_format"] = "nf4";
    else if (bits == 8)
      fields["weight_format"] = "int8";
  } else if (!adapter.empty() && adapter != "full") {
    s.end("adapter", FlagUse::contradicts, "all weights are trained, or adapters of low rank");
  }
  const auto optimizer = s.text("optimizer");
  const std::string moments = optimizer == "adamw_8bit" ? "int8" : optimizer == "adamw_4bit" ? "int4" : "";
  if (!moments.empty()) {
    fields["optimizer"] = "adamw";
    fields["moment_precision"] = moments;
    s.end("optimizer", FlagUse::used, fmt::format("AdamW with moments in {}", moments));
  }
  if (const auto& name = s.given("optimizer"); name.find("aged") != std::string::npos)
    launch.notes.push_back(
        fmt::format("the moments of {} move to host memory where they do not fit: they are counted on the "
                    "device",
                    name));
  if (s.on("fused_loss")) fields["fused_loss"] = "true";
  // torchtune and pure_bf16 hold weights, gradients and moments in the one format.
  const auto loaded = s.text("model_format");
  const bool torchtune = model.starts_with("torchtune.");
  if (torchtune && choice_of<Precision>(loaded)) fields["precision"] = loaded;
  const bool frees = s.on("optimizer_in_backward");
  if (!adapts && (s.on("pure_bf16") || (torchtune && loaded == "bf16")))
    fields["states"] = fmt::format("parameter=bf16,gradient={},moment={},master=none",
                                   frees ? "none" : "bf16", moments.empty() ? "bf16" : moments);
  else if (frees)
    fields["states"] = "gradient=none";
  if (!fields.contains("precision")) {
    fields["precision"] = "fp32";
    launch.notes.push_back("arithmetic is in fp32, as no key asks for less");
  }
}

/// Applies Megatron-LM's defaults from its flag table: dropout, and attention that stores its scores on
/// devices without fused kernels.
void put_megatron_defaults(Settings& s, Launch& launch, const Zoo& zoo) {
  const double dropped =
      std::max(s.number_or_usual("hidden_dropout"), s.number_or_usual("attention_dropout"));
  launch.fields["dropout"] = dropped > 0 ? "true" : "false";
  if (dropped > 0 && !s.has("hidden_dropout") && !s.has("attention_dropout"))
    launch.notes.push_back(fmt::format("dropout is {}, as no flag says otherwise", dropped));
  if (launch.fields.contains("attention_kernel")) return;
  const auto machine = launch.fields.find("hardware");
  const auto* device = machine == launch.fields.end() ? nullptr : zoo.find<HardwareNode>(machine->second);
  const bool flash = s.on("flash");
  const FlagDefault* kernel = s.usual("attention", device);
  if (kernel == nullptr) return;
  if (flash) s.end("flash", FlagUse::ignored, fmt::format("{} cannot run it", device->name));
  launch.fields["attention_kernel"] = kernel->text;
  launch.notes.push_back(
      fmt::format("attention is {} on {}: {}", kernel->text, device->name, kernel->source));
}

/// Exchanges that a launch does not hide. What it hides is as good as the figure of the plan.
void put_overlap(Settings& s, Launch& launch) {
  const bool asked = launch.format == LaunchFormat::megatron || launch.format == LaunchFormat::nemo;
  if (s.has("overlap_gradients") ? !s.on("overlap_gradients") : asked) {
    launch.fields["overlap_efficiency"] = "0";
    if (!s.has("overlap_gradients"))
      launch.notes.push_back("gradients are exchanged after the backward pass, as no flag asks for more");
  }
  if (s.on("overlap_weights") && !s.on("overlap_gradients"))
    s.end("overlap_weights", FlagUse::contradicts,
          "weights are gathered ahead only where gradients overlap too");
}

}  // namespace

void training_fields(Settings& s, Launch& launch, const Zoo& zoo) {
  auto& fields = launch.fields;
  const TrainingRanks r = ranks_of(s, launch, zoo);
  if (takes_machine(launch, zoo, r.devices)) {
    fields["accelerators"] = count_text(r.devices);
    if (const double nodes = s.number_or("nodes", 1); nodes > 1 && std::fmod(r.devices, nodes) == 0)
      fields["node_count"] = count_text(nodes);
  }
  fields["tp_size"] = count_text(r.tp);
  if (r.pp > 1) fields["pp_size"] = count_text(r.pp);
  if (r.cp > 1) fields["cp_size"] = count_text(r.cp);
  if (r.ep > 1) fields["ep_size"] = count_text(r.ep);
  if (const auto tokens = s.number("sequence"))
    fields["seq_len"] = count_text(*tokens);
  else if (!fields.contains("seq_len"))
    launch.notes.push_back(
        "no flag says how long a sequence is, and the usual length of plans is taken: --seq-len");
  if (s.has("schedule")) fields["schedule"] = s.text("schedule");
  // Megatron turns it off with one rank; the plan has it only with several, too.
  if (r.tp > 1) {
    const bool megatron = launch.format == LaunchFormat::megatron || launch.format == LaunchFormat::nemo;
    if (s.has("sequence_parallel") || megatron)
      fields["sequence_parallel"] = s.on("sequence_parallel") ? "true" : "false";
  } else {
    s.end("sequence_parallel", FlagUse::ignored, "one rank has the whole sequence");
  }
  put_batch(s, launch, r);
  put_stages(s, launch, r);
  put_sharding(s, launch, r);
  put_recomputation(s, launch, r);
  put_formats(s, launch);
  if (launch.format == LaunchFormat::megatron) put_megatron_defaults(s, launch, zoo);
  if (launch.format == LaunchFormat::trainer) put_adapters(s, launch);
  put_overlap(s, launch);
  if (const Workload* model = s.model) compare_shape(s, *model);
}

}  // namespace mlsysim::detail

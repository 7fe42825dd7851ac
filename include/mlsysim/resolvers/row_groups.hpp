#pragma once
/// Input rows that several resolvers and the scenario share, with name, unit, range and default in one place.
///
/// Each group is a template over a struct of inputs `I` with members of these names. `join` combines groups.
/// Example: `fidelity_rows<I>()` has two rows, `fidelity` and `conventions`, and `I` needs both members.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/reflect/join.hpp>
#include <mlsysim/specs/conventions.hpp>

namespace mlsysim {

/// Fidelity, and conventions that fill gaps. These rows come last in every table.
template <class I> [[nodiscard]] constexpr auto fidelity_rows() {
  return rows(field(&I::fidelity, key::fidelity).defaulted("operator where the shape is known"),
              field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
}

/// Formats in which a served model is stored and computes.
template <class I> [[nodiscard]] constexpr auto serving_format_rows() {
  return rows(
      field(&I::precision, key::precision)
          .defaulted("the model's own below 16 bits, else the device's default"),
      field(&I::weight_format, key::weight_format)
          .defaulted("as precision; without it as the model's files where they are below 16 bits"),
      field(&I::weight_bits, "weight_bits", "", "bits of a stored weight, scales included")
          .within(0.5, 64)
          .defaulted("as weight_format"),
      field(&I::kv_precision, key::kv_precision)
          .defaulted("as the files say, else as the arithmetic, 16 bits at least; textbook: 16 bits below 8"),
      field(&I::efficiency, key::efficiency).defaulted("0.5 (textbook) or the device's share (operator)"));
}

/// Fields of the power cap [W] and of the highest clock, over the one that the TDP sustains.
template <class I> [[nodiscard]] constexpr auto power_rows() {
  return rows(
      field(&I::power_cap, "power_cap", "W", "power that a device may draw, as its regulator holds it")
          .positive()
          .defaulted("the device's TDP"),
      field(&I::clock_limit, "clock_limit", "", "highest clock, over the one that the TDP sustains")
          .within(0.05, 1)
          .defaulted("as fast as the power allows"));
}

/// Algorithm of collectives, and format, copies, overlap and imbalance of the expert all-to-all.
template <class I> [[nodiscard]] constexpr auto exchange_rows() {
  return rows(
      field(&I::collective_algorithm, "collective_algorithm", "", "ways of collectives over several levels")
          .defaulted("the fastest for all-reduces, level after level for gathers"),
      field(&I::dispatch_precision, "dispatch_precision", "",
            "number format in which tokens travel to their experts")
          .defaulted("fp8 with scales where serving multiplies in 8 bits or fewer, else the activations'"),
      field(&I::expert_copies, "expert_copies", "", "how often a token leaves for its experts")
          .defaulted("per_node for prompts and training, per_expert for steps of decoding"),
      field(&I::expert_overlap, "expert_overlap", "", "what runs beside the experts' exchange")
          .defaulted("nothing: it is waited for"),
      field(&I::rank_imbalance, "rank_imbalance", "",
            "rows of the fullest expert-parallel rank over the mean")
          .within(1, 65536)
          .defaulted("what chance makes of even routing"));
}

/// How the host launches kernels: one by one or as a captured graph.
template <class I> [[nodiscard]] constexpr auto launch_rows() {
  return rows(
      field(&I::execution, "execution", "",
            "kernels launched one by one by the host, or replayed from a captured graph")
          .defaulted("eager in training; a graph in inference, with an engine up to the requests that "
                     "it captures (zoo/runtimes)"));
}

/// Budget of prompt tokens in one pass.
template <class I> [[nodiscard]] constexpr auto pass_rows() {
  return rows(field(&I::prefill_chunk_tokens, "prefill_chunk_tokens", "",
                    "most prompt tokens of one pass of a rank (max_num_batched_tokens)")
                  .at_least(1)
                  .counted()
                  .defaulted("what the engine prepares for on such a device, else zoo/catalogue.yaml; at "
                             "textbook fidelity all prompts at once"));
}

/// Devices of one serving replica.
template <class I> [[nodiscard]] constexpr auto replica_rows() {
  return join(rows(field(&I::tp_size, key::tp_size).defaulted("one device"),
                   field(&I::pp_size, key::pp_size).defaulted("one stage"),
                   field(&I::ep_size, key::ep_size).defaulted("experts not spread")),
              exchange_rows<I>());
}

/// Workers that only process prompts, with degrees of their own.
template <class I> [[nodiscard]] constexpr auto prefill_rows() {
  return rows(field(&I::prefill_replicas, "prefill_replicas", "", "workers that only process prompts")
                  .within(1, 65536)
                  .counted()
                  .defaulted("prompts run where tokens are generated"),
              field(&I::prefill_tp_size, "prefill_tp_size", "", "tensor-parallel degree of a prefill worker")
                  .at_least(1)
                  .counted()
                  .defaulted("tp_size"),
              field(&I::prefill_ep_size, "prefill_ep_size", "", "expert-parallel degree of a prefill worker")
                  .at_least(1)
                  .counted()
                  .defaulted("ep_size"));
}
/// Lengths of requests that differ.
template <class I> [[nodiscard]] constexpr auto length_rows() {
  return rows(
      field(&I::seq_len_cv, "seq_len_cv", "", "deviation of prompt lengths over their mean")
          .within(0, 100)
          .defaulted("all alike"),
      field(&I::seq_len_law, "seq_len_law", "", "distribution of prompt lengths").defaulted("lognormal"),
      field(&I::output_tokens_cv, "output_tokens_cv", "", "deviation of answer lengths over their mean")
          .within(0, 100)
          .defaulted("all alike"),
      field(&I::output_tokens_law, "output_tokens_law", "", "distribution of answer lengths")
          .defaulted("lognormal"));
}

/// Link over which the KV cache of a prompt moves to the decoding devices.
template <class I> [[nodiscard]] constexpr auto transfer_rows() {
  return rows(field(&I::network_bandwidth, key::network_bandwidth)
                  .positive()
                  .defaulted("100 GB/s, convention of MLSys-im"));
}

/// Speculative decoding: draft model, proposed tokens and their acceptance.
template <class I> [[nodiscard]] constexpr auto speculation_rows() {
  return rows(
      field(&I::draft_model, key::draft_model).defaulted("no speculation"),
      field(&I::draft_acceptance_rate, key::draft_acceptance_rate).defaulted("0.7, convention of MLSys-im"),
      field(&I::draft_tokens, key::draft_tokens).at_least(1).counted().defaulted(kDefaults.view()),
      field(&I::draft_acceptance_decay, "draft_acceptance_decay", "",
            "factor of the acceptance from one drafted token to the next")
          .within(0.01, 1)
          .defaulted("1; of a model's own draft layers zoo/catalogue.yaml"),
      field(&I::acceptance_length, "acceptance_length", "",
            "tokens that one verification yields, measured; in place of rate and decay")
          .within(1, 1025)
          .defaulted("from rate and decay"));
}

/// Page size of the KV cache, and the serving engine.
template <class I> [[nodiscard]] constexpr auto engine_rows() {
  return rows(field(&I::page_tokens, "page_tokens", "", "tokens of a page of the cache")
                  .at_least(1)
                  .counted()
                  .defaulted("kwon2023vllm"),
              field(&I::engine, key::engine)
                  .defaulted("usual on the class of the device, zoo/hardware/classes.yaml"));
}

/// Chunked prefill, and an engine for its token budget and captured graphs, without its host time.
template <class I> [[nodiscard]] constexpr auto pass_engine_rows() {
  return rows(field(&I::chunked_prefill, "chunked_prefill", "",
                    "prompts longer than a pass are taken chunk by chunk; else each has a pass of its own")
                  .defaulted("where prefill_chunk_tokens or an engine is given"),
              field(&I::engine, key::engine).defaulted("none in particular"));
}

/// How a training step is divided over devices, and what each of them holds.
template <class I> [[nodiscard]] constexpr auto training_plan_rows() {
  return rows(
      field(&I::expert_tp_size, key::expert_tp_size).defaulted("as many as share the other layers"),
      field(&I::cp_size, key::cp_size).defaulted("sequences not divided"),
      field(&I::schedule, "schedule", "", "order of the micro-batches in a pipeline").defaulted("1F1B"),
      field(&I::v_stages, key::v_stages).defaulted("no interleaving"),
      field(&I::gradient_accumulation_steps, key::gradient_accumulation_steps)
          .at_least(1)
          .counted()
          .defaulted("no accumulation"),
      field(&I::zero_stage, key::zero_stage).defaulted("no sharding"),
      field(&I::shard_size, "shard_size", "", "ranks over which ZeRO divides (hybrid sharding)")
          .at_least(1)
          .counted()
          .defaulted("all replicas"),
      field(&I::recomputation, key::recomputation).defaulted("selective, convention of MLSys-im"),
      field(&I::recomputed_share, "recomputed_share", "", "share of the layers that recompute")
          .within(0, 1)
          .defaulted("all layers"),
      field(&I::sequence_parallel, key::sequence_parallel).defaulted("on with tensor parallelism"),
      field(&I::attention_kernel, "attention_kernel", "", "whether scores stay on chip").defaulted("fused"),
      field(&I::dropout, "dropout", "", "dropout masks are made and kept").defaulted("none"),
      field(&I::kernel_fusion, "kernel_fusion", "", "chains of element-wise operations run as one kernel")
          .defaulted("fused, as by hand or by a compiler"),
      field(&I::gradient_precision, "gradient_precision", "",
            "format in which gradients are kept and exchanged")
          .defaulted("that of the weights"),
      field(&I::optimizer, key::optimizer).defaulted("Adam"),
      field(&I::moment_precision, "moment_precision", "", "format of the moments that the optimizer keeps")
          .defaulted("fp32"),
      field(&I::states, "states", "",
            "formats of training states: parameter=, moment=, gradient= and master=FORMAT|none, separated by "
            "commas")
          .defaulted(
              "weights and gradients in 16 bits, moments and a master copy in fp32; or as the runtime says"),
      field(&I::trainable_fraction, key::trainable_fraction).defaulted("all weights"),
      field(&I::lora_rank, "lora_rank", "", "rank of low-rank adapters, which alone are trained")
          .at_least(1)
          .counted()
          .defaulted("no adapters"),
      field(&I::lora_modules, "lora_modules", "",
            "products with adapters: all of the blocks but routed experts, or those of attention")
          .defaulted("all"),
      field(&I::fused_loss, "fused_loss", "",
            "output head and loss run chunk by chunk, so that logits are never whole in memory")
          .defaulted("logits in fp32"),
      field(&I::offload_activations, "offload_activations", "", "share of the activations in host memory")
          .within(0, 1)
          .defaulted("none"),
      field(&I::offload_states, "offload_states", "", "share of the optimizer states in host memory")
          .within(0, 1)
          .defaulted("none"),
      field(&I::offload_gradients, "offload_gradients", "",
            "share of the gradients in host memory, where the host then updates the weights")
          .within(0, 1)
          .defaulted("none"));
}

/// Fields of the weights in host memory, and of that memory's bandwidth.
template <class I> [[nodiscard]] constexpr auto host_memory_rows() {
  return rows(field(&I::offload_weights, "offload_weights", "",
                    "share of the weights in host memory; where the engine's host computes, of the layers")
                  .within(0, 1)
                  .defaulted("none"),
              field(&I::host_memory_bandwidth, "host_memory_bandwidth", "GB/s",
                    "memory of the host of a node, nominal")
                  .positive()
                  .defaulted(kDefaults.view()));
}
/// Field of the routed experts that a served model keeps in host memory.
template <class I> [[nodiscard]] constexpr auto host_expert_rows() {
  return rows(field(&I::offload_experts, "offload_experts", "", "share of the routed experts in host memory")
                  .within(0, 1)
                  .defaulted("none"));
}

/// Fields that decide the time of a training step, beside its plan.
template <class I> [[nodiscard]] constexpr auto training_step_rows() {
  return join(
      exchange_rows<I>(),
      rows(field(&I::microbatch_size, key::microbatch_size).defaulted("from microbatch_count"),
           field(&I::microbatch_count, key::microbatch_count)
               .defaulted(
                   "as few as fit in memory, in a pipeline one for each sequence of a rank (operator); 1 "
                   "(textbook)"),
           field(&I::backward_prefetch, "backward_prefetch", "",
                 "ZeRO-3 gathers a block's weights ahead in the backward pass")
               .defaulted("ahead"),
           field(&I::overlap_efficiency, key::overlap_efficiency)
               .within(0, 1)
               .defaulted("none (textbook) or zoo/defaults.yaml (operator)"),
           field(&I::overlap_slowdown, "overlap_slowdown", "", "slowdown of kernels beside communication")
               .within(0, 1)
               .defaulted(kDefaults.view()),
           field(&I::tp_overlap, key::tp_overlap).defaulted("none"),
           field(&I::congestion_factor, key::congestion_factor).defaulted("an uncontended network"),
           field(&I::straggler_factor, key::straggler_factor).defaulted("equal devices")));
}

/// Power of hosts and switches, per device. The arguments describe the defaults.
template <class I>
[[nodiscard]] constexpr auto host_rows(std::string_view host_default, std::string_view network_default) {
  return rows(
      field(&I::host_power, "host_power", "W",
            "power of the host for each device: processors, memory, adapters, fans")
          .non_negative()
          .defaulted(host_default),
      field(&I::network_power, "network_power", "W", "power of the switches between nodes for each device")
          .non_negative()
          .defaulted(network_default));
}

/// Limits that a compressed model must keep.
template <class I> [[nodiscard]] constexpr auto guard_rail_rows() {
  return rows(
      field(&I::size_limit, "size_limit", "GB", "guard rail: largest size").positive().defaulted("none"),
      field(&I::max_accuracy_drop, "max_accuracy_drop", "", "guard rail: largest loss of accuracy")
          .within(0, 1)
          .defaulted("none"),
      field(&I::min_speedup, "min_speedup", "", "guard rail: least speed-up").positive().defaulted("none"),
      field(&I::require_hardware_support, "require_hardware_support", "",
            "guard rail: the device has the format or pattern")
          .defaulted("not required"));
}

}  // namespace mlsysim

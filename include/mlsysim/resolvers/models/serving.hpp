#pragma once
/// TTFT, inter-token latency, throughput and memory of one replica that serves a static batch (wall 4).
///
///   ttft = time of all prefill passes + KV transfer      itl = time of one decode step
///
/// A replica is tp x pp x ep devices. Prompts of `seq_len` tokens less a cached prefix fill passes of up to
/// `prefill_chunk_tokens` per rank. Decode uses the mean context of `output_tokens`, else `seq_len`. Host
/// time of an engine has no part in a static batch (InFlightBatchingModel has it).
/// Textbook ITL: (weights + KV cache) / bandwidth + software time per layer.
/// Example: Llama-3.1-8B fp16, one prompt of 2048 tokens on an H100 (textbook): TTFT 71.0 ms, ITL =
/// (16.06 + 0.27) GB / 3.35 TB/s + 0.32 ms = 5.19 ms.
/// @cite pope2023inference, section 2; agrawal2024sarathi; zhong2024distserve; leviathan2023speculative

#include <mlsysim/estimate/reported.hpp>
#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// One static batch, whose requests arrive together.
///
/// `decode_hardware` is a second pool with as many devices, which receives the KV cache over
/// `network_bandwidth`. Weights and requirements of both pools count. `draft_model` proposes `draft_tokens`
/// for each verification on the decoding devices, divided by tensor parallelism like its target.
struct ServingModel : Model<ServingModel> {
  static constexpr std::string_view id = "ServingModel";
  static constexpr std::string_view about =
      "time to first token, inter-token latency and memory of a replica";
  static constexpr std::string_view law = "ttft = prefill time; itl = time of one decode step";
  static constexpr std::string_view source = "pope2023inference";
  static constexpr std::array walls{4};
  static constexpr std::array fallacies{Fallacy{"Prefill and decode are limited by the same thing.",
                                                "Prefill reads the weights once for thousands of tokens, "
                                                "decode once for each: the first is bound by "
                                                "arithmetic, the second by memory."},
                                        Fallacy{"The weights decide how many requests fit.",
                                                "Keys and values grow with every token of every sequence and "
                                                "soon take more room than the weights."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    std::optional<double> seq_len{};
    double batch_size = 1;
    std::optional<double> output_tokens{};
    std::optional<Precision> precision{}, kv_precision{};
    std::optional<WeightFormat> weight_format{};
    std::optional<double> weight_bits{};
    std::optional<double> efficiency{};
    double tp_size = 1, pp_size = 1, ep_size = 1;
    CollectiveAlgorithm collective_algorithm = CollectiveAlgorithm::usual;
    std::optional<Precision> dispatch_precision{};
    std::optional<ExpertCopies> expert_copies{};
    ExpertOverlap expert_overlap = ExpertOverlap::none;
    std::optional<double> rank_imbalance{};
    double cached_prefix_len = 0;
    std::optional<double> prefill_chunk_tokens{};
    std::optional<bool> chunked_prefill{};
    const ServingEngine* engine = nullptr;
    std::optional<Execution> execution{};
    double offload_weights = 0, offload_experts = 0;
    std::optional<Bandwidth<>> host_memory_bandwidth{};
    const HardwareNode* decode_hardware = nullptr;
    Bandwidth<> network_bandwidth = 100.0 * (unit::GB / unit::s);
    const Workload* draft_model = nullptr;
    double draft_acceptance_rate = 0.7;
    std::optional<double> draft_tokens{}, draft_acceptance_decay{}, acceptance_length{};
    const Fleet* fleet = nullptr;
    std::optional<Power<>> power_cap{};
    double clock_limit = 1;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
               field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
               field(&I::batch_size, key::batch_size).defaulted("one sequence"),
               field(&I::output_tokens, key::output_tokens)
                   .at_least(1)
                   .counted()
                   .defaulted("decode priced at the prompt's context")),
          serving_format_rows<I>(), replica_rows<I>(),
          rows(field(&I::cached_prefix_len, key::cached_prefix_len)
                   .non_negative()
                   .counted()
                   .defaulted("nothing cached")),
          pass_rows<I>(), pass_engine_rows<I>(), host_memory_rows<I>(), host_expert_rows<I>(),
          rows(field(&I::decode_hardware, key::decode_hardware).defaulted("the same devices")),
          transfer_rows<I>(), speculation_rows<I>(),
          rows(field(&I::fleet, key::fleet).defaulted("the machines in which the device ships")),
          power_rows<I>(), launch_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result : ServingEstimate<> {
    using base_type = Reported<ServingEstimate<>>;
    bool feasible = false;
    double accelerators = 1;
    Data<> model_weights_size, total_memory_required;
    double memory_utilization = 0;
    double prompt_cache_hit_ratio = 0, prefill_chunks = 1;
    Time<> decode_stall_bound;
    Bottleneck prefill_bottleneck = Bottleneck::compute, bottleneck = Bottleneck::memory;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return join(
          rows(field(&R::feasible, "feasible", "", "fits in memory, of both pools where there are two")),
          inherited<R>(base_type::fields()),
          rows(field(&R::accelerators, key::accelerators),
               field(&R::model_weights_size, key::model_weights_size),
               field(&R::total_memory_required, key::total_memory_required),
               field(&R::memory_utilization, key::memory_utilization),
               field(&R::prompt_cache_hit_ratio, key::prompt_cache_hit_ratio),
               field(&R::prefill_chunks, key::prefill_chunks),
               field(&R::decode_stall_bound, key::decode_stall_bound),
               field(&R::prefill_bottleneck, "prefill_bottleneck", "", "what limits the prefill"),
               field(&R::bottleneck, key::bottleneck),
               field(&R::fidelity, "fidelity", "", "fidelity of this result")));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

#pragma once
/// Parallel plan that trains fastest on a fleet (wall 14).
///
///   min step_latency subject to memory_utilization <= 1      tp pp dp ep cp = accelerators
///
/// Each candidate goes through DistributedModel: degrees that divide fleet, heads, experts and batch, with
/// ZeRO stage, micro-batch, interleaving and recomputation. The simpler of two equal plans wins.
/// Operator fidelity takes the communication overlap as given. Textbook tries overlap on and off, without CP.
/// Limits: plans that leave a device idle or a division uneven are not tried.
/// Example: Llama-3.1-8B, bf16, batch 512 of 2048 tokens on Research_256 (256 H100): of 15,354 plans the best
/// is PP 2, DP 128, ZeRO 1, two micro-batches, four model chunks per device. A step takes 647 ms, MFU 0.30.
/// @cite narayanan2021megatron, section 3

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Searches all plans that divide evenly.
struct ParallelismOptimizer : Optimizer<ParallelismOptimizer> {
  static constexpr std::string_view id = "ParallelismOptimizer";
  static constexpr std::string_view about = "parallel plan that trains fastest on a fleet";
  static constexpr std::string_view law = "min step_latency subject to memory_footprint <= capacity";
  static constexpr std::string_view source = "narayanan2021megatron";
  static constexpr std::array walls{14};
  static constexpr std::array fallacies{Fallacy{"The plan that fits with the fewest splits is the fastest.",
                                                "A shard of the optimizer or a second stage often frees the "
                                                "memory for larger, better filled products."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const Fleet* fleet = nullptr;
    double batch_size = 0;
    std::optional<double> seq_len{};
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    std::optional<double> max_tp{}, max_pp{}, max_cp{};
    std::optional<double> ep_size{};
    double max_v_stages = 8, max_zero_stage = 3;
    std::optional<Recomputation> recomputation{};
    std::optional<double> overlap_efficiency{}, tp_overlap{};
    OptimizerKind optimizer = OptimizerKind::adam;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::workload, key::workload), field(&I::fleet, key::fleet),
          field(&I::batch_size, key::batch_size),
          field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
          field(&I::precision, key::precision).defaulted("the device's default precision"),
          field(&I::efficiency, key::efficiency).defaulted("0.5 (textbook) or the device's share (operator)"),
          field(&I::max_tp, "max_tp", "", "largest tensor-parallel degree")
              .at_least(1)
              .counted()
              .defaulted("the devices of a node"),
          field(&I::max_pp, "max_pp", "", "most pipeline stages")
              .at_least(1)
              .counted()
              .defaulted("the layers of the model"),
          field(&I::max_cp, "max_cp", "", "largest context-parallel degree")
              .at_least(1)
              .counted()
              .defaulted("the devices of a node"),
          field(&I::ep_size, key::ep_size).defaulted("every number that divides the experts"),
          field(&I::max_v_stages, "max_v_stages", "", "most model chunks of a device (interleaving)")
              .at_least(1)
              .counted()
              .defaulted("8"),
          field(&I::max_zero_stage, "max_zero_stage", "", "highest ZeRO stage to consider")
              .within(0, 3)
              .counted()
              .defaulted("3"),
          field(&I::recomputation, key::recomputation).defaulted("none, selective and full are tried"),
          field(&I::overlap_efficiency, key::overlap_efficiency)
              .within(0, 1)
              .defaulted("that of zoo/defaults.yaml; none as well at textbook fidelity"),
          field(&I::tp_overlap, key::tp_overlap).defaulted("none"),
          field(&I::optimizer, key::optimizer).defaulted("Adam"),
          field(&I::fidelity, key::fidelity).defaulted("operator where the shape is known"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    SearchSummary search;
    double tp_size = 1, pp_size = 1, dp_size = 1, ep_size = 1, cp_size = 1, zero_stage = 0,
           microbatch_count = 1, v_stages = 1;
    Recomputation recomputation = Recomputation::none;
    double overlap_efficiency = 0, tp_overlap = 0;
    Time<> best_step_time;
    SampleRate<> best_throughput;
    double best_mfu = 0, scaling_efficiency = 0, memory_utilization = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::search, "search", "", "what was tried"), field(&R::tp_size, key::tp_size),
          field(&R::pp_size, key::pp_size), field(&R::dp_size, key::dp_size),
          field(&R::ep_size, key::ep_size), field(&R::cp_size, key::cp_size),
          field(&R::zero_stage, key::zero_stage), field(&R::microbatch_count, key::microbatch_count),
          field(&R::v_stages, key::v_stages), field(&R::recomputation, key::recomputation),
          field(&R::overlap_efficiency, key::overlap_efficiency), field(&R::tp_overlap, key::tp_overlap),
          field(&R::best_step_time, "best_step_time", "ms", "time of a step"),
          field(&R::best_throughput, "best_throughput", "sample/s", "sequences or samples per second"),
          field(&R::best_mfu, "best_mfu", "", "model FLOPs utilization"),
          field(&R::scaling_efficiency, "scaling_efficiency", "", "compute time over step time"),
          field(&R::memory_utilization, "memory_utilization", "", "fullest device over its capacity"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] std::optional<Result> solve(const Inputs& in, Search& search, Notes& notes) const;
};

}  // namespace mlsysim

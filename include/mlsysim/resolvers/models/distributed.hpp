#pragma once
/// Time, memory and throughput of one training step under a DP, TP, PP, EP and CP plan (wall 14).
///
///   step = micro-batches x slot + bubble + exposed communication + update
///   dp = accelerators / (tp pp ep cp)
///
/// slot: forward and backward pass of one micro-batch [s]. The dp replicas share `batch_size`.
/// Operator: first and last stage from the operator list, bubble of the schedule, collectives on the links of
/// the fleet.
/// Textbook: totals, with tp, pp, dp, ep and full recomputation only. One memory model decides feasibility.
/// Example: ResNet-50, batch 8192, 256 H100 on 100 Gbit/s Ethernet (textbook): 1.59 ms compute + 4.30 ms
/// all-reduce + 1.51 ms software = 7.40 ms.
/// @cite narayanan2021megatron, sections 2 and 3; korthikanti2022recomputation, section 4 (sequence
/// parallelism); rajbhandari2020zero, section 5; liu2023ringattention (context parallelism);
/// qi2023zerobubble, section 2

#include <mlsysim/estimate/reported.hpp>
#include <mlsysim/estimate/training.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// One optimizer step under a given parallel plan.
struct DistributedModel : Model<DistributedModel> {
  static constexpr std::string_view id = "DistributedModel";
  static constexpr std::string_view about = "time, memory and throughput of a training step on a fleet";
  static constexpr std::string_view law =
      "step = micro-batches * slot + bubble + exposed communication + update";
  static constexpr std::string_view source = "narayanan2021megatron";
  static constexpr std::array walls{14};
  static constexpr std::array fallacies{
      Fallacy{"Twice the accelerators train twice as fast.",
              "At a fixed global batch each replica has half the work, and the gradient exchange does not "
              "shrink."},
      Fallacy{
          "Pipeline stages are free when the layers divide evenly.",
          "(stages - 1) / micro-batches of the compute time is spent filling and draining the pipeline."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const Fleet* fleet = nullptr;
    double batch_size = 1;
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    std::optional<Power<>> power_cap{};
    double clock_limit = 1;
    const ServingEngine* engine = nullptr;
    std::optional<Execution> execution{};
    double tp_size = 1, pp_size = 1, ep_size = 1, cp_size = 1;
    CollectiveAlgorithm collective_algorithm = CollectiveAlgorithm::usual;
    std::optional<Precision> dispatch_precision{};
    std::optional<ExpertCopies> expert_copies{};
    ExpertOverlap expert_overlap = ExpertOverlap::none;
    std::optional<double> rank_imbalance{};
    Schedule schedule = Schedule::one_forward_one_backward;
    std::optional<double> expert_tp_size{};
    double v_stages = 1;
    std::optional<double> microbatch_size{}, microbatch_count{};
    double gradient_accumulation_steps = 1;
    double zero_stage = 0;
    std::optional<double> shard_size{};
    Recomputation recomputation = Recomputation::selective;
    double recomputed_share = 1;
    bool sequence_parallel = true;
    AttentionKernel attention_kernel = AttentionKernel::fused;
    bool dropout = false;
    bool kernel_fusion = true;
    bool backward_prefetch = true;
    std::optional<Precision> gradient_precision{}, moment_precision{};
    std::optional<std::string> states{};
    std::optional<double> seq_len{};
    OptimizerKind optimizer = OptimizerKind::adam;
    double trainable_fraction = 1;
    std::optional<WeightFormat> weight_format{};
    std::optional<double> lora_rank{};
    LoraModules lora_modules = LoraModules::all;
    bool fused_loss = false;
    std::optional<double> overlap_efficiency{}, overlap_slowdown{};
    double tp_overlap = 0;
    double offload_weights = 0, offload_activations = 0, offload_states = 0, offload_gradients = 0;
    std::optional<Bandwidth<>> host_memory_bandwidth{};
    double congestion_factor = 1, straggler_factor = 1;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(field(&I::workload, key::workload), field(&I::fleet, key::fleet),
               field(&I::batch_size, key::batch_size).defaulted("one sequence"),
               field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
               field(&I::precision, key::precision).defaulted("the device's default precision"),
               field(&I::weight_format, key::weight_format)
                   .defaulted("16 bits, or the format of the arithmetic if wider"),
               field(&I::efficiency, key::efficiency)
                   .defaulted("0.5 (textbook) or the device's share (operator)"),
               field(&I::tp_size, key::tp_size).defaulted("no tensor parallelism"),
               field(&I::pp_size, key::pp_size).defaulted("no pipeline"),
               field(&I::ep_size, key::ep_size).defaulted("experts not spread")),
          training_plan_rows<I>(), host_memory_rows<I>(), training_step_rows<I>(), power_rows<I>(),
          rows(field(&I::engine, key::engine).defaulted("kernels fused by hand or by a compiler")),
          launch_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result : TrainingEstimate<> {
    using base_type = Reported<TrainingEstimate<>>;
    bool feasible = false;
    Bottleneck bottleneck = Bottleneck::compute;
    double tp_size = 1, pp_size = 1, ep_size = 1, cp_size = 1, accelerators = 1;
    Data<> memory_footprint;
    double memory_utilization = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return join(
          rows(field(&R::feasible, "feasible", "", "every device holds its part")),
          inherited<R>(base_type::fields()),
          rows(field(&R::bottleneck, key::bottleneck),
               field(&R::tp_size, "tp_size", "", "tensor-parallel degree"),
               field(&R::pp_size, "pp_size", "", "pipeline-parallel degree"),
               field(&R::ep_size, "ep_size", "", "expert-parallel degree"),
               field(&R::cp_size, "cp_size", "", "context-parallel degree"),
               field(&R::accelerators, key::accelerators), field(&R::memory_footprint, key::memory_footprint),
               field(&R::memory_utilization, key::memory_utilization),
               field(&R::fidelity, "fidelity", "", "fidelity of this result")));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

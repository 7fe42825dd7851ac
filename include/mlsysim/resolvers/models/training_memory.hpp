#pragma once
/// Memory of the fullest device of a training run, by use (wall 2).
///
///   total = weights + gradients + optimizer states + activations + buffers
///
/// ZeRO stages 1, 2, 3 divide states, gradients and weights by the shard size. Pipeline stages keep the
/// activations of several micro-batches. Recomputation decides which activations are saved.
/// Example: Llama-3.1-8B, fp16, Adam, batch 8 of 1024 tokens, selective recomputation (textbook): 16.06 +
/// 16.06 + 96.36 + 36.51 + 0.80 = 165.8 GB. ZeRO-3 over 8 replicas leaves 20.7 GB.
/// @cite korthikanti2022recomputation, section 4; rajbhandari2020zero, section 3

#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Bytes of each kind under a parallel plan, and whether they fit.
struct TrainingMemoryModel : Model<TrainingMemoryModel> {
  static constexpr std::string_view id = "TrainingMemoryModel";
  static constexpr std::string_view about = "memory of one device in training, by use";
  static constexpr std::string_view law =
      "total = weights + gradients + optimizer states + activations + buffers";
  static constexpr std::string_view source = "korthikanti2022recomputation";
  static constexpr std::array walls{2};
  static constexpr std::array fallacies{Fallacy{"Training needs about as much memory as inference.",
                                                "Mixed-precision Adam keeps 16 bytes per weight, eight times "
                                                "the two that inference needs, and activations on top."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double batch_size = 1;
    std::optional<double> seq_len{};
    std::optional<Precision> precision{};
    OptimizerKind optimizer = OptimizerKind::adam;
    Recomputation recomputation = Recomputation::selective;
    double recomputed_share = 1;
    double tp_size = 1, pp_size = 1, dp_size = 1, ep_size = 1, cp_size = 1;
    Schedule schedule = Schedule::one_forward_one_backward;
    std::optional<double> expert_tp_size{};
    double v_stages = 1;
    double zero_stage = 0;
    std::optional<double> shard_size{};
    double gradient_accumulation_steps = 1;
    double trainable_fraction = 1;
    std::optional<WeightFormat> weight_format{};
    std::optional<double> lora_rank{};
    LoraModules lora_modules = LoraModules::all;
    bool fused_loss = false;
    bool sequence_parallel = true;
    AttentionKernel attention_kernel = AttentionKernel::fused;
    bool dropout = false;
    bool kernel_fusion = true;
    std::optional<Precision> gradient_precision{}, moment_precision{};
    std::optional<std::string> states{};
    double offload_weights = 0, offload_activations = 0, offload_states = 0, offload_gradients = 0;
    std::optional<Bandwidth<>> host_memory_bandwidth{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
               field(&I::batch_size, key::batch_size).defaulted("one sequence"),
               field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
               field(&I::precision, key::precision).defaulted("the device's default precision"),
               field(&I::weight_format, key::weight_format)
                   .defaulted("16 bits, or the format of the arithmetic if wider"),
               field(&I::tp_size, key::tp_size).defaulted("no tensor parallelism"),
               field(&I::pp_size, key::pp_size).defaulted("no pipeline"),
               field(&I::dp_size, key::dp_size).defaulted("one replica"),
               field(&I::ep_size, key::ep_size).defaulted("experts not spread")),
          training_plan_rows<I>(), host_memory_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result {
    bool feasible = false;
    MemoryBreakdown<> memory;
    Data<> total_memory, available_memory;
    double memory_utilization = 0;
    double microbatch_size = 1, microbatch_count = 1;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::feasible, "feasible", "", "fits in memory"),
                  field(&R::memory, "memory", "", "memory of the fullest device by use"),
                  field(&R::total_memory, "total_memory", "GB", "sum of the parts"),
                  field(&R::available_memory, "available_memory", "GB", "device memory"),
                  field(&R::memory_utilization, key::memory_utilization),
                  field(&R::microbatch_size, "microbatch_size", "", "sequences of one micro-batch"),
                  field(&R::microbatch_count, "microbatch_count", "", "micro-batches per replica and step"),
                  field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

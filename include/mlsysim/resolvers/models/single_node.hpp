#pragma once
/// Time, memory and energy of one batch on one device, for inference or a training step (walls 1 and 2).
///
///   latency = max(work / (peak efficiency), traffic / bandwidth) + overhead      (textbook)
///
/// work [FLOP], traffic [B]: published totals, with a tenth of the weights as activation traffic per sample.
/// overhead: dispatch and a fixed time per layer. Operator fidelity sums over the operators instead.
/// Inference of a language model is one decode step at context `seq_len`. Training adds backward and update.
/// Bytes that do not fit cross the host link, and the result is infeasible.
/// Example: Llama-3.1-8B, one fp16 token on an H100 (textbook): 1.1 x 16.06 GB / 3.35 TB/s + 0.33 ms =
/// 5.60 ms. Arithmetic alone would take 0.032 ms at efficiency 0.5.
/// @cite williams2009roofline, section 3

#include <mlsysim/estimate/inference.hpp>
#include <mlsysim/estimate/reported.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// One batch on one device.
///
/// An encoder takes one sequence of `seq_len` per sample, a convolutional network one image.
struct SingleNodeModel : Model<SingleNodeModel> {
  static constexpr std::string_view id = "SingleNodeModel";
  static constexpr std::string_view about = "time, memory and energy of one batch on one device";
  static constexpr std::string_view law =
      "latency = max(work / (peak efficiency), traffic / bandwidth) + overhead";
  static constexpr std::string_view source = "williams2009roofline";
  static constexpr std::array walls{1, 2};
  static constexpr std::array fallacies{
      Fallacy{"A device with twice the peak rate runs every model twice as fast.",
              "Below the ridge intensity the memory bandwidth decides, and decoding at small batches is "
              "always below it."},
      Fallacy{"A model fits when its weights fit.",
              "Keys and values, activations, optimizer states and the framework share the same memory."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double batch_size = 1;
    std::optional<Precision> precision{};
    std::optional<WeightFormat> weight_format{};
    std::optional<double> efficiency{};
    bool is_training = false;
    std::optional<double> seq_len{};
    double zero_stage = 0;
    double dp_size = 1;
    Recomputation recomputation = Recomputation::none;
    OptimizerKind optimizer = OptimizerKind::adam;
    double trainable_fraction = 1;
    std::optional<Power<>> power_cap{};
    double clock_limit = 1;
    const ServingEngine* engine = nullptr;
    std::optional<Execution> execution{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
               field(&I::batch_size, key::batch_size).defaulted("one sample"),
               field(&I::precision, key::precision).defaulted("the device's default precision"),
               field(&I::weight_format, key::weight_format).defaulted("as precision"),
               field(&I::efficiency, key::efficiency)
                   .defaulted("0.5 (textbook) or the device's share (operator)"),
               field(&I::is_training, key::is_training).defaulted("inference"),
               field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
               field(&I::zero_stage, key::zero_stage).defaulted("no sharding"),
               field(&I::dp_size, key::dp_size).defaulted("one replica"),
               field(&I::recomputation, key::recomputation).defaulted("nothing recomputed"),
               field(&I::optimizer, key::optimizer).defaulted("Adam"),
               field(&I::trainable_fraction, key::trainable_fraction).defaulted("all weights")),
          power_rows<I>(),
          rows(field(&I::engine, key::engine).defaulted("kernels fused by hand or by a compiler")),
          launch_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result : InferenceEstimate<> {
    using base_type = Reported<InferenceEstimate<>>;
    bool feasible = false;
    Bottleneck bottleneck = Bottleneck::compute;
    std::optional<Energy<>> energy{};  ///< absent where the device has no TDP
    double hfu = 0;
    Data<> memory_footprint;
    double memory_utilization = 0;
    ComputeRate<> peak_flops_actual;
    Bandwidth<> peak_bw_actual;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return join(
          inherited<R>(base_type::fields()),
          rows(field(&R::feasible, "feasible", "", "fits in memory"), field(&R::bottleneck, key::bottleneck),
               field(&R::energy, "energy", "J",
                     "electrical energy of the batch; absent where the device has no TDP"),
               field(&R::hfu, key::hfu), field(&R::memory_footprint, key::memory_footprint),
               field(&R::memory_utilization, key::memory_utilization),
               field(&R::peak_flops_actual, key::peak_flops_actual),
               field(&R::peak_bw_actual, key::peak_bw_actual),
               field(&R::fidelity, "fidelity", "", "fidelity of this result")));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

#pragma once
/// Throughput of a device that keeps activations and streams the weights in layer by layer (wall 6).
///
///   layer time = max(layer_weights / bandwidth, batch work_per_sample / (peak efficiency) + dispatch)
///   token_throughput = tokens of the batch / (layers x layer time)
///
/// bandwidth: one-way rate of the link that brings the weights. work_per_sample: FLOP of one layer.
/// Textbook: equal layers, arithmetic of the weights, and attention in prefill only. Operator: operator list,
/// and for a mixture of experts only the experts that the batch touches.
/// Limits: the next layer arrives fully behind the current one. Caches and activations must fit on the
/// device.
/// Example: Llama-3.1-8B fp16, batch 64, link 1.2 TB/s, 62.5 PFLOP/s (textbook): 0.502 GB / 1.2 TB/s =
/// 0.418 ms a layer against 0.011 ms of arithmetic, 4782 token/s.
/// @cite lie2022weightstreaming, weight streaming

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// The pass whose layers are streamed.
enum class StreamPhase : std::uint8_t { decode, prefill };
template <> inline constexpr auto names_of<StreamPhase> = ChoiceNames{"phase"};

/// One decode step or prefill, and the batch at which link and arithmetic take equally long.
struct WeightStreamingModel : Model<WeightStreamingModel> {
  static constexpr std::string_view id = "WeightStreamingModel";
  static constexpr std::string_view about = "throughput of a device that streams its weights";
  static constexpr std::string_view law =
      "layer time = max(layer weights / link bandwidth, layer work / (peak efficiency) + dispatch)";
  static constexpr std::string_view source = "lie2022weightstreaming";
  static constexpr std::array walls{6};
  static constexpr std::array fallacies{
      Fallacy{"A wafer of arithmetic makes one user fast.",
              "At batch one the link that brings the weights decides, whatever the wafer can compute."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    std::optional<double> seq_len{};
    double batch_size = 1;
    StreamPhase phase = StreamPhase::decode;
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    std::optional<Bandwidth<>> injection_bandwidth{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::workload, key::workload), field(&I::hardware, key::hardware),
          field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
          field(&I::batch_size, key::batch_size).defaulted("one sequence"),
          field(&I::phase, "phase", "", "decode or prefill").defaulted("decode"),
          field(&I::precision, key::precision).defaulted("the device's default precision"),
          field(&I::efficiency, key::efficiency).defaulted("0.5 (textbook) or the device's share (operator)"),
          field(&I::injection_bandwidth, "injection_bandwidth", "GB/s",
                "link that brings the weights, one way")
              .positive()
              .defaulted("the device's host link, else its device link"),
          field(&I::fidelity, key::fidelity).defaulted("operator where the shape is known"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    bool feasible = false;
    TokenRate<> token_throughput;
    Bottleneck bottleneck = Bottleneck::network;
    Time<> layer_compute_time, layer_injection_time, latency;
    double optimal_batch_size = 1, memory_utilization = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::feasible, "feasible", "", "caches and activations fit on the device"),
          field(&R::token_throughput, key::token_throughput),
          field(&R::bottleneck, "bottleneck", "", "compute, or network for the link that brings the weights"),
          field(&R::layer_compute_time, "layer_compute_time", "ms", "arithmetic of one layer"),
          field(&R::layer_injection_time, "layer_injection_time", "ms", "time to bring one layer in"),
          field(&R::latency, "latency", "ms", "one pass over all layers"),
          field(&R::optimal_batch_size, "optimal_batch_size", "",
                "batch at which link and arithmetic take as long"),
          field(&R::memory_utilization, key::memory_utilization),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

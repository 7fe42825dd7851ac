#pragma once
/// Smallest machine that meets a latency target: arithmetic rate, memory bandwidth and capacity (wall 22).
///
///   required_flops = work / (latency efficiency)      required_bw = traffic / latency      (textbook)
///
/// work: FLOP of one pass. traffic: bytes of one pass, at textbook fidelity the weights alone.
/// Operator fidelity finds rates at which the times of all operators and launches add up to the latency.
/// There the ratio of rate to bandwidth is that of the two rates needed with the other side infinitely fast.
/// Limits: one device. A latency below launches and dispatch alone has no solution.
/// Example: Llama-3.1-8B, one fp16 token in 10 ms at efficiency 0.5: 16.06 GB / 10 ms = 1606 GB/s and
/// 2 x 8.03e9 / (10 ms x 0.5) = 3.21 TFLOP/s (textbook).
/// @cite williams2009roofline, section 3

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Inverts the roofline or the operator list for the rates of the device. `verify` recomputes the latency.
struct SynthesisSolver : Solver<SynthesisSolver> {
  static constexpr std::string_view id = "SynthesisSolver";
  static constexpr std::string_view about = "smallest machine that meets a latency";
  static constexpr std::string_view law =
      "required_flops = work / (time efficiency); required_bw = traffic / (time memory_share)";
  static constexpr std::string_view source = "williams2009roofline";
  static constexpr std::array walls{22};
  static constexpr std::array fallacies{
      Fallacy{"A chip with enough FLOPs is fast enough.",
              "Decoding asks for bandwidth: two FLOPs for every two bytes of weights."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    Time<> target_latency;
    double batch_size = 1;
    std::optional<double> seq_len{};
    Precision precision = Precision::fp16;
    std::optional<double> efficiency{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::workload, key::workload), field(&I::target_latency, key::target_latency),
          field(&I::batch_size, key::batch_size).defaulted("one sample"),
          field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
          field(&I::precision, key::precision).defaulted("fp16, convention of MLSys-im"),
          field(&I::efficiency, key::efficiency).defaulted("0.5 (textbook) or zoo/defaults.yaml (operator)"),
          field(&I::fidelity, key::fidelity).defaulted("operator where the shape is known"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    Bandwidth<> required_bw;
    ComputeRate<> required_flops;
    Data<> required_memory, model_size;
    Intensity<> compute_memory_ratio;
    Work<> total_ops;
    Data<> total_traffic;
    Time<> overhead;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::required_bw, "required_bw", "GB/s", "memory bandwidth"),
          field(&R::required_flops, "required_flops", "TFLOP/s", "peak arithmetic rate"),
          field(&R::required_memory, "required_memory", "GB", "memory"),
          field(&R::model_size, "model_size", "GB", "weights"),
          field(&R::compute_memory_ratio, "compute_memory_ratio", "FLOP/B", "rate over bandwidth"),
          field(&R::total_ops, "total_ops", "GFLOP", "arithmetic of one pass"),
          field(&R::total_traffic, "total_traffic", "GB", "bytes of one pass"),
          field(&R::overhead, "overhead", "ms", "launches and dispatch, which no machine removes (operator)"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Outcome<Result> solve(const Inputs& in, Notes& notes) const;
  using Solver::solve;
  /// The latency of the machine that was found, against the one that was asked for.
  [[nodiscard]] Check verify(const Inputs& in, const Result& result) const;
};

}  // namespace mlsysim

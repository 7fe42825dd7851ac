#pragma once
/// The smallest machine that meets a latency (wall 22).

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Arithmetic rate, bandwidth and memory that a latency needs.
///
/// Textbook: the roofline's two sides, each alone: bandwidth = weights / latency, rate = work / (latency
/// efficiency). Operator: the device whose every operator, launches included, adds up to the latency; rate
/// and bandwidth are in the proportion of what each would have to be if the other were endless. The answer is
/// put back into the fidelity_model of the list. A latency below the time of the launches alone has no
/// answer.
/// @cite williams2009roofline, section 3
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

    static constexpr auto fields() {
      using I = Inputs;
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

    static constexpr auto fields() {
      using R = Result;
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

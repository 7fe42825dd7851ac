#pragma once
/// Elasticities of a latency with respect to five parameters of the device, and the parameter that binds
/// (wall 21).
///
///   elasticity = d log latency / d log parameter      binding = the parameter with the largest |elasticity|
///
/// -1: the parameter alone sets the latency. 0: it does not matter. Below 0.01 nothing binds. Elasticities
/// are one-sided, for an increase. Changes are computed at (1 + perturbation) * parameter. Parameters:
/// arithmetic rates, memory bandwidth, memory capacity, launch and dispatch time, link bandwidth. Limits: a
/// model that does not fit in memory has no elasticities, only the answer that memory capacity binds.
/// Example: Llama3_70B on 8x H100, 16 requests in flight, 2,048 tokens in, 128 out: ITL 21.9 ms.
/// Memory bandwidth binds, with an elasticity of -0.32.
/// @cite griewank2008derivatives, section 3.1

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>

namespace mlsysim {

/// Elasticities of the latency of a workload on a device, and the parameter that binds.
///
/// `mlsysim sensitivity` answers for all inputs of a scenario, and for other results.
struct SensitivitySolver : Solver<SensitivitySolver> {
  static constexpr std::string_view id = "SensitivitySolver";
  static constexpr std::string_view about = "what a latency hangs on, and what binds";
  static constexpr std::string_view law =
      "elasticity = d log latency / d log figure; binding = argmax |elasticity|";
  static constexpr std::string_view source = "griewank2008derivatives";
  static constexpr std::array walls{21};
  static constexpr std::array fallacies{
      Fallacy{"Twice the FLOPs, half the time.",
              "Only where arithmetic binds; beyond the kink of the roofline the slope is 0."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    std::optional<Mode> mode{};
    double batch_size = 1;
    std::optional<double> seq_len{};
    std::optional<double> accelerators{};
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    double perturbation = 0.1;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::workload, key::workload), field(&I::hardware, key::hardware),
          field(&I::mode, key::mode).defaulted("serve for a language model that generates, else infer"),
          field(&I::batch_size, key::batch_size).defaulted("one sample"),
          field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
          field(&I::accelerators, key::accelerators).defaulted("one"),
          field(&I::precision, key::precision).defaulted("the device's default precision"),
          field(&I::efficiency, key::efficiency).defaulted("0.5 (textbook) or the device's share (operator)"),
          field(&I::perturbation, "perturbation", "", "relative move of a figure")
              .within(1e-6, 0.999)
              .defaulted("0.1, convention of MLSys-im"),
          field(&I::fidelity, key::fidelity).defaulted("operator where the shape is known"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    std::string metric;
    Time<> baseline_latency;
    double peak_flops = 0, memory_bandwidth = 0, memory_capacity = 0, overhead = 0, interconnect = 0;
    double peak_flops_change = 0, memory_bandwidth_change = 0, memory_capacity_change = 0,
           overhead_change = 0, interconnect_change = 0;
    std::string binding_constraint, shadow_price;
    double perturbation = 0.1;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::metric, "metric", "", "the latency that was asked about: latency, itl or step_latency"),
          field(&R::baseline_latency, "baseline_latency", "ms", "at the figures as they are"),
          field(&R::peak_flops, "peak_flops", "", "elasticity with respect to the arithmetic rates"),
          field(&R::memory_bandwidth, "memory_bandwidth", "", "with respect to the memory bandwidth"),
          field(&R::memory_capacity, "memory_capacity", "", "with respect to the memory capacity"),
          field(&R::overhead, "overhead", "", "with respect to launches and dispatch"),
          field(&R::interconnect, "interconnect", "", "with respect to the bandwidth between devices"),
          field(&R::peak_flops_change, "peak_flops_change", "",
                "relative change of the latency for the perturbation"),
          field(&R::memory_bandwidth_change, "memory_bandwidth_change", "",
                "the same for the memory bandwidth"),
          field(&R::memory_capacity_change, "memory_capacity_change", "", "the same for the memory capacity"),
          field(&R::overhead_change, "overhead_change", "", "the same for launches and dispatch"),
          field(&R::interconnect_change, "interconnect_change", "",
                "the same for the bandwidth between devices"),
          field(&R::binding_constraint, "binding_constraint", "", "the figure with the largest elasticity"),
          field(&R::shadow_price, "shadow_price", "", "what more of it buys, in words"),
          field(&R::perturbation, "perturbation", "", "relative move of a figure"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Outcome<Result> solve(const Inputs& in, Notes& notes) const;
  using Solver::solve;
  /// The change that the slopes promise for a small move of the binding figure, against the latency computed
  /// there.
  [[nodiscard]] Check verify(const Inputs& in, const Result& result) const;
};

}  // namespace mlsysim

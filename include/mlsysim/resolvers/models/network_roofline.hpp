#pragma once
/// Whether a data-parallel training step is bound by arithmetic or by the gradient all-reduce (wall 14).
///
///   latency = max(6 params tokens / (peak efficiency), 2 (n - 1) / n params gradient_bytes / bandwidth)
///
/// tokens: of one device. n: devices. bandwidth: a device's share of the network. Full overlap is assumed.
/// Operator: active parameters and the tokens of a real step, and the batch at which both sides take equally
/// long.
/// Textbook: one token for the whole fleet and 2 params gradient_bytes over one link, so the network always
/// limits.
/// Example: Llama-3.1-8B fp16, 256 H100 at 12.5 GB/s, efficiency 0.5 (textbook): 0.38 us of arithmetic
/// against 8.03e9 x 4 B / 12.5 GB/s = 2.57 s.
/// @cite williams2009roofline; patarasuk2009allreduce, section 3

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Roofline of a fleet with the network as its slow side.
struct NetworkRooflineModel : Model<NetworkRooflineModel> {
  static constexpr std::string_view id = "NetworkRooflineModel";
  static constexpr std::string_view about = "arithmetic of a fleet against its gradient exchange";
  static constexpr std::string_view law =
      "latency = max(6 params tokens / (peak efficiency), 2 (n - 1) / n params gradient_bytes / bandwidth)";
  static constexpr std::string_view source = "williams2009roofline";
  static constexpr std::array walls{14};
  static constexpr std::array fallacies{Fallacy{"A larger model needs a faster network.",
                                                "Arithmetic and exchange both grow with the weights; the "
                                                "tokens of each device decide which is longer."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const Fleet* fleet = nullptr;
    std::optional<double> batch_size{};
    std::optional<double> seq_len{};
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::workload, key::workload), field(&I::fleet, key::fleet),
          field(&I::batch_size, key::batch_size).defaulted("one sequence for each device"),
          field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
          field(&I::precision, key::precision).defaulted("the device's default precision"),
          field(&I::efficiency, key::efficiency).defaulted("0.5 (textbook) or the device's share (operator)"),
          field(&I::fidelity, key::fidelity).defaulted("operator: the tokens of a step"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    Time<> latency, latency_compute, latency_network;
    Bottleneck bottleneck = Bottleneck::compute;
    Intensity<> arithmetic_intensity, ridge;
    double mfu = 0;
    TokenRate<> token_throughput;
    std::optional<double> ridge_batch_size;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::latency, key::latency), field(&R::latency_compute, key::latency_compute),
          field(&R::latency_network, "latency_network", "ms", "gradient exchange"),
          field(&R::bottleneck, key::bottleneck),
          field(&R::arithmetic_intensity, "arithmetic_intensity", "FLOP/B", "work per byte of exchange"),
          field(&R::ridge, "ridge", "FLOP/B", "work per byte at which both take as long"),
          field(&R::mfu, key::mfu), field(&R::token_throughput, key::token_throughput),
          field(&R::ridge_batch_size, "ridge_batch_size", "",
                "sequences of a step at which both take as long"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

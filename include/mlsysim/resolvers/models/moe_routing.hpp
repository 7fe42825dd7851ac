#pragma once
/// Load of the busiest expert in a mixture of experts, and the all-to-all traffic of its tokens (wall 14).
///
///   effective_active_experts = min(experts, top_k imbalance)
///   token_dispatch_size = tokens hidden bytes effective_active_experts (ranks - 1) / ranks
///
/// imbalance: load of the busiest expert over the mean. Operator default: that of uniform random routing.
/// Textbook: all active weights scale with the imbalance, and tokens travel once through one link.
/// Operator: only routed experts scale, sizes are per rank, and tokens travel there and back in every MoE
/// layer.
/// Example: 4096 tokens of 4096 fp16 values, top 2 of 8, imbalance 1.25, 8 ranks (textbook): 2.5 experts,
/// 73.4 MB. Over 12.5 GB/s with 50 us a step the exchange takes 6.22 ms.
/// @cite fedus2022switch, section 2.2; raabsteger1998balls, theorem 1

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Experts that have work, weights that a step waits for, and time of the exchange.
struct MoERoutingModel : Model<MoERoutingModel> {
  static constexpr std::string_view id = "MoERoutingModel";
  static constexpr std::string_view about = "load of experts and the traffic of their tokens";
  static constexpr std::string_view law =
      "effective experts = min(experts, top_k imbalance); dispatch = tokens top_k hidden bytes (ranks - 1) / "
      "ranks";
  static constexpr std::string_view source = "fedus2022switch";
  static constexpr std::array walls{14};
  static constexpr std::array fallacies{
      Fallacy{"A mixture costs what its active weights cost.",
              "At any useful batch nearly every expert has work, and the fullest one sets the pace."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    double batch_size = 1;
    std::optional<double> seq_len{};
    Precision precision = Precision::bf16;
    double ep_size = 1;
    std::optional<double> routing_imbalance_factor{};
    const Fleet* fleet = nullptr;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return rows(
          field(&I::workload, key::workload),
          field(&I::batch_size, key::batch_size).defaulted("one sequence"),
          field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
          field(&I::precision, "precision", "", "format of the tokens that travel").defaulted("bf16"),
          field(&I::ep_size, key::ep_size).defaulted("experts not spread"),
          field(&I::routing_imbalance_factor, "routing_imbalance_factor", "",
                "load of the fullest expert over the mean")
              .within(1, 1e6)
              .defaulted("1 (textbook) or chance (operator)"),
          field(&I::fleet, key::fleet).defaulted("no network: traffic without time"),
          field(&I::fidelity, key::fidelity).defaulted("operator: every layer, both ways"),
          field(&I::conventions, key::conventions).defaulted(kDefaults.view()));
    }
  };
  struct Result {
    double effective_active_experts = 0, experts_touched = 0, routing_imbalance_factor = 1,
           active_parameter_multiplier = 1;
    Params<> effective_active_parameters;
    Data<> token_dispatch_size;
    std::optional<Time<>> all_to_all_latency;
    double ep_size = 1, layers_with_experts = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::effective_active_experts, "effective_active_experts", "",
                "experts per token that the fullest one makes the step last for"),
          field(&R::experts_touched, "experts_touched", "", "distinct experts of a layer that have work"),
          field(&R::routing_imbalance_factor, "routing_imbalance_factor", "",
                "load of the fullest expert over the mean"),
          field(&R::active_parameter_multiplier, "active_parameter_multiplier", "",
                "effective over published active weights"),
          field(&R::effective_active_parameters, "effective_active_parameters", "Gparam",
                "weights per token that the step lasts for"),
          field(&R::token_dispatch_size, "token_dispatch_size", "MB",
                "tokens that travel in one direction and layer, all ranks (textbook) or one (operator)"),
          field(&R::all_to_all_latency, "all_to_all_latency", "ms",
                "one exchange (textbook), or both directions of all layers of a pass (operator)"),
          field(&R::ep_size, "ep_size", "", "ranks that share the experts"),
          field(&R::layers_with_experts, "layers_with_experts", "", "layers with routed experts"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

#pragma once
/// Compute-optimal model size and training tokens for a FLOP budget (wall 11).
///
///   loss = E + A / params^a + B / tokens^b      at work = 6 params tokens
///
/// Textbook: tokens = 20 params, so params = sqrt(work / 120). Operator: the minimum of a published loss fit.
/// With `served_tokens`: the least work of training and serving among models of that loss.
/// Limits: dense models of 44 million to 16 billion parameters were fitted. A size outside is warned of.
/// Example: 1.2e20 FLOP (textbook): sqrt(1.2e20 / 120) = 1e9 parameters and 2e10 tokens.
/// @cite hoffmann2022chinchilla, eqs. (4) and (10); besiroglu2024replication; sardana2024inference, eq. (2)

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/choices.hpp>

namespace mlsysim {

/// Published fits of the loss. `besiroglu` fits the runs of `hoffmann` again.
enum class LossFit : std::uint8_t { besiroglu, hoffmann };
template <> inline constexpr auto names_of<LossFit> = ChoiceNames{"fit of the loss"};

/// Parameters and tokens for a training budget.
struct ScalingModel : Model<ScalingModel> {
  static constexpr std::string_view id = "ScalingModel";
  static constexpr std::string_view about = "best size and data of a language model for a budget";
  static constexpr std::string_view law = "loss = E + A / params^a + B / tokens^b at work = 6 params tokens";
  static constexpr std::string_view source = "hoffmann2022chinchilla";
  static constexpr std::array walls{11};
  static constexpr std::array fallacies{Fallacy{
      "The compute-optimal model is the best model to deploy.",
      "It ignores serving: a smaller model, trained longer, costs less over its life at the same loss."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    std::optional<Work<>> compute_budget{};
    std::optional<Time<>> device_time{};
    std::optional<Params<>> target_model_size{};
    std::optional<Tokens<>> served_tokens{};
    LossFit fit = LossFit::besiroglu;
    std::optional<Fidelity> fidelity{};

    template <class I = Inputs> static constexpr auto fields() {
      return rows(field(&I::compute_budget, "compute_budget", "ZFLOP",
                        "arithmetic of the training run; or give device_time")
                      .positive()
                      .defaulted("device_time"),
                  field(&I::device_time, "device_time", "d",
                        "time of all H100-class devices together, at the reference utilization")
                      .positive()
                      .defaulted("compute_budget"),
                  field(&I::target_model_size, "target_model_size", "Gparam", "a fixed size")
                      .positive()
                      .defaulted("the best size"),
                  field(&I::served_tokens, "served_tokens", "Ttoken", "tokens of its service life (operator)")
                      .positive()
                      .defaulted("training alone counts"),
                  field(&I::fit, "fit", "", "published fit of the loss (operator)")
                      .defaulted("besiroglu: the same runs, fitted again"),
                  field(&I::fidelity, key::fidelity).defaulted("operator: the fitted loss"));
    }
  };
  struct Result {
    Params<> optimal_parameters;
    Tokens<> optimal_tokens;
    Work<> compute_budget, lifetime_work;
    Quantity<dim::tokens_per_param> tokens_per_parameter;
    std::optional<double> loss;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::optimal_parameters, "optimal_parameters", "Gparam", "size of the model"),
                  field(&R::optimal_tokens, "optimal_tokens", "Gtoken", "tokens to train on"),
                  field(&R::compute_budget, "compute_budget", "ZFLOP", "arithmetic of the training run"),
                  field(&R::lifetime_work, "lifetime_work", "ZFLOP", "arithmetic of training and service"),
                  field(&R::tokens_per_parameter, "tokens_per_parameter", "token/param", "their ratio"),
                  field(&R::loss, "loss", "", "loss per token in nats, by the fit (operator)"),
                  field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

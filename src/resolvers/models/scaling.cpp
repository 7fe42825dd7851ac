#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/scaling_laws.hpp>
#include <mlsysim/physics/training.hpp>
#include <mlsysim/resolvers/models/scaling.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {

namespace {

constexpr auto kWorkPerPair = 6.0 * unit::FLOP / unit::param / unit::token;

/// A fitted loss.
struct Fit {
  double irreducible, a, b, alpha, beta;

  [[nodiscard]] double loss(Params<> params, Tokens<> tokens) const {
    return ChinchillaLoss::solve<double>({params, tokens, irreducible, a, b, alpha, beta}).loss;
  }
  /// Tokens that bring a model of this size to a loss; infinite when it cannot get there.
  [[nodiscard]] double tokens_for(double params, double wanted) const {
    const double rest = wanted - irreducible - a * std::pow(params, -alpha);
    return rest > 0 ? std::pow(b / rest, 1 / beta) : kUnbounded;
  }
};

Fit fit_of(LossFit fit, const Figures& figures) {
  const std::string head = fmt::format("catalogue.chinchilla.{}.", name_of(fit));
  const auto at = [&](const char* name) { return figures.number(head + name); };
  return {at("irreducible"), at("params_coefficient"), at("tokens_coefficient"), at("params_exponent"),
          at("tokens_exponent")};
}

/// Size with the least work over its life among the models of one loss: golden section over the logarithm of
/// the size.
Params<> thrifty_size(const Fit& fit, double wanted, Params<> start, Tokens<> served) {
  const auto work = [&](double log_params) {
    const double n = std::exp(log_params), d = fit.tokens_for(n, wanted);
    return d < 1e30 ? LifetimeWork::solve<double>({Params<>::from_base(n), Tokens<>::from_base(d), served})
                          .work.base()
                    : 1e300;
  };
  // Smaller than the compute-optimal model, and large enough to reach the loss at all.
  double high = std::log(start.base());
  double low = std::log(std::pow(fit.a / (wanted - fit.irreducible), 1 / fit.alpha));
  constexpr double golden = 0.6180339887498949;
  for (int i = 0; i < 200 && high - low > 1e-10; ++i) {
    const double left = high - golden * (high - low), right = low + golden * (high - low);
    if (work(left) < work(right))
      high = right;
    else
      low = left;
  }
  return Params<>::from_base(std::exp((low + high) / 2));
}

/// Parameters, training tokens, work and loss of the model that a compute budget trains.
struct TrainedModel {
  Params<> params;
  Tokens<> tokens;
  Work<> work;
  std::optional<double> loss{};
};

/// 20 tokens per parameter.
TrainedModel textbook_model(const ScalingModel::Inputs& in, Work<> budget) {
  if (in.target_model_size)
    return {*in.target_model_size, budget / (*in.target_model_size * kWorkPerPair), budget};
  const auto best = ChinchillaOptimal::solve<double>({.work = budget});
  return {best.params, best.tokens, budget};
}

/// The least loss of a fitted curve. Of the models of that loss, the one with the least work over its life.
TrainedModel operator_model(const ScalingModel::Inputs& in, Work<> budget, const Figures& figures) {
  const Fit fit = fit_of(in.fit, figures);
  const auto best = ChinchillaAllocation::solve<double>({budget, fit.a, fit.b, fit.alpha, fit.beta});
  TrainedModel m{.params = in.target_model_size.value_or(best.params), .work = budget};
  m.tokens = budget / (m.params * kWorkPerPair);
  m.loss = fit.loss(m.params, m.tokens);
  if (in.served_tokens && !in.target_model_size) {
    m.params = thrifty_size(fit, *m.loss, best.params, *in.served_tokens);
    m.tokens = Tokens<>::from_base(fit.tokens_for(m.params.base(), *m.loss));
    m.work = TrainingWork::solve<double>({m.params, m.tokens}).work;
  }
  if (m.params.base() < 4e7 || m.params.base() > 2e10)
    figures.notes().warn(
        "the loss was fitted for models from 44 million to 16 billion parameters: this one lies outside",
        BreakReason::out_of_domain);
  return m;
}

}  // namespace

ScalingModel::Result ScalingModel::solve(const Inputs& asked, Notes& notes) const {
  if (asked.compute_budget.has_value() == asked.device_time.has_value())
    throw InputError({.id = "mlsysim.catalogue.033",
                      .message = "a budget is given once",
                      .key = "compute_budget",
                      .found = asked.compute_budget ? "compute_budget and device_time"
                                                    : "neither compute_budget nor device_time",
                      .expected = "one of compute_budget (FLOP) and device_time",
                      .hint = asked.compute_budget
                                  ? "leave one out"
                                  : "e.g. compute_budget = 1e23 FLOP, or device_time = 1000 d"});
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(asked, fidelity, {"fit"}, notes);
  const Figures figures = detail::zoo_figures(notes);
  const Work<> budget = in.compute_budget
                            ? *in.compute_budget
                            : *in.device_time *
                                  figures.figure<dim::compute_rate>("catalogue.scaling.reference_peak") *
                                  figures.number("catalogue.scaling.reference_mfu");
  const TrainedModel best =
      fidelity == Fidelity::textbook ? textbook_model(in, budget) : operator_model(in, budget, figures);
  Result r;
  r.fidelity = fidelity;
  r.compute_budget = best.work;
  r.optimal_parameters = best.params;
  r.optimal_tokens = best.tokens;
  r.loss = best.loss;
  r.lifetime_work =
      LifetimeWork::solve<double>({best.params, best.tokens, in.served_tokens.value_or(Tokens<>())}).work;
  r.tokens_per_parameter = best.tokens / best.params;
  return r;
}

}  // namespace mlsysim

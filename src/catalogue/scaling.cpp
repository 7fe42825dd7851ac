#include "detail/figures.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/models/scaling.hpp>
#include <mlsysim/physics/scaling_laws.hpp>
#include <mlsysim/physics/training.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {
namespace {

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

Fit fit_of(LossFit fit, Notes& notes) {
  const std::string head = fmt::format("catalogue.chinchilla.{}.", name_of(fit));
  const auto at = [&](const char* name) { return detail::number(head + name, notes); };
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

}  // namespace

ScalingModel::Result ScalingModel::solve(const Inputs& in, Notes& notes) const {
  if (in.compute_budget.has_value() == in.device_time.has_value())
    throw InputError({.id = "mlsysim.catalogue.033",
                      .message = "a budget is given once",
                      .key = "compute_budget",
                      .found = in.compute_budget ? "compute_budget and device_time"
                                                 : "neither compute_budget nor device_time",
                      .expected = "one of compute_budget (FLOP) and device_time",
                      .hint = in.compute_budget
                                  ? "leave one out"
                                  : "e.g. compute_budget = 1e23 FLOP, or device_time = 1000 d"});
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  if (in.compute_budget) {
    r.compute_budget = *in.compute_budget;
  } else {
    r.compute_budget = *in.device_time *
                       detail::figure<dim::compute_rate>("catalogue.scaling.reference_peak", notes) *
                       detail::number("catalogue.scaling.reference_mfu", notes);
  }
  const auto per_pair = 6.0 * unit::FLOP / unit::param / unit::token;
  if (r.fidelity == Fidelity::textbook) {
    detail::warn_of_unpriced(in, {"fit"}, notes);
    const auto best = ChinchillaOptimal::solve<double>({.work = r.compute_budget});
    r.optimal_parameters = in.target_model_size.value_or(best.params);
    r.optimal_tokens =
        in.target_model_size ? r.compute_budget / (*in.target_model_size * per_pair) : best.tokens;
  } else {
    const Fit fit = fit_of(in.fit, notes);
    const auto best =
        ChinchillaAllocation::solve<double>({r.compute_budget, fit.a, fit.b, fit.alpha, fit.beta});
    r.optimal_parameters = in.target_model_size.value_or(best.params);
    r.optimal_tokens = r.compute_budget / (r.optimal_parameters * per_pair);
    r.loss = fit.loss(r.optimal_parameters, r.optimal_tokens);
    if (in.served_tokens && !in.target_model_size) {
      r.optimal_parameters = thrifty_size(fit, *r.loss, best.params, *in.served_tokens);
      r.optimal_tokens = Tokens<>::from_base(fit.tokens_for(r.optimal_parameters.base(), *r.loss));
      r.compute_budget = TrainingWork::solve<double>({r.optimal_parameters, r.optimal_tokens}).work;
    }
    const double trained = r.optimal_parameters.base();
    if (trained < 4e7 || trained > 2e10)
      notes.warn(
          "the loss was fitted for models from 44 million to 16 billion parameters: this one lies outside");
  }
  r.lifetime_work = LifetimeWork::solve<double>(
                        {r.optimal_parameters, r.optimal_tokens, in.served_tokens.value_or(Tokens<>())})
                        .work;
  r.tokens_per_parameter = r.optimal_tokens / r.optimal_parameters;
  return r;
}

}  // namespace mlsysim

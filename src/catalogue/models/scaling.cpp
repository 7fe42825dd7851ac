#include "catalogue/shared/figures.hpp"
#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/models/scaling.hpp>
#include <mlsysim/physics/scaling_laws.hpp>
#include <mlsysim/physics/training.hpp>
#include <mlsysim/price/pricing.hpp>

namespace mlsysim {

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
  const Pricing& pricing = pricing_named(asked.fidelity);
  const Inputs in = detail::priced(asked, pricing.unpriced(PricedInputs::scaling), notes);
  const Figures figures = detail::zoo_figures(notes);
  const Work<> budget = in.compute_budget
                            ? *in.compute_budget
                            : *in.device_time *
                                  figures.figure<dim::compute_rate>("catalogue.scaling.reference_peak") *
                                  figures.number("catalogue.scaling.reference_mfu");
  const auto best = pricing.planning().best_model(
      {.work = budget, .params = in.target_model_size, .served_tokens = in.served_tokens, .fit = in.fit},
      figures);
  Result r;
  r.fidelity = pricing.fidelity();
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

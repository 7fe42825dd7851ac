#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/resolvers/models/responsible_engineering.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Probability with which a mechanism of separation mu breaks the budget epsilon (Dong et al. 2022,
/// corollary 2.13).
double delta_of(double mu, double epsilon) {
  if (mu <= 0) return 0;
  return normal_below(-epsilon / mu + mu / 2) - std::exp(epsilon) * normal_below(-epsilon / mu - mu / 2);
}

/// Least noise that keeps the budget; empty where even the noise of the law's range does not.
std::optional<double> noise_for(const ResponsibleEngineeringModel::Inputs& in) {
  const auto broken = [&](double sigma) {
    return delta_of(GaussianPrivacy::solve<double>({in.sampling_rate, in.steps, sigma}).mu, in.epsilon) >
           in.delta;
  };
  double low = 0.2, high = 1000;
  if (!broken(low)) return low;
  if (broken(high)) return std::nullopt;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (broken(middle) ? low : high) = middle;
  }
  return high;
}

double clipping_cost(const ResponsibleEngineeringModel::Inputs& in, Notes& notes) {
  if (in.method == ClippingMethod::ghost)
    return detail::number("catalogue.privacy.ghost_passes", notes) / 3.0;
  if (in.workload == nullptr || in.hardware == nullptr)
    throw InputError({.id = "mlsysim.catalogue.039",
                      .message = "the cost of micro-batches depends on the model and the device",
                      .key = in.workload == nullptr ? "workload" : "hardware",
                      .found = "nothing",
                      .expected = "a workload and a device",
                      .hint = "name both, or use method = ghost",
                      .reason = BreakReason::missing_field});
  if (in.microbatch > in.device_batch)
    throw DomainError({.id = "mlsysim.catalogue.040",
                       .message = "a micro-batch is a part of the batch of the device",
                       .key = "microbatch",
                       .found = fmt::format("{:g}", in.microbatch),
                       .expected = fmt::format("at most device_batch, {:g}", in.device_batch),
                       .hint = "lower microbatch"});
  const auto each = [&](double batch) {
    return SingleNodeModel{}
               .solve({.workload = in.workload,
                       .hardware = in.hardware,
                       .batch_size = batch,
                       .precision = in.precision,
                       .is_training = true,
                       .seq_len = in.seq_len,
                       .conventions = in.conventions},
                      notes)
               .latency /
           batch;
  };
  return std::max(1.0, each(in.microbatch) / each(in.device_batch));
}

}  // namespace

ResponsibleEngineeringModel::Result ResponsibleEngineeringModel::solve(const Inputs& asked,
                                                                       Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(asked, fidelity,
                                   {"delta", "method", "microbatch", "device_batch", "seq_len", "workload",
                                    "hardware", "precision", "sampling_rate", "steps"},
                                   notes);
  Result r;
  r.fidelity = fidelity;
  if (fidelity == Fidelity::textbook) {
    r.dp_slowdown_factor = 1.0 + detail::number("catalogue.privacy.slowdown", notes) / in.epsilon;
    notes.warn("a slow-down by epsilon is a teaching device: the cost of DP-SGD does not depend on epsilon");
  } else {
    if (in.method == ClippingMethod::ghost)
      detail::warn_of_idle(in, {"microbatch", "device_batch", "seq_len", "workload", "hardware", "precision"},
                           "on ghost clipping", notes);
    r.dp_slowdown_factor = clipping_cost(in, notes);
    r.noise_multiplier = noise_for(in);
    if (!r.noise_multiplier)
      notes.warn("no noise keeps this budget: use fewer steps, smaller batches or a larger epsilon",
                 BreakReason::no_solution);
  }
  r.effective_training_time = in.base_training_time * r.dp_slowdown_factor;
  r.additional_data_requirement = 1.0 / in.min_subgroup_prevalence;
  // Two proportions, two-sided 5 % level and 80 % power: quantiles 1.96 and 0.84 of the normal distribution.
  constexpr double reach = (1.96 + 0.84) * (1.96 + 0.84);
  r.samples_per_group =
      2 * reach * in.error_rate * (1 - in.error_rate) / (in.detectable_gap * in.detectable_gap);
  r.audit_samples = r.samples_per_group / in.min_subgroup_prevalence;
  return r;
}

}  // namespace mlsysim

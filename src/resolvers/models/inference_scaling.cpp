#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/energy.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/inference_scaling.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

#include <fmt/format.h>

namespace mlsysim {

InferenceScalingModel::Result InferenceScalingModel::solve(const Inputs& asked, Notes& notes) const {
  const FidelityModel& fidelity_model = fidelity_model_for(asked.fidelity, *asked.workload, notes);
  const Inputs in = detail::priced(asked, fidelity_model.fidelity(), {"samples"}, notes);
  Result r;
  r.fidelity = fidelity_model.fidelity();
  const Conventions& c = conventions_or_standard(in.conventions);
  const double per_step =
      in.tokens_per_step ? *in.tokens_per_step : detail::number("catalogue.reasoning.tokens_per_step", notes);
  const double chain = per_step * in.reasoning_steps;
  const double context =
      seq_len_or_default(in.context_length, *in.workload, fidelity_model.answer(chain).value_or(0), notes);
  const ServingModel::Inputs request{.workload = in.workload,
                                     .hardware = in.hardware,
                                     .seq_len = context,
                                     .batch_size = in.samples,
                                     .output_tokens = fidelity_model.answer(chain),
                                     .precision = in.precision,
                                     .efficiency = in.efficiency,
                                     .tp_size = in.tp_size,
                                     .prefill_chunk_tokens = in.prefill_chunk_tokens,
                                     .fidelity = r.fidelity,
                                     .conventions = in.conventions};
  const auto serving = ServingModel{}.solve(request, notes);
  r.feasible = serving.feasible;
  r.ttft = serving.ttft;
  if (in.samples > 1) {
    // All chains start from one prompt: it is read once.
    auto prompt = request;
    prompt.batch_size = 1;
    r.ttft = ServingModel{}.solve(prompt).ttft;
  }
  r.itl = serving.itl;
  r.time_per_step = r.itl * per_step;
  r.total_reasoning_time = r.ttft + r.time_per_step * in.reasoning_steps;
  r.tokens_generated = chain * in.samples;
  r.reasoning_steps = in.reasoning_steps;
  r.kv_cache_size = serving.kv_cache_size;
  if (in.hardware->power.tdp) {
    // Share of the time at full power: all of it (textbook), or the time in kernels (operator).
    const double drawn = r.fidelity == Fidelity::textbook ? 1.0 : serving.utilization;
    const auto& power = in.hardware->power;
    r.energy_per_query =
        EnergyProportional::solve<double>({.tdp = *power.tdp * in.tp_size,
                                           .utilization = drawn,
                                           .time = r.total_reasoning_time,
                                           .idle_fraction = power.idle_share(c.idle_fraction)})
            .energy;
    if (drawn < 1 && !power.idle) notes.assume("idle_fraction", c.idle_fraction, kDefaults);
  } else {
    notes.warn(
        [&] { return fmt::format("the energy is not known: no TDP is known for {}", in.hardware->name); },
        BreakReason::missing_field);
  }
  const MoneyRate<> price =
      in.device_price ? *in.device_price : detail::figure<dim::money_rate>("cloud.gpu_inference", notes);
  r.cost_per_query = price * in.tp_size * r.total_reasoning_time;
  return r;
}

}  // namespace mlsysim

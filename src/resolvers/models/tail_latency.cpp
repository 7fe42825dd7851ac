#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/resolvers/models/orchestration.hpp>
#include <mlsysim/resolvers/models/tail_latency.hpp>
#include <mlsysim/timing/detail/line.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

namespace mlsysim {

TailLatencyModel::Result TailLatencyModel::solve(const Inputs& asked, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(asked, fidelity, {"arrival_cv"}, notes);
  Result r;
  r.fidelity = fidelity;
  const double load = (in.arrival_rate * in.service_latency).base();
  const auto line = line_of(load, in.num_replicas, in.service_latency, in.arrival_cv, in.service_time_cv);
  r.is_stable = line.stable;
  r.queue_utilization = line.utilization;
  r.stable_replicas = std::max(1.0, std::ceil(load / kFull));
  if (!line.stable) {
    r.wait_probability = 1;
    notes.warn(
        [&] {
          return fmt::format("{:g} servers cannot keep up: at least {:g} are needed", in.num_replicas,
                             r.stable_replicas);
        },
        BreakReason::infeasible_constraint);
    return r;
  }
  r.wait_probability = line.wait.wait_probability;
  r.mean_wait = line.wait.wait_mean;
  r.queue_length = line.wait.queue_length;
  r.slo_headroom_ratio = wait_quantile(line, 0.99) / (5.0 * in.service_latency);
  // Textbook: the tail of the wait alone. Operator: the tail of wait and service together.
  const auto response = [&](double quantile) {
    return fidelity == Fidelity::textbook
               ? wait_quantile(line, quantile) + in.service_latency
               : response_quantile(line, in.service_latency, in.service_time_cv, quantile);
  };
  r.p50_latency = response(0.5);
  r.p99_latency = response(0.99);
  if (in.target_latency)
    r.slo_attainment = 1.0 - exceeding(line, in.service_latency, in.service_time_cv, *in.target_latency);
  return r;
}

OrchestrationModel::Result OrchestrationModel::solve(const Inputs& asked, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const double devices = asked.fleet->total_accelerators();
  if (asked.accelerators_per_job.value_or(devices) > devices)
    throw DomainError({.id = "mlsysim.catalogue.043",
                       .message = fmt::format("a job is wider than the fleet '{}'", asked.fleet->name),
                       .key = "accelerators_per_job",
                       .found = fmt::format("{:g}", *asked.accelerators_per_job),
                       .expected = fmt::format("at most {:g}, the accelerators of the fleet", devices),
                       .hint = "use a smaller job or a larger fleet",
                       .reason = BreakReason::infeasible_constraint});
  const Inputs in = detail::priced(asked, fidelity, {"accelerators_per_job", "duration_cv"}, notes);
  Result r;
  r.fidelity = fidelity;
  r.slots = std::floor(devices / in.accelerators_per_job.value_or(devices));
  const double load = in.arrival_rate_jobs_per_day * in.avg_job_duration.in(unit::d);
  const double duration_cv = fidelity == Fidelity::textbook ? 0.0 : in.duration_cv;
  const auto line = line_of(load, r.slots, in.avg_job_duration, 1.0, duration_cv);
  r.cluster_utilization = line.utilization;
  r.is_stable = line.stable;
  if (!line.stable) {
    r.wait_probability = 1;
    notes.warn("more work arrives than the fleet can do: the line grows for ever",
               BreakReason::infeasible_constraint);
    return r;
  }
  r.wait_probability = line.wait.wait_probability;
  r.avg_wait_time = line.wait.wait_mean;
  r.p95_wait_time = wait_quantile(line, 0.95);
  r.avg_queue_length = line.wait.queue_length;
  return r;
}

}  // namespace mlsysim

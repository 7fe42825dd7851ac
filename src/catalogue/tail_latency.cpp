#include "detail/figures.hpp"
#include "detail/line.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/models/orchestration.hpp>
#include <mlsysim/catalogue/models/tail_latency.hpp>

#include <fmt/format.h>

namespace mlsysim {

TailLatencyModel::Result TailLatencyModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  const bool textbook = r.fidelity == Fidelity::textbook;
  if (textbook) detail::warn_of_unpriced(in, {"arrival_cv"}, notes);
  const double load = (in.arrival_rate * in.service_latency).base();
  const auto line = detail::line_of(load, in.num_replicas, in.service_latency, textbook ? 1.0 : in.arrival_cv,
                                    in.service_time_cv);
  r.is_stable = line.stable;
  r.queue_utilization = line.utilization;
  r.stable_replicas = std::max(1.0, std::ceil(load / detail::kFull));
  if (!line.stable) {
    r.wait_probability = 1;
    notes.warn([&] {
      return fmt::format("{:g} servers cannot keep up: at least {:g} are needed", in.num_replicas,
                         r.stable_replicas);
    });
    return r;
  }
  r.wait_probability = line.wait.wait_probability;
  r.mean_wait = line.wait.wait_mean;
  r.queue_length = line.wait.queue_length;
  const Time<> tail = detail::wait_quantile(line, 0.99);
  r.slo_headroom_ratio = tail / (5.0 * in.service_latency);
  if (textbook) {
    r.p50_latency = detail::wait_quantile(line, 0.5) + in.service_latency;
    r.p99_latency = tail + in.service_latency;
  } else {
    r.p50_latency = detail::response_quantile(line, in.service_latency, in.service_time_cv, 0.5);
    r.p99_latency = detail::response_quantile(line, in.service_latency, in.service_time_cv, 0.99);
  }
  if (in.target_latency)
    r.slo_attainment =
        1.0 - detail::exceeding(line, in.service_latency, in.service_time_cv, *in.target_latency);
  return r;
}

OrchestrationModel::Result OrchestrationModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  const double devices = in.fleet->total_accelerators();
  const double width = in.accelerators_per_job.value_or(devices);
  if (width > devices)
    throw DomainError({.id = "mlsysim.catalogue.030",
                       .message = fmt::format("a job is wider than the fleet '{}'", in.fleet->name),
                       .key = "accelerators_per_job",
                       .found = fmt::format("{:g}", width),
                       .expected = fmt::format("at most {:g}, the accelerators of the fleet", devices),
                       .hint = "use a smaller job or a larger fleet"});
  const bool textbook = r.fidelity == Fidelity::textbook;
  if (textbook) detail::warn_of_unpriced(in, {"accelerators_per_job", "duration_cv"}, notes);
  r.slots = textbook ? 1.0 : std::floor(devices / width);
  const double cv = textbook ? 0.0 : in.duration_cv;
  const double load = in.arrival_rate_jobs_per_day * in.avg_job_duration.in(unit::d);
  const auto line = detail::line_of(load, r.slots, in.avg_job_duration, 1.0, cv);
  r.cluster_utilization = line.utilization;
  r.is_stable = line.stable;
  if (!line.stable) {
    r.wait_probability = 1;
    notes.warn("more work arrives than the fleet can do: the line grows for ever");
    return r;
  }
  r.wait_probability = line.wait.wait_probability;
  r.avg_wait_time = line.wait.wait_mean;
  r.p95_wait_time = detail::wait_quantile(line, 0.95);
  r.avg_queue_length = line.wait.queue_length;
  return r;
}

}  // namespace mlsysim

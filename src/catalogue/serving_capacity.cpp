#include "detail/line.hpp"

#include <mlsysim/catalogue/models/continuous_batching.hpp>
#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/models/serving_capacity.hpp>
#include <mlsysim/catalogue/views.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

/// The line in front of `replicas`, and what it makes of a request.
struct Estimate {
  detail::Line line;
  Time<> wait, total;
  [[nodiscard]] bool meets(Time<> target) const { return line.stable && total <= target; }
};

}  // namespace

ServingCapacityModel::Result ServingCapacityModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  const bool textbook = r.fidelity == Fidelity::textbook;
  const auto batching = ContinuousBatchingModel{}.solve({.workload = in.workload,
                                                         .hardware = in.hardware,
                                                         .max_seq_len = in.max_seq_len,
                                                         .mean_request_tokens = in.mean_request_tokens,
                                                         .output_tokens = in.output_tokens,
                                                         .max_batch_size = in.max_batch_size,
                                                         .page_tokens = in.page_tokens,
                                                         .precision = in.precision,
                                                         .efficiency = in.efficiency,
                                                         .tp_size = in.tp_size,
                                                         .fidelity = r.fidelity,
                                                         .conventions = in.conventions},
                                                        notes);
  r.active_batch_size = std::max(1.0, batching.max_active_requests);
  if (!batching.feasible) {
    r.limit = CapacityLimit::memory;
    return r;
  }
  if (textbook) {
    const auto serving = ServingModel{}.solve(
        {.workload = in.workload,
         .hardware = in.hardware,
         .seq_len = std::max(1.0, std::round(in.mean_request_tokens.value_or(in.max_seq_len))),
         .batch_size = r.active_batch_size,
         .precision = in.precision,
         .efficiency = in.efficiency,
         .tp_size = in.tp_size,
         .fidelity = r.fidelity,
         .conventions = in.conventions});
    r.ttft = serving.ttft;
    r.itl = serving.itl;
  } else {
    r.ttft = batching.ttft;
    r.itl = batching.itl;
  }
  r.base_request_latency = r.ttft + r.itl * in.output_tokens;
  r.per_replica_capacity = batching.token_throughput / (in.output_tokens * unit::token / unit::request);
  const Time<> interval = (1.0 * unit::request) / r.per_replica_capacity;

  const auto estimate = [&](double replicas) {
    Estimate e;
    if (textbook) {
      e.line =
          detail::line_of((in.arrival_rate * interval).base(), replicas, interval, 1.0, in.service_time_cv);
      if (!e.line.stable) return e;
      e.wait = detail::wait_quantile(e.line, 0.99);
      e.total = r.base_request_latency + e.wait;
    } else {
      // A slot is busy for the interval times the number of slots: the time of a request under full load.
      const Time<> service = interval * r.active_batch_size;
      e.line = detail::line_of((in.arrival_rate * service).base(),
                               std::min(replicas * r.active_batch_size, 65536.0), service, 1.0,
                               in.service_time_cv);
      if (!e.line.stable) return e;
      e.wait = detail::wait_quantile(e.line, 0.99);
      e.total = detail::response_quantile(e.line, service, in.service_time_cv, 0.99);
    }
    return e;
  };
  // More replicas never wait longer, so the fewest that do are found by halving.
  const Estimate most = estimate(in.max_replicas);
  double chosen = in.max_replicas;
  Estimate best = most;
  r.feasible = most.meets(in.target_p99_latency);
  if (r.feasible) {
    double low = 0;  // does not meet the target
    while (chosen - low > 1) {
      const double middle = std::floor((low + chosen) / 2);
      const Estimate e = estimate(middle);
      if (e.meets(in.target_p99_latency)) {
        chosen = middle;
        best = e;
      } else {
        low = middle;
      }
    }
    r.required_replicas = chosen;
  } else {
    r.limit = most.line.stable && most.wait < in.target_p99_latency * 1e-3 ? CapacityLimit::base_latency
                                                                           : CapacityLimit::queueing;
    notes.warn([&] {
      return most.line.stable
                 ? fmt::format("with {:g} replicas 99 % of the requests take up to {:.4g} ms",
                               in.max_replicas, most.total.in(unit::ms))
                 : fmt::format("{:g} replicas cannot keep up with the arrivals", in.max_replicas);
    });
  }
  r.capacity = r.per_replica_capacity * chosen;
  r.accelerators = chosen * in.tp_size;
  r.queue_utilization = best.line.utilization;
  if (best.line.stable) {
    r.estimated_p99_latency = best.total;
    r.queue_wait_p99 = best.wait;
  }
  return r;
}

}  // namespace mlsysim

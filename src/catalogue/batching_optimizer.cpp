#include "detail/line.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/optimizers/batching.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/resolve/axes.hpp>

namespace mlsysim {
namespace {

using In = BatchingOptimizer::Inputs;

struct Candidate {
  double batch_size = 1;
  static constexpr auto fields() {
    return rows(field(&Candidate::batch_size, "batch_size", "", "requests of a batch"));
  }
};

/// A service that runs one batch at a time.
struct Judged {
  Time<> service, p99, tail;
  double utilization = 0, memory = 0;
  RequestRate<> capacity;
  bool stable = false;
};

Judged judge(const In& in, Fidelity fidelity, double batch, Notes& notes) {
  const bool textbook = fidelity == Fidelity::textbook;
  ServingModel::Inputs request{.workload = in.workload,
                               .hardware = in.hardware,
                               .seq_len = in.seq_len,
                               .batch_size = batch,
                               .precision = in.precision,
                               .efficiency = in.efficiency,
                               .tp_size = in.tp_size,
                               .fidelity = fidelity,
                               .conventions = in.conventions};
  const double answer = in.output_tokens.value_or(in.seq_len);
  if (!textbook) request.output_tokens = answer;
  const auto serving = ServingModel{}.solve(request, notes);
  Judged j;
  j.memory = serving.memory_utilization;
  j.service = textbook ? serving.ttft + serving.itl * answer : serving.request_latency;
  j.capacity = in.num_replicas * batch * unit::request / j.service;
  // Batches arrive as requests do; the gaps between batches are sums of `batch` gaps, so they vary less.
  const double arrival_cv = textbook ? 1.0 : 1.0 / std::sqrt(batch),
               service_cv = textbook ? 1.0 : in.service_time_cv;
  const double load = (in.arrival_rate * j.service).base() / batch;
  const auto line = detail::line_of(load, in.num_replicas, j.service, arrival_cv, service_cv);
  j.utilization = line.utilization;
  j.stable = line.stable;
  if (!line.stable) return j;
  j.tail = detail::wait_quantile(line, 0.99);
  if (textbook) {
    j.p99 = j.service + j.tail;
  } else {
    // The first request of a batch waits until the others have come.
    const Time<> filling = (batch - 1) * unit::request / in.arrival_rate;
    j.p99 = detail::response_quantile(line, j.service, service_cv, 0.99) + filling;
  }
  return j;
}

}  // namespace

std::optional<BatchingOptimizer::Result> BatchingOptimizer::solve(const Inputs& in, Search& search,
                                                                  Notes& notes) const {
  const Fidelity fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  const bool textbook = fidelity == Fidelity::textbook;
  if (textbook) detail::warn_of_unpriced(in, {"service_time_cv"}, notes);
  Notes quiet;
  const Grid<Candidate> batches{range(1, in.max_search_batch)};
  const auto found = search.maximize(batches, [&](const Candidate& c) -> Score {
    const Judged j = judge(in, fidelity, c.batch_size, quiet);
    // Without a steady state there is no tail: the utilization is the limit that is missed.
    const Time<> p99 = j.stable ? j.p99 : Time<>();
    const Objective aim = textbook ? Objective(c.batch_size) : Objective(j.capacity);
    return {aim,
            {at_most("memory_utilization", j.memory, 1.0),
             at_most("queue_utilization", j.utilization, detail::kFull),
             at_most("p99_latency", p99, in.target_latency)}};
  });
  if (!found) return std::nullopt;
  const Judged best = judge(in, fidelity, found->batch_size, notes);
  Result r{found.summary};
  r.fidelity = fidelity;
  r.best_batch_size = found->batch_size;
  r.max_throughput = in.arrival_rate * (in.output_tokens.value_or(in.seq_len) * unit::token / unit::request);
  r.capacity = best.capacity;
  r.p99_latency = best.p99;
  r.service_latency = best.service;
  r.queue_utilization = best.utilization;
  r.slo_headroom_ratio = best.tail / (5.0 * best.service);
  return r;
}

}  // namespace mlsysim

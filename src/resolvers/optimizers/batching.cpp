#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/resolver_api/axes.hpp>
#include <mlsysim/resolver_api/search.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/optimizers/batching.hpp>
#include <mlsysim/timing/detail/line.hpp>
#include <mlsysim/timing/fidelity_model.hpp>

#include <cmath>

namespace mlsysim {
namespace {

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
  Objective aim;  ///< what the best batch has most of
};

/// The line of batches before the replicas. @param arrival_cv variation of the gaps between batches
Line queue_of(const BatchingOptimizer::Inputs& in, double batch, double arrival_cv, Judged& j) {
  const double load = (in.arrival_rate * j.service).base() / batch;
  const Line line = line_of(load, in.num_replicas, j.service, arrival_cv, in.service_time_cv);
  j.utilization = line.utilization;
  j.stable = line.stable;
  if (line.stable) j.tail = wait_quantile(line, 0.99);
  return line;
}

/// Batches arrive as single requests do, no request waits for its batch, and the largest batch is the best.
void judge_by_textbook(const BatchingOptimizer::Inputs& in, double batch, Judged& j) {
  queue_of(in, batch, 1, j);
  if (j.stable) j.p99 = j.tail + j.service;
  j.aim = batch;
}

/// The gap between two batches is the sum of the gaps between their requests, so it varies less. The first
/// request of a batch waits for the others.
void judge_by_operators(const BatchingOptimizer::Inputs& in, double batch, Judged& j) {
  const Line line = queue_of(in, batch, 1.0 / std::sqrt(batch), j);
  if (j.stable)
    j.p99 = response_quantile(line, j.service, in.service_time_cv, 0.99) +
            (batch - 1) * unit::request / in.arrival_rate;
  j.aim = j.capacity;
}

/// @param in with its seq_len settled
Judged judge(const BatchingOptimizer::Inputs& in, const FidelityModel& fidelity_model, double batch,
             Notes& notes) {
  const double answer = in.output_tokens.value_or(*in.seq_len);
  const ServingModel::Inputs request{.workload = in.workload,
                                     .hardware = in.hardware,
                                     .seq_len = in.seq_len,
                                     .batch_size = batch,
                                     .output_tokens = fidelity_model.answer(answer),
                                     .precision = in.precision,
                                     .efficiency = in.efficiency,
                                     .tp_size = in.tp_size,
                                     .prefill_chunk_tokens = in.prefill_chunk_tokens,
                                     .fidelity = fidelity_model.fidelity(),
                                     .conventions = in.conventions};
  const auto serving = ServingModel{}.solve(request, notes);
  Judged j;
  j.memory = serving.memory_utilization;
  j.service = request.output_tokens ? serving.request_latency : serving.ttft + serving.itl * answer;
  j.capacity = in.num_replicas * batch * unit::request / j.service;
  if (fidelity_model.fidelity() == Fidelity::textbook)
    judge_by_textbook(in, batch, j);
  else
    judge_by_operators(in, batch, j);
  return j;
}

}  // namespace

std::optional<BatchingOptimizer::Result> BatchingOptimizer::solve(const Inputs& asked, Search& search,
                                                                  Notes& notes) const {
  const FidelityModel& fidelity_model = fidelity_model_for(asked.fidelity, *asked.workload, notes);
  Inputs in = detail::priced(asked, fidelity_model.fidelity(), {"service_time_cv"}, notes);
  in.seq_len = seq_len_or_default(asked.seq_len, *in.workload, asked.output_tokens.value_or(0), notes);
  Notes quiet;
  const Grid<Candidate> batches{range(1, in.max_search_batch)};
  const auto found = search.maximize(batches, [&](const Candidate& c) -> Score {
    const Judged j = judge(in, fidelity_model, c.batch_size, quiet);
    // Without a steady state there is no tail: the utilization is the limit that is missed.
    const Time<> p99 = j.stable ? j.p99 : Time<>();
    return {j.aim,
            {at_most("memory_utilization", j.memory, 1.0), at_most("queue_utilization", j.utilization, kFull),
             at_most("p99_latency", p99, in.target_latency)}};
  });
  if (!found) return std::nullopt;
  const Judged best = judge(in, fidelity_model, found->batch_size, notes);
  Result r{found.summary};
  r.fidelity = fidelity_model.fidelity();
  r.best_batch_size = found->batch_size;
  r.max_throughput = in.arrival_rate * (in.output_tokens.value_or(*in.seq_len) * unit::token / unit::request);
  r.capacity = best.capacity;
  r.p99_latency = best.p99;
  r.service_latency = best.service;
  r.queue_utilization = best.utilization;
  r.slo_headroom_ratio = best.tail / (5.0 * best.service);
  return r;
}

}  // namespace mlsysim

#include <mlsysim/catalogue/models/continuous_batching.hpp>
#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/views.hpp>
#include <mlsysim/physics/batching.hpp>
#include <mlsysim/physics/in_flight.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using In = ContinuousBatchingModel::Inputs;
using Out = ContinuousBatchingModel::Result;

/// Scale of an exponential length, cut off at `longest`, whose mean is `mean`; infinite when they are the
/// same.
double scale_of(double mean, double longest) {
  if (mean >= longest) return 0;
  double low = 0, high = longest / mean;  // of longest / scale
  for (int i = 0; i < 100; ++i) {
    const double t = (low + high) / 2;
    (t > 0 && -longest / t * std::expm1(-t) > mean ? low : high) = t;
  }
  return longest / high;
}

/// Tokens for which pages are held by a request, on average.
double held_tokens(const In& in, double mean) {
  const double scale = scale_of(mean, in.max_seq_len);
  if (scale == 0) return std::ceil(in.max_seq_len / in.page_tokens) * in.page_tokens;
  return PagedTokens::solve<double>({scale, in.page_tokens, in.max_seq_len}).held;
}

ServingModel::Inputs serving_of(const In& in, Fidelity fidelity, double tokens, double batch) {
  return {.workload = in.workload,
          .hardware = in.hardware,
          .seq_len = std::max(1.0, std::round(tokens)),
          .batch_size = batch,
          .precision = in.precision,
          .efficiency = in.efficiency,
          .tp_size = in.tp_size,
          .pp_size = in.pp_size,
          .ep_size = in.ep_size,
          .fidelity = fidelity,
          .conventions = in.conventions};
}

/// Requests that fit into `room` bytes, no more than the cap.
double requests(Data<> room, Data<> each, double cap) {
  return each > Data<>() ? std::clamp(std::floor(room / each), 0.0, cap) : cap;
}

void textbook(const In& in, double mean, double held, Out& out, Notes& notes) {
  const auto one = ServingModel{}.solve(serving_of(in, Fidelity::textbook, mean, 1), notes);
  const double devices = in.tp_size * in.pp_size * in.ep_size;
  const Data<> weights = one.model_weights_size, token = one.kv_cache_size / std::max(1.0, std::round(mean));
  const Data<> room = max(one.memory.capacity * devices - weights, Data<>());
  const Bandwidth<> bandwidth = memory_level(*in.hardware, weights).bandwidth * devices;
  out.max_active_requests = requests(room, token * held, in.max_batch_size);
  out.static_max_active_requests = requests(room, token * in.max_seq_len, in.max_batch_size);
  out.feasible = out.max_active_requests > 0;
  out.paged_kv_cache_size = token * held * out.max_active_requests;
  out.static_kv_cache_size = token * in.max_seq_len * out.static_max_active_requests;
  const auto rate = [&](double n) {
    return BatchedDecodeRate::solve<double>(
        {.batch_size = n, .weights = weights, .kv_per_request = token * mean, .bandwidth = bandwidth});
  };
  if (out.feasible) {
    const auto paged = rate(out.max_active_requests);
    out.token_throughput = paged.token_throughput;
    out.itl = paged.itl;
    out.ttft = ServingModel{}.solve(serving_of(in, Fidelity::textbook, mean, out.max_active_requests)).ttft;
  }
  if (out.static_max_active_requests > 0)
    out.static_token_throughput = rate(out.static_max_active_requests).token_throughput;
}

void operators(const In& in, double mean, double held, Out& out, Notes& notes) {
  const double answer = in.output_tokens.value_or(std::max(1.0, std::floor(mean / 8)));
  const double prompt = std::max(1.0, mean - answer);
  const double devices = in.tp_size * in.pp_size * in.ep_size;
  const auto one = ServingModel{}.solve(serving_of(in, Fidelity::operator_level, prompt, 1), notes);
  const Data<> token = one.kv_cache_size / std::max(1.0, std::round(prompt));
  // Everything but the cache stays; fragmentation takes its share of what is allocated.
  const Data<> fixed = one.memory.total - one.memory.kv_cache;
  const double waste = one.memory.total > one.memory.reserve
                           ? one.memory.fragmentation / (one.memory.total - one.memory.reserve)
                           : 0.0;
  const Data<> room = max((one.memory.capacity - fixed) * devices * (1.0 - waste), Data<>());
  out.max_active_requests = requests(room, token * held, in.max_batch_size);
  out.static_max_active_requests = requests(room, token * in.max_seq_len, in.max_batch_size);
  out.feasible = out.max_active_requests > 0;
  out.paged_kv_cache_size = token * held * out.max_active_requests;
  out.static_kv_cache_size = token * in.max_seq_len * out.static_max_active_requests;
  // A request holds its prompt and half of its answer while it decodes. In steady state every answer is paid
  // for with one prefill, during which the others stand still: n / answer prefills come with each step.
  const auto run = [&](double n, Time<>* step) {
    const Time<> itl =
        ServingModel{}.solve(serving_of(in, Fidelity::operator_level, prompt + answer / 2, n)).itl;
    const Time<> cycle = InFlightStep::solve<double>({.decode_pass = itl, .added = one.ttft * std::max(1.0, n / answer),
                                                      .prompts_per_step = n / answer}).itl;
    if (step != nullptr) *step = itl;
    return std::pair{n * unit::token / cycle, cycle};
  };
  if (out.feasible) {
    Time<> step;
    const auto [rate, cycle] = run(out.max_active_requests, &step);
    out.token_throughput = rate;
    out.itl = cycle;
    out.ttft = one.ttft + step / 2.0;  // a newcomer waits for half a step on average
    out.prefill_share = 1.0 - step / cycle;
  }
  if (out.static_max_active_requests > 0)
    out.static_token_throughput = run(out.static_max_active_requests, nullptr).first;
  if (!in.output_tokens) notes.assume("output_tokens", answer, "an eighth of the mean request");
}

}  // namespace

ContinuousBatchingModel::Result ContinuousBatchingModel::solve(const Inputs& in, Notes& notes) const {
  const double mean = in.mean_request_tokens.value_or(in.max_seq_len);
  if (mean > in.max_seq_len)
    throw DomainError({.id = "mlsysim.catalogue.031",
                       .message = "the mean request is longer than the longest one",
                       .key = "mean_request_tokens",
                       .found = fmt::format("{:g} tokens", mean),
                       .expected = fmt::format("at most max_seq_len, {:g} tokens", in.max_seq_len),
                       .hint = "raise max_seq_len or lower mean_request_tokens"});
  Result r;
  r.fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  r.mean_request_tokens = mean;
  const double held = held_tokens(in, mean);
  r.paged_internal_fragmentation = std::max(0.0, 1.0 - mean / held);
  r.static_internal_fragmentation = 1.0 - mean / in.max_seq_len;
  if (r.fidelity == Fidelity::textbook)
    textbook(in, mean, held, r, notes);
  else
    operators(in, mean, held, r, notes);
  if (r.static_token_throughput > TokenRate<>())
    r.speedup_vs_static = r.token_throughput / r.static_token_throughput;
  if (!r.feasible) notes.warn("no request fits beside the weights: use more devices or a narrower format");
  return r;
}

}  // namespace mlsysim

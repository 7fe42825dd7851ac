#include "resolvers/models/static_batch.hpp"
#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/plan_check.hpp"
#include "resolvers/shared/prompt_tokens.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/batching.hpp>
#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/models/continuous_batching.hpp>
#include <mlsysim/timing/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

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
double held_tokens(const ContinuousBatchingModel::Inputs& in, double mean) {
  const double scale = scale_of(mean, in.max_seq_len);
  if (scale == 0) return std::ceil(in.max_seq_len / in.page_tokens) * in.page_tokens;
  return PagedTokens::solve<double>({scale, in.page_tokens, in.max_seq_len}).held;
}

/// Requests that fit into `room` bytes, no more than the cap.
double requests(Data<> room, Data<> each, double cap) {
  return each > Data<>() ? std::clamp(std::floor(room / each), 0.0, cap) : cap;
}

/// A static batch that fills the memory.
void without_engine(const ContinuousBatchingModel::Inputs& in, double mean, double held,
                    ContinuousBatchingModel::Result& out, Notes& notes) {
  detail::warn_of_unpriced(in, {"output_tokens", "engine", "execution"}, notes);
  const auto one = ServingModel{}.solve(detail::static_batch(in, mean, 1), notes);
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
    out.ttft = ServingModel{}.solve(detail::static_batch(in, mean, out.max_active_requests)).ttft;
  }
  if (out.static_max_active_requests > 0)
    out.static_token_throughput = rate(out.static_max_active_requests).token_throughput;
}

/// Requests that come and go in an engine.
void with_engine(const ContinuousBatchingModel::Inputs& in, const FidelityModel& fidelity_model, double mean,
                 double held, ContinuousBatchingModel::Result& out, Notes& notes) {
  const double answer = in.output_tokens.value_or(std::max(1.0, std::floor(mean / 8)));
  if (!in.output_tokens) notes.assume("output_tokens", answer, "an eighth of the mean request");
  auto request = fields_of<InFlightBatchingModel::Inputs>(in);
  request.seq_len = detail::prompt_tokens(mean, answer);
  request.output_tokens = answer;
  request.page_tokens = 1;  // the pages are in `held`
  const auto engine = engine_or_usual(in.engine, *in.hardware, fidelity_model, notes);
  const auto passes = pass_times(request, engine, notes);
  const auto cache = cache_settings({}, engine, *in.hardware, passes.plan, passes.model, notes);
  const auto fit = [&](double tokens) {
    return std::min(passes.capacity(tokens, cache.share, cache.rule), in.max_batch_size);
  };
  out.max_active_requests = fit(held);
  out.static_max_active_requests = fit(in.max_seq_len);
  out.feasible = out.max_active_requests > 0;
  out.paged_kv_cache_size = passes.cache(held) * out.max_active_requests;
  out.static_kv_cache_size = passes.cache(in.max_seq_len) * out.static_max_active_requests;
  const auto in_flight_with = [&](double requests, Notes& to) {
    request.concurrency = requests;
    return in_flight(request, engine, passes, to);
  };
  if (out.feasible) {
    const auto paged = in_flight_with(out.max_active_requests, notes);
    out.token_throughput = paged.token_throughput;
    out.itl = paged.itl;
    out.ttft = *paged.ttft;
    out.prefill_share = paged.prefill_share;
  }
  Notes quiet;
  if (out.static_max_active_requests > 0)
    out.static_token_throughput = in_flight_with(out.static_max_active_requests, quiet).token_throughput;
}

}  // namespace

ContinuousBatchingModel::Result ContinuousBatchingModel::solve(const Inputs& in, Notes& notes) const {
  detail::require_tokens(*in.workload, "workload");
  const double mean = in.mean_request_tokens.value_or(in.max_seq_len);
  if (mean > in.max_seq_len)
    throw DomainError({.id = "mlsysim.catalogue.044",
                       .message = "the mean request is longer than the longest one",
                       .key = "mean_request_tokens",
                       .found = fmt::format("{:g} tokens", mean),
                       .expected = fmt::format("at most max_seq_len, {:g} tokens", in.max_seq_len),
                       .hint = "raise max_seq_len or lower mean_request_tokens"});
  Result r;
  const FidelityModel& fidelity_model = fidelity_model_for(in.fidelity, *in.workload, notes);
  r.fidelity = fidelity_model.fidelity();
  r.mean_request_tokens = mean;
  const double held = held_tokens(in, mean);
  r.paged_internal_fragmentation = std::max(0.0, 1.0 - mean / held);
  r.static_internal_fragmentation = 1.0 - mean / in.max_seq_len;
  if (fidelity_model.prices_engines())
    with_engine(in, fidelity_model, mean, held, r, notes);
  else
    without_engine(in, mean, held, r, notes);
  if (r.static_token_throughput > TokenRate<>())
    r.speedup_vs_static = r.token_throughput / r.static_token_throughput;
  if (!r.feasible)
    notes.warn("no request fits beside the weights: use more devices or a narrower format",
               BreakReason::infeasible_memory);
  return r;
}

}  // namespace mlsysim

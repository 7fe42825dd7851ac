#pragma once
// Serving in steady state over any scalar: requests that are kept in flight, or that arrive at a rate.

#include "estimate/steady.hpp"

#include <mlsysim/estimate/serving.hpp>

namespace mlsysim::detail {

/// The passes of the model that drafts, on the devices that decode.
template <class T>
[[nodiscard]] ReplicaPasses<T> draft_passes(const ServingProblem<T>& v, const ReplicaPasses<T>& own) {
  ReplicaPasses<T> out = own;
  out.model = v.draft.model;
  out.decode_structure = v.draft.model.structure;
  out.plan.tp = v.draft.tp;
  out.plan.pp = out.plan.ep = T{1.0};
  out.plan.weight_bytes = v.draft.weight_bytes;
  return out;
}

/// One replica of a served model, as a problem of in-flight batching.
template <class T>
[[nodiscard]] InFlightProblem<T> one_replica(const ServingProblem<T>& v, const T& replicas) {
  InFlightProblem<T> p;
  p.seq_len = v.seq_len;
  p.output_tokens = v.output_tokens;
  p.cached_prefix_len = v.cached_prefix_len;
  p.chunks = v.chunks;
  p.prefill_chunk_tokens = v.chunked_prefill
                               ? v.prefill_chunk_tokens
                               : T(max(v.prefill_chunk_tokens, T(v.seq_len - v.cached_prefix_len)));
  p.arrivals = v.load == Load::rate ? ArrivalProcess::random : ArrivalProcess::closed;
  p.arrival_rate = v.arrival_rate / replicas;
  p.concurrency = max(T(v.batch_size / replicas), T{1.0});
  p.page_tokens = v.page_tokens;
  p.kv_share = v.kv_share;
  p.engine = v.engine;
  p.passes = replica_passes(v);
  if (!v.drafts) return p;
  p.speculates = p.has_draft = true;
  p.draft_tokens = v.draft_tokens;
  p.draft_acceptance_rate = v.draft_acceptance_rate;
  p.draft_acceptance_decay = v.acceptance == Acceptance::decaying ? v.draft_acceptance_decay : T{1.0};
  p.acceptance = v.acceptance == Acceptance::measured ? Acceptance::measured : Acceptance::decaying;
  p.acceptance_length = v.acceptance_length;
  p.draft = draft_passes(v, p.passes);
  p.draft_weights = p.draft.memory(T{1.0}, v.seq_len).weights * v.draft.tp;
  return p;
}

/// Serving in steady state: all but whether it fits and what is charged.
///
/// Each replica has its part of the requests. As many run as their pages fit; the others wait for a slot
/// (Little's law). A request takes the mean step: its time between tokens is that of a step, longer by what
/// the prompts of the others add. Percentiles are those of arrivals that are spread over the steps.
/// @cite yu2022orca, section 4; kwon2023vllm; agrawal2024sarathi
/// @param decoding requests of a replica that decode, in place of the load: arrivals are what that needs, and
/// no capacity is looked for
template <class T>
[[nodiscard]] ServingEstimate<T> steady_serving(const ServingProblem<T>& v, const T* decoding = nullptr) {
  const T one{1.0}, none{0.0};
  ServingEstimate<T> out;
  out.replicas = v.replicas();
  const InFlightProblem<T> p = one_replica(v, out.replicas);
  const Steady<T> s(p);
  SteadyEstimate<T>& steady = out.steady;

  const T held = ceil_div(s.context(), p.page_tokens) * p.page_tokens;
  steady.max_active_requests = s.capacity(held, p.kv_share);
  // Where no request fits, times are those of one, as if it did.
  const T slots = max(steady.max_active_requests, one);
  const auto own = s.alone();
  const auto before = [&](const typename Steady<T>::Step& at, const T& rate, const T& running) {
    const auto arrivals = spread_arrivals(p, s, at, own, rate, running);
    return BeforeDecoding<T>{arrivals.terms.sum(), arrivals.terms.ingress};
  };
  ClosedLoop<T> loop;
  T overload = none;
  if (decoding != nullptr) {
    loop.running = loop.others = *decoding;
    loop.step = s.step(loop.running, loop.others);
    loop.rate = loop.running / (loop.step.itl * s.steps()).base();
  } else if (v.load == Load::rate) {
    const ClosedLoop<T> full = closed_loop(s, T(slots * kEndless), slots, before);
    steady.capacity = RequestRate<T>::from_base(full.rate * out.replicas);
    const InFlight<T> found = in_flight_at(p.arrival_rate.base(), s, full);
    overload = found.overload;
    loop.running = loop.others = found.running;
    loop.step = s.step(loop.running, loop.others);
    loop.rate = min(p.arrival_rate.base(), full.rate);
  } else {
    loop = closed_loop(s, p.concurrency, slots, before);
  }
  const auto& step = loop.step;
  const T running = loop.running, rate = loop.rate;
  // Replicas beyond the requests have nothing to do.
  const T working = v.load == Load::rate ? out.replicas : T(min(out.replicas, v.batch_size));

  steady.running_requests = running;
  steady.waiting_requests = loop.wait.base() * rate * working;
  steady.request_throughput = RequestRate<T>::from_base(rate * working);
  steady.overload = RequestRate<T>::from_base(overload * out.replicas);

  // Others arrive as often as those that decode begin.
  const T begun = running / (step.itl * s.steps()).base();
  SpreadArrivals<T> arrivals = spread_arrivals(p, s, step, own, begun, running);
  const SpreadFirstToken<T> token(step, arrivals.crowd, arrivals.busy, arrivals.late);
  const auto quantiles = token.template quantiles<4>({0.5, 0.9, 0.95, 0.99});
  arrivals.terms.queue += loop.wait;
  arrivals.terms.report(out);
  steady.p50_ttft = quantiles[0] + loop.wait;
  steady.p90_ttft = quantiles[1] + loop.wait;
  steady.p95_ttft = quantiles[2] + loop.wait;
  steady.p99_ttft = quantiles[3] + loop.wait;

  out.itl = step.itl / s.tokens_per_pass();
  const T often = select(step.prompt_passes > T{0.01}, one, none);
  const Time<T> slow = step.prompt_pass + (p.engine.mixed ? Time<T>() : step.decode_pass);
  steady.p99_itl = (step.decode_pass + (slow - step.decode_pass) * often) / s.tokens_per_pass();
  const Time<T> answer = out.itl * (p.output_tokens - 1.0);
  out.request_latency = out.ttft + answer;
  steady.p99_request_latency = steady.p99_ttft + answer;
  out.token_throughput = TokenRate<T>::from_base(rate * working * p.output_tokens);
  out.throughput_per_accelerator = out.token_throughput / v.accelerators;
  out.prefill_chunk_time = step.prompt_pass;

  // Memory with the pages of the requests that run, and the working set of a pass with prompts.
  const T requests = running / step.inflight;
  const PassEstimate<T> decode = s.step_of(max(requests, one));
  MemoryDemand<T> first = decode.demands.first, last = decode.demands.last;
  const ReplicaPasses<T>& passes = p.passes;
  const auto pages = passes.demands(max(running, one), held);
  first.kv_cache = pages.first.kv_cache;
  last.kv_cache = pages.last.kv_cache;
  first.activations = max(first.activations, own.first.activations);
  last.activations = max(last.activations, own.last.activations);
  out.memory = fullest(StageDemands<T>{first, last}, v.decode, v.plan, passes.step_device);
  if (v.drafts) {
    const auto held_by_draft = p.draft.memory(max(running, one), held);
    const Data<T> more = held_by_draft.weights + held_by_draft.kv_cache;
    out.memory.weights += held_by_draft.weights;
    out.memory.kv_cache += held_by_draft.kv_cache;
    out.memory.fragmentation += more * passes.step_device.conventions.memory_fragmentation;
    out.memory.total += more * (1.0 + passes.step_device.conventions.memory_fragmentation);
  }
  out.prefill_memory_use = out.memory;
  out.kv_cache_size = passes.cache(held) * running;

  // Shares of the peak and of the time, of all devices.
  const T share = working / out.replicas * min(running, one);
  const T stages = v.plan.pp;
  const Time<T> prompt_time = step.prompt_pass * T{s.chunks()};
  out.prefill_mfu =
      min(one, T(own.cost.work / (v.device.compute.dense * stages *
                                  max(Time<T>(own.kernels + s.dispatch(own, one)), prompt_time * 1e-9))));
  out.mfu = share * min(one, T((decode.cost.work + own.cost.work * step.prompts) * step.inflight /
                               (v.device.compute.dense * stages * step.itl)));
  const Time<T> loaded = (s.busy(requests) + s.busy_prompts(step)) * step.inflight;
  out.utilization = share * min(one, T(loaded / (stages * step.itl)));
  set_parts(own.cost, decode.cost, out);
  return out;
}

}  // namespace mlsysim::detail

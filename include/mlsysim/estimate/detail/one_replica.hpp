#pragma once
/// One replica of a served model, as a problem of in-flight batching.
///
/// Each replica has its share of the load: arrival_rate / replicas, or batch_size / replicas requests of a
/// loop, at least one. A budget of tokens divides prompts; without one a pass takes whole prompts.
///
/// Example: 8 request/s on 4 replicas are random arrivals of 2 request/s on each.

#include <mlsysim/estimate/in_flight.hpp>
#include <mlsysim/estimate/serving.hpp>

namespace mlsysim::detail {

/// The passes of the model that drafts, on the devices that decode.
template <class T>
[[nodiscard]] ReplicaPasses<T> draft_passes(const ServingProblem<T>& v, const ReplicaPasses<T>& own) {
  ReplicaPasses<T> out = own;
  out.step_device = v.step_device();  // without what engines bring for experts
  out.model = v.draft.model;
  out.encodes = false;
  out.decode_structure = v.draft.model.structure;
  out.plan.tp = v.draft.tp;
  out.plan.pp = out.plan.ep = T{1.0};
  out.plan.weight_bytes = v.draft.weight_bytes;
  out.plan.tower_bytes = {};
  return out;
}

/// Weights of the model that drafts, of all its ranks.
template <class T>
[[nodiscard]] Data<T> draft_weights(const ServingProblem<T>& v, const ReplicaPasses<T>& draft) {
  return v.draft.weights(draft.memory(T{1.0}, v.seq_len).weights, v.draft_tokens) * v.draft.tp;
}

/// One replica of a served model, as a problem of in-flight batching.
template <class T>
[[nodiscard]] InFlightProblem<T> one_replica(const ServingProblem<T>& v, const T& replicas) {
  InFlightProblem<T> p;
  p.seq_len = v.prompt_tokens();
  p.output_tokens = v.output_tokens;
  p.cached_prefix_len = v.cached_prefix_len;
  p.prompt_lengths = v.prompt_lengths;
  p.answer_lengths = v.answer_lengths;
  p.chunks = v.chunks;
  p.prefill_chunk_tokens = v.chunked_prefill
                               ? v.prefill_chunk_tokens
                               : T(max(v.prefill_chunk_tokens, T(v.seq_len - v.cached_prefix_len)));
  p.arrivals = v.load == Load::rate ? ArrivalProcess::random : ArrivalProcess::closed;
  p.arrival_rate = v.arrival_rate / replicas;
  p.concurrency = max(T(v.batch_size / replicas), T{1.0});
  p.page_tokens = v.page_tokens;
  p.kv_share = v.kv_share;
  p.cache_rule = v.cache_rule;
  p.engine = v.engine;
  p.passes = replica_passes(v);
  if (v.prefill.apart) {
    p.has_workers = p.own_degrees = true;
    p.prefill_replicas = v.prefill.workers;
    p.decode_replicas = replicas;
    p.workers = p.passes;
    p.workers.plan = v.worker_plan();
    p.network_bandwidth = v.network_bandwidth;
  }
  if (!v.drafts) return p;
  p.speculates = p.has_draft = true;
  p.draft_tokens = v.draft_tokens;
  p.draft_acceptance_rate = v.draft_acceptance_rate;
  p.draft_acceptance_decay = v.acceptance == Acceptance::decaying ? v.draft_acceptance_decay : T{1.0};
  p.acceptance = v.acceptance == Acceptance::measured ? Acceptance::measured : Acceptance::decaying;
  p.acceptance_length = v.acceptance_length;
  p.draft = draft_passes(v, p.passes);
  p.draft_weights = draft_weights(v, p.draft);
  return p;
}

}  // namespace mlsysim::detail

#include "resolvers/models/proposals.hpp"
#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/pass_budget.hpp"
#include "resolvers/shared/plan_check.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/detail/lengths.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/timing/views.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace mlsysim {
namespace {

using In = InFlightBatchingModel::Inputs;

void check(const In& in) {
  if (in.arrival_rate && in.concurrency)
    throw DomainError({.id = "mlsysim.catalogue.070",
                       .message = "requests arrive at a rate or are kept in flight, not both",
                       .key = "concurrency",
                       .found = fmt::format("{:g} in flight and {:g} request/s", *in.concurrency,
                                            in.arrival_rate->in(unit::request / unit::s)),
                       .expected = "one of arrival_rate and concurrency, or neither for a full queue",
                       .hint = "drop one of the two"});
  if (in.decode_hardware != nullptr && !in.prefill_replicas)
    throw DomainError(
        {.id = "mlsysim.catalogue.072",
         .message = "devices that only decode need workers for the prompts",
         .key = "prefill_replicas",
         .found = fmt::format("decode_hardware '{}' and no prefill_replicas", in.decode_hardware->name),
         .expected = "the number of prefill workers",
         .hint = "give prefill_replicas, or leave decode_hardware out"});
  if (!in.prefill_replicas && (in.prefill_tp_size || in.prefill_ep_size))
    throw DomainError({.id = "mlsysim.catalogue.145",
                       .message = "degrees of prefill workers need prefill workers",
                       .key = "prefill_replicas",
                       .found = "prefill_tp_size or prefill_ep_size and no prefill_replicas",
                       .expected = "the number of prefill workers",
                       .hint = "give prefill_replicas, or leave the degrees out"});
  if (in.cached_prefix_len >= *in.seq_len)
    throw DomainError({.id = "mlsysim.catalogue.071",
                       .message = "the cached prefix must be shorter than the prompt",
                       .key = "cached_prefix_len",
                       .found = fmt::format("{:g} of {:g} tokens", in.cached_prefix_len, *in.seq_len),
                       .expected = fmt::format("less than {:g} tokens", *in.seq_len),
                       .hint = "at least the last token of the prompt is computed"});
}

/// Warns of inputs that have no effect.
void warn_of_no_effect(const In& in, Notes& notes) {
  if (!in.prefill_replicas)
    detail::warn_of_idle(in, {"network_bandwidth"}, "without prefill_replicas", notes);
  if (in.acceptance_length)
    detail::warn_of_idle(in, {"draft_acceptance_rate", "draft_acceptance_decay"}, "beside acceptance_length",
                         notes);
  else if (in.draft_model == nullptr)
    detail::warn_of_idle(in, {"draft_acceptance_rate", "draft_acceptance_decay", "draft_tokens"},
                         "without draft_model", notes);
  if (in.arrival_rate) detail::warn_of_idle(in, {"equal_lengths"}, "where requests arrive at random", notes);
}

/// The layers that a model has for drafting, as a model of its own, with what its views point to.
struct OwnDraft {
  Workload workload;
  std::shared_ptr<const StackView<>> stack;
};

/// The passes of the model's own draft: multiplied and stored in the format of the model.
void set_own_draft(const In& in, const ServingEngine& engine, InFlightProblem<>& p, Notes& notes) {
  p.own_draft = true;
  const auto own = std::make_shared<OwnDraft>(OwnDraft{detail::own_draft(*in.workload), {}});
  own->workload.formats.clear();  // those of the model hold
  In d = in;
  d.workload = &own->workload;
  d.draft_model = nullptr;
  d.tp_size = detail::draft_degree(own->workload, in.tp_size, notes);
  d.pp_size = 1;
  Notes quiet;
  const auto format = served_format(*in.workload,
                                    {.precision = in.precision,
                                     .weight_format = in.weight_format,
                                     .weight_bits = in.weight_bits,
                                     .from_totals = !p.passes.fidelity_model->lists_operators()},
                                    *in.hardware, nullptr, quiet);
  d.precision = format.precision;
  if (!d.kv_precision) d.kv_precision = format.kv_precision;
  d.weight_format.reset();
  d.weight_bits.reset();
  p.draft_weights =
      parameter_count(own->workload) * (bytes_per_element(format.precision) * unit::B / unit::param);
  p.draft = pass_times(d, engine, notes);
  own->stack = p.draft.model.stack;
  p.draft.model.stack = {own, own->stack.get()};
}

/// The passes of the model that drafts, and how much its weights take.
void set_draft(const In& in, const ServingEngine& engine, InFlightProblem<>& p, Notes& notes) {
  p.has_draft = true;
  p.draft_predicts = (in.draft_model == in.workload ? detail::own_draft(*in.workload) : *in.draft_model)
                         .main()
                         ->predicts.value_or(1);
  if (in.draft_model == in.workload) return set_own_draft(in, engine, p, notes);
  (void)detail::draft_degree(*in.draft_model, in.tp_size, notes);
  std::tie(p.draft, p.draft_weights) = draft_pass_times(in, engine, p.passes);
}

void set_speculation(const In& in, const ServingEngine& engine, InFlightProblem<>& p, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  p.speculates = true;
  p.draft_tokens = in.draft_tokens.value_or(c.draft_tokens);
  if (!in.draft_tokens) notes.assume("draft_tokens", c.draft_tokens, kDefaults);
  p.draft_acceptance_rate = in.draft_acceptance_rate;
  if (in.acceptance_length) {
    detail::check_acceptance_length(*in.acceptance_length, p.draft_tokens);
    p.acceptance = Acceptance::measured;
    p.acceptance_length = *in.acceptance_length;
  } else {
    p.draft_acceptance_decay = in.draft_acceptance_decay ? *in.draft_acceptance_decay
                               : in.draft_model == in.workload
                                   ? detail::number("catalogue.serving.draft_layer_decay", notes)
                                   : 1.0;
  }
  // Without a model it is found by looking up what was written before.
  if (in.draft_model != nullptr) set_draft(in, engine, p, notes);
}

/// Workers that only process prompts.
void set_workers(const In& in, const ServingEngine& engine, InFlightProblem<>& p, Notes& notes) {
  p.has_workers = true;
  p.prefill_replicas = *in.prefill_replicas;
  if (!in.prefill_tp_size && !in.prefill_ep_size) return;
  p.own_degrees = true;
  In d = in;
  d.tp_size = in.prefill_tp_size.value_or(in.tp_size);
  d.ep_size = in.prefill_ep_size.value_or(in.ep_size);
  d.decode_hardware = nullptr;
  p.workers = pass_times(d, engine, notes);
}

void set_requests(const In& in, InFlightProblem<>& p, Notes& notes) {
  const bool encodes = p.passes.encodes;
  p.seq_len = encodes ? UsualRequest::begun : *in.seq_len;
  p.output_tokens = in.output_tokens;
  const auto lengths = detail::stated_lengths(in);
  p.prompt_lengths = detail::length_spread(lengths.prompts, notes);
  p.answer_lengths = detail::length_spread(lengths.answers, notes);
  p.cached_prefix_len = encodes ? 0 : in.cached_prefix_len;
  if (encodes) detail::warn_of_idle(in, {"cached_prefix_len"}, "behind an encoder", notes);
  p.page_tokens = in.page_tokens;
  p.equal_lengths = in.equal_lengths;
  p.scheduler_steps = in.scheduler_steps;
  if (in.scheduler_steps > 1) p.engine.mixed = false;
  p.arrival_variation = 1 / in.balanced_replicas;
  p.network_bandwidth = in.network_bandwidth;
  const auto take = [](const auto& given, auto& number) {
    if (given) number = *given;
    return given.has_value();
  };
  p.has_most = take(in.max_batch_size, p.max_batch_size);
  p.ends = take(in.num_requests, p.num_requests);
  p.has_target_ttft = take(in.target_ttft, p.target_ttft);
  p.has_target_itl = take(in.target_itl, p.target_itl);
  if (take(in.arrival_rate, p.arrival_rate)) p.arrivals = ArrivalProcess::random;
  if (take(in.concurrency, p.concurrency)) p.arrivals = ArrivalProcess::closed;
}

/// Warns where the host's time for each request is drawn out beyond the passes on which it was measured.
void warn_of_host(const ServingEngine& engine, double requests, Notes& notes) {
  if (engine.measured_requests <= 0 || requests <= engine.measured_requests) return;
  if (engine.host_request <= Time<>()) return;
  notes.warn([&] {
    return fmt::format(
        "the host's times of {} were measured with up to {} requests in a pass; {:.0f} run here, at the same "
        "{:.0f} us each",
        engine.name, engine.measured_requests, requests, engine.host_request.in(unit::us));
  });
}

/// Warns and notes about a steady state: no request fits, overload, prefill workers, waiting requests.
void note_of(const In& in, const ServingEngine& engine, const InFlightEstimate<>& r, Notes& notes) {
  if (!r.feasible)
    return notes.warn(
        "no request fits beside the weights: use more devices or a narrower format; times are those of one "
        "request, as if it fitted",
        BreakReason::infeasible_memory);
  if (!in.arrival_rate && !in.concurrency)
    notes.assume("concurrency", r.slots, "all requests are queued: as many run as fit");
  if (r.overloaded)
    notes.warn(
        "the arrivals exceed what the replica can serve: figures are those of a full replica, and the line "
        "grows for ever",
        BreakReason::infeasible_constraint);
  warn_of_host(engine, r.requests_per_pass, notes);
  if (r.prompt_bound)
    notes.remark(
        "the prefill workers are the bottleneck: matched_prefill_replicas would keep the replica full");
  if (r.waiting_requests > 0)
    notes.remark(
        [&] { return fmt::format("{:g} of the requests in flight wait for a slot", r.waiting_requests); });
}

}  // namespace

EngineTimes<> engine_times(const ServingEngine& e) {
  return {.host_step = e.host_step,
          .host_request = e.host_request,
          .sampling = e.sampling,
          .request_time = e.request_time,
          .lookahead = e.lookahead,
          .beside = e.beside,
          .mixed = e.mixed,
          .reserves_whole = e.memory && e.memory->reserves_whole};
}

InFlightProblem<> settle(const In& in, const ServingEngine& engine, ReplicaPasses<> passes, Notes& notes) {
  check(in);
  if (in.draft_model != nullptr) detail::require_tokens(*in.draft_model, "draft_model");
  warn_of_no_effect(in, notes);
  InFlightProblem<> p;
  p.passes = std::move(passes);
  p.engine = engine_times(engine);
  set_requests(in, p, notes);
  p.prefill_chunk_tokens = detail::pass_tokens(in.prefill_chunk_tokens, &engine, *in.hardware, notes);
  p.chunks = std::ceil((p.seq_len - p.cached_prefix_len) / p.prefill_chunk_tokens);
  if (in.prefill_replicas) set_workers(in, engine, p, notes);
  if (in.draft_model != nullptr || in.acceptance_length) set_speculation(in, engine, p, notes);
  const auto cache = cache_settings({.kv_share = in.kv_share, .pass_tokens = in.prefill_chunk_tokens}, engine,
                                    in.decode_hardware != nullptr ? *in.decode_hardware : *in.hardware,
                                    p.passes.plan, p.passes.model, notes);
  p.kv_share = cache.share;
  p.cache_rule = cache.rule;
  return p;
}

InFlightBatchingModel::Result in_flight(const In& in, const ServingEngine& engine,
                                        const ReplicaPasses<>& passes, Notes& notes) {
  const auto problem = settle(in, engine, passes, notes);
  InFlightBatchingModel::Result r{evaluate(problem)};
  note_of(in, engine, r, notes);
  return r;
}

InFlightBatchingModel::Result InFlightBatchingModel::solve(const Inputs& asked, Notes& notes) const {
  detail::require_tokens(*asked.workload, "workload");
  Inputs in = asked;
  in.seq_len = seq_len_or_default(asked.seq_len, *asked.workload, asked.output_tokens, notes);
  detail::check_degrees(*in.workload, {.tp = in.tp_size, .pp = in.pp_size, .ep = in.ep_size}, *in.seq_len,
                        notes);
  // The passes of prompts are issued as the engine does, which only the fidelity_model knows whether there is
  // one.
  Notes quiet;
  const FidelityModel& fidelity_model = fidelity_model_for(in.fidelity, *in.workload, quiet);
  const auto engine = engine_or_usual(in.engine, *in.hardware, fidelity_model, notes);
  const auto passes = pass_times(in, engine, notes);
  Result r = in_flight(in, engine, passes, notes);
  r.fidelity = fidelity_model.fidelity();
  return r;
}

}  // namespace mlsysim

#include "catalogue/models/steady.hpp"
#include "catalogue/shared/figures.hpp"
#include "catalogue/shared/plan_check.hpp"
#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/detail/pass_times.hpp>
#include <mlsysim/catalogue/models/in_flight_batching.hpp>
#include <mlsysim/physics/in_flight.hpp>
#include <mlsysim/price/detail/line.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/units/detail/halving.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using detail::Steady;
using In = InFlightBatchingModel::Inputs;
using Out = InFlightBatchingModel::Result;

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

/// Requests in flight at a rate of arrivals: running = rate steps itl(running), by bisection; more than
/// `most` where the replica cannot keep up. Secants (the Illinois rule) come close first, so that bisection
/// asks only near the answer.
double in_flight_at(double rate, const Steady& s, double most) {
  const auto missing = [&](double n) { return n - rate * s.steps() * s.step(n, n).itl.base(); };
  if (missing(most) < 0) return 2 * most;
  constexpr double close = 1e-7;
  double few = 0, many = most;  // too few and enough
  double lacks = missing(few), spare = missing(many);
  for (int i = 0, side = 0; i < 20 && many - few > close * many; ++i) {
    const double x = (few * spare - many * lacks) / (spare - lacks);
    if (!(x > few && x < many)) break;
    const double y = missing(x);
    const int now = y < 0 ? -1 : 1;
    if (y < 0)
      few = x, lacks = y;
    else
      many = x, spare = y;
    if (now == side) (y < 0 ? spare : lacks) /= 2;
    side = now;
  }
  const auto short_of = [&](double n) { return n <= few || (n < many && missing(n) < 0); };
  return detail::halved(0.0, most, close, 50, short_of).second;
}

/// Distribution of the time to the first token after an arrival at a random moment.
class FirstToken {
 public:
  FirstToken(const Steady::Step& step, double crowd, double busy, Time<> late)
      : decode_(step.decode_pass.base()),
        prompt_(step.prompt_pass.base()),
        share_(step.prompt_passes),
        crowd_(crowd),
        busy_(busy),
        fixed_(late.base()) {}

  /// Share of the requests that have their token by `t` seconds.
  [[nodiscard]] double by(double t) const {
    double sum = 0, weight = std::exp(-crowd_);
    for (int k = 0; k < 60; ++k, weight *= crowd_ / k) {
      const double left = t - fixed_ - prompt_ * (1 + k);
      if (left < 0) break;  // behind so many others no request has a token yet
      sum += weight * rest_by(left);
    }
    return std::min(1.0, sum);
  }
  /// Time by which this share of the requests has its token.
  [[nodiscard]] Time<> quantile(double share) const {
    const double low = fixed_;
    double high = fixed_ + prompt_ + decode_;
    for (int i = 0; i < 200 && by(high) < share; ++i) high *= 1.5;
    return detail::halved(low, high, 1e-9, 100, [&](double t) { return by(t) < share; }).second * unit::s;
  }

 private:
  /// Share of the arrivals that wait no longer than `t` for the pass under way.
  [[nodiscard]] double rest_by(double t) const {
    const double mean = (1 - share_) * decode_ + share_ * prompt_;
    const double under_way =
        ((1 - share_) * std::max(0.0, decode_ - t) + share_ * std::max(0.0, prompt_ - t)) / mean;
    return 1 - busy_ * under_way;
  }

  double decode_, prompt_, share_, crowd_, busy_, fixed_;
};

/// The time to the first token by whom it is owed to.
struct FirstTokenTerms {
  Time<> ingress, queue, dispatch, prefill, egress;

  [[nodiscard]] Time<> without_queue() const { return ingress + dispatch + prefill + egress; }
  /// Whatever is left of `whole` is owed to other requests.
  void fill_queue(Time<> whole) { queue = max(whole - without_queue(), Time<>()); }
  [[nodiscard]] Time<> sum() const { return ingress + queue + dispatch + prefill + egress; }
  void report(Out& r) const {
    r.ttft_ingress = ingress;
    r.ttft_queue = queue;
    r.ttft_dispatch = dispatch;
    r.ttft_prefill = prefill;
    r.ttft_egress = egress;
    r.ttft = sum();
  }
  /// Mean where the first of a run are `share` of all.
  [[nodiscard]] FirstTokenTerms with_start(const FirstTokenTerms& first, double share) const {
    const auto mean = [share](Time<> a, Time<> b) { return a * (1 - share) + b * share; };
    return {.ingress = mean(ingress, first.ingress),
            .queue = mean(queue, first.queue),
            .dispatch = mean(dispatch, first.dispatch),
            .prefill = mean(prefill, first.prefill),
            .egress = mean(egress, first.egress)};
  }
};

/// Median and tail of the first token, and of the one term in which requests differ.
void report_quantiles(Time<> p50, Time<> p99, const FirstTokenTerms& terms, Out& r) {
  r.p50_ttft = p50;
  r.p99_ttft = p99;
  r.p50_ttft_queue = max(p50 - terms.without_queue(), Time<>());
  r.p99_ttft_queue = max(p99 - terms.without_queue(), Time<>());
}

void forget_quantiles(Out& r) {
  r.p50_ttft.reset();
  r.p99_ttft.reset();
  r.p50_ttft_queue.reset();
  r.p99_ttft_queue.reset();
  r.slo_attainment.reset();
}

/// The first token of a run whose requests all begin at once: passes of as many prompts as there are and fit.
Time<> burst_time(const ServingEngine& engine, const Steady& s, double requests, double inflight) {
  const double together = std::min(s.together(), requests);
  return BurstFirstToken::solve<double>(
             {.prompt =
                  with_host(engine, s.prompt_pass(together, inflight), together) * (s.chunks() / together),
              .requests = requests,
              .together = together})
             .ttft +
         engine.request_time;
}

/// Time to the first token, and its distribution where arrivals are spread.
void first_token(const In& in, const ServingEngine& engine, const Steady& s, const Steady::Step& step,
                 double all_rate, double all_in_flight, Out& out) {
  // A micro-batch is a queue of its own.
  const double ranks = in.ep_size, rate = all_rate / step.inflight, in_flight = all_in_flight / step.inflight;
  // Others must be there for a pass to be under way.
  const double busy = in.arrival_rate ? std::min(1.0, in_flight) : std::clamp(in_flight - 1, 0.0, 1.0);
  // The pass under way at a random moment lasts mean (1 + cv^2) on average. Requests that arrive in it share
  // the own pass, unless all prompts of that pass are given.
  const double cv = step.pass_cv(), around = step.mean_pass().base() * (1 + cv * cv);
  const double crowd = busy > 0 ? (1 - step.prompt_passes) * std::min(1.0, rate / ranks * around) : 0.0;
  const auto own = s.alone(step.requests);
  FirstTokenTerms terms{.ingress = engine.request_time,
                        .queue = {},
                        .dispatch = own.dispatch,
                        .prefill = own.kernels,
                        .egress = step.decode_pass * engine.lookahead};
  FirstTokenTerms first = terms;
  first.egress = {};
  first.fill_queue(burst_time(engine, s, std::max(1.0, in_flight / ranks), step.inflight));
  if (s.in_step() && in_flight > 1) {
    const Time<> passes = step.prompt_pass * s.chunks();  // each of them holds prompts
    if (engine.mixed) {
      terms.egress = passes * engine.lookahead;
      terms.fill_queue(passes * (2 + engine.lookahead) + engine.request_time);
    } else {
      terms = first;
    }
  } else {
    // The chunks of one prompt follow each other.
    const Time<> late = step.prompt_pass * (s.chunks() - 1) + terms.egress + engine.request_time;
    terms.fill_queue(InFlightFirstToken::solve<double>({.mean_pass = step.mean_pass(),
                                                        .pass_cv = cv,
                                                        .own_pass = step.prompt_pass,
                                                        .crowd = crowd,
                                                        .busy = busy,
                                                        .late = late})
                         .ttft);
    const FirstToken spread(step, crowd, busy, late);
    report_quantiles(spread.quantile(0.5), spread.quantile(0.99), terms, out);
    if (in.target_ttft) out.slo_attainment = spread.by(in.target_ttft->base());
  }
  if (in.num_requests && !in.arrival_rate)
    terms = terms.with_start(first, std::min(1.0, all_in_flight / *in.num_requests));
  terms.report(out);
}

/// Prompts on workers of their own: they queue there, their cache moves, and no step is stopped.
void separate_first_token(const In& in, const ServingEngine& engine, const Steady& s, const PassTimes& passes,
                          const Steady::Step& step, double& rate, double in_flight, Out& out, Notes& notes) {
  const auto own = s.alone(1);
  const Time<> prompt = own.total();
  out.prompt_pass = prompt;
  out.kv_transfer_time = passes.cache(*in.seq_len) / in.network_bandwidth;
  const Time<> slot = s.prompt_slot();  // prompts follow each other through the stages of a worker
  out.matched_prefill_replicas = std::ceil(out.capacity.base() * slot.base() / s.prompt_ranks());
  const double takers = *in.prefill_replicas * s.prompt_ranks(), most = takers / slot.base();
  if (!in.arrival_rate && rate > kFull * most) {
    notes.remark(
        "the prefill workers are the bottleneck: matched_prefill_replicas would keep the replica full");
    rate = 0.95 * most;
  }
  const auto line = line_of(rate * slot.base(), takers, slot, 1.0, 0.0);
  out.is_stable = out.is_stable && line.stable;
  if (!line.stable) return;
  const Time<> rest = step.decode_pass * (0.5 * std::min(1.0, in_flight));
  const FirstTokenTerms terms{.ingress = engine.request_time,
                              .queue = rest + line.wait.wait_mean,
                              .dispatch = own.dispatch,
                              .prefill = own.kernels,
                              .egress = out.kv_transfer_time + step.decode_pass * engine.lookahead};
  const Time<> fixed = terms.without_queue() + rest;
  terms.report(out);
  report_quantiles(fixed + wait_quantile(line, 0.5), fixed + wait_quantile(line, 0.99), terms, out);
  if (in.target_ttft) {
    const Time<> spare = *in.target_ttft - fixed;
    out.slo_attainment =
        spare < Time<>()
            ? 0.0
            : 1 - line.wait.wait_probability * std::exp(-(spare / max(line.wait.wait_given, prompt * 1e-9)));
  }
}

/// How many requests of `held` tokens fit beside the weights.
void set_capacity(const In& in, const Steady& s, double held, Notes& notes, Out& r) {
  const double kv_share = in.kv_share ? *in.kv_share : detail::number("catalogue.serving.kv_share", notes);
  r.max_active_requests = s.capacity(held, kv_share);
  r.paged_internal_fragmentation = 1 - s.context() / held;
  r.feasible = r.max_active_requests >= 1;
  if (!r.feasible)
    notes.warn(
        "no request fits beside the weights: use more devices or a narrower format; times are those of one "
        "request, as if it fitted",
        BreakReason::infeasible_memory);
}

/// Most requests that can run at once: limited by memory, by the engine, and by how many there are.
double most_running(const In& in, const Out& r, Notes& notes) {
  double most = r.max_active_requests;
  if (in.max_batch_size) most = std::min(most, *in.max_batch_size);
  if (in.num_requests) most = std::min(most, *in.num_requests);
  if (!in.arrival_rate && !in.concurrency)
    notes.assume("concurrency", most, "all requests are queued: as many run as fit");
  return most;
}

/// Requests that run at once in the steady state; `r.is_stable` says whether the arrivals allow one.
double steady_running(const In& in, const Steady& s, double most, Notes& notes, Out& r) {
  r.is_stable = true;
  if (!in.arrival_rate) return in.concurrency ? std::min(*in.concurrency, most) : most;
  const double running = in_flight_at(in.arrival_rate->base(), s, most);
  r.is_stable = running <= most;
  if (!r.is_stable)
    notes.warn(
        "the arrivals exceed what the replica can serve: figures are those of a full replica, and the line "
        "grows for ever",
        BreakReason::infeasible_constraint);
  return std::min(running, most);
}

void describe_step(const In& in, const ServingEngine& engine, const Steady& s, const Steady::Step& step,
                   double running, Out& r) {
  r.running_requests = running;
  r.itl = step.itl / s.tokens_per_pass();
  r.decode_pass = step.decode_pass;
  r.prompt_pass = step.prompt_pass;
  r.host_time = host_time(engine, running / (step.inflight * in.ep_size));
  r.prompts_per_step = step.prompts;
  r.prefill_share = step.prompt_share;
  const bool often = step.prompt_passes > 0.01;
  r.p99_itl = (often ? step.prompt_pass + (engine.mixed ? Time<>() : step.decode_pass) : step.decode_pass) /
              s.tokens_per_pass();
}

/// Warns where the host's time for each request is drawn out beyond the passes on which it was measured.
void warn_of_host(const In& in, const ServingEngine& engine, const Steady::Step& step, double running,
                  Notes& notes) {
  const double requests = running / (step.inflight * in.ep_size);
  if (engine.measured_requests <= 0 || requests <= engine.measured_requests) return;
  if (engine.host_request <= Time<>()) return;
  notes.warn([&] {
    return fmt::format(
        "the host's times of {} were measured with up to {} requests in a pass; {:.0f} run here, at the same "
        "{:.0f} us each",
        engine.name, engine.measured_requests, requests, engine.host_request.in(unit::us));
  });
}

/// Adds the wait for a free slot to the time to the first token, or removes that time where no mean exists.
void add_wait_for_slot(const In& in, double most, double rate, Notes& notes, Out& r) {
  if (in.concurrency && r.ttft) {
    // Requests beyond the slots wait for one (Little's law).
    const double line = std::max(0.0, *in.concurrency - most);
    if (line > 0) {
      const Time<> wait = line / rate * unit::s;
      *r.ttft_queue += wait;
      r.ttft =
          FirstTokenTerms{*r.ttft_ingress, *r.ttft_queue, *r.ttft_dispatch, *r.ttft_prefill, *r.ttft_egress}
              .sum();
      forget_quantiles(r);
      notes.remark([&] { return fmt::format("{:g} of the requests in flight wait for a slot", line); });
    }
  } else if (!in.arrival_rate) {
    // A queue that never empties has no mean wait.
    for (auto* time :
         {&r.ttft, &r.ttft_ingress, &r.ttft_queue, &r.ttft_dispatch, &r.ttft_prefill, &r.ttft_egress})
      time->reset();
    forget_quantiles(r);
  }
}

/// Throughput at `rate` requests per second, and what a request sees in total.
void describe_service(const In& in, double rate, Out& r) {
  r.request_throughput = rate * (unit::request / unit::s);
  r.token_throughput = rate * in.output_tokens * (unit::token / unit::s);
  r.token_throughput_per_accelerator = r.token_throughput / r.accelerators;
  const Time<> answer = r.itl * (in.output_tokens - 1);
  if (r.ttft) r.request_latency = *r.ttft + answer;
  if (r.p99_ttft) r.p99_request_latency = *r.p99_ttft + answer;
  if (in.target_itl) {
    const double meets = r.itl <= *in.target_itl ? 1.0 : 0.0;
    r.slo_attainment = in.target_ttft ? r.slo_attainment.value_or(0) * meets : meets;
  }
  r.goodput = r.is_stable ? r.request_throughput * r.slo_attainment.value_or(1) : RequestRate<>();
}

}  // namespace

InFlightBatchingModel::Result in_flight(const In& in, const ServingEngine& engine, const PassTimes& passes,
                                        Notes& notes) {
  check(in);
  if (in.draft_model != nullptr) detail::require_tokens(*in.draft_model, "draft_model");
  if (!in.prefill_replicas)
    detail::warn_of_idle(in, {"network_bandwidth"}, "without prefill_replicas", notes);
  if (in.acceptance_length)
    detail::warn_of_idle(in, {"draft_acceptance_rate", "draft_acceptance_decay"}, "beside acceptance_length",
                         notes);
  else if (in.draft_model == nullptr)
    detail::warn_of_idle(in, {"draft_acceptance_rate", "draft_acceptance_decay", "draft_tokens"},
                         "without draft_model", notes);
  if (in.arrival_rate) detail::warn_of_idle(in, {"equal_lengths"}, "where requests arrive at random", notes);
  Out r;
  r.accelerators = in.tp_size * in.pp_size * in.ep_size;
  const Steady s(in, engine, passes, notes);
  if (in.prefill_replicas)
    r.accelerators +=
        *in.prefill_replicas * in.prefill_tp_size.value_or(in.tp_size) * in.pp_size * s.prompt_ranks();
  r.tokens_per_pass = s.tokens_per_pass();
  const double held = std::ceil(s.context() / in.page_tokens) * in.page_tokens;
  set_capacity(in, s, held, notes, r);
  if (!r.feasible) {
    // A time of nothing would be zero, and the best of all: those of one request, as if it fitted.
    describe_step(in, engine, s, s.step(1, in.concurrency ? 0 : 1), 1, r);
    r.running_requests = 0;
    return r;
  }

  const double most = most_running(in, r, notes);
  const auto full = s.step(most, most);
  r.capacity = most / (s.steps() * full.itl.base()) * (unit::request / unit::s);
  const double running = steady_running(in, s, most, notes, r);
  // A request does not wait for its own prompt between two of its own tokens.
  const auto step = s.step(running, in.concurrency ? running - 1 : running);
  describe_step(in, engine, s, step, running, r);
  warn_of_host(in, engine, step, running, notes);
  r.kv_cache_size = passes.cache(held) * running;

  double rate = in.arrival_rate ? in.arrival_rate->base() : running / (s.steps() * step.itl.base());
  if (r.is_stable) {
    if (s.separate())
      separate_first_token(in, engine, s, passes, step, rate, running, r, notes);
    else
      first_token(in, engine, s, step, rate, running, r);
  }
  add_wait_for_slot(in, most, rate, notes, r);
  if (!in.arrival_rate && in.num_requests && !in.concurrency && most < *in.num_requests) {
    // The last requests leave an engine that empties: about half of the batch runs in the last generation.
    const double rounds = *in.num_requests / most;
    rate *= rounds / (rounds + 0.5);
  }
  if (!r.is_stable) rate = r.capacity.base();
  describe_service(in, rate, r);
  // In a cycle every stage works on each micro-batch once. A mean of less than one running request means that
  // one runs for that share of the time.
  const Time<> loaded = (s.busy(running / step.inflight) + s.busy_prompts(step)) * step.inflight;
  r.utilization = std::min(1.0, running) * std::min(1.0, loaded / (in.pp_size * step.itl));
  return r;
}

InFlightBatchingModel::Result InFlightBatchingModel::solve(const Inputs& asked, Notes& notes) const {
  detail::require_tokens(*asked.workload, "workload");
  Inputs in = asked;
  in.seq_len = seq_len_or_default(asked.seq_len, *asked.workload, asked.output_tokens, notes);
  detail::check_degrees(*in.workload, {.tp = in.tp_size, .pp = in.pp_size, .ep = in.ep_size}, *in.seq_len,
                        notes);
  // The passes of prompts are issued as the engine does, which only the pricing knows whether there is one.
  Notes quiet;
  const Pricing& pricing = pricing_for(in.fidelity, *in.workload, quiet);
  const auto engine = engine_or_generic(in.engine, pricing, notes);
  const auto passes = pass_times(in, engine.prefill_issue, notes);
  Result r = in_flight(in, engine, passes, notes);
  r.fidelity = pricing.fidelity();
  return r;
}

}  // namespace mlsysim

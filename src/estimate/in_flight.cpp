#include <mlsysim/estimate/detail/steady.hpp>

#include <cmath>

namespace mlsysim {

static_assert(problem_is_complete<InFlightProblem<>>());

namespace {

using Steady = detail::Steady<>;
using FirstTokenTerms = detail::FirstTokenTerms<double>;
using Out = InFlightEstimate<>;

/// A wait below this share of a request's time is numerical error of the closed loop's secant.
constexpr double kCloseLoop = 5e-3;

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
Time<> burst_time(const InFlightProblem<>& p, const Steady& s, double requests, double inflight) {
  const double together = std::min(s.together(), requests);
  return BurstFirstToken::solve<double>(
             {.prompt = with_host(p.engine, s.mixed_step_time(together, inflight), together) *
                        (s.chunks() / together),
              .requests = requests,
              .together = together})
             .ttft +
         p.engine.request_time;
}

/// The time to the first token of a state, and how it is spread.
struct FirstOf {
  FirstTokenTerms terms, start;  ///< in the steady state; of the requests with which a run begins
  detail::SpreadArrivals<double> spread;
  bool in_step = false;  ///< all requests wait alike
};

/// @param at_once requests that come together where they come in step, or begin a run
FirstOf first_of(const InFlightProblem<>& p, const Steady& s, const Steady::Step& step,
                 const Steady::Alone& own, double all_rate, double all_in_flight, double at_once) {
  const double ranks = p.passes.plan.ep, together = at_once / step.inflight;
  FirstOf out;
  out.spread = detail::spread_arrivals(p, s, step, own, all_rate, all_in_flight);
  out.terms = out.start = out.spread.terms;
  if (!s.in_step() && !p.ends) return out;
  out.start.egress = {};
  out.start.fill_queue(burst_time(p, s, std::max(1.0, together / ranks), step.inflight));
  out.in_step = s.in_step() && together > 1;
  if (!out.in_step) return out;
  const Time<> passes = step.mixed_step_time * s.chunks();  // each of them holds prompts
  if (p.engine.mixed) {
    out.terms.egress = passes * p.engine.lookahead;
    out.terms.fill_queue(passes * (2 + p.engine.lookahead) + p.engine.request_time);
  } else {
    out.terms = out.start;
  }
  return out;
}

using Workers = detail::PromptWorkers<double>;

/// Workers that keep up with a rate of each replica.
double matched(const Workers& w, double rate) {
  return std::ceil(rate * w.p.decode_replicas * w.slot.base() / w.s.prompt_ranks());
}

/// Reports the time to first token on prefill workers: terms, percentiles and SLO attainment.
void report_workers(const Workers& w, const Steady::Step& step, double rate, double in_flight, Out& out) {
  const auto line = w.line(rate);
  const auto terms = w.terms(step, rate, in_flight);
  const Time<> fixed = terms.without_queue() + w.rest(step, in_flight);
  const auto waits = w.waits(rate);
  terms.report(out);
  const auto beyond = w.s.own_beyond();
  const auto at = [&](double share, Time<> wait) {
    return beyond ? detail::with_own(terms.sum(), fixed + wait, detail::beyond_at(*beyond, share))
                  : fixed + wait;
  };
  report_quantiles(at(0.5, waits[0]), at(0.99, waits[3]), terms, out);
  if (!w.p.has_target_ttft) return;
  const Time<> spare = w.p.target_ttft - fixed;
  if (beyond)
    out.slo_attainment = detail::share_within(
        w.p.target_ttft, 1 - 1e-12, [&](double share) { return at(share, Workers::wait_at(line, share)); });
  else
    out.slo_attainment =
        spare < Time<>()
            ? 0.0
            : 1 - line.wait_probability * std::exp(-(spare / max(line.wait_given, w.total() * 1e-9)));
}

/// How many requests of `held` tokens fit beside the weights.
void set_capacity(const InFlightProblem<>& p, const Steady& s, double held, Out& r) {
  r.max_active_requests = s.slots(p.kv_share);
  r.paged_internal_fragmentation = 1 - s.context() / held;
  r.feasible = r.max_active_requests >= 1;
}

/// Most requests that can run at once: limited by memory, by the engine, and by how many there are.
double most_running(const InFlightProblem<>& p, const Out& r) {
  double most = r.max_active_requests;
  if (p.has_most) most = std::min(most, p.max_batch_size);
  if (p.ends) most = std::min(most, p.num_requests);
  return most;
}

/// Share of the requests whose time between tokens is at most `target`.
double keep_target(Time<> mean, Time<> deviation, Time<> target) {
  if (deviation <= Time<>()) return target >= mean ? 1 : 0;
  if (target <= Time<>()) return 0;
  const double s = TokenTimeQuantile::log_deviation<double>(mean, deviation);
  return 0.5 * std::erfc(-(std::log(target / mean) / s + 0.5 * s) / std::sqrt(2.0));
}

void describe_step(const InFlightProblem<>& p, const Steady& s, const Steady::Step& step, double running,
                   Out& r) {
  r.running_requests = running;
  r.itl = step.itl / s.tokens_per_pass();
  r.decode_step_time = step.decode_step_time;
  r.mixed_step_time = step.mixed_step_time;
  r.requests_per_pass = running / (step.inflight * p.passes.plan.ep);
  r.host_time = host_time(p.engine, r.requests_per_pass);
  r.prompts_per_step = step.prompts;
  r.prefill_share = step.prompt_share;
  const bool often = step.prompt_passes > 0.01;
  const Time<> deviation = detail::token_time_deviation(p, s, step, running);
  r.p99_itl = apply<TokenTimeQuantile, double>({r.itl, deviation, detail::kNinetyNine}).time;
  r.keeps_itl = keep_target(r.itl, deviation, p.target_itl);
  r.p99_token_gap = (often ? step.mixed_step_time + (p.engine.mixed ? Time<>() : step.decode_step_time)
                           : step.decode_step_time) /
                    s.tokens_per_pass();
}

/// Adds a wait before the slot to the time to the first token.
void add_wait(Time<> wait, Out& r) {
  if (wait <= Time<>()) return;
  *r.ttft_queue += wait;
  r.ttft = FirstTokenTerms{*r.ttft_ingress, *r.ttft_queue, *r.ttft_dispatch, *r.ttft_prefill, *r.ttft_egress}
               .sum();
}

/// A queue that never empties has no mean wait.
void forget_first_token(Out& r) {
  for (auto* time :
       {&r.ttft, &r.ttft_ingress, &r.ttft_queue, &r.ttft_dispatch, &r.ttft_prefill, &r.ttft_egress})
    time->reset();
  forget_quantiles(r);
}

/// Throughput at `rate` requests per second, and what a request sees in total.
void describe_service(const InFlightProblem<>& p, double rate, Out& r) {
  r.request_throughput = rate * (unit::request / unit::s);
  r.token_throughput = rate * p.output_tokens * (unit::token / unit::s);
  r.token_throughput_per_accelerator = r.token_throughput / r.accelerators;
  const Time<> answer = r.itl * (p.output_tokens - 1);
  if (r.ttft) r.request_latency = *r.ttft + answer;
  if (r.p99_ttft) r.p99_request_latency = *r.p99_ttft + answer;
  if (p.has_target_itl)
    r.slo_attainment = p.has_target_ttft ? r.slo_attainment.value_or(0) * r.keeps_itl : r.keeps_itl;
  r.goodput = r.is_stable ? r.request_throughput * r.slo_attainment.value_or(1) : RequestRate<>();
}

/// The time to the first token, its percentiles where requests differ.
void report_first_token(const InFlightProblem<>& p, const Steady& s, const Steady::Step& step, FirstOf first,
                        double at_once, Out& r) {
  if (!first.in_step) {
    const detail::SpreadFirstToken<double> token(step, first.spread, s.own_beyond());
    const auto [p50, p99] = token.quantiles<2>({0.5, 0.99});
    report_quantiles(p50, p99, first.terms, r);
    if (p.has_target_ttft) r.slo_attainment = token.by(p.target_ttft);
  }
  if (p.ends && p.arrivals != ArrivalProcess::random)
    first.terms = first.terms.with_start(first.start, std::min(1.0, at_once / p.num_requests));
  first.terms.report(r);
}

/// In a loop a request waits for a slot, or for a worker, while it neither computes nor decodes (Little's
/// law).
void wait_in_loop(const InFlightProblem<>& p, const detail::ClosedLoop<double>& loop, double rate, Out& r) {
  const Time<> served = loop.first + loop.decoding;
  const Time<> wait = max(Time<>::from_base(p.concurrency / rate) - served, Time<>());
  add_wait(wait, r);
  if (wait <= served * kCloseLoop) return;
  forget_quantiles(r);
  r.waiting_requests = wait.base() * rate;
}

/// In a run above the capacity request k of n arrives at k / arrivals and is taken at k / capacity: a wait
/// that grows evenly to the last.
void wait_in_run(const InFlightProblem<>& p, double capacity, Out& r) {
  const Time<> longest = p.num_requests * (1 / capacity - 1 / p.arrival_rate.base()) * unit::s;
  add_wait(0.5 * longest, r);
  if (r.p50_ttft)
    report_quantiles(*r.p50_ttft + 0.5 * longest, *r.p99_ttft + 0.99 * longest,
                     {*r.ttft_ingress, {}, *r.ttft_dispatch, *r.ttft_prefill, *r.ttft_egress}, r);
  r.waiting_requests = 0.5 * longest.base() * capacity;
  r.slo_attainment.reset();
}

/// Devices of the replica and of its workers.
double devices_of(const InFlightProblem<>& p) {
  const auto& plan = p.passes.plan;
  const double own = plan.tp * plan.pp * plan.ep;
  const auto& prompts = p.prompts().plan;
  return p.has_workers ? own + p.prefill_replicas * prompts.tp * plan.pp * prompts.ep : own;
}

}  // namespace

InFlightEstimate<> evaluate(const InFlightProblem<>& p) {
  Out r;
  const Plan<>& plan = p.passes.plan;
  const bool closed = p.arrivals == ArrivalProcess::closed, random = p.arrivals == ArrivalProcess::random;
  const Steady s(p);
  r.accelerators = devices_of(p);
  r.tokens_per_pass = s.tokens_per_pass();
  const double held = s.held();
  set_capacity(p, s, held, r);
  if (!r.feasible) {
    // A time of nothing would be zero, and the best of all: those of one request, as if it fitted.
    describe_step(p, s, s.step(1, closed ? 0 : 1), 1, r);
    r.running_requests = 0;
    return r;
  }

  const double most = r.slots = most_running(p, r);
  const auto own = s.alone();
  std::optional<Workers> workers;
  if (s.separate()) workers.emplace(p, s, own);
  const double at_once = closed ? std::min(p.concurrency, most) : most;
  using Before = detail::BeforeDecoding<double>;
  const auto before = [&](const Steady::Step& step, double rate, double running) -> Before {
    if (workers) {
      const Time<> first = workers->terms(step, workers->calm(rate), running).sum();
      return {first, first};  // a request holds a slot from where it decodes
    }
    const auto first = first_of(p, s, step, own, rate, running, at_once);
    return {first.terms.sum(), first.terms.ingress + (first.in_step ? Time<>() : first.spread.rest)};
  };
  const auto full = detail::closed_loop(s, most * detail::kEndless, most, before);
  r.capacity = full.rate * (unit::request / unit::s);
  auto loop = closed ? detail::closed_loop(s, p.concurrency, most, before) : full;
  r.is_stable = true;
  if (random) {
    const auto found = detail::in_flight_at(p.arrival_rate.base(), s, full);
    r.is_stable = found.overload <= 0;
    r.overloaded = !r.is_stable;
    loop.running = loop.others = found.running;
    loop.step = s.step(loop.running, loop.others);
    loop.rate = std::min(p.arrival_rate.base(), full.rate);
  }
  const auto& step = loop.step;
  const double running = loop.running;
  double rate = loop.rate;
  const double begun = running / (step.itl * s.steps()).base();  // as often others arrive
  if (workers) {
    r.mixed_step_time = workers->total();
    r.kv_transfer_time = workers->transfer;
    r.matched_prefill_replicas = matched(*workers, r.capacity.base());
    r.prompt_bound = !random && rate > kFull * workers->most_rate();
    if (r.prompt_bound) rate = workers->calm(rate);
    r.is_stable = r.is_stable && workers->load(rate) <= kFull;
  }
  const auto mixed_step_time = r.mixed_step_time;
  describe_step(p, s, step, running, r);
  if (workers) r.mixed_step_time = mixed_step_time;
  r.kv_cache_size = p.passes.cache(held) * running;
  // In a cycle every stage works on each micro-batch once.
  r.utilization = std::min(s.most_busy(), s.draw(step, rate, running, loop.own).busy / (plan.pp * step.itl));

  const bool ends_in_time = random && r.overloaded && p.ends;  // a run above the capacity has an end
  if (workers && r.is_stable)
    report_workers(*workers, step, random ? rate : workers->calm(begun), running, r);
  else if (!workers && (r.is_stable || ends_in_time))
    report_first_token(p, s, step, first_of(p, s, step, own, begun, running, at_once), at_once, r);
  if (closed && r.ttft)
    wait_in_loop(p, loop, rate, r);
  else if (ends_in_time && r.ttft)
    wait_in_run(p, rate, r);
  else if (!random)
    forget_first_token(r);
  // The last requests leave an engine that empties: about half of the batch runs in the last generation.
  const double rounds = p.num_requests / most;
  if (p.arrivals == ArrivalProcess::queued && p.ends && rounds > 1) rate *= rounds / (rounds + 0.5);
  describe_service(p, rate, r);
  return r;
}

}  // namespace mlsysim

#include "estimate/steady.hpp"

#include <mlsysim/timing/detail/line.hpp>
#include <mlsysim/units/detail/halving.hpp>

namespace mlsysim {

static_assert(problem_is_complete<InFlightProblem<>>());

namespace {

using detail::Steady;
using Out = InFlightEstimate<>;

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
Time<> burst_time(const InFlightProblem<>& p, const Steady& s, double requests, double inflight) {
  const double together = std::min(s.together(), requests);
  return BurstFirstToken::solve<double>(
             {.prompt =
                  with_host(p.engine, s.prompt_pass(together, inflight), together) * (s.chunks() / together),
              .requests = requests,
              .together = together})
             .ttft +
         p.engine.request_time;
}

/// Time to the first token, and its distribution where arrivals are spread.
void first_token(const InFlightProblem<>& p, const Steady& s, const Steady::Step& step, double all_rate,
                 double all_in_flight, Out& out) {
  // A micro-batch is a queue of its own.
  const double ranks = p.passes.plan.ep, rate = all_rate / step.inflight,
               in_flight = all_in_flight / step.inflight;
  // Others must be there for a pass to be under way.
  const bool random = p.arrivals == ArrivalProcess::random;
  const double busy = random ? std::min(1.0, in_flight) : std::clamp(in_flight - 1, 0.0, 1.0);
  // The pass under way at a random moment lasts mean (1 + cv^2) on average. Requests that arrive in it share
  // the own pass, unless all prompts of that pass are given.
  const double cv = step.pass_cv(), around = step.mean_pass().base() * (1 + cv * cv);
  const double crowd = busy > 0 ? (1 - step.prompt_passes) * std::min(1.0, rate / ranks * around) : 0.0;
  const auto own = s.alone(step.requests);
  FirstTokenTerms terms{.ingress = p.engine.request_time,
                        .queue = {},
                        .dispatch = own.dispatch,
                        .prefill = own.kernels,
                        .egress = step.decode_pass * p.engine.lookahead};
  FirstTokenTerms first = terms;
  first.egress = {};
  first.fill_queue(burst_time(p, s, std::max(1.0, in_flight / ranks), step.inflight));
  if (s.in_step() && in_flight > 1) {
    const Time<> passes = step.prompt_pass * s.chunks();  // each of them holds prompts
    if (p.engine.mixed) {
      terms.egress = passes * p.engine.lookahead;
      terms.fill_queue(passes * (2 + p.engine.lookahead) + p.engine.request_time);
    } else {
      terms = first;
    }
  } else {
    // The chunks of one prompt follow each other.
    const Time<> late = step.prompt_pass * (s.chunks() - 1) + terms.egress + p.engine.request_time;
    terms.fill_queue(InFlightFirstToken::solve<double>({.mean_pass = step.mean_pass(),
                                                        .pass_cv = cv,
                                                        .own_pass = step.prompt_pass,
                                                        .crowd = crowd,
                                                        .busy = busy,
                                                        .late = late})
                         .ttft);
    const FirstToken spread(step, crowd, busy, late);
    report_quantiles(spread.quantile(0.5), spread.quantile(0.99), terms, out);
    if (p.has_target_ttft) out.slo_attainment = spread.by(p.target_ttft.base());
  }
  if (p.ends && !random) terms = terms.with_start(first, std::min(1.0, all_in_flight / p.num_requests));
  terms.report(out);
}

/// Prompts on workers of their own: they queue there, their cache moves, and no step is stopped.
void separate_first_token(const InFlightProblem<>& p, const Steady& s, const Steady::Step& step, double& rate,
                          double in_flight, Out& out) {
  const auto own = s.alone(1);
  const Time<> prompt = own.total();
  out.prompt_pass = prompt;
  out.kv_transfer_time = p.passes.cache(p.seq_len) / p.network_bandwidth;
  const Time<> slot = s.prompt_slot();  // prompts follow each other through the stages of a worker
  out.matched_prefill_replicas = std::ceil(out.capacity.base() * slot.base() / s.prompt_ranks());
  const double takers = p.prefill_replicas * s.prompt_ranks(), most = takers / slot.base();
  out.prompt_bound = p.arrivals != ArrivalProcess::random && rate > kFull * most;
  if (out.prompt_bound) rate = 0.95 * most;
  const auto line = line_of(rate * slot.base(), takers, slot, 1.0, 0.0);
  out.is_stable = out.is_stable && line.stable;
  if (!line.stable) return;
  const Time<> rest = step.decode_pass * (0.5 * std::min(1.0, in_flight));
  const FirstTokenTerms terms{.ingress = p.engine.request_time,
                              .queue = rest + line.wait.wait_mean,
                              .dispatch = own.dispatch,
                              .prefill = own.kernels,
                              .egress = out.kv_transfer_time + step.decode_pass * p.engine.lookahead};
  const Time<> fixed = terms.without_queue() + rest;
  terms.report(out);
  report_quantiles(fixed + wait_quantile(line, 0.5), fixed + wait_quantile(line, 0.99), terms, out);
  if (p.has_target_ttft) {
    const Time<> spare = p.target_ttft - fixed;
    out.slo_attainment =
        spare < Time<>()
            ? 0.0
            : 1 - line.wait.wait_probability * std::exp(-(spare / max(line.wait.wait_given, prompt * 1e-9)));
  }
}

/// How many requests of `held` tokens fit beside the weights.
void set_capacity(const InFlightProblem<>& p, const Steady& s, double held, Out& r) {
  r.max_active_requests = s.capacity(held, p.kv_share);
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

/// Requests that run at once in the steady state; `r.is_stable` says whether the arrivals allow one.
double steady_running(const InFlightProblem<>& p, const Steady& s, double most, Out& r) {
  r.is_stable = true;
  if (p.arrivals != ArrivalProcess::random)
    return p.arrivals == ArrivalProcess::closed ? std::min(p.concurrency, most) : most;
  const double running = in_flight_at(p.arrival_rate.base(), s, most);
  r.is_stable = running <= most;
  r.overloaded = !r.is_stable;
  return std::min(running, most);
}

void describe_step(const InFlightProblem<>& p, const Steady& s, const Steady::Step& step, double running,
                   Out& r) {
  r.running_requests = running;
  r.itl = step.itl / s.tokens_per_pass();
  r.decode_pass = step.decode_pass;
  r.prompt_pass = step.prompt_pass;
  r.requests_per_pass = running / (step.inflight * p.passes.plan.ep);
  r.host_time = host_time(p.engine, r.requests_per_pass);
  r.prompts_per_step = step.prompts;
  r.prefill_share = step.prompt_share;
  const bool often = step.prompt_passes > 0.01;
  r.p99_itl = (often ? step.prompt_pass + (p.engine.mixed ? Time<>() : step.decode_pass) : step.decode_pass) /
              s.tokens_per_pass();
}

/// Adds the wait for a free slot to the time to the first token, or removes that time where no mean exists.
void add_wait_for_slot(const InFlightProblem<>& p, double most, double rate, Out& r) {
  if (p.arrivals == ArrivalProcess::closed && r.ttft) {
    // Requests beyond the slots wait for one (Little's law).
    const double line = std::max(0.0, p.concurrency - most);
    if (line > 0) {
      const Time<> wait = line / rate * unit::s;
      *r.ttft_queue += wait;
      r.ttft =
          FirstTokenTerms{*r.ttft_ingress, *r.ttft_queue, *r.ttft_dispatch, *r.ttft_prefill, *r.ttft_egress}
              .sum();
      forget_quantiles(r);
      r.waiting_requests = line;
    }
  } else if (p.arrivals != ArrivalProcess::random) {
    // A queue that never empties has no mean wait.
    for (auto* time :
         {&r.ttft, &r.ttft_ingress, &r.ttft_queue, &r.ttft_dispatch, &r.ttft_prefill, &r.ttft_egress})
      time->reset();
    forget_quantiles(r);
  }
}

/// Throughput at `rate` requests per second, and what a request sees in total.
void describe_service(const InFlightProblem<>& p, double rate, Out& r) {
  r.request_throughput = rate * (unit::request / unit::s);
  r.token_throughput = rate * p.output_tokens * (unit::token / unit::s);
  r.token_throughput_per_accelerator = r.token_throughput / r.accelerators;
  const Time<> answer = r.itl * (p.output_tokens - 1);
  if (r.ttft) r.request_latency = *r.ttft + answer;
  if (r.p99_ttft) r.p99_request_latency = *r.p99_ttft + answer;
  if (p.has_target_itl) {
    const double meets = r.itl <= p.target_itl ? 1.0 : 0.0;
    r.slo_attainment = p.has_target_ttft ? r.slo_attainment.value_or(0) * meets : meets;
  }
  r.goodput = r.is_stable ? r.request_throughput * r.slo_attainment.value_or(1) : RequestRate<>();
}

}  // namespace

InFlightEstimate<> evaluate(const InFlightProblem<>& p) {
  Out r;
  const Plan<>& plan = p.passes.plan;
  const bool closed = p.arrivals == ArrivalProcess::closed, random = p.arrivals == ArrivalProcess::random;
  const Steady s(p);
  r.accelerators = plan.tp * plan.pp * plan.ep;
  if (p.has_workers) r.accelerators += p.prefill_replicas * p.prompts().plan.tp * plan.pp * s.prompt_ranks();
  r.tokens_per_pass = s.tokens_per_pass();
  const double held = std::ceil(s.context() / p.page_tokens) * p.page_tokens;
  set_capacity(p, s, held, r);
  if (!r.feasible) {
    // A time of nothing would be zero, and the best of all: those of one request, as if it fitted.
    describe_step(p, s, s.step(1, closed ? 0 : 1), 1, r);
    r.running_requests = 0;
    return r;
  }

  const double most = r.slots = most_running(p, r);
  const auto full = s.step(most, most);
  r.capacity = most / (s.steps() * full.itl.base()) * (unit::request / unit::s);
  const double running = steady_running(p, s, most, r);
  // A request does not wait for its own prompt between two of its own tokens.
  const auto step = s.step(running, closed ? running - 1 : running);
  describe_step(p, s, step, running, r);
  r.kv_cache_size = p.passes.cache(held) * running;

  double rate = random ? p.arrival_rate.base() : running / (s.steps() * step.itl.base());
  if (r.is_stable) {
    if (s.separate())
      separate_first_token(p, s, step, rate, running, r);
    else
      first_token(p, s, step, rate, running, r);
  }
  add_wait_for_slot(p, most, rate, r);
  if (p.arrivals == ArrivalProcess::queued && p.ends && most < p.num_requests) {
    // The last requests leave an engine that empties: about half of the batch runs in the last generation.
    const double rounds = p.num_requests / most;
    rate *= rounds / (rounds + 0.5);
  }
  if (!r.is_stable) rate = r.capacity.base();
  describe_service(p, rate, r);
  // In a cycle every stage works on each micro-batch once. A mean of less than one running request means that
  // one runs for that share of the time.
  const Time<> loaded = (s.busy(running / step.inflight) + s.busy_prompts(step)) * step.inflight;
  r.utilization = std::min(1.0, running) * std::min(1.0, loaded / (plan.pp * step.itl));
  return r;
}

}  // namespace mlsysim

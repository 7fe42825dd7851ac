#pragma once
/// A replica in steady state over any scalar: requests that run, time to first token, requests that end.
///
///     closed loop:     rate = min(requests / (first + decoding), slots / (first - outside + decoding))
///     random arrivals: running = rate steps itl(running)          the smallest solution
///     decoding = itl steps          wait = requests / rate - first - decoding
///
/// first: time to first token without the wait for a slot [s]. outside: part of it without a slot [s].
/// slots: requests whose KV pages fit. steps: decode steps of a request. Each request takes the mean step.
/// @cite yu2022orca, section 4; kwon2023vllm; zhong2024distserve, section 3
/// Example: 32 requests in a loop, enough slots, first 94.3 ms, 255 steps of 16.28 ms: decoding 4.151 s.
/// rate = 32 / (0.0943 + 4.151) = 7.54 requests/s.

#include <mlsysim/estimate/detail/one_replica.hpp>
#include <mlsysim/estimate/detail/steady_steps.hpp>
#include <mlsysim/estimate/first_token_spread.hpp>
#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/physics/queueing.hpp>
#include <mlsysim/timing/detail/line.hpp>

#include <tuple>
#include <utility>

namespace mlsysim::detail {

/// Requests of a loop for each slot where the queue never empties.
inline constexpr double kEndless = 1e6;
/// A queue of prompts that is fuller has no wait worth stating.
inline constexpr double kFullest = 0.95;
/// Deviations from the mean that so many of normally distributed requests stay below.
inline constexpr double kNinety = 1.2815515655446004, kNinetyNine = 2.3263478740408408;

/// Times of a request before it decodes.
template <class T> struct BeforeDecoding {
  Time<T> first;    ///< to its first token, without the wait for a slot
  Time<T> outside;  ///< the part of it in which it holds no slot
};

/// A closed loop: how many of its requests decode at once, and how often one of them ends.
template <class T> struct ClosedLoop {
  typename Steady<T>::Step step;
  T running{1.0}, others{0.0};  ///< that decode while one does, itself included and not
  T rate{0.0};                  ///< requests that end in a second
  T own{0.0};                   ///< share of a request's own among those that run beside its prompt
  Time<T> first, wait;          ///< to the first token, and before that for a slot
  Time<T> decoding;             ///< from the first token to the last
};

/// The closed loop of `requests`, of which `slots` run at once, by Little's law:
/// requests = rate (wait + first + decoding). Of the requests that run, rate decoding decode, and
/// they make the step that decoding is made of: a fixed point, by one secant from all that run and from what
/// that gives; a step is nearly linear in its requests. Requests that keep in step take their prompts
/// together and then decode together: their steps hold all that run.
/// @param before (step, rate, running) gives the times of a request before it decodes
template <class T, class F>
[[nodiscard]] ClosedLoop<T> closed_loop(const Steady<T>& s, const T& requests, const T& slots, F&& before) {
  const T most = min(requests, slots), one{1.0}, none{0.0};
  // Without a queue for slots, no request waits for its own prompt while it decodes: `own` is its share.
  const auto queued = requests > slots;
  const T own = select(queued, none, T(one / max(most, one)));
  ClosedLoop<T> out;
  out.own = own;
  // From the others that decode while one does, to those that Little's law then gives.
  const auto others_at = [&](const T& others) {
    out.others = others;
    out.running = select(queued, max(others, one), T(one + others));
    out.step = s.step(out.running, others);
    out.decoding = out.step.itl * s.steps();
    const BeforeDecoding<T> times = before(out.step, T(out.running / out.decoding.base()), out.running);
    out.first = times.first;
    const Time<T> holds = out.first - times.outside + out.decoding;
    const T begun = out.running / out.decoding.base();
    out.rate = min(min(T(requests / (out.first + out.decoding).base()), T(slots / holds.base())), begun);
    return T(out.rate * out.decoding.base() * (1.0 - own));
  };
  const T all = select(queued, most, max(T(most - 1.0), none));
  const T first = others_at(all);
  if (s.in_step() && !s.separate()) {
    // Prompts come together, and so do steps: while one decodes all do.
    out.running = min(out.running, T(out.rate * out.decoding.base()));
  } else {
    const T second = others_at(first);
    // The residual x - f(x) falls from `all` to `first`. The bound keeps the secant's divisor positive.
    const T fall = max(T((second - first) - (first - all)), T{1e-12});
    (void)others_at(clamp(T(first - (second - first) * (first - all) / fall), none, all));
  }
  out.wait = max(Time<T>::from_base(requests / out.rate) - out.first - out.decoding, Time<T>());
  return out;
}

/// Requests that decode at a rate of arrivals, and by how much the replica falls behind.
template <class T> struct InFlight {
  T running{0.0};
  T overload{0.0};  ///< requests a second that it cannot serve
};

/// Numbers of requests that decode of which the lower is too few for a rate, and the upper enough.
template <class T> struct InFlightBracket {
  T few{0.0}, many{0.0};
  T lacks{0.0}, spare{0.0};  ///< n - rate steps itl(n) of both, below and not below 0

  /// Takes a number between them in place of one. @param y what is missing there
  void take(const T& x, const T& y) {
    const auto below = y < T{0.0};
    few = select(below, x, few);
    lacks = select(below, y, lacks);
    many = select(below, many, x);
    spare = select(below, spare, y);
  }
};

/// Solves running = rate steps itl(running) for the fewest requests, which a rising load reaches first.
///
/// Steps are longer by jumps, so that near its capacity a replica serves one rate with several numbers of
/// requests. Of the parts of the range the first whose end serves the rate is taken, and of its parts again.
/// These points are the same for all rates, full u^3 with u in equal parts, so that a higher rate never finds
/// fewer by more than a part. Secants find the rest: within a part the time of a step is nearly linear.
template <class T>
[[nodiscard]] InFlight<T> in_flight_at(const T& rate, const Steady<T>& s, const ClosedLoop<T>& full) {
  constexpr bool stops = std::is_same_v<T, double>;  // a record holds every round
  constexpr std::array<int, 9> parts{3, 3, 2, 2, 2, 2, 2, 2, 2};
  constexpr int secants = 4;
  const auto missing = [&](const T& n) { return T(n - rate * s.steps() * s.step(n, n).itl.base()); };
  InFlight<T> out{.running = full.running, .overload = max(T(rate - full.rate), T{0.0})};
  if constexpr (stops)
    if (out.overload > 0) return out;
  InFlightBracket<T> in{.many = full.running};
  in.lacks = missing(in.few);
  in.spare = max(T(full.running - rate * s.steps() * full.step.itl.base()), T{0.0});
  T low{0.0};  // u of the lower end
  double width = 1;
  for (const int divided : parts) {
    width /= divided;
    for (int end = 1; end < divided; ++end) {
      // An end above the first that serves the rate changes nothing.
      const T u = low + width, x = min(T(full.running * u * u * u), in.many);
      if constexpr (stops)
        if (!(x < in.many)) break;
      const T y = missing(x);
      in.take(x, y);
      low = select(y < T{0.0}, u, low);
    }
  }
  T x = in.many;
  for (int i = 0; i < secants; ++i) {
    const T gap = in.spare - in.lacks, safe = select(gap > T{0.0}, gap, T{1.0});
    x = clamp(T((in.few * in.spare - in.many * in.lacks) / safe), in.few, in.many);
    if (i + 1 < secants) in.take(x, missing(x));
  }
  out.running = select(out.overload > T{0.0}, full.running, x);
  return out;
}

/// The first token of requests that arrive spread over the steps.
template <class T> struct SpreadArrivals {
  FirstTokenTerms<T> terms;
  T busy{0.0};                     ///< probability that a pass is under way
  Time<T> own, late;               ///< passes of the own prompt, and what comes after them
  T crowd{0.0};                    ///< further prompts of the own pass, mean
  std::optional<T> crowd_among{};  ///< the same after a pass with prompts, where it differs
  Time<T> prompt;                  ///< what each of them adds
  T queued{0.0};                   ///< share of the time that passes with prompts take
  Time<T> wait;  ///< what longer passes and full ones add for those that come in them, mean of all
  Time<T> rest;  ///< before the own pass; who waits for a slot gets it where a pass ends
};

/// Prompts that arrive at random: those before and beside the own one, passes that are long because the ones
/// before them were, and passes that are full.
/// @param rate of a rank and micro-batch @param two mean of the pass under way if there were two kinds
template <class T>
void queue_prompts(const InFlightProblem<T>& p, const Steady<T>& s, const typename Steady<T>::Step& step,
                   const T& rate, const Time<T>& two, SpreadArrivals<T>& out) {
  const T one{1.0}, together = s.together(), arrived = step.prompts * p.scheduler_steps,
                    taken = step.inflight / p.passes.plan.pp;
  // A pass of one prompt, from one of as many as are priced.
  const Time<T> further = s.further_prompt(step.inflight);
  const Time<T> alone = max(step.one_pass - further * (clamp(arrived, one, together) - 1.0), further);
  // Prompts that do not fit into one pass pay their common part again.
  const T again = 1.0 / (together * together);
  const Time<T> shared = (alone - further) * (1.0 - again);
  out.prompt = (further + (alone - further) * again) * T{s.chunks()};
  out.own = shared + out.prompt;
  // A load that is held is one of shorter passes, of both kinds in the same shares.
  const T load = rate * out.prompt.base(), held = min(load, T{kFullest}), often = step.prompt_passes;
  const Time<T> least = min(step.block, step.mixed_step_time);
  const Time<T> mean_pass = max(Time<T>(step.mean_pass() * ((1.0 - load) / (1.0 - held))), least);
  const T apart = (mean_pass - step.block) / mean_pass;
  const Time<T> shorter = mean_pass * (1.0 + apart * apart * ((1.0 - often) / max(often, T{1e-12})));
  const Time<T> alike = select(load > held, shorter, two);
  // By how much the pass under way is longer because long passes follow long ones. Lengths that differ add
  // the square of their deviation to the variance of the work that arrives.
  const T& differ = p.prompt_lengths.cv;
  const Time<T> longer = max(apply<PassUnderWay, T>({.step = step.block,
                                                     .fixed = shared,
                                                     .prompt = out.prompt,
                                                     .load = held,
                                                     .mean_pass = mean_pass,
                                                     .variation = T(p.arrival_variation + differ * differ)})
                                     .around -
                                 alike,
                             Time<T>());
  // Running requests take a part of the budget where passes mix.
  const T fresh = p.fresh_tokens(), room = p.prefill_chunk_tokens - (p.engine.mixed ? step.requests : T{0.0});
  const Time<T> full =
      apply<PromptQueue, T>({.pass_time = step.mean_pass(),
                             .together = together,
                             .share = min(T(arrived * taken * fresh / max(room, fresh)), T{kFullest})})
          .wait;
  const T beside = rate * (1.0 - 0.5 / together);  // where a pass takes one, later prompts take others
  out.queued =
      clamp(T(taken * step.prompt_passes * (step.mixed_step_time / step.mean_pass())), T{0.0}, T{kFullest});
  out.crowd = beside * two.base();
  out.crowd_among = beside * step.mixed_step_time.base();
  out.wait = full + longer * (0.5 * out.busy) + out.prompt * (beside * longer.base());
  out.rest =
      full + (two + longer) * (0.5 * out.busy) + out.prompt * (beside * (two + longer).base() / together);
}

/// @param all_rate of all requests a second @param all_in_flight of all micro-batches
template <class T>
[[nodiscard]] SpreadArrivals<T> spread_arrivals(const InFlightProblem<T>& p, const Steady<T>& s,
                                                const typename Steady<T>::Step& step,
                                                const typename Steady<T>::Alone& own, const T& all_rate,
                                                const T& all_in_flight) {
  // There is a queue for each stage, of which fewer requests than stages leave some empty.
  const T one{1.0}, stages = p.passes.plan.pp, rate = all_rate / stages / p.passes.plan.ep,
                    in_flight = all_in_flight / stages;
  const bool random = p.arrivals == ArrivalProcess::random;
  SpreadArrivals<T> out;
  // Others must be there for a pass to be under way.
  out.busy = random ? T(min(in_flight, one)) : clamp(T(in_flight - 1.0), T{0.0}, one);
  // The pass under way at a random moment lasts mean (1 + cv^2) on average.
  const T cv = step.pass_cv();
  const Time<T> around = step.mean_pass() * (1.0 + cv * cv);
  if (random && !s.separate()) {
    queue_prompts(p, s, step, rate, around, out);
  } else {
    // Requests that arrive in it share the own pass, unless all prompts of that pass are given.
    out.own = step.mixed_step_time * T{s.chunks()};
    out.prompt = step.mixed_step_time;
    out.crowd =
        select(out.busy > T{0.0}, T((1.0 - step.prompt_passes) * min(T(rate * around.base()), one)), T{0.0});
    out.rest = around * (0.5 * out.busy);
  }
  out.terms = {.ingress = p.engine.request_time,
               .queue = {},
               .dispatch = s.dispatch(own, step.requests),
               .prefill = own.kernels,
               .egress = step.decode_step_time * p.engine.lookahead};
  out.late = out.terms.egress + p.engine.request_time;
  out.terms.fill_queue(apply<InFlightFirstToken, T>({.around = around,
                                                     .own_pass = out.own,
                                                     .prompt = out.prompt,
                                                     .crowd = out.crowd,
                                                     .busy = out.busy,
                                                     .late = out.late})
                           .ttft +
                       out.wait);
  return out;
}

/// Prompts on workers of their own: they queue there, their cache moves, and no step is stopped.
/// @cite zhong2024distserve, section 3
template <class T> struct PromptWorkers {
  const InFlightProblem<T>& p;
  const Steady<T>& s;
  typename Steady<T>::Alone own;
  Time<T> slot;      ///< between two prompts that follow each other through the stages of a worker
  T takers;          ///< ranks that take prompts
  Time<T> transfer;  ///< of the cache of a prompt

  PromptWorkers(const InFlightProblem<T>& problem, const Steady<T>& steady,
                const typename Steady<T>::Alone& alone)
      : p(problem),
        s(steady),
        own(alone),
        slot(s.prompt_slot()),
        takers(p.prefill_replicas * s.prompt_ranks()),
        transfer(p.passes.cache(p.seq_len) / p.network_bandwidth) {}

  [[nodiscard]] Time<T> total() const { return own.kernels + s.dispatch(own, T{1.0}); }
  /// Prompts a second of each replica that they work for.
  [[nodiscard]] T most_rate() const { return takers / (slot.base() * p.decode_replicas); }
  /// A rate at which the wait is worth stating.
  [[nodiscard]] T calm(const T& rate) const { return min(rate, T(kFullest * most_rate())); }
  [[nodiscard]] T load(const T& rate) const { return rate * p.decode_replicas * slot.base() / takers; }
  /// The line in front of them, of which a service is as long as its prompt.
  [[nodiscard]] QueueWait::Result<T> line(const T& rate) const {
    return apply<QueueWait, T>({.servers = takers,
                                .utilization = clamp(load(rate), T{1e-9}, T{kFull}),
                                .service_time = slot,
                                .arrival_cv = T{1.0},
                                .service_cv = p.prompt_lengths.cv});
  }
  /// A prompt that comes while a step is under way waits for half of it.
  [[nodiscard]] Time<T> rest(const typename Steady<T>::Step& step, const T& in_flight) const {
    return step.decode_step_time * (0.5 * min(in_flight, T{1.0}));
  }
  /// The time to the first token at a rate that the workers keep up with.
  [[nodiscard]] FirstTokenTerms<T> terms(const typename Steady<T>::Step& step, const T& rate,
                                         const T& in_flight) const {
    return {.ingress = p.engine.request_time,
            .queue = rest(step, in_flight) + line(rate).wait_mean,
            .dispatch = s.dispatch(own, T{1.0}),
            .prefill = own.kernels,
            .egress = transfer + step.decode_step_time * p.engine.lookahead};
  }
  [[nodiscard]] static Time<T> wait_at(const QueueWait::Result<T>& line, const T& share) {
    return apply<WaitQuantile, T>({max(line.wait_probability, T{1e-300}), line.wait_given, share}).wait;
  }
  /// Waits in line that half, 90, 95 and 99 % of the requests stay below.
  [[nodiscard]] std::array<Time<T>, 4> waits(const T& rate) const {
    const auto wait = line(rate);
    std::array<Time<T>, 4> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = wait_at(wait, T{kKnownShares[i]});
    return out;
  }
};

/// Standard deviation of the time between tokens, over requests that arrive at random. In a closed loop every
/// request meets the prompts of all others.
template <class T>
[[nodiscard]] Time<T> token_time_deviation(const InFlightProblem<T>& p, const Steady<T>& s,
                                           const typename Steady<T>::Step& step, const T& running) {
  if (p.arrivals != ArrivalProcess::random) return {};
  const T least{1e-12};
  return apply<TokenTimeSpread, T>({.itl = step.itl,
                                    .decode_step_time = step.decode_step_time,
                                    .by_requests = max(step.device - s.emptiest(step.inflight), Time<T>()),
                                    .prompts_per_step = max(step.prompts, least),
                                    .steps = s.steps(),
                                    .running = max(running, least),
                                    .variation = p.prompt_lengths.squares() * p.answer_lengths.squares()})
             .deviation /
         s.tokens_per_pass();
}

/// A served model in steady state, settled: its replica, steps, and how many requests decode.
template <class T> struct SteadyState {
  const ServingProblem<T>& v;
  T replicas;
  InFlightProblem<T> p;  ///< of one replica
  Steady<T> s;
  typename Steady<T>::Alone own;
  T held, fit;  ///< tokens of the pages of a request; requests whose pages fit
  std::optional<PromptWorkers<T>> workers{};
  ClosedLoop<T> loop{};
  T capacity{0.0}, overload{0.0};  ///< requests a second of a replica

  explicit SteadyState(const ServingProblem<T>& problem)
      : v(problem),
        replicas(problem.replicas()),
        p(one_replica(problem, replicas)),
        s(p),
        own(s.alone()),
        held(s.held()),
        fit(s.slots(p.kv_share)) {
    if (s.separate()) workers.emplace(p, s, own);
  }
  SteadyState(const SteadyState&) = delete;  // `s` refers to `p`
  SteadyState& operator=(const SteadyState&) = delete;

  /// The load decides how many decode.
  void settle() {
    // Where no request fits, times are those of one, as if it did.
    const T slots = max(fit, T{1.0});
    const auto before = [&](const typename Steady<T>::Step& at, const T& rate, const T& running) {
      if (workers) {  // a request holds a slot from where it decodes
        const Time<T> first = workers->terms(at, workers->calm(rate), running).sum();
        return BeforeDecoding<T>{first, first};
      }
      const auto arrivals = spread_arrivals(p, s, at, own, rate, running);
      return BeforeDecoding<T>{arrivals.terms.sum(), arrivals.terms.ingress + arrivals.rest};
    };
    if (v.load != Load::rate) {
      loop = closed_loop(s, p.concurrency, slots, before);
      if (workers) wait_for_workers();
      return;
    }
    const ClosedLoop<T> full = closed_loop(s, T(slots * kEndless), slots, before);
    const T most = workers ? T(min(full.rate, T(kFull * workers->most_rate()))) : full.rate,
            arrivals = workers ? T(min(p.arrival_rate.base(), most)) : p.arrival_rate.base();
    const InFlight<T> found = in_flight_at(arrivals, s, full);
    settle_at(found.running);
    capacity = most;
    overload = workers ? T(max(T(p.arrival_rate.base() - most), T{0.0})) : found.overload;
    loop.rate = min(p.arrival_rate.base(), most);
  }
  /// Where workers are too few for a loop, its requests wait for them.
  void wait_for_workers() {
    loop.rate = select(loop.rate > kFull * workers->most_rate(), workers->calm(loop.rate), loop.rate);
    loop.wait = max(Time<T>::from_base(p.concurrency / loop.rate) - loop.first - loop.decoding, Time<T>());
  }
  /// So many decode; arrivals are what that needs.
  void settle_at(const T& decoding) {
    loop.running = loop.others = decoding;
    loop.step = s.step(decoding, decoding);
    loop.rate = decoding / (loop.step.itl * s.steps()).base();
  }
  /// Replicas that have something to do.
  [[nodiscard]] T working() const { return v.load == Load::rate ? replicas : T(min(replicas, v.batch_size)); }
};

/// Times of a request, and what is finished.
template <class T> void set_times(const SteadyState<T>& state, ServingEstimate<T>& out) {
  const auto& v = state.v;
  const auto& p = state.p;
  const auto& s = state.s;
  const auto& loop = state.loop;
  const auto& step = loop.step;
  const T running = loop.running, rate = loop.rate, working = state.working(), one{1.0}, none{0.0};
  SteadyEstimate<T>& steady = out.steady;
  steady.running_requests = running;
  steady.max_active_requests = state.fit;
  steady.waiting_requests = loop.wait.base() * rate * working;
  steady.request_throughput = RequestRate<T>::from_base(rate * working);
  steady.capacity = RequestRate<T>::from_base(state.capacity * state.replicas);
  steady.overload = RequestRate<T>::from_base(state.overload * state.replicas);
  // Others arrive as often as those that decode begin.
  const T begun = running / (step.itl * s.steps()).base();
  FirstTokenTerms<T> terms;
  std::array<Time<T>, 4> quantiles;
  if (state.workers) {
    const auto& workers = *state.workers;
    // No wait is stated where the line grows for ever.
    const T came = v.load == Load::rate ? T(select(state.overload > T{0.0}, workers.calm(rate), rate))
                                        : workers.calm(begun);
    terms = workers.terms(step, came, running);
    const Time<T> fixed = terms.sum() - workers.line(came).wait_mean;
    quantiles = workers.waits(came);
    for (auto& q : quantiles) q += fixed;
    if (const auto beyond = s.own_beyond())
      for (std::size_t i = 0; i < quantiles.size(); ++i)
        quantiles[i] = with_own(terms.sum(), quantiles[i], (*beyond)[i]);
  } else {
    const SpreadArrivals<T> arrivals = spread_arrivals(p, s, step, state.own, begun, running);
    terms = arrivals.terms;
    quantiles = SpreadFirstToken<T>(step, arrivals, s.own_beyond()).quantiles(kKnownShares);
  }
  terms.queue += loop.wait;
  terms.report(out);
  steady.p50_ttft = quantiles[0] + loop.wait;
  steady.p90_ttft = quantiles[1] + loop.wait;
  steady.p95_ttft = quantiles[2] + loop.wait;
  steady.p99_ttft = quantiles[3] + loop.wait;

  out.itl = step.itl / s.tokens_per_pass();
  steady.decode_prompts = step.itl - step.decode_step_time;
  const T often = select(step.prompt_passes > T{0.01}, one, none);
  const Time<T> slow = step.mixed_step_time + (p.engine.mixed ? Time<T>() : step.decode_step_time);
  steady.p99_token_gap =
      (step.decode_step_time + (slow - step.decode_step_time) * often) / s.tokens_per_pass();
  const Time<T> deviation = token_time_deviation(p, s, step, running);
  steady.p90_itl = apply<TokenTimeQuantile, T>({out.itl, deviation, T{kNinety}}).time;
  steady.p99_itl = apply<TokenTimeQuantile, T>({out.itl, deviation, T{kNinetyNine}}).time;
  const Time<T> answer = out.itl * (p.output_tokens - 1.0);
  out.request_latency = out.ttft + answer;
  steady.p99_request_latency = steady.p99_ttft + answer;
  if (v.answer_lengths.differs) {
    const Time<T> longer = out.itl * (p.output_tokens * v.answer_lengths.p99 - 1.0) - answer;
    steady.p99_request_latency =
        out.request_latency + quadrature(max(steady.p99_ttft - out.ttft, Time<T>()), longer);
  }
  out.token_throughput = TokenRate<T>::from_base(rate * working * p.output_tokens);
  out.throughput_per_accelerator = out.token_throughput / v.devices();
  out.prefill_chunk_time = step.mixed_step_time;
}

/// Memory with the pages of the requests that run, and the working set of a pass with prompts.
/// @param decode a step of the requests of a micro-batch
template <class T>
void set_memory(const SteadyState<T>& state, const PassEstimate<T>& decode, ServingEstimate<T>& out) {
  const auto& v = state.v;
  const auto& passes = state.p.passes;
  const T running = max(state.loop.running, T{1.0});
  StageDemands<T> demands = decode.demands;
  // A request that runs alone holds its pages to its end.
  const auto pages = passes.demands(running, state.held), end = passes.demands(T{1.0}, state.s.whole());
  for (const auto& [mine, page, one] : {std::tuple{&demands.first, &pages.first, &end.first},
                                        std::tuple{&demands.last, &pages.last, &end.last}}) {
    mine->kv_cache = max(page->kv_cache, one->kv_cache);
    mine->dense_params = page->dense_params;
  }
  if (!state.workers) {
    demands.first.activations = max(demands.first.activations, state.own.first.activations);
    demands.last.activations = max(demands.last.activations, state.own.last.activations);
  }
  out.memory = fullest(demands, v.decode, v.plan, passes.step_device);
  if (v.cache_rule.known) passes.add_kept(v.kv_share, v.cache_rule, out.memory);
  if (v.drafts) {
    auto draft = state.p.draft.memory(running, state.held);
    draft.weights = v.draft.weights(draft.weights, v.draft_tokens);
    const Data<T> more = draft.weights + draft.kv_cache;
    const T& lost = passes.step_device.conventions.memory_fragmentation;
    out.memory.weights += draft.weights;
    out.memory.kv_cache += draft.kv_cache;
    out.memory.fragmentation += more * lost;
    out.memory.total += more * (1.0 + lost);
  }
  out.prefill_memory_use = out.memory;
  if (state.workers) {
    const auto& prompts = state.p.workers;
    out.prefill_memory_use = fullest(StageDemands<T>{state.own.first, state.own.last}, v.model.structure,
                                     prompts.plan, prompts.prompt_device);
  }
  out.kv_cache_size = passes.cache(state.held) * state.loop.running;
}

/// Shares of the peak and of the time, of all devices.
template <class T>
void set_shares(const SteadyState<T>& state, const PassEstimate<T>& decode, ServingEstimate<T>& out) {
  const auto& v = state.v;
  const auto& s = state.s;
  const auto& own = state.own;
  const auto& step = state.loop.step;
  const T one{1.0}, stages = v.plan.pp, working = state.working() / state.replicas;
  const Time<T> alone = own.kernels + s.dispatch(own, one);
  out.prefill_mfu = min(one, T(own.cost.work / (v.device.compute.dense * stages * alone)));
  const auto draw = s.draw(step, state.loop.rate, state.loop.running, state.loop.own);
  out.mfu = working * min(one, T((decode.cost.work * draw.decoding + own.cost.work * draw.brought) *
                                 step.inflight / (v.device.compute.dense * stages * step.itl)));
  // Each pass keeps to the cap; that of a mean number of requests may be a little off their mean.
  out.utilization = working * min(s.most_busy(), T(draw.busy / (stages * step.itl)));
  if (!state.workers) return;
  // The mean of all devices, of which those of the workers take prompts for every replica.
  const T taken = state.loop.rate * state.working() / state.workers->takers / stages,
          decoding = state.replicas * (v.plan.tp * stages * v.plan.ep) / v.devices(),
          prompts = v.worker_devices() / v.devices();
  out.mfu =
      out.mfu * decoding + prompts * min(one, T(taken * (own.cost.work / v.device.compute.dense).base()));
  out.utilization = out.utilization * decoding + prompts * min(s.most_busy(), T(taken * own.busy.base()));
}

/// Serving in steady state: all but whether it fits and what is charged.
///
/// Each replica has its part of the requests. As many run as their pages fit; the others wait for a slot
/// (Little's law). A request takes the mean step: its time between tokens is that of a step, longer by what
/// the prompts of the others add. Percentiles are those of arrivals that are spread over the steps.
/// @cite yu2022orca, section 4; kwon2023vllm; agrawal2024sarathi
/// @param decoding requests of a replica that decode, in place of the load; no capacity is looked for
template <class T>
[[nodiscard]] ServingEstimate<T> steady_serving(const ServingProblem<T>& v, const T* decoding = nullptr) {
  SteadyState<T> state(v);
  if (decoding != nullptr)
    state.settle_at(*decoding);
  else
    state.settle();
  ServingEstimate<T> out;
  out.replicas = state.replicas;
  set_times(state, out);
  const PassEstimate<T> decode =
      state.s.step_of(max(T(state.loop.running / state.loop.step.inflight), T{1.0}));
  set_memory(state, decode, out);
  set_shares(state, decode, out);
  set_parts(state.own.cost, decode.cost, out);
  out.decode_overhead += state.loop.step.decode_step_time - state.loop.step.device;  // the engine's host
  return out;
}

}  // namespace mlsysim::detail

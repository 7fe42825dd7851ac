#pragma once
// What a replica in steady state asks of its passes, over any scalar: steps with and without prompts, a
// prompt alone, what fits, how many run, and when the first token comes.

#include <mlsysim/estimate/first_token_spread.hpp>
#include <mlsysim/estimate/in_flight.hpp>
#include <mlsysim/estimate/last_time.hpp>
#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/physics/in_flight.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

namespace mlsysim::detail {

/// Whether a number is known to be 0, so that what it multiplies need not be priced. Never while recording.
template <class T> [[nodiscard]] bool known_zero(const T& x) {
  if constexpr (std::is_same_v<T, double>)
    return x == 0;
  else
    return false;
}

/// A steady state prices a prompt several times, and its chunks more coarsely than a burst.
inline constexpr ChunkSampling kSteadyChunks{.priced = 512, .runs = 128};

/// What a problem asks for, in the terms of the laws. One thread at a time.
template <class T = double> class Steady {
 public:
  explicit Steady(const InFlightProblem<T>& p)
      : p_(p),
        fresh_(p.seq_len - p.cached_prefix_len),
        together_(max(T(floor(p.prefill_chunk_tokens / fresh_)), T{1.0})),
        context_(p.seq_len + (p.output_tokens + 1.0) / 2.0),  // token i of n sees i of them
        drafted_(p.speculates ? p.draft_tokens : T{0.0}),
        tokens_per_pass_(yield_of_check(p)),
        // The first of the generated tokens comes with the prompt.
        steps_(max(T((p.output_tokens - 1.0) / tokens_per_pass_), T{1.0})) {
    if (!p.has_draft) return;
    // Draft layers are spread as the model is; a model of its own is held by every group of ranks, which
    // drafts for its own requests. Stages are as full as the fullest.
    if (!p.own_draft) draft_groups_ = p.passes.plan.ep;
    draft_copies_ = p.passes.plan.tp / p.draft.plan.tp * p.passes.plan.pp;
    draft_steps_ = ceil_div(drafted_, p.draft_predicts);
  }

  /// Mean step with `running` requests when `others` of them bring a prompt every `steps` steps.
  struct Step {
    Time<T> itl, decode_pass, prompt_pass;  ///< host included
    Time<T> device;                         ///< of a step without prompts
    T prompts{0.0};                         ///< of a rank and step
    T prompt_passes{0.0};                   ///< share of the passes that hold prompts
    T prompt_share{0.0};                    ///< share of the time that they take
    T inflight{1.0};                        ///< micro-batches
    T requests{1.0};                        ///< of a rank and micro-batch
    [[nodiscard]] Time<T> mean_pass() const {
      return decode_pass * (1.0 - prompt_passes) + prompt_pass * prompt_passes;
    }
    /// Standard deviation of the passes over their mean.
    [[nodiscard]] T pass_cv() const {
      return sqrt(prompt_passes * (1.0 - prompt_passes)) * abs(T((prompt_pass - decode_pass) / mean_pass()));
    }
  };
  ///
  /// With a pipeline the requests are divided over micro-batches in flight, one a stage: everything here is
  /// then of one of them, and a step is a cycle of all. With one stage there is one.
  [[nodiscard]] Step step(const T& all_running, const T& all_others) const {
    Step s;
    const T one{1.0}, ranks = p_.passes.plan.ep, chunks{p_.chunks};
    const T running = max(T(all_running / p_.passes.plan.pp), T(min(all_running, one)));
    s.inflight = max(T(all_running / max(running, T{1e-300})), one);
    const T others = all_others / s.inflight;
    s.requests = running / ranks;
    s.device = decode(running, s.inflight);
    if (!separate()) s.prompts = others / ranks / steps_;
    if (in_step() && !p_.engine.mixed && !separate())
      // All start together: those whose prompt came first wait for the passes of the others.
      s.prompts = max(T(others + 1.0 - min(together_, T(others + 1.0))), T{0.0}) / (2.0 * steps_);
    // What a step brings in more prompts or chunks than one pass takes, further passes take.
    const T often = s.prompts * chunks, share = min(often, one);
    const T prompts = clamp(s.prompts, one, together_), passes = max(T(often / together_), one);
    const bool mixes = p_.engine.mixed && !separate();
    Time<T> prompt;
    if (mixes && p_.passes.pricing->lists_operators()) {
      // The running requests take their step in one of these passes.
      prompt = mixed_pass(prompts, running, s.inflight);
      if (const T more = passes - 1.0; !known_zero(more)) prompt += prompt_pass(prompts, s.inflight) * more;
    } else {
      prompt = prompt_pass(prompts, s.inflight) * passes;
      if (p_.engine.mixed)  // totals read the weights once; the requests add what they add to a step
        prompt += max(s.device - emptiest_.at(ranks, s.inflight, [&] { return decode(ranks, s.inflight); }),
                      Time<T>());
    }
    s.decode_pass = with_host(p_.engine, s.device, s.requests);
    s.prompt_pass = with_host(p_.engine, prompt, s.requests);
    const Time<T> replaced = p_.engine.mixed ? s.decode_pass : Time<T>();
    s.itl = apply<InFlightStep, T>({.decode_pass = s.decode_pass,
                                    .added = max(s.prompt_pass - replaced, Time<T>()),
                                    .prompts_per_step = often})
                .itl;
    s.prompt_passes = p_.engine.mixed ? share : T(share / (1.0 + share));
    s.prompt_share = share * s.prompt_pass / s.itl;
    return s;
  }
  /// Device time of one pass of `prompts` prompts a rank: of a chunk of them where they are longer than that.
  [[nodiscard]] Time<T> prompt_pass(const T& prompts, const T& inflight = T{1.0}) const {
    return prompt_.at(prompts, inflight, [&] {
      Time<T> sum;
      for_each_chunk([&](const T& now, const T& context, double times) {
        const auto pass = p_.prompts().prefill(prompts * prompt_ranks(), now, context);
        sum += pipeline_cycle(pass, inflight) * T{times};
      });
      return sum / p_.chunks;
    });
  }
  /// Device time of a pass of `prompts` prompts a rank in which the others of `running` requests take a step:
  /// products, norms and exchanges are those of all its tokens, attention that of the prompts and that of the
  /// requests. The pass does not end before the host has prepared it.
  [[nodiscard]] Time<T> mixed_pass(const T& prompts, const T& running, const T& inflight) const {
    const T stages = p_.passes.plan.pp, ranks = p_.passes.plan.ep, one{1.0};
    const auto& model = p_.passes.model;
    const T layers = layers_of(model.structure, model.shape(), model.layers);
    const T others = max(T(running - prompts * ranks), T{0.0});
    const Time<T> step = step_of(max(others, one)).cost.sequence_mixing * min(others, one);
    Time<T> sum;
    for_each_chunk([&](const T& now, const T& context, double times) {
      const auto own = p_.passes.prefill(prompts * ranks, now, context);
      auto pass = p_.passes.prefill(prompts * ranks + others * (drafted_ + 1.0) / now, now, context);
      const Time<T> more = own.cost.sequence_mixing + step - pass.cost.sequence_mixing,
                    wait = pass.cost.launch_wait(p_.passes.plan, layers);
      const Time<T> host = pass.cost.host_launch_time, dispatch = p_.passes.prompt_device.dispatch_overhead;
      pass.slot = max(pass.slot + (more - wait) / stages, host / stages + dispatch);
      pass.total = max(pass.total + more - wait, host + dispatch);
      sum += pipeline_cycle(pass, inflight) * T{times};
    });
    return sum / p_.chunks;
  }
  /// A prompt that nobody else is there for.
  struct Alone {
    Time<T> kernels, launches;  ///< its kernels, and what launching them adds
    PassBreakdown<T> cost;      ///< of all its chunks
    MemoryDemand<T> first, last;
  };
  [[nodiscard]] Alone alone() const {
    Alone out;
    bool begun = false;
    for_each_chunk([&](const T& now, const T& context, double times) {
      const auto pass = p_.prompts().prefill(prompt_ranks(), now, context);
      // A cost without parts has no launches.
      const Time<T> launches =
          select(pass.cost.overhead > Time<T>(), pass.total * (dispatch_share(pass.cost) * times), Time<T>());
      out.launches += launches;
      out.kernels += pass.total * T{times} - launches;
      const PassBreakdown<T> cost = times == 1 ? pass.cost : pass.cost * T{times};
      out.cost = begun ? out.cost + cost : cost;
      out.first = begun ? widest(out.first, pass.demands.first) : pass.demands.first;
      out.last = begun ? widest(out.last, pass.demands.last) : pass.demands.last;
      begun = true;
    });
    return out;
  }
  /// What launches and the host add to a prompt that is alone.
  /// @param requests whose books the host keeps in its passes, at most its own
  [[nodiscard]] Time<T> dispatch(const Alone& own, const T& requests) const {
    const Time<T> chunk = (own.kernels + own.launches) / p_.chunks;
    return own.launches + (with_host(p_.engine, chunk, T(min(requests, T{1.0}))) - chunk) * T{p_.chunks};
  }
  /// Time between two prompts of a rank that the stages of a pipeline of prompts take in turn.
  [[nodiscard]] Time<T> prompt_slot() const {
    Time<T> sum;
    for_each_chunk([&](const T& now, const T& context, double times) {
      sum += p_.prompts().prefill(prompt_ranks(), now, context).slot * T{times};
    });
    return with_host(p_.engine, Time<T>(sum / p_.chunks), T{1.0}) * T{p_.chunks};
  }
  [[nodiscard]] Time<T> decode(const T& running, const T& inflight = T{1.0}) const {
    const T n = max(running, T{1.0});
    if (!p_.speculates) return pipeline_cycle(p_.passes.decode(n, context_), inflight);
    const Time<T> drafting =
        p_.has_draft ? Time<T>(p_.draft.decode(n, context_).total * draft_steps_) : Time<T>();
    return drafting + checked_cycle(step_of(n), drafting, inflight);
  }
  /// Time in which a device draws its full power in the step of one micro-batch, all stages together.
  [[nodiscard]] Time<T> busy(const T& running) const {
    const T n = max(running, T{1.0});
    const Time<T> own = step_of(n).busy;
    return p_.speculates && p_.has_draft ? Time<T>(own + p_.draft.decode(n, context_).busy * draft_steps_)
                                         : own;
  }

  /// ... and what the prompts of a step add to it. A mixed pass reads the weights once.
  [[nodiscard]] Time<T> busy_prompts(const Step& s) const {
    const T one{1.0}, often = s.prompts * p_.chunks, share = min(often, one), ranks = p_.passes.plan.ep;
    if (known_zero(share)) return {};
    Time<T> sum;
    for_each_chunk([&](const T& now, const T& context, double times) {
      sum += p_.passes.prefill(clamp(s.prompts, one, together_) * ranks, now, context).busy * T{times};
    });
    sum = sum / p_.chunks * max(T(often / together_), one);
    return share * (p_.engine.mixed ? max(sum - busy(ranks), Time<T>()) : sum);
  }

  /// A step of `n` requests of a micro-batch, or the check of their proposals.
  [[nodiscard]] PassEstimate<T> step_of(const T& n) const {
    return p_.speculates ? p_.passes.check(n, context_ + drafted_, drafted_ + 1.0)
                         : p_.passes.decode(n, context_);
  }
  /// Requests whose pages of `held` tokens fit, beside a draft model where there is one.
  [[nodiscard]] T capacity(const T& held, const T& kv_share) const {
    const T alone = p_.passes.capacity(held, kv_share);
    if (!p_.has_draft) return alone;
    const Data<T> one = p_.passes.cache(held);
    const Data<T> weights = p_.draft_weights * (draft_copies_ * draft_groups_);
    return max(T(floor((one * alone - weights * kv_share) / (one + p_.draft.cache(held) * draft_copies_))),
               T{0.0});
  }
  [[nodiscard]] const T& steps() const { return steps_; }
  [[nodiscard]] double chunks() const { return p_.chunks; }
  [[nodiscard]] const T& together() const { return together_; }
  [[nodiscard]] const T& context() const { return context_; }
  [[nodiscard]] const T& tokens_per_pass() const { return tokens_per_pass_; }
  [[nodiscard]] bool separate() const { return p_.has_workers; }
  /// Ranks of a prefill worker, each of which takes a prompt at a time.
  [[nodiscard]] const T& prompt_ranks() const { return p_.prompts().plan.ep; }
  /// A closed loop of equal requests keeps its order.
  [[nodiscard]] bool in_step() const { return p_.equal_lengths && p_.arrivals != ArrivalProcess::random; }

 private:
  /// Tokens that a pass yields of a request.
  [[nodiscard]] static T yield_of_check(const InFlightProblem<T>& p) {
    if (!p.speculates) return T{1.0};
    if (p.acceptance == Acceptance::measured) return p.acceptance_length;
    return apply<DecayingAcceptance, T>({p.draft_acceptance_rate, p.draft_acceptance_decay, p.draft_tokens})
        .expected_tokens;
  }
  [[nodiscard]] static MemoryDemand<T> widest(const MemoryDemand<T>& before, MemoryDemand<T> now) {
    now.activations = max(now.activations, before.activations);
    return now;
  }
  /// Tokens of a chunk, its context, and for how many chunks it stands.
  template <class F> void for_each_chunk(F&& f) const {
    for_chunks(
        p_.chunks,
        [&](double i, double times) {
          const T begun = p_.prefill_chunk_tokens * i,
                  done = min(T(p_.prefill_chunk_tokens * (i + 1)), fresh_);
          f(done - begun, p_.cached_prefix_len + done, times);
        },
        kSteadyChunks);
  }

  const InFlightProblem<T>& p_;
  T fresh_, together_, context_, drafted_, tokens_per_pass_, steps_;
  T draft_groups_{1.0}, draft_copies_{1.0};  ///< of the draft for the devices that share a request
  T draft_steps_{0.0};
  mutable LastTime<T> prompt_,
      emptiest_;  ///< a search for the number in flight mostly asks for one and the same
};

/// Requests of a loop for each slot where the queue never empties.
inline constexpr double kEndless = 1e6;

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
  Time<T> first, wait;          ///< to the first token, and before that for a slot
  Time<T> decoding;             ///< from the first token to the last
};

/// The closed loop of `requests`, of which `slots` run at once, by Little's law:
///     rate = min(requests / (first + decoding), slots / (first - outside + decoding))
/// so that requests = rate (wait + first + decoding). Of the requests that run, rate decoding decode, and
/// they make the step that decoding is made of: a fixed point, by one secant from all that run and from what
/// that gives; a step is nearly linear in its requests.
/// @param before (step, rate, running) gives the times of a request before it decodes
template <class T, class F>
[[nodiscard]] ClosedLoop<T> closed_loop(const Steady<T>& s, const T& requests, const T& slots, F&& before) {
  const T most = min(requests, slots), one{1.0}, none{0.0};
  // Of requests that are fewer than the slots one does not wait for its own prompt while it decodes.
  const auto queued = requests > slots;
  const T own = select(queued, none, T(one / max(most, one)));
  ClosedLoop<T> out;
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
  const T first = others_at(all), second = others_at(first);
  // What is missing falls on the way from all to fewer, so that the secant divides by more than nothing.
  const T fall = max(T((second - first) - (first - all)), T{1e-12});
  (void)others_at(clamp(T(first - (second - first) * (first - all) / fall), none, all));
  out.wait = max(Time<T>::from_base(requests / out.rate) - out.first - out.decoding, Time<T>());
  return out;
}

/// Requests that decode at a rate of arrivals, and by how much the replica falls behind.
template <class T> struct InFlight {
  T running{0.0};
  T overload{0.0};  ///< requests a second that it cannot serve
};

/// Solves running = rate steps itl(running) by secants (the Illinois rule), between none and those of a full
/// replica. So many rounds that what is left is below a millionth: the time of a step is nearly linear in its
/// requests.
template <class T>
[[nodiscard]] InFlight<T> in_flight_at(const T& rate, const Steady<T>& s, const ClosedLoop<T>& full) {
  constexpr int rounds = 10;
  const auto missing = [&](const T& n) { return T(n - rate * s.steps() * s.step(n, n).itl.base()); };
  T few{0.0}, many = full.running;  // too few and enough
  T lacks = missing(few), spare = missing(many), side{0.0}, x = many;
  InFlight<T> out;
  out.overload = max(T(rate - full.rate), T{0.0});
  for (int i = 0; i < rounds; ++i) {
    const T gap = spare - lacks, safe = select(gap > T{0.0}, gap, T{1.0});
    x = clamp(T((few * spare - many * lacks) / safe), few, many);
    const T y = missing(x), now = select(y < T{0.0}, T{-1.0}, T{1.0});
    const T half = select(now == side, T{0.5}, T{1.0});
    const auto lacking = y < T{0.0};
    const T next_lacks = select(lacking, y, T(lacks * half)),
            next_spare = select(lacking, T(spare * half), y);
    few = select(lacking, x, few);
    many = select(lacking, many, x);
    lacks = next_lacks;
    spare = next_spare;
    side = now;
  }
  out.running = select(out.overload > T{0.0}, full.running, x);
  return out;
}

/// The first token of requests that arrive spread over the steps.
template <class T> struct SpreadArrivals {
  FirstTokenTerms<T> terms;
  T crowd{0.0}, busy{0.0};
  Time<T> late;
  Time<T> rest;  ///< of the pass under way; who waits for a slot gets it where a pass ends
};
/// @param rate of all requests a second @param in_flight of all micro-batches
template <class T>
[[nodiscard]] SpreadArrivals<T> spread_arrivals(const InFlightProblem<T>& p, const Steady<T>& s,
                                                const typename Steady<T>::Step& step,
                                                const typename Steady<T>::Alone& own, const T& all_rate,
                                                const T& all_in_flight) {
  // A micro-batch is a queue of its own.
  const T one{1.0}, rate = all_rate / step.inflight, in_flight = all_in_flight / step.inflight;
  SpreadArrivals<T> out;
  // Others must be there for a pass to be under way.
  out.busy =
      p.arrivals == ArrivalProcess::random ? T(min(in_flight, one)) : clamp(T(in_flight - 1.0), T{0.0}, one);
  // The pass under way at a random moment lasts mean (1 + cv^2) on average. Requests that arrive in it share
  // the own pass, unless all prompts of that pass are given.
  const T cv = step.pass_cv(), around = step.mean_pass().base() * (1.0 + cv * cv);
  out.crowd = select(out.busy > T{0.0},
                     T((1.0 - step.prompt_passes) * min(T(rate / p.passes.plan.ep * around), one)), T{0.0});
  out.terms = {.ingress = p.engine.request_time,
               .queue = {},
               .dispatch = s.dispatch(own, step.requests),
               .prefill = own.kernels,
               .egress = step.decode_pass * p.engine.lookahead};
  out.rest = step.mean_pass() * (out.busy * (0.5 * (1.0 + cv * cv)));
  // The chunks of one prompt follow each other.
  out.late = step.prompt_pass * T{s.chunks() - 1} + out.terms.egress + p.engine.request_time;
  out.terms.fill_queue(apply<InFlightFirstToken, T>({.mean_pass = step.mean_pass(),
                                                     .pass_cv = cv,
                                                     .own_pass = step.prompt_pass,
                                                     .crowd = out.crowd,
                                                     .busy = out.busy,
                                                     .late = out.late})
                           .ttft);
  return out;
}

/// The passes of the model that drafts, on the devices that decode.
template <class T>
[[nodiscard]] ReplicaPasses<T> draft_passes(const ServingProblem<T>& v, const ReplicaPasses<T>& own) {
  ReplicaPasses<T> out = own;
  out.step_device = v.step_device();  // without what engines bring for experts
  out.model = v.draft.model;
  out.decode_structure = v.draft.model.structure;
  out.plan.tp = v.draft.tp;
  out.plan.pp = out.plan.ep = T{1.0};
  out.plan.weight_bytes = v.draft.weight_bytes;
  return out;
}

/// Weights of the model that drafts, of all its ranks.
template <class T>
[[nodiscard]] Data<T> draft_weights(const ServingProblem<T>& v, const ReplicaPasses<T>& draft) {
  return draft.memory(T{1.0}, v.seq_len).weights * v.draft.tp;
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
  p.draft_weights = draft_weights(v, p.draft);
  return p;
}

/// A served model in steady state, settled: its replica, steps, and how many requests decode.
template <class T> struct SteadyState {
  const ServingProblem<T>& v;
  T replicas;
  InFlightProblem<T> p;  ///< of one replica
  Steady<T> s;
  typename Steady<T>::Alone own;
  T held, fit;  ///< tokens of the pages of a request; requests whose pages fit
  ClosedLoop<T> loop{};
  T capacity{0.0}, overload{0.0};  ///< requests a second of a replica

  explicit SteadyState(const ServingProblem<T>& problem)
      : v(problem),
        replicas(problem.replicas()),
        p(one_replica(problem, replicas)),
        s(p),
        own(s.alone()),
        held(ceil_div(s.context(), p.page_tokens) * p.page_tokens),
        fit(s.capacity(held, p.kv_share)) {}
  SteadyState(const SteadyState&) = delete;  // `s` refers to `p`
  SteadyState& operator=(const SteadyState&) = delete;

  /// The load decides how many decode.
  void settle() {
    // Where no request fits, times are those of one, as if it did.
    const T slots = max(fit, T{1.0});
    const auto before = [&](const typename Steady<T>::Step& at, const T& rate, const T& running) {
      const auto arrivals = spread_arrivals(p, s, at, own, rate, running);
      return BeforeDecoding<T>{arrivals.terms.sum(), arrivals.terms.ingress + arrivals.rest};
    };
    if (v.load != Load::rate) {
      loop = closed_loop(s, p.concurrency, slots, before);
      return;
    }
    const ClosedLoop<T> full = closed_loop(s, T(slots * kEndless), slots, before);
    const InFlight<T> found = in_flight_at(p.arrival_rate.base(), s, full);
    settle_at(found.running);
    capacity = full.rate;
    overload = found.overload;
    loop.rate = min(p.arrival_rate.base(), full.rate);
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
  SpreadArrivals<T> arrivals = spread_arrivals(p, s, step, state.own, begun, running);
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
}

/// Memory with the pages of the requests that run, and the working set of a pass with prompts.
/// @param decode a step of the requests of a micro-batch
template <class T>
void set_memory(const SteadyState<T>& state, const PassEstimate<T>& decode, ServingEstimate<T>& out) {
  const auto& v = state.v;
  const auto& passes = state.p.passes;
  const T running = max(state.loop.running, T{1.0});
  StageDemands<T> demands = decode.demands;
  const auto pages = passes.demands(running, state.held);
  demands.first.kv_cache = pages.first.kv_cache;
  demands.last.kv_cache = pages.last.kv_cache;
  demands.first.activations = max(demands.first.activations, state.own.first.activations);
  demands.last.activations = max(demands.last.activations, state.own.last.activations);
  out.memory = fullest(demands, v.decode, v.plan, passes.step_device);
  if (v.drafts) {
    const auto draft = state.p.draft.memory(running, state.held);
    const Data<T> more = draft.weights + draft.kv_cache;
    const T& lost = passes.step_device.conventions.memory_fragmentation;
    out.memory.weights += draft.weights;
    out.memory.kv_cache += draft.kv_cache;
    out.memory.fragmentation += more * lost;
    out.memory.total += more * (1.0 + lost);
  }
  out.prefill_memory_use = out.memory;
  out.kv_cache_size = passes.cache(state.held) * state.loop.running;
}

/// Shares of the peak and of the time, of all devices.
template <class T>
void set_shares(const SteadyState<T>& state, const PassEstimate<T>& decode, ServingEstimate<T>& out) {
  const auto& v = state.v;
  const auto& s = state.s;
  const auto& own = state.own;
  const auto& step = state.loop.step;
  const T one{1.0}, stages = v.plan.pp, requests = state.loop.running / step.inflight;
  const T share = state.working() / state.replicas * min(state.loop.running, one);
  const Time<T> alone = own.kernels + s.dispatch(own, one);
  out.prefill_mfu = min(one, T(own.cost.work / (v.device.compute.dense * stages * alone)));
  out.mfu = share * min(one, T((decode.cost.work + own.cost.work * step.prompts) * step.inflight /
                               (v.device.compute.dense * stages * step.itl)));
  const Time<T> loaded = (s.busy(requests) + s.busy_prompts(step)) * step.inflight;
  out.utilization = share * min(one, T(loaded / (stages * step.itl)));
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
  return out;
}

}  // namespace mlsysim::detail

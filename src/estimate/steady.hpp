#pragma once
// What a replica in steady state asks of its passes, over any scalar: steps with and without prompts, a
// prompt alone, what fits, how many run, and when the first token comes.

#include <mlsysim/estimate/in_flight.hpp>
#include <mlsysim/physics/in_flight.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

namespace mlsysim::detail {

/// A time that is asked for at the same two numbers again and again; the last one is kept.
template <class T> class LastTime {
 public:
  template <class F> [[nodiscard]] Time<T> at(const T& a, const T& b, F&& make) {
    if (!known_ || !same_number(a, a_) || !same_number(b, b_)) {
      time_ = make();
      known_ = true;
      a_ = a;
      b_ = b;
    }
    return time_;
  }

 private:
  bool known_ = false;
  T a_{0.0}, b_{0.0};
  Time<T> time_;
};

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
  const T bend = (first - second) - (all - first);  // of what is missing, between the two
  const T secant = first - (second - first) * (first - all) / select(bend != none, T(-bend), one);
  (void)others_at(select(bend != none, clamp(secant, none, all), first));
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

/// The time to the first token by whom it is owed to.
template <class T> struct FirstTokenTerms {
  Time<T> ingress, queue, dispatch, prefill, egress;

  [[nodiscard]] Time<T> without_queue() const { return ingress + dispatch + prefill + egress; }
  /// Whatever is left of `whole` is owed to other requests.
  void fill_queue(const Time<T>& whole) { queue = max(whole - without_queue(), Time<T>()); }
  [[nodiscard]] Time<T> sum() const { return ingress + queue + dispatch + prefill + egress; }
  /// Writes the members of these names, and their sum.
  template <class R> void report(R& r) const {
    r.ttft_ingress = ingress;
    r.ttft_queue = queue;
    r.ttft_dispatch = dispatch;
    r.ttft_prefill = prefill;
    r.ttft_egress = egress;
    r.ttft = sum();
  }
  /// Mean where the first of a run are `share` of all.
  [[nodiscard]] FirstTokenTerms with_start(const FirstTokenTerms& first, const T& share) const {
    const auto mean = [&](const Time<T>& a, const Time<T>& b) { return a * (1.0 - share) + b * share; };
    return {.ingress = mean(ingress, first.ingress),
            .queue = mean(queue, first.queue),
            .dispatch = mean(dispatch, first.dispatch),
            .prefill = mean(prefill, first.prefill),
            .egress = mean(egress, first.egress)};
  }
};

/// Distribution of the time to the first token after an arrival at a random moment: the rest of the pass
/// under way, then a pass for each of the other prompts that wait, a Poisson number with mean `crowd` of at
/// most 1, and the own.
template <class T> class SpreadFirstToken {
 public:
  SpreadFirstToken(const typename Steady<T>::Step& step, const T& crowd, const T& busy, const Time<T>& late)
      : decode_(step.decode_pass.base()),
        prompt_(step.prompt_pass.base()),
        share_(step.prompt_passes),
        mean_(step.mean_pass().base()),
        busy_(busy),
        fixed_(late.base()) {
    T weight = exp(-crowd);
    for (int k = 0; k < kOthers; ++k) {
      weights_[k] = weight;
      weight = weight * (crowd / (k + 1.0));
    }
  }

  /// Share of the requests that have their token by `t` seconds.
  [[nodiscard]] T by(const T& t) const { return at(t).after; }
  /// Times by which these shares of the requests have their token. Between the ends of the passes for which a
  /// request may have waited the distribution is linear.
  template <std::size_t N>
  [[nodiscard]] std::array<Time<T>, N> quantiles(const std::array<double, N>& shares) const {
    const T first = min(decode_, prompt_), second = max(decode_, prompt_);
    const T start = fixed_ + prompt_;
    struct Reached {
      T time, share;
    };
    std::array<Reached, N> below, above;
    std::array<Time<T>, N> out;
    const T end = fixed_ + prompt_ * (kOthers + 1.0) + second;
    for (std::size_t i = 0; i < N; ++i) {
      below[i] = {start, T{0.0}};
      above[i] = {end, T{1.0}};
    }
    for (int k = 0; k < kOthers; ++k)
      for (const T& more : {T{0.0}, first, second}) {
        const T t = fixed_ + prompt_ * (1.0 + k) + more;
        const Share f = at(t);
        for (std::size_t i = 0; i < N; ++i) {
          const T wanted{shares[i]};
          const auto lower = (f.after < wanted) && (below[i].time <= t),
                     upper = (f.after >= wanted) && (t < above[i].time);
          below[i] = {select(lower, t, below[i].time), select(lower, f.after, below[i].share)};
          above[i] = {select(upper, t, above[i].time), select(upper, f.before, above[i].share)};
        }
      }
    for (std::size_t i = 0; i < N; ++i) {
      const T wanted{shares[i]}, rise = above[i].share - below[i].share;
      const T part =
          clamp(T((wanted - below[i].share) / select(rise > T{0.0}, rise, T{1.0})), T{0.0}, T{1.0});
      // Where the share jumps at the end of the interval, it is reached there.
      const T inside = below[i].time + (above[i].time - below[i].time) * part;
      out[i] =
          Time<T>::from_base(select((above[i].share < wanted) || (rise <= T{0.0}), above[i].time, inside));
    }
    return out;
  }

 private:
  /// Other prompts that are counted: of a Poisson number with mean 1, one in ten million is larger.
  static constexpr int kOthers = 10;

  struct Share {
    T before{0.0}, after{0.0};  ///< without and with those whose moment this is
  };
  [[nodiscard]] Share at(const T& t) const {
    Share sum;
    for (int k = 0; k < kOthers; ++k) {
      const T left = t - fixed_ - prompt_ * (1.0 + k);
      // The own sum may miss the moment of k by a rounding.
      const T close = 1e-12 * t;
      if constexpr (std::is_same_v<T, double>)
        if (left < -close) break;
      const T share = weights_[k] * rest_by(max(left, T{0.0}));
      sum.after = sum.after + select(left >= -close, share, T{0.0});
      sum.before = sum.before + select(left > close, share, T{0.0});
    }
    return {min(sum.before, T{1.0}), min(sum.after, T{1.0})};
  }
  /// Share of the arrivals that wait no longer than `t` for the pass under way.
  [[nodiscard]] T rest_by(const T& t) const {
    const T under_way =
        ((1.0 - share_) * max(T(decode_ - t), T{0.0}) + share_ * max(T(prompt_ - t), T{0.0})) / mean_;
    return 1.0 - busy_ * under_way;
  }

  T decode_, prompt_, share_, mean_, busy_, fixed_;
  std::array<T, kOthers> weights_;
};

/// The first token of requests that arrive spread over the steps.
template <class T> struct SpreadArrivals {
  FirstTokenTerms<T> terms;
  T crowd{0.0}, busy{0.0};
  Time<T> late;
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

}  // namespace mlsysim::detail

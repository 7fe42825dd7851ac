#pragma once
/// Times of the passes of a replica in steady state, over any scalar: decode steps, mixed passes, lone
/// prompts.
///
///     itl      = decode_step_time + min(prompts block chunks, 1) (mixed_step_time - replaced) / block
///     prompts  = others / (ranks steps)                        of a rank and step
///     replaced = decode_step_time where prompts and decoding share a pass, else 0
///
/// block: steps that the host schedules at once. others: further requests that decode. chunks: passes of a
/// prompt. Passes of prompts beyond one per step lengthen mixed_step_time.
/// @cite yu2022orca, section 4; agrawal2024sarathi, section 4
///
/// Example: step 11.71 ms, mixed pass 50.13 ms, 0.1189 prompts per step: 11.71 + 0.1189 x 38.42 = 16.28 ms.

#include <mlsysim/estimate/in_flight.hpp>
#include <mlsysim/estimate/recent.hpp>
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

/// Step and prompt times of a problem, in the terms of the laws. Use it from one thread at a time.
template <class T = double> class Steady {
 public:
  explicit Steady(const InFlightProblem<T>& p)
      : p_(p),
        fresh_(p.seq_len - p.cached_prefix_len),
        together_(max(T(floor(p.prefill_chunk_tokens / p.fresh_tokens())), T{1.0})),
        context_(p.seq_len +
                 (p.answer_lengths.met(p.output_tokens) + 1.0) / 2.0),  // token i of n sees i of them
        drafted_(p.speculates ? p.draft_tokens : T{0.0}),
        tokens_per_pass_(yield_of_check(p)),
        // The first of the generated tokens comes with the prompt; who ends within a block stays to its end.
        steps_(max(T((p.output_tokens - 1.0) / tokens_per_pass_), T{1.0}) + (p.scheduler_steps - 1.0) / 2.0) {
    if (!p.has_draft) return;
    // Draft layers are spread as the model is; a model of its own is held by every group of ranks, which
    // drafts for its own requests. Stages are as full as the fullest.
    if (!p.own_draft) draft_groups_ = p.passes.plan.ep;
    draft_copies_ = p.passes.plan.tp / p.draft.plan.tp * p.passes.plan.pp;
    draft_steps_ = ceil_div(drafted_, p.draft_predicts);
  }

  /// Mean step with `running` requests when `others` of them bring a prompt every `steps` steps.
  struct Step {
    Time<T> itl, decode_step_time, mixed_step_time;  ///< host included
    Time<T> one_pass;                                ///< of the passes with prompts of a step
    Time<T> device;                                  ///< of a step without prompts
    Time<T> block;                                   ///< of the steps that are scheduled at once
    T prompts{0.0};                                  ///< of a rank and step
    T prompt_passes{0.0};                            ///< share of the passes that hold prompts
    T prompt_share{0.0};                             ///< share of the time that they take
    T inflight{1.0};                                 ///< micro-batches
    T requests{1.0};                                 ///< of a rank and micro-batch
    [[nodiscard]] Time<T> mean_pass() const {
      return block * (1.0 - prompt_passes) + mixed_step_time * prompt_passes;
    }
    /// Standard deviation of the passes over their mean.
    [[nodiscard]] T pass_cv() const {
      return sqrt(prompt_passes * (1.0 - prompt_passes)) * abs(T((mixed_step_time - block) / mean_pass()));
    }
  };
  /// The mean step of `all_running` requests, of which `all_others` bring prompts.
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
    // If a step brings more prompts or chunks than one pass takes, further passes process the rest.
    const T& block = p_.scheduler_steps;
    const T often = s.prompts * block * chunks, share = min(often, one);
    const T prompts = clamp(T(s.prompts * block), one, together_), passes = max(T(often / together_), one);
    const bool mixes = p_.engine.mixed && !separate();
    Time<T> single;  // the running requests take their step in one of these passes
    if (mixes && p_.passes.fidelity_model->lists_operators()) {
      single = mixed_pass(prompts, running, s.inflight);
    } else {
      single = mixed_step_time(prompts, s.inflight);
      if (p_.engine.mixed)  // totals read the weights once; the requests add what they add to a step
        single += max(s.device - emptiest(s.inflight), Time<T>());
    }
    Time<T> prompt = single;
    if (const T more = passes - 1.0; !known_zero(more)) prompt += mixed_step_time(prompts, s.inflight) * more;
    s.decode_step_time = with_host(p_.engine, s.device, s.requests);
    s.block = s.decode_step_time * block;
    s.one_pass = with_host(p_.engine, single, s.requests);
    s.mixed_step_time = with_host(p_.engine, prompt, s.requests);
    const Time<T> replaced = p_.engine.mixed ? s.decode_step_time : Time<T>();
    s.itl = apply<InFlightStep, T>({.decode_step_time = s.decode_step_time,
                                    .added = max(s.mixed_step_time - replaced, Time<T>()) / block,
                                    .prompts_per_step = often})
                .itl;
    s.prompt_passes = p_.engine.mixed ? share : T(share / (1.0 + share));
    s.prompt_share = share * s.mixed_step_time / (s.itl * block);
    return s;
  }
  /// Device time of a step with one request on each rank.
  [[nodiscard]] Time<T> emptiest(const T& inflight) const {
    const T ranks = p_.passes.plan.ep;
    return emptiest_.at({ranks, inflight}, [&] { return decode(ranks, inflight); });
  }
  /// Device time of one pass of `prompts` prompts a rank: of a chunk of them where they are longer than that.
  [[nodiscard]] Time<T> mixed_step_time(const T& prompts, const T& inflight = T{1.0}) const {
    return prompt_.at({prompts, inflight}, [&] {
      Time<T> sum;
      for_each_chunk([&](const T& now, const T& context, double times) {
        const auto pass = prompt_of(prompts * prompt_ranks(), now, context);
        sum += pipeline_cycle(pass, inflight) * T{times};
      });
      return sum / p_.chunks;
    });
  }
  /// Device time that a further prompt adds to a pass of one.
  [[nodiscard]] Time<T> further_prompt(const T& inflight) const {
    return further_.at({inflight}, [&] {
      const T one{1.0}, two{2.0};
      return max(mixed_step_time(two, inflight) - mixed_step_time(one, inflight), Time<T>());
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
      const auto own = prefill_of(prompts * ranks, now, context);
      const T brought = prompts * ranks, all = brought + others * (drafted_ + 1.0) / now;
      auto pass = prefill_of(all, now, context, p_.passes.encodes ? T(brought / all) : T{1.0});
      const Time<T> more = own.cost.sequence_mixing + step - pass.cost.sequence_mixing,
                    wait = pass.cost.launch_wait(p_.passes.plan, layers);
      const Time<T> host = pass.cost.host_launch_time, dispatch = p_.passes.prompt_device.dispatch_overhead;
      pass.slot = max(pass.slot + (more - wait) / stages, host / stages + dispatch);
      pass.total = max(pass.total + more - wait, host + dispatch);
      sum += pipeline_cycle(pass, inflight) * T{times};
    });
    return sum / p_.chunks;
  }
  /// A prompt of `factor` times the mean length, in whole tokens and in one pass of its own.
  [[nodiscard]] Time<T> one_pass_prompt(const T& factor) const {
    const T length = ceil_div(p_.seq_len * factor, T{1.0}),
            now = max(T(length - p_.cached_prefix_len), T{1.0});
    return prompt_of(prompt_ranks(), now, T(p_.cached_prefix_len + now)).total;
  }
  /// Times that own prompts of the length that 50, 90, 95 and 99 % stay below take beyond one of the mean
  /// length; none where all have it.
  [[nodiscard]] std::optional<std::array<Time<T>, 4>> own_beyond() const {
    if (!p_.prompt_lengths.differs) return std::nullopt;
    std::array<Time<T>, 4> out;
    const Time<T> mean = one_pass_prompt(T{1.0});
    const auto factors = p_.prompt_lengths.factors();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = one_pass_prompt(factors[i]) - mean;
    return out;
  }
  /// A prompt that nobody else is there for.
  struct Alone {
    Time<T> kernels, launches;  ///< its kernels, and what launching them adds
    Time<T> busy;               ///< in which its devices draw their full power
    PassBreakdown<T> cost;      ///< of all its chunks
    MemoryDemand<T> first, last;
  };
  [[nodiscard]] Alone alone() const {
    Alone out;
    bool begun = false;
    for_each_chunk([&](const T& now, const T& context, double times) {
      const auto pass = prompt_of(prompt_ranks(), now, context);
      // A cost without parts has no launches.
      const Time<T> launches =
          select(pass.cost.overhead > Time<T>(), pass.total * (dispatch_share(pass.cost) * times), Time<T>());
      out.launches += launches;
      out.kernels += pass.total * T{times} - launches;
      out.busy += pass.busy * T{times};
      const PassBreakdown<T> cost = times == 1 ? pass.cost : pass.cost * T{times};
      out.cost = begun ? out.cost + cost : cost;
      out.first = begun ? widest(out.first, pass.demands.first) : pass.demands.first;
      out.last = begun ? widest(out.last, pass.demands.last) : pass.demands.last;
      begun = true;
    });
    return out;
  }
  /// Time that launches and the host add to a prompt that runs alone.
  /// @param requests that cost host time in its passes; more than one count as one
  [[nodiscard]] Time<T> dispatch(const Alone& own, const T& requests) const {
    const Time<T> chunk = (own.kernels + own.launches) / p_.chunks;
    return own.launches + (with_host(p_.engine, chunk, T(min(requests, T{1.0}))) - chunk) * T{p_.chunks};
  }
  /// Time between two prompts of a rank that the stages of a pipeline of prompts take in turn.
  [[nodiscard]] Time<T> prompt_slot() const {
    Time<T> sum;
    for_each_chunk([&](const T& now, const T& context, double times) {
      sum += prompt_of(prompt_ranks(), now, context).slot * T{times};
    });
    return with_host(p_.engine, Time<T>(sum / p_.chunks), T{1.0}) * T{p_.chunks};
  }
  [[nodiscard]] Time<T> decode(const T& running, const T& inflight = T{1.0}) const {
    const T n = max(running, T{1.0});
    if (!p_.speculates) return pipeline_cycle(step_of(n), inflight);
    const Time<T> proposed = drafting(n);
    return proposed + checked_cycle(step_of(n), proposed, inflight);
  }
  /// Time in which the draft proposes for `n` requests: its steps follow each other, and the host prepares
  /// each as it does a pass of the model.
  [[nodiscard]] Time<T> drafting(const T& n) const {
    if (!p_.has_draft) return {};
    return with_host(p_.engine, p_.draft.decode(n, context_).total, T{0.0}) * draft_steps_;
  }
  /// Time in which a device draws its full power in the step of one micro-batch, all stages together.
  [[nodiscard]] Time<T> busy(const T& running) const {
    const T n = max(running, T{1.0});
    const Time<T> own = step_of(n).busy;
    return p_.speculates && p_.has_draft ? Time<T>(own + p_.draft.decode(n, context_).busy * draft_steps_)
                                         : own;
  }

  /// Time at full power that `brought` prompts of a rank add to it. A mixed pass reads the weights once where
  /// it takes the place of a step, as the share `joined` of them do.
  [[nodiscard]] Time<T> busy_prompts(const T& brought, const T& joined) const {
    const T one{1.0}, often = brought * p_.chunks, share = min(often, one), ranks = p_.passes.plan.ep;
    if (separate() || known_zero(share)) return {};
    Time<T> sum;
    for_each_chunk([&](const T& now, const T& context, double times) {
      sum += prefill_of(clamp(brought, one, together_) * ranks, now, context).busy * T{times};
    });
    sum = sum / p_.chunks * max(T(often / together_), one);
    return share * (p_.engine.mixed ? max(sum - busy(ranks) * joined, Time<T>()) : sum);
  }

  /// Time in which a device draws its full power in the time of a step, all micro-batches together.
  struct Draw {
    T decoding{1.0};  ///< share of the time in which steps run
    T brought{0.0};   ///< prompts of a rank and micro-batch that these devices begin in the time of a step
    Time<T> busy;
  };
  /// Every request that ends has drawn for its prompt and for its part of each of its steps; the kernels of
  /// the sampler draw beside them.
  /// @param rate of requests that end, a second @param all_running that decode while one does @param own
  /// share of those that decode which is not there while its own prompt is
  [[nodiscard]] Draw draw(const Step& s, const T& rate, const T& all_running, const T& own) const {
    const T one{1.0}, running = max(T(all_running / s.inflight), one), begun = rate * s.itl.base(),
                      decode = begun * steps_;
    Draw out{.decoding = min(T(decode / max(all_running, one)), one),
             .brought = separate() ? T{0.0} : T(begun / (s.inflight * p_.passes.plan.ep))};
    const Time<T> sampling = p_.engine.sampling * (running * p_.passes.step_device.draw.resident);
    const T joined = min(T(decode * (1.0 - own) / p_.passes.plan.pp), one);
    out.busy = ((busy(running) + sampling) * out.decoding + busy_prompts(out.brought, joined)) * s.inflight;
    return out;
  }

  /// The largest share of the time in which a device may draw its full power: under a cap, what draws it.
  [[nodiscard]] T most_busy() const {
    const T one{1.0};
    if (!p_.passes.decode_structure.capped) return one;
    const auto& device = p_.passes.step_device;
    const T& idle = device.conventions.idle_fraction;
    return clamp(T((p_.passes.plan.power_cap / device.power.tdp - idle) / (1.0 - idle)), T{0.0}, one);
  }

  /// A step of `n` requests of a micro-batch, or the check of their proposals.
  [[nodiscard]] PassEstimate<T> step_of(const T& n) const {
    return steps_kept_.at({n}, [&] {
      return p_.speculates ? p_.passes.check(n, context_ + drafted_, drafted_ + 1.0)
                           : p_.passes.decode(n, context_);
    });
  }
  /// A pass with `prompts` prompts on the devices that also generate tokens.
  /// @param read share of them that the encoder reads in this pass
  [[nodiscard]] PassEstimate<T> prefill_of(const T& prompts, const T& now, const T& context,
                                           const T& read = T{1.0}) const {
    return prefills_.at({prompts, now, context, read},
                        [&] { return p_.passes.prefill(prompts, now, context, read); });
  }
  /// A pass with `prompts` prompts on the devices that compute prompts.
  [[nodiscard]] PassEstimate<T> prompt_of(const T& prompts, const T& now, const T& context) const {
    if (!p_.own_degrees) return prefill_of(prompts, now, context);
    return prompts_.at({prompts, now, context}, [&] { return p_.workers.prefill(prompts, now, context); });
  }
  /// Requests whose pages of `held` tokens fit, beside a draft model where there is one.
  [[nodiscard]] T capacity(const T& held, const T& kv_share) const {
    const auto& rule = p_.cache_rule;
    const T alone = p_.passes.capacity(held, kv_share, rule);
    if (!p_.has_draft) return alone;
    const T taken = rule.known && rule.share_of != ShareOf::rest ? T{1.0} : kv_share;  // of its weights
    const Data<T> one = p_.passes.cache(held);
    const Data<T> weights = p_.draft_weights * (draft_copies_ * draft_groups_);
    return max(T(floor((one * alone - weights * taken) / (one + p_.draft.cache(held) * draft_copies_))),
               T{0.0});
  }
  [[nodiscard]] const T& steps() const { return steps_; }
  [[nodiscard]] double chunks() const { return p_.chunks; }
  [[nodiscard]] const T& together() const { return together_; }
  [[nodiscard]] const T& context() const { return context_; }
  /// Tokens of the pages that a request holds: those of its mean context, or of its end where the engine
  /// reserves them.
  [[nodiscard]] T held() const {
    return p_.engine.reserves_whole ? whole() : T(ceil_div(context_, p_.page_tokens) * p_.page_tokens);
  }
  /// Tokens of the pages of a request that has reached its end.
  [[nodiscard]] T whole() const {
    return ceil_div(p_.seq_len + p_.output_tokens, p_.page_tokens) * p_.page_tokens;
  }
  /// Requests that run at once. None does where one alone would not reach its end.
  [[nodiscard]] T slots(const T& kv_share) const {
    return select(capacity(whole(), kv_share) >= T{1.0}, capacity(held(), kv_share), T{0.0});
  }
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
  // A search for the number in flight asks for the same prompts, and a few steps, again and again.
  mutable Recent<Time<T>, T, 2> prompt_, emptiest_;
  mutable Recent<Time<T>, T, 1> further_;
  mutable Recent<PassEstimate<T>, T, 4, 4> prefills_;
  mutable Recent<PassEstimate<T>, T, 3, 4> prompts_;
  mutable Recent<PassEstimate<T>, T, 1, 4> steps_kept_;
};

}  // namespace mlsysim::detail

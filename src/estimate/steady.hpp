#pragma once
// What a replica in steady state asks of its passes: steps with and without prompts, a prompt alone, what
// fits.

#include <mlsysim/estimate/in_flight.hpp>
#include <mlsysim/physics/in_flight.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {

/// A time that is asked for at the same two numbers again and again; the last one is kept.
class LastTime {
 public:
  template <class F> [[nodiscard]] Time<> at(double a, double b, F&& make) {
    if (!known_ || a != a_ || b != b_) {
      time_ = make();
      known_ = true;
      a_ = a;
      b_ = b;
    }
    return time_;
  }

 private:
  bool known_ = false;
  double a_ = 0, b_ = 0;
  Time<> time_;
};

/// What a problem asks for, in the terms of the laws. One thread at a time.
class Steady {
 public:
  explicit Steady(const InFlightProblem<>& p)
      : p_(p),
        fresh_(p.seq_len - p.cached_prefix_len),
        chunks_(std::ceil(fresh_ / p.prefill_chunk_tokens)),
        together_(std::max(1.0, std::floor(p.prefill_chunk_tokens / fresh_))),
        context_(p.seq_len + (p.output_tokens + 1) / 2),  // token i of n sees i of them
        drafted_(p.speculates ? p.draft_tokens : 0),
        tokens_per_pass_(yield_of_check(p)),
        // The first of the generated tokens comes with the prompt.
        steps_(std::max(1.0, (p.output_tokens - 1) / tokens_per_pass_)) {
    if (!p.has_draft) return;
    // Draft layers are spread as the model is; a model of its own is held by every group of ranks, which
    // drafts for its own requests. Stages are as full as the fullest.
    draft_groups_ = p.own_draft ? 1.0 : p.passes.plan.ep;
    draft_copies_ = p.passes.plan.tp / p.draft.plan.tp * p.passes.plan.pp;
    draft_steps_ = std::ceil(drafted_ / p.draft_predicts);
  }

  /// Mean step with `running` requests when `others` of them bring a prompt every `steps` steps.
  struct Step {
    Time<> itl, decode_pass, prompt_pass;  ///< host included
    Time<> device;                         ///< of a step without prompts
    double prompts = 0;                    ///< of a rank and step
    double prompt_passes = 0;              ///< share of the passes that hold prompts
    double prompt_share = 0;               ///< share of the time that they take
    double inflight = 1;                   ///< micro-batches
    double requests = 1;                   ///< of a rank and micro-batch
    [[nodiscard]] Time<> mean_pass() const {
      return decode_pass * (1 - prompt_passes) + prompt_pass * prompt_passes;
    }
    /// Standard deviation of the passes over their mean.
    [[nodiscard]] double pass_cv() const {
      return std::sqrt(prompt_passes * (1 - prompt_passes)) *
             std::abs((prompt_pass - decode_pass) / mean_pass());
    }
  };
  ///
  /// With a pipeline the requests are divided over micro-batches in flight, one a stage: everything here is
  /// then of one of them, and a step is a cycle of all. With one stage there is one.
  [[nodiscard]] Step step(double all_running, double all_others) const {
    Step s;
    const double mixed = p_.engine.mixed ? 1.0 : 0.0;
    const double running = std::max(all_running / p_.passes.plan.pp, std::min(all_running, 1.0)),
                 inflight = all_running / std::max(running, 1e-300);
    const double others = all_others / std::max(inflight, 1.0), ranks = p_.passes.plan.ep;
    s.inflight = std::max(inflight, 1.0);
    s.requests = running / ranks;
    s.device = decode(running, s.inflight);
    s.prompts = separate() ? 0.0 : others / ranks / steps_;
    if (in_step() && !p_.engine.mixed && !separate())
      // All start together: those whose prompt came first wait for the passes of the others.
      s.prompts = std::max(0.0, others + 1 - std::min(together_, others + 1)) / (2 * steps_);
    // What a step brings in more prompts or chunks than one pass takes, further passes take.
    const double often = s.prompts * chunks_, share = std::min(1.0, often);
    const double prompts = std::clamp(s.prompts, 1.0, together_), passes = std::max(1.0, often / together_);
    const bool mixes = p_.engine.mixed && !separate();
    Time<> prompt;
    if (mixes && p_.passes.pricing->lists_operators()) {
      // The running requests take their step in one of these passes.
      prompt = mixed_pass(prompts, running, s.inflight);
      if (passes > 1) prompt += prompt_pass(prompts, s.inflight) * (passes - 1);
    } else {
      prompt = prompt_pass(prompts, s.inflight) * passes;
      if (p_.engine.mixed)  // totals read the weights once; the requests add what they add to a step
        prompt += max(s.device - emptiest_.at(ranks, s.inflight, [&] { return decode(ranks, s.inflight); }),
                      Time<>());
    }
    s.decode_pass = with_host(p_.engine, s.device, s.requests);
    s.prompt_pass = with_host(p_.engine, prompt, s.requests);
    s.itl = InFlightStep::solve<double>({.decode_pass = s.decode_pass,
                                         .added = max(s.prompt_pass - s.decode_pass * mixed, Time<>()),
                                         .prompts_per_step = often})
                .itl;
    s.prompt_passes = share / (1 + (1 - mixed) * share);
    s.prompt_share = share * s.prompt_pass / s.itl;
    return s;
  }
  /// Device time of one pass of `prompts` prompts a rank: of a chunk of them where they are longer than that.
  [[nodiscard]] Time<> prompt_pass(double prompts, double inflight = 1) const {
    return prompt_.at(prompts, inflight, [&] {
      Time<> sum;
      for_each_chunk([&](double now, double context, double times) {
        const auto pass = p_.prompts().prefill(prompts * prompt_ranks(), now, context);
        sum += pipeline_cycle(pass, inflight) * times;
      });
      return sum / chunks_;
    });
  }
  /// Device time of a pass of `prompts` prompts a rank in which the others of `running` requests take a step:
  /// products, norms and exchanges are those of all its tokens, attention that of the prompts and that of the
  /// requests. The pass does not end before the host has prepared it.
  [[nodiscard]] Time<> mixed_pass(double prompts, double running, double inflight) const {
    const double stages = p_.passes.plan.pp, ranks = p_.passes.plan.ep;
    const auto& model = p_.passes.model;
    const double layers = layers_of(model.structure, model.shape(), model.layers);
    const double others = std::max(running - prompts * ranks, 0.0);
    const Time<> step = step_of(std::max(others, 1.0)).cost.sequence_mixing * std::min(others, 1.0);
    Time<> sum;
    for_each_chunk([&](double now, double context, double times) {
      const auto own = p_.passes.prefill(prompts * ranks, now, context);
      auto pass = p_.passes.prefill(prompts * ranks + others * (drafted_ + 1) / now, now, context);
      const Time<> more = own.cost.sequence_mixing + step - pass.cost.sequence_mixing,
                   wait = pass.cost.launch_wait(p_.passes.plan, layers);
      const Time<> host = pass.cost.host_launch_time, dispatch = p_.passes.prompt_device.dispatch_overhead;
      pass.slot = max(pass.slot + (more - wait) / stages, host / stages + dispatch);
      pass.total = max(pass.total + more - wait, host + dispatch);
      sum += pipeline_cycle(pass, inflight) * times;
    });
    return sum / chunks_;
  }
  /// A prompt that nobody else is there for: its kernels, and what launches and the host add to them.
  struct Alone {
    Time<> kernels, dispatch;
    [[nodiscard]] Time<> total() const { return kernels + dispatch; }
  };
  /// @param requests whose books the host keeps in its passes, at most its own
  [[nodiscard]] Alone alone(double requests) const {
    Time<> device, launches;
    for_each_chunk([&](double now, double context, double times) {
      const auto pass = p_.prompts().prefill(prompt_ranks(), now, context);
      device += pass.total * times;
      // A cost without parts has no launches.
      if (pass.cost.overhead > Time<>()) launches += pass.total * (dispatch_share(pass.cost) * times);
    });
    const Time<> chunk = device / chunks_;
    const Time<> host = (with_host(p_.engine, chunk, std::min(1.0, requests)) - chunk) * chunks_;
    return {device - launches, launches + host};
  }
  /// Time between two prompts of a rank that the stages of a pipeline of prompts take in turn.
  [[nodiscard]] Time<> prompt_slot() const {
    Time<> sum;
    for_each_chunk([&](double now, double context, double times) {
      sum += p_.prompts().prefill(prompt_ranks(), now, context).slot * times;
    });
    return with_host(p_.engine, sum / chunks_, 1) * chunks_;
  }
  [[nodiscard]] Time<> decode(double running, double inflight = 1) const {
    const double n = std::max(running, 1.0);
    if (drafted_ == 0) return pipeline_cycle(p_.passes.decode(n, context_), inflight);
    const Time<> drafting = p_.has_draft ? p_.draft.decode(n, context_).total * draft_steps_ : Time<>();
    return drafting + checked_cycle(check(n), drafting, inflight);
  }
  /// Time in which a device draws its full power in the step of one micro-batch, all stages together.
  [[nodiscard]] Time<> busy(double running) const {
    const double n = std::max(running, 1.0);
    if (drafted_ == 0) return p_.passes.decode(n, context_).busy;
    return check(n).busy + (p_.has_draft ? p_.draft.decode(n, context_).busy * draft_steps_ : Time<>());
  }

  /// ... and what the prompts of a step add to it. A mixed pass reads the weights once.
  [[nodiscard]] Time<> busy_prompts(const Step& s) const {
    if (s.prompts <= 0) return {};
    const double often = s.prompts * chunks_, share = std::min(1.0, often), ranks = p_.passes.plan.ep;
    Time<> sum;
    for_each_chunk([&](double now, double context, double times) {
      sum += p_.passes.prefill(std::clamp(s.prompts, 1.0, together_) * ranks, now, context).busy * times;
    });
    sum = sum / chunks_ * std::max(1.0, often / together_);
    return share * (p_.engine.mixed ? max(sum - busy(ranks), Time<>()) : sum);
  }

  /// Requests whose pages of `held` tokens fit, beside a draft model where there is one.
  [[nodiscard]] double capacity(double held, double kv_share) const {
    const double alone = p_.passes.capacity(held, kv_share);
    if (!p_.has_draft) return alone;
    const Data<> one = p_.passes.cache(held);
    const Data<> weights = p_.draft_weights * (draft_copies_ * draft_groups_);
    return std::max(
        0.0, std::floor((one * alone - weights * kv_share) / (one + p_.draft.cache(held) * draft_copies_)));
  }
  [[nodiscard]] double steps() const { return steps_; }
  [[nodiscard]] double chunks() const { return chunks_; }
  [[nodiscard]] double together() const { return together_; }
  [[nodiscard]] double context() const { return context_; }
  [[nodiscard]] double tokens_per_pass() const { return tokens_per_pass_; }
  [[nodiscard]] bool separate() const { return p_.has_workers; }
  /// Ranks of a prefill worker, each of which takes a prompt at a time.
  [[nodiscard]] double prompt_ranks() const { return p_.prompts().plan.ep; }
  /// A closed loop of equal requests keeps its order.
  [[nodiscard]] bool in_step() const { return p_.equal_lengths && p_.arrivals != ArrivalProcess::random; }

 private:
  /// Tokens that a pass yields of a request.
  [[nodiscard]] static double yield_of_check(const InFlightProblem<>& p) {
    if (!p.speculates) return 1;
    if (p.acceptance == Acceptance::measured) return p.acceptance_length;
    return DecayingAcceptance::solve<double>(
               {p.draft_acceptance_rate, p.draft_acceptance_decay, p.draft_tokens})
        .expected_tokens;
  }
  /// A step of `n` requests of a micro-batch, or the check of their proposals.
  [[nodiscard]] PassEstimate<> step_of(double n) const {
    return drafted_ == 0 ? p_.passes.decode(n, context_) : check(n);
  }
  [[nodiscard]] PassEstimate<> check(double n) const {
    return p_.passes.decode(n, context_ + drafted_, drafted_ + 1);
  }
  /// Tokens of a chunk, its context, and for how many chunks it stands.
  template <class F> void for_each_chunk(F&& f) const {
    for_chunks(chunks_, [&](double i, double times) {
      const double done = std::min((i + 1) * p_.prefill_chunk_tokens, fresh_);
      f(done - i * p_.prefill_chunk_tokens, p_.cached_prefix_len + done, times);
    });
  }

  const InFlightProblem<>& p_;
  double fresh_, chunks_, together_, context_, drafted_, tokens_per_pass_, steps_;
  double draft_groups_ = 1, draft_copies_ = 1;  ///< of the draft for the devices that share a request
  double draft_steps_ = 0;
  mutable LastTime prompt_,
      emptiest_;  ///< a search for the number in flight mostly asks for one and the same
};

}  // namespace mlsysim::detail

#pragma once
// What a replica in steady state asks of its passes: steps with and without prompts, a prompt alone, what
// fits.

#include "catalogue/models/proposals.hpp"
#include "catalogue/shared/figures.hpp"
#include "catalogue/shared/pass_budget.hpp"
#include "catalogue/shared/plan_check.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/detail/pass_times.hpp>
#include <mlsysim/catalogue/models/in_flight_batching.hpp>
#include <mlsysim/physics/in_flight.hpp>
#include <mlsysim/price/stored_formats.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

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

/// What a request asks for, in the terms of the laws. One thread at a time.
class Steady {
 public:
  using In = InFlightBatchingModel::Inputs;

  Steady(const In& in, const ServingEngine& engine, const PassTimes& passes, Notes& notes)
      : in_(in), engine_(engine), passes_(passes) {
    chunk_ = pass_tokens(in.prefill_chunk_tokens, &engine, *in.hardware, notes);
    prompt_ranks_ = in.prefill_ep_size.value_or(in.ep_size);
    if (in.prefill_tp_size || in.prefill_ep_size) {
      In d = in;
      d.tp_size = in.prefill_tp_size.value_or(in.tp_size);
      d.ep_size = prompt_ranks_;
      d.decode_hardware = nullptr;
      apart_.emplace(pass_times(d, engine.prefill_issue, notes));
    }
    fresh_ = *in.seq_len - in.cached_prefix_len;
    chunks_ = std::ceil(fresh_ / chunk_);
    together_ = std::max(1.0, std::floor(chunk_ / fresh_));
    context_ = *in.seq_len + (in.output_tokens + 1) / 2;  // token i of n sees i of them
    if (in.draft_model != nullptr || in.acceptance_length) speculate(notes);
    // The first of the generated tokens comes with the prompt.
    steps_ = std::max(1.0, (in.output_tokens - 1) / tokens_per_pass_);
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
    const double mixed = engine_.mixed ? 1.0 : 0.0;
    const double running = std::max(all_running / in_.pp_size, std::min(all_running, 1.0)),
                 inflight = all_running / std::max(running, 1e-300);
    const double others = all_others / std::max(inflight, 1.0), ranks = in_.ep_size;
    s.inflight = std::max(inflight, 1.0);
    s.requests = running / ranks;
    s.device = decode(running, s.inflight);
    s.prompts = separate() ? 0.0 : others / ranks / steps_;
    if (in_step() && !engine_.mixed && !separate())
      // All start together: those whose prompt came first wait for the passes of the others.
      s.prompts = std::max(0.0, others + 1 - std::min(together_, others + 1)) / (2 * steps_);
    // What a step brings in more prompts or chunks than one pass takes, further passes take.
    const double often = s.prompts * chunks_, share = std::min(1.0, often);
    Time<> prompt =
        prompt_pass(std::clamp(s.prompts, 1.0, together_), s.inflight) * std::max(1.0, often / together_);
    // Weights are read and kernels launched once for a mixed pass; the running requests add what they add to
    // a step.
    if (engine_.mixed)
      prompt += max(s.device - emptiest_.at(ranks, s.inflight, [&] { return decode(ranks, s.inflight); }),
                    Time<>());
    s.decode_pass = with_host(engine_, s.device, s.requests);
    s.prompt_pass = with_host(engine_, prompt, s.requests);
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
        const auto pass = prompts_on().prefill(prompts * prompt_ranks_, now, context);
        sum += pipeline_cycle(pass, inflight) * times;
      });
      return sum / chunks_;
    });
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
      const auto pass = prompts_on().prefill(prompt_ranks_, now, context);
      device += pass.total * times;
      // A cost without parts has no launches.
      if (pass.cost.overhead > Time<>()) launches += pass.total * (dispatch_share(pass.cost) * times);
    });
    const Time<> chunk = device / chunks_;
    const Time<> host = (with_host(engine_, chunk, std::min(1.0, requests)) - chunk) * chunks_;
    return {device - launches, launches + host};
  }
  /// Time between two prompts of a rank that the stages of a pipeline of prompts take in turn.
  [[nodiscard]] Time<> prompt_slot() const {
    Time<> sum;
    for_each_chunk([&](double now, double context, double times) {
      sum += prompts_on().prefill(prompt_ranks_, now, context).slot * times;
    });
    return with_host(engine_, sum / chunks_, 1) * chunks_;
  }
  [[nodiscard]] Time<> decode(double running, double inflight = 1) const {
    const double n = std::max(running, 1.0);
    if (drafted_ == 0) return pipeline_cycle(passes_.decode(n, context_), inflight);
    const Time<> drafting = draft_ ? draft_->decode(n, context_).total * draft_steps_ : Time<>();
    return drafting + checked_cycle(check(n), drafting, inflight);
  }
  /// Time in which a device draws its full power in the step of one micro-batch, all stages together.
  [[nodiscard]] Time<> busy(double running) const {
    const double n = std::max(running, 1.0);
    if (drafted_ == 0) return passes_.decode(n, context_).busy;
    return check(n).busy + (draft_ ? draft_->decode(n, context_).busy * draft_steps_ : Time<>());
  }

  /// ... and what the prompts of a step add to it. A mixed pass reads the weights once.
  [[nodiscard]] Time<> busy_prompts(const Step& s) const {
    if (s.prompts <= 0) return {};
    const double often = s.prompts * chunks_, share = std::min(1.0, often), ranks = in_.ep_size;
    Time<> sum;
    for_each_chunk([&](double now, double context, double times) {
      sum += passes_.prefill(std::clamp(s.prompts, 1.0, together_) * ranks, now, context).busy * times;
    });
    sum = sum / chunks_ * std::max(1.0, often / together_);
    return share * (engine_.mixed ? max(sum - busy(ranks), Time<>()) : sum);
  }

  /// Requests whose pages of `held` tokens fit, beside a draft model where there is one.
  [[nodiscard]] double capacity(double held, double kv_share) const {
    const double alone = passes_.capacity(held, kv_share);
    if (!draft_) return alone;
    const Data<> one = passes_.cache(held);
    const Data<> weights = draft_weights_ * (draft_copies_ * draft_groups_);
    return std::max(
        0.0, std::floor((one * alone - weights * kv_share) / (one + draft_->cache(held) * draft_copies_)));
  }
  [[nodiscard]] double steps() const { return steps_; }
  [[nodiscard]] double chunks() const { return chunks_; }
  [[nodiscard]] double together() const { return together_; }
  [[nodiscard]] double context() const { return context_; }
  [[nodiscard]] double tokens_per_pass() const { return tokens_per_pass_; }
  [[nodiscard]] bool separate() const { return in_.prefill_replicas.has_value(); }
  /// Ranks of a prefill worker, each of which takes a prompt at a time.
  [[nodiscard]] double prompt_ranks() const { return prompt_ranks_; }
  /// A closed loop of equal requests keeps its order.
  [[nodiscard]] bool in_step() const { return in_.equal_lengths && !in_.arrival_rate; }

 private:
  [[nodiscard]] const PassTimes& prompts_on() const { return apart_ ? *apart_ : passes_; }
  [[nodiscard]] PassEstimate<> check(double n) const {
    return passes_.decode(n, context_ + drafted_, drafted_ + 1);
  }
  /// Tokens of a chunk, its context, and for how many chunks it stands.
  template <class F> void for_each_chunk(F&& f) const {
    for_chunks(chunks_, [&](double i, double times) {
      const double done = std::min((i + 1) * chunk_, fresh_);
      f(done - i * chunk_, in_.cached_prefix_len + done, times);
    });
  }
  void speculate(Notes& notes) {
    const Conventions& c = conventions_or_standard(in_.conventions);
    drafted_ = in_.draft_tokens.value_or(c.draft_tokens);
    if (!in_.draft_tokens) notes.assume("draft_tokens", c.draft_tokens, kDefaults);
    const bool own = in_.draft_model == in_.workload;
    tokens_per_pass_ = yield_of_check(in_, drafted_, notes);
    if (in_.draft_model == nullptr) return;  // found by looking up what was written before
    if (own) own_draft_ = own_draft(*in_.workload);
    In d = in_;
    d.workload = own ? &own_draft_ : in_.draft_model;
    d.draft_model = nullptr;
    d.tp_size = draft_degree(*d.workload, in_.tp_size, notes);
    d.pp_size = 1;
    // Draft layers are spread as the model is; a model of its own is held by every group of ranks, which
    // drafts for its own requests. Stages are as full as the fullest.
    if (!own) d.ep_size = 1;
    draft_groups_ = own ? 1.0 : in_.ep_size;
    draft_copies_ = in_.tp_size / d.tp_size * in_.pp_size;
    draft_steps_ = std::ceil(drafted_ / d.workload->main()->predicts.value_or(1));
    // It is multiplied in the format of the model, and stored in it.
    Notes quiet;
    const Precision precision =
        served_format(*in_.workload, {in_.precision, in_.weight_format, in_.weight_bits}, *in_.hardware,
                      nullptr, quiet)
            .precision;
    d.precision = precision;
    d.weight_format.reset();
    d.weight_bits.reset();
    draft_weights_ = parameter_count(*d.workload) * (bytes_per_element(precision) * unit::B / unit::param);
    draft_.emplace(pass_times(d, {}, notes));
  }

  const In& in_;
  const ServingEngine& engine_;
  const PassTimes& passes_;
  std::optional<PassTimes> draft_, apart_;  ///< of the draft; of prefill workers of other degrees
  Workload own_draft_;
  Data<> draft_weights_;
  double draft_copies_ = 1;  ///< of the draft for the devices that share a request
  double draft_groups_ = 1, draft_steps_ = 0, prompt_ranks_ = 1;
  mutable LastTime prompt_,
      emptiest_;  ///< a search for the number in flight mostly asks for one and the same
  double chunk_ = 0, fresh_ = 0, chunks_ = 1, together_ = 1, context_ = 0, steps_ = 1, drafted_ = 0,
         tokens_per_pass_ = 1;
};

}  // namespace mlsysim::detail

#pragma once
/// In-flight batching: requests join and leave a running batch between two passes of the model.

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time between two tokens of a request in an engine that batches in flight [s].
///
/// Of the steps of the batch, the share min(prompts_per_step, 1) also has prompts to process, which makes it
/// longer by `added`: the pass of the prompts less the step that it replaces where both share a pass, all of
/// it where they do not.
///     itl = decode_pass + min(prompts_per_step, 1) added
/// `added` is that of max(prompts_per_step, 1) prompts. Ranges: decode_pass > 0; added, prompts_per_step >=
/// 0.
/// @cite yu2022orca, section 4 (iteration-level scheduling); agrawal2024sarathi, section 4 (mixed passes)
struct InFlightStep {
  static constexpr LawInfo info{"InFlightStep", "itl = decode_pass + min(prompts_per_step, 1) added",
                                "yu2022orca", "section 4",
                                "arrivals are spread over the steps; passes do not overlap"};
  template <class T> struct Inputs {
    Time<T> decode_pass, added;
    T prompts_per_step;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::decode_pass, "decode_pass", "ms", "a step without prompts").positive(),
          field(&Inputs::added, "added", "ms", "what prompts add to a step").non_negative(),
          field(&Inputs::prompts_per_step, "prompts_per_step", "", "prompts that arrive during one step")
              .non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> itl;
    static constexpr auto fields() { return rows(field(&Result::itl, key::itl)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.itl = in.decode_pass + in.added * min(in.prompts_per_step, T(1.0))};
  }
};

/// Mean time to the first token of a request that arrives at a random moment [s].
///
/// It waits for the rest of the pass under way, which is the longer the more the passes differ: E[t^2] / (2
/// E[t]) = mean_pass (1 + pass_cv^2) / 2. Then comes its own pass, with `crowd` further prompts that arrived
/// meanwhile, and what the engine adds (`late`):
///     ttft = busy mean_pass (1 + pass_cv^2) / 2 + own_pass (1 + crowd) + late
/// Ranges: mean_pass, own_pass > 0; pass_cv, crowd, late >= 0; busy in [0, 1].
/// @cite kleinrock1975queueing, section 5.2 (residual life); yu2022orca, section 4
struct InFlightFirstToken {
  static constexpr LawInfo info{"InFlightFirstToken",
                                "ttft = busy mean_pass (1 + pass_cv^2) / 2 + own_pass (1 + crowd) + late",
                                "kleinrock1975queueing", "section 5.2",
                                "arrivals at random moments; every prompt that waits joins the next pass"};
  template <class T> struct Inputs {
    Time<T> mean_pass;
    T pass_cv;
    Time<T> own_pass;
    T crowd{0.0}, busy{1.0};
    Time<T> late;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::mean_pass, "mean_pass", "ms", "mean of the passes").positive(),
          field(&Inputs::pass_cv, "pass_cv", "", "standard deviation over mean of the passes")
              .within(0, 1000),
          field(&Inputs::own_pass, "own_pass", "ms", "a pass with its prompt").positive(),
          field(&Inputs::crowd, "crowd", "", "further prompts in it, mean").within(0, 1000).defaulted("none"),
          field(&Inputs::busy, "busy", "", "probability that a pass is under way")
              .within(0, 1)
              .defaulted("always"),
          field(&Inputs::late, "late", "ms", "from the end of the pass to the client").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> ttft;
    static constexpr auto fields() { return rows(field(&Result::ttft, key::ttft)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T spread = named("spread", 0.5 * (1.0 + in.pass_cv * in.pass_cv));
    return {.ttft = in.mean_pass * (in.busy * spread) + in.own_pass * (1.0 + in.crowd) + in.late};
  }
};

/// Mean wait of a prompt for the prompts before it, beyond the rest of the pass under way [s].
///
/// Prompts arrive at random and are taken in their order, `together` in a pass, each in `passes` of them.
/// They fill the share `share` of what the passes can take:
///     wait = share (passes pass_time / (1 - share) - pass_time) / (2 together)
/// With one prompt in a pass it is the wait in M/D/1 less the rest of the pass; with many it is that of a
/// queue that is served in bulk near its capacity. Example: passes of 311 ms, four for a prompt, half of
/// their time taken: 0.5 (4 x 311 / 0.5 - 311) / 2 = 544 ms. Ranges: pass_time > 0; passes, together >= 1;
/// share in [0, 0.95].
/// @cite kleinrock1975queueing, section 5.7 (M/G/1); agrawal2024sarathi, section 4
struct PromptQueue {
  static constexpr LawInfo info{
      "PromptQueue", "wait = share (passes pass_time / (1 - share) - pass_time) / (2 together)",
      "kleinrock1975queueing", "section 5.7", "Poisson arrivals of equal prompts; first come, first served"};
  template <class T> struct Inputs {
    Time<T> pass_time;
    T passes, together, share;
    static constexpr auto fields() {
      return rows(field(&Inputs::pass_time, "pass_time", "ms", "a pass with prompts").positive(),
                  field(&Inputs::passes, "passes", "", "passes that a prompt needs").at_least(1),
                  field(&Inputs::together, "together", "", "prompts of one pass").at_least(1),
                  field(&Inputs::share, "share", "", "share of what the passes can take").within(0, 0.95));
    }
  };
  template <class T> struct Result {
    Time<T> wait;
    static constexpr auto fields() {
      return rows(field(&Result::wait, "wait", "ms", "wait for the prompts before it"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.wait = in.pass_time * (in.share * (in.passes / (1.0 - in.share) - 1.0) / (2.0 * in.together))};
  }
};

/// Standard deviation of the mean time between tokens of a request, over the requests [s].
///
/// A request of `steps` steps meets a Poisson number of prompts of others, `prompts_per_step` in each, which
/// add `added` to the mean step; and the number of requests that run beside it varies, which add
/// `by_requests` to a step when there are `running` of them. Requests that arrive at random and stay equally
/// long are a Poisson number; its mean over a stay has 2/3 of the variance:
///     deviation^2 = added^2 / (prompts_per_step steps) + by_requests^2 (2 / 3) / running
/// Example: added 15 ms, 0.025 prompts a step, 655 steps, and 8 ms by 17 requests: 3.7 ms and 1.6 ms, 4.0 ms.
/// Ranges: added, by_requests >= 0; prompts_per_step, steps, running > 0.
/// @cite kleinrock1975queueing, section 3.5 (M/G/infinity: a Poisson number in service)
struct TokenTimeSpread {
  static constexpr LawInfo info{
      "TokenTimeSpread", "deviation^2 = added^2 / (prompts_per_step steps) + by_requests^2 (2 / 3) / running",
      "kleinrock1975queueing", "section 3.5", "Poisson arrivals of equal requests"};
  template <class T> struct Inputs {
    Time<T> added, by_requests;
    T prompts_per_step, steps, running;
    static constexpr auto fields() {
      return rows(field(&Inputs::added, "added", "ms", "what prompts add to the mean step").non_negative(),
                  field(&Inputs::by_requests, "by_requests", "ms", "what the running requests add to a step")
                      .non_negative(),
                  field(&Inputs::prompts_per_step, "prompts_per_step", "", "prompts that arrive in a step")
                      .positive(),
                  field(&Inputs::steps, "steps", "", "steps of a request").at_least(1),
                  field(&Inputs::running, "running", "", "requests that run").positive());
    }
  };
  template <class T> struct Result {
    Time<T> deviation;
    static constexpr auto fields() {
      return rows(field(&Result::deviation, "deviation", "ms", "standard deviation over the requests"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T prompts = in.added.base() * in.added.base() / (in.prompts_per_step * in.steps),
            requests = in.by_requests.base() * in.by_requests.base() * (2.0 / 3.0) / in.running;
    return {.deviation = Time<T>::from_base(sqrt(T(prompts + requests)))};
  }
};

/// Mean time to the first token of requests that all arrive at once [s].
///
/// Prompts are processed in passes of `together`; each request waits for the passes before its own and gets
/// its token at the end of its own: ttft = prompt (requests + min(together, requests)) / 2. Ranges: prompt >=
/// 0, time of one prompt in a full pass; requests, together >= 1. Exact where `together` divides `requests`.
/// @cite agrawal2024sarathi, section 3 (prefills ahead of a request)
struct BurstFirstToken {
  static constexpr LawInfo info{"BurstFirstToken", "ttft = prompt (requests + min(together, requests)) / 2",
                                "agrawal2024sarathi", "section 3", "first come, first served; equal prompts"};
  template <class T> struct Inputs {
    Time<T> prompt;
    T requests, together;
    static constexpr auto fields() {
      return rows(field(&Inputs::prompt, "prompt", "ms", "time of one prompt in a full pass").non_negative(),
                  field(&Inputs::requests, "requests", "", "requests that arrive at once").at_least(1),
                  field(&Inputs::together, "together", "", "prompts of one pass").at_least(1));
    }
  };
  template <class T> struct Result {
    Time<T> ttft;
    static constexpr auto fields() { return rows(field(&Result::ttft, key::ttft)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.ttft = in.prompt * (0.5 * (in.requests + min(in.together, in.requests)))};
  }
};

}  // namespace mlsysim

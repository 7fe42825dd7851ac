#pragma once
/// In-flight (continuous) batching: ITL, TTFT and waits when requests join and leave a running batch.
///
///   itl    = decode_step_time + min(prompts_per_step, 1) added                                   [s]
///   ttft   = busy around / 2 + own_pass + crowd prompt + late           at a random moment       [s]
///   wait   = (1 - 1 / together^2) share^3 pass_time / (2 together (1 - share))                   [s]
///   ttft   = prompt (requests + min(together, requests)) / 2            all arrive at once       [s]
///
/// added: time that prompts add to a step. around: mean forward pass under way at a random moment.
/// own_pass: pass with the request's own prompt. crowd: further prompts in it. late: end of pass to client.
/// together: prompts of a full pass. share: load of the prompt passes.
/// Limits: Poisson arrivals of equal prompts, first come, first served, passes do not overlap.
/// Example: step 10 ms, prompts in every fourth step that add 40 ms: ITL 10 + 0.25 x 40 = 20 ms.
/// Example: 16 requests at once, prompts of 20 ms, 4 in a pass: mean TTFT 20 (16 + 4) / 2 = 200 ms.
/// @cite yu2022orca, section 4
/// @cite kleinrock1975queueing, sections 5.2 and 5.7

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time between two tokens of a request in an engine that batches in flight [s].
///
/// A share min(prompts_per_step, 1) of the steps also has prompts to process and is longer by `added`. If
/// prompts and step share a pass, `added` is that pass minus the step. Otherwise it is the whole prompt pass.
/// It holds max(prompts_per_step, 1) prompts. Ranges: decode_step_time > 0; added, prompts_per_step >= 0.
/// @cite yu2022orca, section 4 (iteration-level scheduling); agrawal2024sarathi, section 4 (mixed passes)
struct InFlightStep {
  static constexpr LawInfo info{"InFlightStep", "itl = decode_step_time + min(prompts_per_step, 1) added",
                                "yu2022orca", "section 4",
                                "arrivals are spread over the steps; passes do not overlap"};
  template <class T> struct Inputs {
    Time<T> decode_step_time, added;
    T prompts_per_step;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::decode_step_time, "decode_step_time", "ms", "a step without prompts").positive(),
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
    return {.itl = in.decode_step_time + in.added * min(in.prompts_per_step, T(1.0))};
  }
};

/// Mean length of the pass under way at a random moment. Each pass takes the prompts that arrived in the one
/// before [s].
///
/// A pass without prompts takes `step`, one with N prompts `fixed` + N prompt. The mean of N is that of the
/// arrivals in the pass before, so long passes follow long ones. With `load` the arrivals in the time of a
/// prompt and `variation` the variance over the mean of the work that arrives (1: Poisson arrivals of equal
/// prompts),
///     around = E[t^2] / E[t] = (load prompt variation + 2 fixed load + (step + fixed) (1 - load)
///              - step fixed / mean_pass) / (1 - load^2)
/// Example: prompts of 40 ms between steps of 5 ms, fixed 0, at half of the load: (20 + 2.5) / 0.75 = 30 ms.
/// Ranges: step, mean_pass > 0; fixed, prompt, variation >= 0; load in [0, 0.95].
/// @cite kleinrock1975queueing, sections 5.2 (residual life) and 5.7 (M/G/1); second moment of the recursion,
/// own derivation
struct PassUnderWay {
  static constexpr LawInfo info{
      "PassUnderWay",
      "around = (load prompt variation + 2 fixed load + (step + fixed) (1 - load) - step fixed / mean_pass) "
      "/ "
      "(1 - load^2)",
      "kleinrock1975queueing", "sections 5.2 and 5.7",
      "every prompt that came in a pass joins the next one; a pass is linear in its prompts"};
  template <class T> struct Inputs {
    Time<T> step, fixed, prompt;
    T load;
    Time<T> mean_pass;
    T variation{1.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::step, "step", "ms", "a pass without prompts").positive(),
          field(&Inputs::fixed, "fixed", "ms", "part of a pass with prompts that all share").non_negative(),
          field(&Inputs::prompt, "prompt", "ms", "what a prompt adds to a pass").non_negative(),
          field(&Inputs::load, "load", "", "prompts that arrive in that time").within(0, 0.95),
          field(&Inputs::mean_pass, "mean_pass", "ms", "mean of the passes").positive(),
          field(&Inputs::variation, "variation", "", "variance over mean of the work that arrives")
              .within(0, 1000)
              .defaulted("Poisson arrivals of equal prompts"));
    }
  };
  template <class T> struct Result {
    Time<T> around;
    static constexpr auto fields() {
      return rows(field(&Result::around, "around", "ms", "mean of the pass around a random moment"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T rest = 1.0 - in.load;
    const Time<T> sum = in.prompt * (in.load * in.variation) + in.fixed * (2.0 * in.load) +
                        (in.step + in.fixed) * rest - in.fixed * (in.step / in.mean_pass);
    return {.around = max(sum, Time<T>()) / (rest * (1.0 + in.load))};
  }
};

/// Mean time to the first token of a request that arrives at a random moment [s].
///
/// It waits for half of the pass under way. Then comes its own pass, with the `crowd` further prompts that
/// arrived meanwhile, and the engine's output delay `late`. Example: around 30 ms, own pass 40 ms, late 1 ms:
/// 56 ms. Ranges: around, own_pass > 0; prompt, crowd, late >= 0; busy in [0, 1].
/// @cite kleinrock1975queueing, section 5.2 (residual life); yu2022orca, section 4
struct InFlightFirstToken {
  static constexpr LawInfo info{"InFlightFirstToken",
                                "ttft = busy around / 2 + own_pass + crowd prompt + late",
                                "kleinrock1975queueing", "section 5.2",
                                "arrivals at random moments; every prompt that waits joins the next pass"};
  template <class T> struct Inputs {
    Time<T> around, own_pass;
    Time<T> prompt{};
    T crowd{0.0}, busy{1.0};
    Time<T> late;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::around, "around", "ms", "mean of the pass around a random moment").positive(),
          field(&Inputs::own_pass, "own_pass", "ms", "a pass with its prompt").positive(),
          field(&Inputs::prompt, "prompt", "ms", "what a further prompt adds to it")
              .non_negative()
              .defaulted("nothing"),
          field(&Inputs::crowd, "crowd", "", "further prompts in it, mean").within(0, 1e6).defaulted("none"),
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
    return {.ttft = in.around * (in.busy * 0.5) + in.own_pass + in.prompt * in.crowd + in.late};
  }
};

/// Mean wait of a prompt because passes before its own were full [s].
///
/// Each pass takes `together` prompts, and arrivals fill the share `share` of that. The formula follows a
/// queue served in bulk near its capacity, and is small below half of it. With one prompt in a pass it is
/// 0: PassUnderWay holds that wait. Example: passes of 300 ms, four prompts each, 80 % filled: 0.9375 x
/// 0.512 x 300 / 1.6 = 90 ms. Ranges: pass_time > 0; together >= 1; share in [0, 0.95].
/// @cite kleinrock1975queueing, section 5.7 (heavy traffic); the cube from simulations of 2 to 12 prompts
struct PromptQueue {
  static constexpr LawInfo info{
      "PromptQueue", "wait = (1 - 1 / together^2) share^3 pass_time / (2 together (1 - share))",
      "kleinrock1975queueing", "section 5.7", "Poisson arrivals of equal prompts; first come, first served"};
  template <class T> struct Inputs {
    Time<T> pass_time;
    T together, share;
    static constexpr auto fields() {
      return rows(field(&Inputs::pass_time, "pass_time", "ms", "mean of the passes").positive(),
                  field(&Inputs::together, "together", "", "prompts of one pass").at_least(1),
                  field(&Inputs::share, "share", "", "share of what the passes can take").within(0, 0.95));
    }
  };
  template <class T> struct Result {
    Time<T> wait;
    static constexpr auto fields() {
      return rows(field(&Result::wait, "wait", "ms", "wait for passes that are full"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T several = 1.0 - 1.0 / (in.together * in.together);
    return {.wait = in.pass_time *
                    (several * in.share * in.share * in.share / (2.0 * in.together * (1.0 - in.share)))};
  }
};

/// Standard deviation of the mean time between tokens of a request, over the requests [s].
///
/// The steps of a request are a busy period of M/G/1: prompts that arrive in them lengthen them, and so do
/// those that arrive in the time that this takes. A share 1 - decode_step_time / itl of the time is theirs.
/// The `running` other requests add `by_requests`, and their number varies. It is Poisson for random
/// arrivals, and its mean over a stay has 2/3 of the variance:
///     deviation^2 = ((itl - decode_step_time) itl / decode_step_time)^2 variation / (prompts_per_step steps)
///                   + by_requests^2 (2 / 3) / running
/// `variation` is 1 where lengths are equal. Else it is the mean of the squares of the prompts over the
/// square of their mean, times the mean of the inverse of the answers over the inverse of their mean.
/// Example: itl 40 ms, 25 ms without prompts, 0.025 prompts a step, 655 steps: 15 ms x 1.6 / sqrt(16.4) = 5.9
/// ms. With 8 ms by 17 requests, 1.6 ms: 6.1 ms. Ranges: itl >= decode_step_time > 0; by_requests >= 0;
/// prompts_per_step, steps, running > 0; variation >= 1.
/// @cite kleinrock1975queueing, sections 5.8 (busy period, here begun by the steps) and 3.5 (M/G/infinity)
struct TokenTimeSpread {
  static constexpr LawInfo info{"TokenTimeSpread",
                                "deviation^2 = ((itl - decode_step_time) itl / decode_step_time)^2 variation "
                                "/ (prompts_per_step steps) "
                                "+ by_requests^2 (2 / 3) / running",
                                "kleinrock1975queueing", "sections 5.8 and 3.5", "Poisson arrivals"};
  template <class T> struct Inputs {
    Time<T> itl, decode_step_time, by_requests;
    T prompts_per_step, steps, running, variation{1.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::itl, "itl", "ms", "mean step").positive(),
          field(&Inputs::decode_step_time, "decode_step_time", "ms", "step without prompts, at most itl")
              .positive(),
          field(&Inputs::by_requests, "by_requests", "ms", "what the running requests add to a step")
              .non_negative(),
          field(&Inputs::prompts_per_step, "prompts_per_step", "", "prompts that arrive in a step")
              .positive(),
          field(&Inputs::steps, "steps", "", "steps of a request").at_least(1),
          field(&Inputs::running, "running", "", "requests that run").positive(),
          field(&Inputs::variation, "variation", "", "by which lengths that differ spread it")
              .at_least(1)
              .defaulted("equal lengths"));
    }
  };
  template <class T> struct Result {
    Time<T> deviation;
    static constexpr auto fields() {
      return rows(field(&Result::deviation, "deviation", "ms", "standard deviation over the requests"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const Time<T> added = max(in.itl - in.decode_step_time, Time<T>()) * (in.itl / in.decode_step_time);
    const T prompts = added.base() * added.base() * in.variation / (in.prompts_per_step * in.steps),
            requests = in.by_requests.base() * in.by_requests.base() * (2.0 / 3.0) / in.running;
    return {.deviation = Time<T>::from_base(sqrt(T(prompts + requests)))};
  }
};

/// Time between tokens that a share of the requests keeps, from its mean and deviation over them [s].
///
/// How long steps with interruptions take is a first passage, whose skewness is 3 cv. Lognormal times have
/// that to first order:
///     time = mean exp(z s - s^2 / 2),   s^2 = ln(1 + cv^2),   cv = deviation / mean
/// z: deviations from the mean that the share of normally distributed requests stays below, 2.326 for 99 %.
/// Example: 40 ms with a deviation of 6 ms, 99 %: s = 0.149, 40 ms x exp(0.3368) = 56.0 ms.
/// Ranges: mean > 0; deviation >= 0.
/// @cite johnson1994univariate, chapters 14 (lognormal) and 15 (inverse Gaussian: first passage)
struct TokenTimeQuantile {
  static constexpr LawInfo info{"TokenTimeQuantile",
                                "time = mean exp(z s - s^2 / 2); s^2 = ln(1 + (deviation / mean)^2)",
                                "johnson1994univariate", "chapters 14 and 15", "lognormal over the requests"};
  template <class T> struct Inputs {
    Time<T> mean, deviation;
    T z;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::mean, "mean", "ms", "over all requests").positive(),
          field(&Inputs::deviation, "deviation", "ms", "standard deviation over the requests").non_negative(),
          field(&Inputs::z, "z", "", "normal deviate of the share").within(0, 8));
    }
  };
  template <class T> struct Result {
    Time<T> time;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "ms", "which the share keeps"));
    }
  };
  /// s of the law.
  template <class T>
  [[nodiscard]] static constexpr T log_deviation(const Time<T>& mean, const Time<T>& deviation) {
    const T cv = deviation / mean;
    return sqrt(T(log(T(1.0 + cv * cv))));
  }
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T s = log_deviation(in.mean, in.deviation);
    return {.time = in.mean * exp(T(s * (in.z - 0.5 * s)))};
  }
};

/// Mean time to the first token of requests that all arrive at once [s].
///
/// Prompts are processed in passes of `together`; each request waits for the passes before its own and gets
/// its token at the end of its own. Exact where `together` divides `requests`. Ranges: prompt >= 0, the time
/// of one prompt in a full pass; requests, together >= 1.
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

#pragma once
/// In-flight batching: requests join and leave a running batch between two passes of the model.

#include <mlsysim/table/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Time between two tokens of a request in an engine that batches in flight [s].
///
/// Of the steps of the batch, the share s = min(prompts_per_step, 1) also has prompts to process. An engine that
/// mixes (mixed = 1) does so in the same pass, which gives every request its next token; one that does not
/// (mixed = 0) runs a pass of prompts before the step. The host works before each pass, or beside it where the
/// engine prepares a pass while another runs (beside = 1): pass = device + host, or sqrt(device^2 + host^2).
///     itl = (1 - mixed s) decode_pass + s prompt_pass
/// prompt is the device time of a pass with max(prompts_per_step, 1) prompts (mixed: and the tokens of the batch).
/// Ranges: times >= 0, decode > 0; prompts_per_step >= 0; mixed and beside 0 or 1.
/// @cite yu2022orca, section 4 (iteration-level scheduling); agrawal2024sarathi, section 4 (mixed passes)
struct InFlightStep {
  static constexpr LawInfo info{"InFlightStep",
                                "itl = (1 - mixed s) decode_pass + s prompt_pass, s = min(prompts_per_step, 1)",
                                "yu2022orca", "section 4", "arrivals are spread over the steps; passes do not overlap"};
  template <class T> struct Inputs {
    Time<T> decode, prompt, host;
    T prompts_per_step, mixed{1.0}, beside{0.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::decode, "decode", "ms", "device time of a step without prompts").positive(),
                  field(&Inputs::prompt, "prompt", "ms", "device time of a pass with prompts").non_negative(),
                  field(&Inputs::host, "host", "ms", "host time of one pass").non_negative(),
                  field(&Inputs::prompts_per_step, "prompts_per_step", "", "prompts that arrive during one step").non_negative(),
                  field(&Inputs::mixed, "mixed", "", "1: prompts and steps share a pass").within(0, 1).defaulted("they do"),
                  field(&Inputs::beside, "beside", "", "1: the host works beside the device").within(0, 1).defaulted("it works before"));
    }
  };
  template <class T> struct Result {
    Time<T> itl, decode_pass, prompt_pass;
    T prompt_passes, prompt_share;
    static constexpr auto fields() {
      return rows(field(&Result::itl, key::itl),
                  field(&Result::decode_pass, "decode_pass", "ms", "a step without prompts, host included"),
                  field(&Result::prompt_pass, "prompt_pass", "ms", "a pass with prompts, host included"),
                  field(&Result::prompt_passes, "prompt_passes", "", "share of the passes that hold prompts"),
                  field(&Result::prompt_share, "prompt_share", "", "share of the time that these passes take"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto join = [&](const Time<T>& device) {
      const Time<T> soft = device * sqrt(1.0 + (in.host / device) * (in.host / device));
      return select(in.beside > T(0.5), soft, device + in.host);
    };
    const T s = named("s", min(in.prompts_per_step, T(1.0)));
    const Time<T> decode = join(in.decode);
    // A pass is at least as long as an empty one; this also keeps the quotient above finite.
    const Time<T> prompt = join(max(in.prompt, in.decode * 1e-9));
    const Time<T> itl = decode * (1.0 - in.mixed * s) + prompt * s;
    return {.itl = itl, .decode_pass = decode, .prompt_pass = prompt,
            .prompt_passes = s / (1.0 + (1.0 - in.mixed) * s), .prompt_share = prompt * s / itl};
  }
};

/// Mean time to the first token of a request that arrives at a random moment [s].
///
/// It waits for the rest of the pass under way, which is the longer the more the passes differ: rest = E[t^2] /
/// (2 E[t]) over passes of two lengths, of which the share prompt_passes holds prompts. Whoever arrived meanwhile
/// shares its own pass: crowd = min(2 rest rate, 1) further prompts, as long as a pass holds less than one on
/// average. An engine that prepares passes ahead shows a token `lookahead` steps late:
///     ttft = busy rest + prompt_pass (1 + crowd) + lookahead decode_pass
/// Ranges: passes > 0; prompt_passes, busy in [0, 1]; rate, lookahead >= 0.
/// @cite kleinrock1975queueing, section 5.2 (residual life); yu2022orca, section 4
struct InFlightFirstToken {
  static constexpr LawInfo info{"InFlightFirstToken",
                                "ttft = busy rest + prompt_pass (1 + crowd) + lookahead decode_pass",
                                "kleinrock1975queueing", "section 5.2",
                                "arrivals at random moments; every prompt that waits joins the next pass"};
  template <class T> struct Inputs {
    Time<T> decode_pass, prompt_pass;
    T prompt_passes;
    RequestRate<T> rate;
    T busy{1.0}, lookahead{0.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::decode_pass, "decode_pass", "ms", "a step without prompts").positive(),
                  field(&Inputs::prompt_pass, "prompt_pass", "ms", "a pass with prompts").positive(),
                  field(&Inputs::prompt_passes, "prompt_passes", "", "share of the passes that hold prompts").within(0, 1),
                  field(&Inputs::rate, "rate", "request/s", "requests that arrive").non_negative(),
                  field(&Inputs::busy, "busy", "", "probability that a pass is under way").within(0, 1).defaulted("always"),
                  field(&Inputs::lookahead, "lookahead", "", "steps by which the engine prepares ahead").non_negative().defaulted("none"));
    }
  };
  template <class T> struct Result {
    Time<T> ttft, rest;
    T crowd;
    static constexpr auto fields() {
      return rows(field(&Result::ttft, key::ttft),
                  field(&Result::rest, "rest", "ms", "rest of the pass that an arrival meets, mean"),
                  field(&Result::crowd, "crowd", "", "further prompts in its own pass, mean"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T f = in.prompt_passes;
    const Time<T> mean = in.decode_pass * (1.0 - f) + in.prompt_pass * f;
    const T a = in.decode_pass / mean, b = in.prompt_pass / mean;
    const Time<T> rest = mean * (0.5 * ((1.0 - f) * a * a + f * b * b));
    const T crowd = named("crowd", (1.0 - f) * min(T(2.0 * (rest * in.rate).base()), T(1.0)));
    return {.ttft = rest * in.busy + in.prompt_pass * (1.0 + crowd) + in.decode_pass * in.lookahead,
            .rest = rest, .crowd = crowd};
  }
};

/// Mean time to the first token of requests that all arrive at once [s].
///
/// Prompts are processed in passes of `together`; each request waits for the passes before its own and gets its
/// token at the end of its own: ttft = prompt (requests + min(together, requests)) / 2. Ranges: prompt >= 0, time of
/// one prompt in a full pass; requests, together >= 1. Exact where `together` divides `requests`.
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

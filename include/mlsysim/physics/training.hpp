#pragma once
/// Training and decoding arithmetic from parameter counts, compute-optimal model size, and training time.
///
///   training = 6 params tokens                                                          [FLOP]
///   forward  = 2 params tokens                                                          [FLOP]
///   optimum  : params = sqrt(work / (6 tokens_per_param)),  tokens = tokens_per_param params
///   time     = work / (devices peak mfu)                                                [s]
///
/// params: active ones in a mixture of experts. tokens_per_param: 20 by default. mfu: model FLOP utilization.
/// Limits: attention over the context, embedding look-ups and recomputation are not counted.
/// Example: 70 billion params, 1.4 trillion tokens: 588 ZFLOP. 1024 devices of 989 TFLOP/s need 16.8 days at
/// MFU 0.4. This size is the optimum for 588 ZFLOP.
/// @cite kaplan2020scaling, eq. (2.2) and section 2.1
/// @cite hoffmann2022chinchilla, table 3
/// @cite narayanan2021megatron, eq. (4)

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Arithmetic of training a transformer [FLOP].
///
/// 2 FLOP per parameter and token forward, 4 backward. Ranges: params, tokens >= 0.
/// @cite kaplan2020scaling, eq. (2.2) and section 2.1; @cite hoffmann2022chinchilla, appendix F
struct TrainingWork {
  static constexpr LawInfo info{"TrainingWork", "work = 6 params tokens", "kaplan2020scaling", "section 2.1",
                                "no attention over the context, no recomputation"};
  template <class T> struct Inputs {
    Params<T> params;
    Tokens<T> tokens;
    static constexpr auto fields() {
      return rows(field(&Inputs::params, key::params), field(&Inputs::tokens, key::tokens));
    }
  };
  template <class T> struct Result {
    Work<T> work;
    static constexpr auto fields() { return rows(field(&Result::work, key::work)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.work = 6.0 * unit::FLOP / unit::param / unit::token * in.params * in.tokens};
  }
};

/// Arithmetic of a forward pass over tokens, in decoding or prefill [FLOP].
///
/// One multiply-add per weight and token. Ranges: params, tokens >= 0.
/// @cite kaplan2020scaling, eq. (2.2)
struct DecodeWork {
  static constexpr LawInfo info{"DecodeWork", "work = 2 params tokens", "kaplan2020scaling", "eq. (2.2)",
                                "no attention over the context"};
  template <class T> using Inputs = TrainingWork::Inputs<T>;
  template <class T> using Result = TrainingWork::Result<T>;
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.work = 2.0 * unit::FLOP / unit::param / unit::token * in.params * in.tokens};
  }
};

/// Parameters and tokens that use a training budget best [param, token].
///
/// The ratio 20 is what the published fits imply near 1e21 FLOP for dense decoders; it ignores the cost of
/// serving, which favors smaller models. Ranges: work >= 0; tokens_per_param > 0.
/// @cite hoffmann2022chinchilla, table 3
struct ChinchillaOptimal {
  static constexpr LawInfo info{
      "ChinchillaOptimal", "params = sqrt(work / (6 tokens_per_param)); tokens = tokens_per_param params",
      "hoffmann2022chinchilla", "table 3", "dense decoder; training cost alone is minimized"};
  template <class T> struct Inputs {
    Work<T> work;
    Quantity<dim::tokens_per_param, T> tokens_per_param{20.0 * unit::token / unit::param};
    static constexpr auto fields() {
      return rows(field(&Inputs::work, "work", "ZFLOP", "training budget").non_negative(),
                  field(&Inputs::tokens_per_param, "tokens_per_param", "token/param",
                        "tokens per parameter at the optimum")
                      .positive()
                      .defaulted("hoffmann2022chinchilla, table 3"));
    }
  };
  template <class T> struct Result {
    Params<T> params;
    Tokens<T> tokens;
    static constexpr auto fields() {
      return rows(field(&Result::params, key::params), field(&Result::tokens, key::tokens));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    constexpr auto per_pair = 6.0 * unit::FLOP / unit::param / unit::token;
    // Two roots instead of ratio * params: each input once, so ranges stay tight.
    return {.params = sqrt(in.work / (per_pair * in.tokens_per_param)),
            .tokens = sqrt(in.work * in.tokens_per_param / per_pair)};
  }
};

/// Time to do a given amount of work on many devices at a given utilization [s].
///
/// Ranges: work >= 0; devices >= 1; peak > 0; mfu > 0.
/// @cite narayanan2021megatron, eq. (4) (there with 8 FLOP per pair, recomputation included)
struct TrainingTime {
  static constexpr LawInfo info{"TrainingTime", "time = work / (devices peak mfu)", "narayanan2021megatron",
                                "eq. (4)", "all devices sustain the same share of their peak"};
  template <class T> struct Inputs {
    Work<T> work;
    T devices;
    ComputeRate<T> peak;
    T mfu;
    static constexpr auto fields() {
      return rows(field(&Inputs::work, "work", "ZFLOP", "arithmetic of the whole run").non_negative(),
                  field(&Inputs::devices, key::devices).at_least(1).counted(),
                  field(&Inputs::peak, key::peak), field(&Inputs::mfu, key::mfu).within(1e-9, 1));
    }
  };
  template <class T> struct Result {
    Time<T> time;
    static constexpr auto fields() { return rows(field(&Result::time, "time", "d", "elapsed time")); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.time = in.work / (in.devices * in.peak * in.mfu)};
  }
};

}  // namespace mlsysim

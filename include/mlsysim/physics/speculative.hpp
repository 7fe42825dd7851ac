#pragma once
/// Speculative decoding: tokens gained per verification pass, and the resulting time per token.
///
///   expected_tokens = 1 + a + a^2 + ... + a^K                       equal acceptance at each position
///   expected_tokens = 1 + a + a (a d) + a (a d) (a d^2) + ...       acceptance falls by d per position
///   itl             = (K draft_time + verify_time) / expected_tokens                            [s]
///
/// a: draft_acceptance_rate. d: draft_acceptance_decay. K: draft_tokens. draft_time: one draft step [s].
/// verify_time: one pass of the target model over K + 1 positions [s].
/// Limits: independent acceptance, 0 <= a <= 1, K <= 1024, draft and verification do not overlap.
/// Example: a 0.8, K 3: 1 + 0.8 + 0.64 + 0.512 = 2.952 tokens, and 2.827 with d 0.94. Drafts of 1 ms and a
/// verification of 20 ms then give (3 + 20) / 2.952 = 7.79 ms per token.
/// @cite leviathan2023speculative, eq. (1) and theorem 3.8
/// @cite inferencex

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/units/unit.hpp>

#include <array>

namespace mlsysim {

/// Tokens gained per verification pass, on average [token count].
///
/// The pass always yields one token of its own. The sum runs by Horner's rule instead of its closed form (1
/// - a^(K+1)) / (1 - a), which is 0 / 0 at a = 1 and loses digits nearby. Ranges: 0 <= a <= 1; 0 <= K <=
/// 1024, integral.
/// @cite leviathan2023speculative, eq. (1)
struct ExpectedAcceptedTokens {
  static constexpr LawInfo info{"ExpectedAcceptedTokens",
                                "expected_tokens = 1 + a + ... + a^K = (1 - a^(K+1)) / (1 - a)",
                                "leviathan2023speculative", "eq. (1)",
                                "each drafted token is kept independently with the same probability"};
  template <class T> struct Inputs {
    T draft_acceptance_rate, draft_tokens;
    static constexpr auto fields() {
      return rows(field(&Inputs::draft_acceptance_rate, key::draft_acceptance_rate),
                  field(&Inputs::draft_tokens, key::draft_tokens));
    }
  };
  template <class T> struct Result {
    T expected_tokens;
    static constexpr auto fields() {
      return rows(field(&Result::expected_tokens, "expected_tokens", "", "tokens gained per verification"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto round = [&](const T& tokens, const T&) { return T(1.0 + in.draft_acceptance_rate * tokens); };
    return {.expected_tokens = repeat<1024>(in.draft_tokens, T(1.0), round)};
  }
};

/// Tokens gained per verification pass where acceptance falls with the position [token count].
///
/// The j-th drafted token is kept with probability a d^(j-1) if those before it were, because a draft
/// continues its own guesses. With d = 1 it is ExpectedAcceptedTokens. For draft heads of seven models
/// (MTP, EAGLE3, DSpark; K up to 8) d = 0.94 follows a measured first position with a median error of 1.9 %
/// where d = 1 has 14 %. Ranges: 0 <= a <= 1; 0 < d <= 1; 0 <= K <= 1024, integral.
/// @cite inferencex; leviathan2023speculative, eq. (1) for d = 1
struct DecayingAcceptance {
  static constexpr LawInfo info{
      "DecayingAcceptance", "expected_tokens = 1 + a + a (a d) + a (a d) (a d^2) + ...", "inferencex",
      "acceptance length by number of drafted tokens",
      "the probability of the next token falls by the same factor at each position"};
  template <class T> struct Inputs {
    T draft_acceptance_rate, draft_acceptance_decay, draft_tokens;
    static constexpr auto fields() {
      return rows(field(&Inputs::draft_acceptance_rate, key::draft_acceptance_rate),
                  field(&Inputs::draft_acceptance_decay, "draft_acceptance_decay", "",
                        "factor of the acceptance from one drafted token to the next")
                      .within(0.01, 1),
                  field(&Inputs::draft_tokens, key::draft_tokens));
    }
  };
  template <class T> struct Result {
    T expected_tokens;
    static constexpr auto fields() {
      return rows(field(&Result::expected_tokens, "expected_tokens", "", "tokens gained per verification"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    // Tokens so far, the probability that every draft so far was kept, and that of the next one if so: all
    // grow with every input, so that a range of them, also of the number, is no wider than its corners.
    using Draft = std::array<T, 3>;
    const auto next = [&](const Draft& d, const T&) -> Draft {
      const T kept = d[1] * d[2];
      return {T(d[0] + kept), kept, T(d[2] * in.draft_acceptance_decay)};
    };
    return {.expected_tokens =
                repeat<1024>(in.draft_tokens, Draft{T(1.0), T(1.0), in.draft_acceptance_rate}, next)[0]};
  }
};

/// Time per generated token under speculative decoding [s].
///
/// K draft steps run one after the other, then one pass of the large model, whose time is an input. Ranges:
/// times >= 0; a and K as for ExpectedAcceptedTokens.
/// @cite leviathan2023speculative, theorem 3.8 (there as a speed-up with c = draft_time / verify_time)
struct SpeculativeTokenTime {
  static constexpr LawInfo info{
      "SpeculativeTokenTime", "itl = (K draft_time + verify_time) / expected_tokens",
      "leviathan2023speculative", "theorem 3.8", "draft and verification do not overlap"};
  template <class T> struct Inputs {
    Time<T> draft_time, verify_time;
    T draft_acceptance_rate, draft_tokens;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::draft_time, "draft_time", "ms", "one step of the draft model").non_negative(),
          field(&Inputs::verify_time, "verify_time", "ms", "one verification pass of the large model")
              .non_negative(),
          field(&Inputs::draft_acceptance_rate, key::draft_acceptance_rate),
          field(&Inputs::draft_tokens, key::draft_tokens));
    }
  };
  template <class T> struct Result {
    T expected_tokens;
    Time<T> itl;
    static constexpr auto fields() {
      return rows(field(&Result::expected_tokens, "expected_tokens", "", "tokens gained per verification"),
                  field(&Result::itl, key::itl));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T gained = apply<ExpectedAcceptedTokens, T>(
                         {.draft_acceptance_rate = in.draft_acceptance_rate, .draft_tokens = in.draft_tokens})
                         .expected_tokens;
    return {.expected_tokens = gained, .itl = (in.draft_tokens * in.draft_time + in.verify_time) / gained};
  }
};

}  // namespace mlsysim

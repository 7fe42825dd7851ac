#pragma once
/// Attention: query-key pairs, arithmetic, and the bytes of queries, outputs, keys and values.

#include <mlsysim/table/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Arithmetic and traffic of fused attention over one layer [FLOP, B].
///
/// With n new tokens after p cached ones, a causal layer has n p + n (n + 1) / 2 pairs per head and sequence
/// (exact count; with S = n + p this is n S - n (n - 1) / 2); without a mask it has n (n + p). Each pair
/// costs qk_dim multiply-adds for the score and v_dim for the weighted sum. The softmax itself (a few
/// operations per pair) is not counted. Scores stay on chip, keys and values cross the memory interface once
/// per KV head. Ranges: all counts >= 0 and integral, kv_heads <= heads, causal 0 or 1. Causal pairs below
/// the diagonal only: a kernel that skips no masked tile does up to twice this work.
/// @cite dao2022flashattention, theorem 1 and algorithm 1
struct AttentionWork {
  static constexpr LawInfo info{
      "AttentionWork",
      "work = 2 batch heads pairs (qk_dim + v_dim); pairs = n p + n (n + 1) / 2 where causal",
      "dao2022flashattention", "theorem 1, algorithm 1",
      "fused: scores never leave the chip; keys and values are read once; softmax not counted"};
  template <class T> struct Inputs {
    T batch, heads, kv_heads, qk_dim, v_dim, new_tokens, past_tokens, causal;
    Data<T> io_bytes, kv_bytes;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::batch, "batch", "", "sequences").non_negative().counted(),
          field(&Inputs::heads, key::heads).non_negative().counted(),
          field(&Inputs::kv_heads, key::kv_heads).non_negative().counted(),
          field(&Inputs::qk_dim, "qk_dim", "", "width of a query or key head").non_negative().counted(),
          field(&Inputs::v_dim, "v_dim", "", "width of a value head").non_negative().counted(),
          field(&Inputs::new_tokens, "new_tokens", "", "query tokens per sequence").non_negative().counted(),
          field(&Inputs::past_tokens, "past_tokens", "", "tokens per sequence already cached")
              .non_negative()
              .counted(),
          field(&Inputs::causal, "causal", "", "1: a token sees itself and earlier ones; 0: all")
              .within(0, 1)
              .counted(),
          field(&Inputs::io_bytes, "io_bytes", "B", "storage of one element of queries and outputs")
              .non_negative(),
          field(&Inputs::kv_bytes, "kv_bytes", "B", "storage of one element of keys and values")
              .non_negative());
    }
  };
  template <class T> struct Result {
    T pairs;
    Work<T> work;
    Data<T> qo_traffic, kv_traffic;
    static constexpr auto fields() {
      return rows(field(&Result::pairs, "pairs", "", "query-key pairs per head and sequence"),
                        field(&Result::work, key::work),
                        field(&Result::qo_traffic, "qo_traffic", "GB", "queries read and outputs written"),
                        field(&Result::kv_traffic, "kv_traffic", "GB", "keys and values read"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T own = select(in.causal > 0.5, T(0.5 * (in.new_tokens + 1.0)), in.new_tokens);
    const T pairs = named("pairs", in.new_tokens * (in.past_tokens + own));
    const T widths = in.qk_dim + in.v_dim;
    return {.pairs = pairs,
            .work = in.batch * in.heads * pairs * widths * (2.0 * unit::FLOP),
            .qo_traffic = in.batch * in.heads * in.new_tokens * widths * in.io_bytes,
            .kv_traffic = in.batch * in.kv_heads * (in.new_tokens + in.past_tokens) * widths * in.kv_bytes};
  }
};

/// Query-key pairs and distinct keys of causal attention in a sliding window [count].
///
/// The i-th of n new tokens after p cached ones sees min(p + i, window) tokens, itself included. The first
/// k = clamp(window - p, 0, n) tokens are not yet limited: pairs = k p + k (k + 1) / 2 + (n - k) window.
/// keys = min(p + n, window + n - 1) tokens are read. Ranges: n, window >= 1, p >= 0; all integral.
/// @cite beltagy2020longformer, section 3.1
struct WindowedAttentionPairs {
  static constexpr LawInfo info{
      "WindowedAttentionPairs", "pairs = k p + k (k + 1) / 2 + (n - k) window; k = clamp(window - p, 0, n)",
      "beltagy2020longformer", "section 3.1", "causal window that includes the token itself"};
  template <class T> struct Inputs {
    T new_tokens, past_tokens, window;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::new_tokens, "new_tokens", "", "query tokens per sequence").at_least(1).counted(),
          field(&Inputs::past_tokens, "past_tokens", "", "earlier tokens per sequence")
              .non_negative()
              .counted(),
          field(&Inputs::window, "window", "", "tokens that one token sees, itself included")
              .at_least(1)
              .counted());
    }
  };
  template <class T> struct Result {
    T pairs, keys;
    static constexpr auto fields() {
      return rows(field(&Result::pairs, "pairs", "", "query-key pairs per head and sequence"),
                        field(&Result::keys, "keys", "", "distinct tokens whose keys and values are read"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T growing = named("growing", clamp(T(in.window - in.past_tokens), T(0.0), in.new_tokens));
    const T pairs =
        growing * (in.past_tokens + 0.5 * (growing + 1.0)) + (in.new_tokens - growing) * in.window;
    // The tokens seen grow concavely, so the mean lies between the mean of first and last and the view of the
    // mean token. True of every point, and exact off the corner: this is for ranges, on which the sum above
    // is loose.
    const T ends =
        min(T(in.past_tokens + 1.0), in.window) + min(T(in.past_tokens + in.new_tokens), in.window);
    const T middle = min(T(in.past_tokens + 0.5 * (in.new_tokens + 1.0)), in.window);
    return {.pairs = clamp(pairs, T(in.new_tokens * (0.5 * ends)), T(in.new_tokens * middle)),
            .keys = in.new_tokens + min(in.past_tokens, T(in.window - 1.0))};
  }
};

}  // namespace mlsysim

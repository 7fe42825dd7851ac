#pragma once
/// Activations that one GPT-style transformer layer keeps for the backward pass of one micro-batch [B].
///
///   selective = s b h (10 + 24 / t) e / 2         with sequence parallelism: s b h (34 / t) e / 2
///   none      = selective + (5 a s^2 b / t) e / 2
///   full      = 2 s b h e / 2                     with sequence parallelism: (2 s b h / t) e / 2
///
/// none, selective, full: the kind of recomputation. s: seq_len [tokens]. b: batch_size [sequences].
/// h: hidden width. a: heads. t: tp_size. e: element_bytes [B].
/// Limits: feed-forward width 4 h, dropout, stored attention scores. Gated and grouped-query blocks differ.
/// Example: s 2048, b 1, h 12288, a 96, t 8, e 2 B: none 578.8 MB, selective 327.2 MB, full 50.3 MB.
/// @cite korthikanti2022recomputation, eqs. (1) to (4) and table 2

#include <mlsysim/reflect/law.hpp>

namespace mlsysim {

/// Bytes of activations of one GPT-style layer and one micro-batch under three kinds of recomputation [B].
///
/// `full` keeps the layer input alone. Dropout masks (1 byte per element) are included and scaled like the
/// rest. FlashAttention keeps about as much as `selective`. Ranges: seq_len, batch_size >= 0; hidden, heads,
/// tp_size >= 1; integral; sequence_parallel 0 or 1.
/// @cite korthikanti2022recomputation, eqs. (1) to (4) and table 2
struct TransformerActivations {
  static constexpr LawInfo info{
      "TransformerActivations",
      "selective = s b h (10 + 24/t), or s b h 34/t with sequence parallelism; none = selective + 5 a s^2 b "
      "/ t; "
      "full = 2 s b h, or 2 s b h / t",
      "korthikanti2022recomputation", "eqs. (1) to (4), table 2",
      "feed-forward width 4 h, dropout, stored attention scores; scaled by element_bytes / 2"};
  template <class T> struct Inputs {
    T seq_len, batch_size, hidden, heads;
    Data<T> element_bytes;
    T tp_size{1.0}, sequence_parallel{0.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::seq_len, key::seq_len).non_negative().counted(),
                  field(&Inputs::batch_size, "batch_size", "", "sequences of one micro-batch")
                      .non_negative()
                      .counted(),
                  field(&Inputs::hidden, key::hidden).at_least(1).counted(),
                  field(&Inputs::heads, key::heads).at_least(1).counted(),
                  field(&Inputs::element_bytes, key::element_bytes),
                  field(&Inputs::tp_size, key::tp_size).defaulted("one device"),
                  field(&Inputs::sequence_parallel, "sequence_parallel", "",
                        "1: what tensor parallelism leaves whole is split too")
                      .within(0, 1)
                      .counted()
                      .defaulted("not split"));
    }
  };
  template <class T> struct Result {
    Data<T> none, selective, full;
    static constexpr auto fields() {
      return rows(field(&Result::none, "none", "GB", "nothing recomputed"),
                  field(&Result::selective, "selective", "GB", "attention scores recomputed"),
                  field(&Result::full, "full", "GB", "whole layer recomputed from its input"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto half = named("half", in.element_bytes / 2.0);  // the coefficients count 2-byte elements
    const T rows = named("rows", in.seq_len * in.batch_size);
    const auto split = in.sequence_parallel > 0.5;
    // Replicated on every tensor-parallel device, and divided between them, per element of the residual
    // stream.
    const T selective = select(split, T(34.0 / in.tp_size), T(10.0 + 24.0 / in.tp_size));
    const T full = select(split, T(2.0 / in.tp_size), T(2.0));
    const T scores = 5.0 * in.heads * in.seq_len / in.tp_size;
    return {.none = rows * (in.hidden * selective + scores) * half,
            .selective = rows * in.hidden * selective * half,
            .full = rows * in.hidden * full * half};
  }
};

}  // namespace mlsysim

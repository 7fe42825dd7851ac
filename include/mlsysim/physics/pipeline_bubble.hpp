#pragma once
/// Pipeline bubble: idle time of the stages at the start and the end of a training step.
///
///   bubble_overhead = (pp_size - 1) / (v_stages microbatch_count)              idle over ideal compute time
///   bubble_fraction = (pp_size - 1) / (v_stages microbatch_count + pp_size - 1)     idle over the whole step
///
/// pp_size: pipeline stages. v_stages: model chunks per device (interleaving), 1 without.
/// Limits: equal stages, a fixed ratio of backward to forward, free transfers. 1F1B and GPipe do not differ.
/// Example: 8 stages, 32 micro-batches, no interleaving: overhead 7/32 = 21.9 %, fraction 7/39 = 17.9 %.
/// @cite narayanan2021megatron, sections 2.2.1 and 2.2.2
/// @cite huang2019gpipe, section 2.3

#include <mlsysim/reflect/law.hpp>

namespace mlsysim {

/// Idle time of a pipeline over its ideal compute time [share].
///
/// It multiplies ideal compute time: step = ideal (1 + overhead). Ranges: all >= 1 and integral.
/// @cite narayanan2021megatron, section 2.2 (t_pb / t_id)
struct BubbleOverhead {
  static constexpr LawInfo info{
      "BubbleOverhead", "bubble_overhead = (pp_size - 1) / (v_stages microbatch_count)",
      "narayanan2021megatron", "sections 2.2.1 and 2.2.2", "equal stages; transfers between stages are free"};
  template <class T> struct Inputs {
    T pp_size, microbatch_count, v_stages{1.0};
    static constexpr auto fields() {
      return rows(field(&Inputs::pp_size, key::pp_size),
                  field(&Inputs::microbatch_count, key::microbatch_count),
                  field(&Inputs::v_stages, key::v_stages).defaulted("no interleaving"));
    }
  };
  template <class T> struct Result {
    T bubble_overhead;
    static constexpr auto fields() {
      return rows(
          field(&Result::bubble_overhead, "bubble_overhead", "", "idle time over ideal compute time"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.bubble_overhead = (in.pp_size - 1.0) / (in.v_stages * in.microbatch_count)};
  }
};

/// Idle share of the whole step of a pipeline [share].
///
/// With the overhead x it is x / (1 + x). The factor on compute time is BubbleOverhead. Ranges and
/// assumptions as there.
/// @cite huang2019gpipe, section 2.3; @cite narayanan2021megatron, section 2.2
struct BubbleFraction {
  static constexpr LawInfo info{
      "BubbleFraction", "bubble_fraction = (pp_size - 1) / (v_stages microbatch_count + pp_size - 1)",
      "huang2019gpipe", "section 2.3", "equal stages; transfers between stages are free"};
  template <class T> using Inputs = BubbleOverhead::Inputs<T>;
  template <class T> struct Result {
    T bubble_fraction;
    static constexpr auto fields() { return rows(field(&Result::bubble_fraction, key::bubble_fraction)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T overhead = apply<BubbleOverhead, T>(in).bubble_overhead;
    return {.bubble_fraction = 1.0 - 1.0 / (1.0 + overhead)};  // x / (1 + x) with x once
  }
};

}  // namespace mlsysim

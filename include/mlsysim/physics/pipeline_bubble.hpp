#pragma once
/// The pipeline bubble: time that stages wait at the start and the end of a step.

#include <mlsysim/reflect/law.hpp>

namespace mlsysim {

/// Idle time of a pipeline over its ideal compute time [share].
///
/// bubble_overhead = (p - 1) / (v m) for p stages, m micro-batches and v model chunks per device; multiplies
/// ideal compute time: step = ideal (1 + overhead). Equal stages, backward twice the forward or any other
/// fixed ratio, transfers free; 1F1B and GPipe alike, since they differ in memory only. Ranges: all >= 1 and
/// integral.
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
/// bubble_fraction = (p - 1) / (v m + p - 1): the overhead x over ideal time, seen from the whole step, x /
/// (1 + x). Not a factor on compute time: that is BubbleOverhead. Ranges and assumptions as there.
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

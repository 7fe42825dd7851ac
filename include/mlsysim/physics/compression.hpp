#pragma once
/// Bytes of weights that are stored in fewer bits or with zeros left out.
///
///   weights = params ((1 - sparsity) (bits + index_bits) + scale_bits / group) / 8     [B]
///
/// bits: width of a kept weight. sparsity: share of zeros. index_bits: position of a kept weight.
/// scale_bits: scale and offset of one group. group: weights that share a scale.
/// Limits: one format for all weights that are compressed.
/// Example: 8 billion weights in 4 bits with 16 bits of scale for 128 weights: 8e9 x 4.125 / 8 = 4.125 GB.
/// @cite frantar2023gptq, section 4 (groups)
/// @cite han-2015 (positions of kept weights)

#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Bytes of weights in a compressed format [B].
///
/// Ranges: params >= 0; bits in [1, 64]; sparsity in [0, 1]; index_bits in [0, 64]; scale_bits in [0, 128];
/// group >= 1.
/// @cite frantar2023gptq, section 4 (groups); han-2015 (positions of kept weights)
struct CompressedWeights {
  static constexpr LawInfo info{
      "CompressedWeights", "weights = params ((1 - sparsity)(bits + index_bits) + scale_bits / group) / 8",
      "frantar2023gptq", "section 4", "one width for all compressed weights"};
  template <class T> struct Inputs {
    Params<T> params;
    T bits, sparsity{0.0}, index_bits{0.0}, scale_bits{0.0}, group{1.0};
    static constexpr auto fields() {
      return rows(
          field(&Inputs::params, key::params),
          field(&Inputs::bits, "bits", "", "width of a kept weight").within(1, 64),
          field(&Inputs::sparsity, "sparsity", "", "share of the weights that are zero")
              .within(0, 1)
              .defaulted("none"),
          field(&Inputs::index_bits, "index_bits", "", "bits that tell where a kept weight stands")
              .within(0, 64)
              .defaulted("none"),
          field(&Inputs::scale_bits, "scale_bits", "", "bits of scale and offset of a group")
              .within(0, 128)
              .defaulted("none"),
          field(&Inputs::group, "group", "", "weights that share a scale").at_least(1).defaulted("one"));
    }
  };
  template <class T> struct Result {
    Data<T> weights;
    static constexpr auto fields() { return rows(field(&Result::weights, key::weights)); }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T width =
        named("width", (1.0 - in.sparsity) * (in.bits + in.index_bits) + in.scale_bits / in.group);
    return {.weights = in.params * width * (0.125 * unit::B / unit::param)};
  }
};

}  // namespace mlsysim

#pragma once
/// The categories of a lowering: they fix which operators exist. All numbers are elsewhere, as `T`.

#include <mlsysim/spec/choices.hpp>

namespace mlsysim {

/// What one pass over the model does.
enum class Phase : std::uint8_t { prefill, decode, training, inference };
template <> struct Choices<Phase> {
  static constexpr std::string_view what = "phase";
  static constexpr std::array<std::string_view, 4> names{"prefill", "decode", "training", "inference"};
};

/// Parts of a block, as bits: an operator belongs to some, and recomputation names some.
struct Parts {
  std::uint16_t bits = 0;
  friend constexpr Parts operator|(Parts a, Parts b) { return {static_cast<std::uint16_t>(a.bits | b.bits)}; }
  /// Do the two have a part in common?
  [[nodiscard]] friend constexpr bool operator&(Parts a, Parts b) { return (a.bits & b.bits) != 0; }
  friend constexpr bool operator==(Parts, Parts) = default;
};
namespace part {
inline constexpr Parts none{0}, core{1}, attention{2}, norm{4}, activation{8}, feed_forward{16}, block{32};
inline constexpr Parts all{63};
/// Of a routed expert: stored once per expert-parallel group. Not a part that recomputation names.
inline constexpr Parts routed{64};
/// Of a low-rank adapter: trained, where the weights beside it are not. Likewise.
inline constexpr Parts adapter{128};
/// Makes stored weights as wide as a product takes them. Likewise.
inline constexpr Parts widened{256};
/// Runs beside the experts' exchange. Likewise.
inline constexpr Parts aside{512};
}  // namespace part

/// The parts that a choice of recomputation repeats.
[[nodiscard]] constexpr Parts parts_of(Recomputation r) {
  switch (r) {
    case Recomputation::none:
      return part::none;
    case Recomputation::selective:
      return part::core;
    case Recomputation::full:
      return part::all;
    case Recomputation::norm:
      return part::norm;
    case Recomputation::activation:
      return part::activation;
    case Recomputation::pointwise:
      return part::norm | part::activation;
    case Recomputation::feed_forward:
      return part::feed_forward;
    case Recomputation::attention:
      return part::attention;
    case Recomputation::per_operator:
      return part::none;  // chosen by operator, not by part
  }
  return part::none;
}

/// Categories of a lowering.
struct Structure {
  Architecture architecture = Architecture::decoder;
  AttentionKernel kernel = AttentionKernel::fused;
  Phase phase = Phase::decode;
  Parts recomputed = part::none;  ///< parts whose activations the backward pass makes again
  Schedule schedule = Schedule::one_forward_one_backward;
  int zero_stage = 0;
  bool causal = true;
  bool moe = false;  ///< some layers have routed experts
  bool sequence_parallel = false;
  bool offloads = false;        ///< some of the weights, activations or optimizer states are in host memory
  bool narrow = false;          ///< training casts the factors of its products to fewer than 16 bits
  bool dropout = false;         ///< dropout masks are kept (GPT-3 and earlier)
  bool biased = false;          ///< some products add a bias
  bool fused = true;            ///< chains of element-wise operations run as one kernel
  bool per_operator = false;    ///< recomputes all but attention and every second product
  bool known = true;            ///< the shape is known, so that operators can be listed
  bool attends = true;          ///< a transformer, of which closed forms of the activations hold
  bool drafting = false;        ///< proposes tokens inside the step of another model
  bool per_token = false;       ///< the published work is that of a token, not of a sample
  bool capped = false;          ///< the power or the clock of the devices is limited
  bool mixed_storage = false;   ///< routed experts, embedding and head are stored in formats of their own
  bool widened = false;         ///< weights have fewer bits than the arithmetic
  bool adapts = false;          ///< low-rank adapters are trained, and nothing else
  bool widens = false;          ///< frozen weights are stored in fewer bits than a product takes
  bool orthogonalizes = false;  ///< the optimizer makes updates of matrices orthogonal (Muon)
  bool chunked_loss = false;    ///< output head and loss run chunk by chunk over the tokens
  bool one_copy = false;        ///< a token crosses once to each node and rank that has some of its experts
  ExpertOverlap expert_overlap = ExpertOverlap::none;
  LoraModules adapted = LoraModules::all;
  bool prefetch =
      true;  ///< the weights of the next block are gathered while the backward pass works on this one
};

}  // namespace mlsysim

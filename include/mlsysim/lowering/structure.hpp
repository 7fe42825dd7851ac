#pragma once
/// Categories of a lowering, such as phase, kernels, ZeRO stage and schedule. They fix which operators exist.
///
/// Numbers (sizes, degrees, bytes) are elsewhere: specs/views.hpp and lowering/stack_view.hpp.
///
/// Example: `parts_of(Recomputation::selective)` is `part::core`, the attention core of each block.

#include <mlsysim/reflect/category.hpp>
#include <mlsysim/specs/choices.hpp>

#include <array>

namespace mlsysim {

/// Task of one pass over the model.
enum class Phase : std::uint8_t { prefill, decode, training, inference };
template <> inline constexpr auto names_of<Phase> = ChoiceNames{"phase"};

/// Parts of a block, as bits: an operator belongs to some, and recomputation names some.
struct Parts {
  std::uint16_t bits = 0;
  friend constexpr Parts operator|(Parts a, Parts b) { return {static_cast<std::uint16_t>(a.bits | b.bits)}; }
  /// Do the two have a part in common?
  [[nodiscard]] friend constexpr bool operator&(Parts a, Parts b) { return (a.bits & b.bits) != 0; }
  friend constexpr bool operator==(Parts, Parts) = default;
  static constexpr auto categories() { return rows(category(&Parts::bits, "bits", "one bit per part")); }
};
namespace part {
inline constexpr Parts none{0}, core{1}, attention{2}, norm{4}, activation{8}, feed_forward{16}, block{32};
inline constexpr Parts all{63};
/// Part of a routed expert, stored once per expert-parallel group. Recomputation does not name this part.
inline constexpr Parts routed{64};
/// Part of a low-rank adapter, which is trained while the weights beside it are not. Recomputation does not
/// name it.
inline constexpr Parts adapter{128};
/// Makes stored weights as wide as a product takes them. Recomputation does not name it.
inline constexpr Parts widened{256};
/// Runs beside the experts' exchange. Recomputation does not name it.
inline constexpr Parts overlap_compute{512};
}  // namespace part

/// The parts that a choice of recomputation repeats.
[[nodiscard]] constexpr Parts parts_of(Recomputation r) {
  using namespace part;
  // The last is chosen by operator, not by part.
  constexpr std::array kParts{none,         core,      all, norm, activation, norm | activation,
                              feed_forward, attention, none};
  static_assert(kParts.size() == Choices<Recomputation>::names.size());
  return kParts[static_cast<std::size_t>(r)];
}

/// Low-rank adapters that are trained instead of the weights: none, beside weights in the format of the
/// products (LoRA), or beside weights that are stored in fewer bits (QLoRA).
enum class Adapters : std::uint8_t { none, lora, qlora };

/// How the optimizer updates a matrix: element by element, or with an orthogonal update (Muon).
enum class WeightUpdate : std::uint8_t { elementwise, orthogonal };

/// How the output head and the loss of training run: over all tokens at once, or chunk by chunk.
enum class LossKernel : std::uint8_t { whole, chunked };

/// Categories of a lowering.
struct Structure {
  // The model.
  Architecture architecture = Architecture::decoder;
  bool causal = true, moe = false, biased = false;
  bool known = true, attends = true, per_token = false;
  // The pass and its kernels.
  Phase phase = Phase::decode;
  AttentionKernel kernel = AttentionKernel::fused;
  bool fused = true, drafting = false, capped = false;
  // Stored formats.
  bool narrow = false, four_bits = false, widened = false, unpacks = false, mixed_storage = false;
  // Training.
  Parts recomputed = part::none;
  bool per_operator = false, dropout = false, offloads = false, host_computes = false,
       frees_gradients = false, drops_gradients = false, early_stop = false;
  LossKernel loss = LossKernel::whole;
  WeightUpdate update = WeightUpdate::elementwise;
  Adapters adapters = Adapters::none;
  LoraModules adapted = LoraModules::all;
  // Parallelism.
  Schedule schedule = Schedule::one_forward_one_backward;
  int zero_stage = 0;
  bool prefetch = true, sequence_parallel = false;
  ExpertCopies expert_copies = ExpertCopies::per_expert;
  ExpertOverlap expert_overlap = ExpertOverlap::none;

  [[nodiscard]] constexpr bool adapts() const { return adapters != Adapters::none; }
  [[nodiscard]] constexpr bool chunks_loss() const { return loss == LossKernel::chunked; }

  friend bool operator==(const Structure&, const Structure&) = default;

  template <class S = Structure> static constexpr auto categories() {
    return rows(
        category(&S::architecture, "architecture", "kind of the model"),
        category(&S::causal, "causal", "a token attends to earlier tokens only"),
        category(&S::moe, "moe", "some layers have routed experts"),
        category(&S::biased, "biased", "some products add a bias"),
        category(&S::known, "known", "the shape is known, so that operators can be listed"),
        category(&S::attends, "attends", "a transformer, for which closed forms of the activations hold"),
        category(&S::per_token, "per_token", "the published work is that of a token, not of a sample"),
        category(&S::phase, "phase", "what the pass does"),
        category(&S::kernel, "kernel", "generation of the attention kernel"),
        category(&S::fused, "fused", "chains of element-wise operations run as one kernel"),
        category(&S::drafting, "drafting", "proposes tokens inside the step of another model"),
        category(&S::capped, "capped", "the power or the clock of the devices is limited"),
        category(&S::narrow, "narrow", "training casts the factors of its products to fewer than 16 bits"),
        category(&S::four_bits, "four_bits", "training casts them to 4 bits, with scales of two levels"),
        category(&S::widened, "widened", "weights have fewer bits than the arithmetic"),
        category(&S::unpacks, "unpacks", "weights of many rows are widened in memory before their product"),
        category(&S::mixed_storage, "mixed_storage",
                 "routed experts, embedding and head are stored in formats of their own"),
        category(&S::recomputed, "recomputed", "parts whose activations the backward pass recomputes"),
        category(&S::per_operator, "per_operator", "recomputes all but attention and every second product"),
        category(&S::dropout, "dropout", "dropout masks are saved (GPT-3 and earlier)"),
        category(&S::offloads, "offloads",
                 "some of the weights, activations or optimizer states are in host memory"),
        category(&S::host_computes, "host_computes",
                 "the host computes with what it holds: layers of a served model, the update of weights"),
        category(&S::frees_gradients, "frees_gradients", "gradients are freed before the next forward pass"),
        category(&S::drops_gradients, "drops_gradients",
                 "each layer is updated in the backward pass, and its gradients are freed"),
        category(&S::early_stop, "early_stop",
                 "recomputation of a block ends with the last value that its backward pass needs"),
        category(&S::loss, "loss", "how the output head and the loss run"),
        category(&S::update, "update", "how the optimizer updates a matrix"),
        category(&S::adapters, "adapters", "low-rank adapters that are trained instead of the weights"),
        category(&S::adapted, "adapted", "products with an adapter"),
        category(&S::schedule, "schedule", "order of micro-batches in the pipeline"),
        category(&S::zero_stage, "zero_stage", "ZeRO stage"),
        category(&S::prefetch, "prefetch",
                 "the backward pass gathers the weights of the next block while it works on this one"),
        category(&S::sequence_parallel, "sequence_parallel",
                 "tensor-parallel ranks divide the activations between blocks"),
        category(&S::expert_copies, "expert_copies", "how often a token leaves for its experts"),
        category(&S::expert_overlap, "expert_overlap", "kernels that overlap the exchange of experts"));
  }
};
static_assert(problem_is_complete<Structure>());

}  // namespace mlsysim

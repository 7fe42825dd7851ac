#pragma once
/// The enumerations that users write by name in C++, Python, YAML and on the command line.
///
/// Example: `bytes_per_element` is 2 B for bf16, 1 B for fp8, 0.75 B for fp6 and 0.5 B for int4.

#include <mlsysim/fwd.hpp>
#include <mlsysim/reflect/choice.hpp>

#include <cstdint>

namespace mlsysim {

/// Number formats. The storage width is `bytes_per_element`; the arithmetic rate comes from the device.
enum class Precision : std::uint8_t {
  fp64,
  fp32,
  tf32,
  bf16,
  fp16,
  fp8,
  fp6,
  fp4,
  mxint4,
  int8,
  int4,
  mxint8
};
inline constexpr std::size_t kPrecisions = 12;

/// Storage format of the weights, apart from the format of the arithmetic. Weights are stored as the model's
/// files state, in a plain format, or quantized with scales (see `formats_of`).
enum class WeightFormat : std::uint8_t {
  as_stored,
  fp32,
  bf16,
  fp16,
  fp8,
  fp8_block,
  int8,
  mxfp4,
  nvfp4,
  int4,
  nf4,
  w8a16,
  q8_0,
  q6_k,
  q4_k_m,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_k,
  q3_k_s,
  q3_k_m,
  q3_k_l,
  q4_k_s,
  q5_k_s,
  q5_k_m,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq2_m,
  iq3_xxs,
  iq3_xs,
  iq3_s,
  iq3_m,
  iq4_xs,
  iq4_nl
};

/// Detail of a prediction: totals only, or each operator.
enum class Fidelity : std::uint8_t { textbook, operator_level };

/// The limit of a time: a resource, prompts of other requests between two tokens, or the idle time of a
/// pipeline.
enum class Bottleneck : std::uint8_t { compute, memory, network, overhead, capacity, prompts, bubble };

/// How kernels reach the device: one launch at a time by the host, or as a captured graph.
enum class Execution : std::uint8_t { eager, graph };

/// Optimizers whose states are held in memory during training. Muon turns the momentum of every weight matrix
/// of the blocks into a nearly orthogonal one, and leaves embedding, head and vectors to Adam.
enum class OptimizerKind : std::uint8_t { none, sgd, adam, adamw, muon };

/// Products that have low-rank adapters: all products of the blocks except router and routed experts, or the
/// products of attention.
enum class LoraModules : std::uint8_t { all, attention };

/// Copies of a token that the expert dispatch sends: one per expert, or one per node. A node passes its copy
/// on to each of its ranks with chosen experts. DeepEP has kernels of both kinds.
/// @cite deepep-readme; deepseek-v3-report, section 3.2.2
enum class ExpertCopies : std::uint8_t { per_expert, per_node };

/// Kernels that run beside the expert exchange: none, the shared experts of the same tokens, or all kernels
/// of another micro-batch (DualPipe in training; serving splits a pass in two, which take turns).
/// @cite deepseek-v3-report, sections 3.2.1, 3.4.1 and 3.4.2
enum class ExpertOverlap : std::uint8_t { none, shared_expert, micro_batch };

/// Activations that are recomputed in the backward pass instead of kept: the attention core (selective),
/// whole blocks (full), or single modules. per_operator keeps the outputs of attention and of every second
/// product, and repeats the rest (torchtitan's selective checkpointing by operator).
enum class Recomputation : std::uint8_t {
  none,
  selective,
  full,
  norm,
  activation,
  pointwise,
  feed_forward,
  attention,
  per_operator
};

/// Order in which micro-batches pass a pipeline; fixes how long stages wait and how many micro-batches are in
/// flight. Interleaving (several model chunks per device) is a number, v_stages, beside it.
enum class Schedule : std::uint8_t { one_forward_one_backward, gpipe, zero_bubble };

/// Whether an attention kernel keeps its score matrix on chip (fused; flash1 and flash2 are its generations
/// of 2022 and 2023, slower on devices that came after them; fused_fp8 multiplies in 8 bits what is cast
/// before it) or writes it to memory.
enum class AttentionKernel : std::uint8_t { fused, unfused, flash1, flash2, fused_fp8 };

/// Kernels of linear attention: its convolution, or the rule of its state.
enum class Recurrence : std::uint8_t { none, convolution, gated_delta, kda, state_space };
template <> inline constexpr auto names_of<Recurrence> = ChoiceNames{"kernels of linear attention"};

/// Architecture of a model; it decides which operators exist.
enum class Architecture : std::uint8_t {
  decoder,
  encoder,
  encoder_decoder,
  cnn,
  ssm,
  diffusion,
  recommendation,
  opaque,
  program  ///< operators one by one, as they were read from a program
};

/// Whether a model is a list of records of which one sample passes each, rather than layers that take tokens.
[[nodiscard]] constexpr bool is_listed(Architecture a) {
  return a == Architecture::cnn || a == Architecture::program;
}

/// Unit of one inference.
enum class WorkUnit : std::uint8_t { token, sequence, image, sample, step };

/// Kind of source of a number.
enum class SourceKind : std::uint8_t {
  datasheet,
  literature,
  measured,
  industry_report,
  convention,
  estimate,
  derived,
  illustrative,
  heuristic,
  secondary,
  fit
};

/// Decision between two values of one number.
enum class Settled : std::uint8_t { suggested, reference, both, dropped, derived };

template <> inline constexpr auto names_of<Precision> = ChoiceNames{"precision"};
template <> inline constexpr auto names_of<WeightFormat> = ChoiceNames{"format of weights"};
template <> inline constexpr auto names_of<Fidelity> = ChoiceNames{"fidelity", "textbook", "operator"};
template <> inline constexpr auto names_of<Bottleneck> = ChoiceNames{"bottleneck"};
template <> inline constexpr auto names_of<Execution> = ChoiceNames{"execution"};
template <> inline constexpr auto names_of<OptimizerKind> = ChoiceNames{"optimizer"};
template <> inline constexpr auto names_of<LoraModules> = ChoiceNames{"adapted products"};
template <> inline constexpr auto names_of<ExpertCopies> = ChoiceNames{"copies of a token for its experts"};
template <> inline constexpr auto names_of<ExpertOverlap> = ChoiceNames{"overlap of the experts' exchange"};
template <> inline constexpr auto names_of<Recomputation> = ChoiceNames{"recomputation"};
template <>
inline constexpr auto names_of<Schedule> = ChoiceNames{"schedule", "1f1b", "gpipe", "zero_bubble"};
template <> inline constexpr auto names_of<AttentionKernel> = ChoiceNames{"attention kernel"};
template <> inline constexpr auto names_of<Architecture> = ChoiceNames{"architecture"};
template <> inline constexpr auto names_of<WorkUnit> = ChoiceNames{"unit of work"};
template <> inline constexpr auto names_of<SourceKind> = ChoiceNames{"kind of source"};
template <> inline constexpr auto names_of<Settled> = ChoiceNames{"settlement"};

/// Storage width of one element [B]. Block scales of the micro-scaled formats are not counted.
[[nodiscard]] constexpr double bytes_per_element(Precision p) {
  constexpr double bytes[] = {8, 4, 4, 2, 2, 1, 0.75, 0.5, 0.5, 1, 0.5, 1};
  return bytes[static_cast<std::size_t>(p)];
}

}  // namespace mlsysim

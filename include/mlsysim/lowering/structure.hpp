#pragma once
/// The categories of a lowering: they fix which operators exist. All numbers are elsewhere, as `T`.

#include <mlsysim/spec/choices.hpp>

namespace mlsysim {

/// What one pass over the model does.
enum class Phase : std::uint8_t { prefill, decode, training, inference };
template <>
struct Choices<Phase> {
  static constexpr std::string_view what = "phase";
  static constexpr std::array<std::string_view, 4> names{"prefill", "decode", "training", "inference"};
};

/// Order in which micro-batches pass a pipeline; fixes how many are in flight.
enum class Schedule : std::uint8_t { one_forward_one_backward, gpipe };
template <>
struct Choices<Schedule> {
  static constexpr std::string_view what = "schedule";
  static constexpr std::array<std::string_view, 2> names{"1f1b", "gpipe"};
};

/// Whether attention materialises its score matrix.
enum class AttentionKernel : std::uint8_t { fused, unfused };

/// Categories of a lowering.
struct Structure {
  Architecture architecture = Architecture::decoder;
  AttentionKind attention = AttentionKind::mha;
  AttentionKernel kernel = AttentionKernel::fused;
  Phase phase = Phase::decode;
  Recomputation recomputation = Recomputation::none;
  Schedule schedule = Schedule::one_forward_one_backward;
  int zero_stage = 0;
  bool causal = true;
  bool moe = false;
  bool linear = false;       ///< some layers keep a recurrent state
  bool delta_attention = false;  ///< ... with full-width gates and low-rank decay (Kimi delta attention)
  bool indexed = false;      ///< attention reads the cached tokens that an index selects
  bool windowed = false;     ///< some layers see a window only
  bool sequence_parallel = false;
  bool dropout = false;      ///< dropout masks are kept (GPT-3 and earlier)
};

}  // namespace mlsysim

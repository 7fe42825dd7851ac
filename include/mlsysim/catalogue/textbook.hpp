#pragma once
/// The `textbook` fidelity of the catalogue: totals of a workload, and its memory through the one memory model.

#include <mlsysim/catalogue/views.hpp>
#include <mlsysim/lowering/memory_model.hpp>

namespace mlsysim {

/// What textbook formulas know of a workload: published totals and, where known, three sizes.
struct TextbookTotals {
  Params<> params;         ///< all weights
  Params<> active_params;  ///< weights that one unit of work uses
  Work<> work;             ///< arithmetic of one unit of work (a token, a sequence, an image)
  double layers = 1;       ///< 1 where unknown
  double width = 0;        ///< query heads times head width; 0 where unknown
  double hidden = 0;       ///< 0 where unknown
  double heads = 0;        ///< 0 where unknown
};

/// Published totals; work defaults to 2 FLOP per active weight and unit (noted).
/// @throws InputError when neither parameters nor a size are known
[[nodiscard]] TextbookTotals textbook_totals(const Workload& workload, Notes& notes);

/// A training configuration, as textbook formulas see it.
struct TextbookTraining {
  double tp = 1, pp = 1, dp = 1, ep = 1;
  double microbatch = 1;          ///< sequences of one micro-batch
  double in_flight = 1;           ///< micro-batches whose activations are held
  double seq_len = 2048;
  double trainable = 1;
  int zero_stage = 0;
  Recomputation recomputation = Recomputation::selective;
  bool sequence_parallel = true;
};

/// Memory of one device in training, from totals.
///
/// Weights, gradients and states are divided evenly over tp, pp and ep; activations follow Korthikanti et al. (2022)
/// table 2 for ceil(layers / pp) layers. No reserve and no fragmentation.
[[nodiscard]] MemoryBreakdown<> textbook_training_memory(const Workload& workload, const TextbookTotals& totals,
                                                         const TextbookTraining& run, const HardwareNode& hardware,
                                                         Precision precision, OptimizerKind optimizer,
                                                         double gradient_bucket);

}  // namespace mlsysim

#pragma once
/// A pass to estimate, and what an estimate of it states: times, costs by use, and the memory that devices
/// hold.
///
/// A pass runs the whole model once on a plan. Its pipeline has two ends of which one is the fullest stage.
/// timing/step.hpp computes the estimate from operators.
///
/// Example: `blocks` of Llama-3.1-70B on a plan of 4 stages is 20.

#include <mlsysim/lowering/blocks.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/timing/breakdown.hpp>

#include <memory>

namespace mlsysim {

/// Input of a lowering: categories, sizes and layer records of one model.
template <class T = double> struct ModelView {
  Structure structure;
  std::shared_ptr<const StackView<T>> stack{};  ///< null where no layers of a transformer are known
  Listed layers{};     ///< records of a model that is a list; they live in the workload
  Totals<T> totals{};  ///< for formulas that know no operators

  /// The layers of a transformer; none at all where they are not known.
  [[nodiscard]] const StackView<T>& shape() const {
    static const StackView<T> none{};
    return stack ? *stack : none;
  }
  /// Whether an encoder reads what the layers attend to.
  [[nodiscard]] bool encodes() const { return shape().encoder != nullptr; }
  /// Blocks of the fullest stage of a plan.
  [[nodiscard]] T blocks(const Plan<T>& plan) const { return blocks_of(structure, shape(), layers, plan); }

  static constexpr auto fields() { return rows(field(&ModelView::totals, "totals", "", "")); }
  static constexpr auto categories() {
    using M = ModelView;
    return rows(category(&M::structure, "structure", "which operators there are"),
                category(&M::stack, "stack", "which layers are alike, and what is stated of them"),
                category(&M::layers, "layers", "records of a model that is a list"));
  }
};

/// A pass to estimate: a model on a plan. The plan states the sequences of the pass and their tokens.
template <class T = double> struct PassRequest {
  const ModelView<T>& model;
  const Plan<T>& plan;
  Time<T> launch_overhead;   ///< host time of one kernel; none where the pass is a captured graph
  Time<T> layer_overhead{};  ///< host time of one layer, likewise
};

/// Memory demand on the two ends of a pipeline. One of them is the fullest stage.
template <class T = double> struct StageDemands { MemoryDemand<T> first, last; };

/// A pass over the whole model, of one micro-batch.
template <class T = double> struct PassEstimate {
  Time<T> total;  ///< through all pipeline stages in turn, one dispatch
  Time<T> slot;   ///< on the slowest stage, with a dispatch of its own; `total` where there is one stage
  Time<T> busy;   ///< time in which a device draws its full power, all stages together
  PassBreakdown<T> cost;    ///< of all stages, on one device of each; the dispatch is overhead
  StageDemands<T> demands;  ///< what the devices hold
};

/// Memory of the fuller of two stages.
template <class T>
[[nodiscard]] MemoryBreakdown<T> fullest(const StageDemands<T>& demands, const Structure& structure,
                                         const Plan<T>& plan, const Device<T>& device) {
  return larger(memory_of(structure, plan, device, demands.first),
                memory_of(structure, plan, device, demands.last));
}

}  // namespace mlsysim

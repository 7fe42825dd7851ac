#pragma once
/// Blocks of a model and of the fullest stage of its pipeline.
///
///     layers = max(layers of the stack, 1), or the records of a list
///     blocks = ceil(layers / pp)
///
/// Example: Llama-3.1-70B has 80 layers; with 3 stages the fullest holds 27.

#include <mlsysim/lowering/stack_view.hpp>
#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/specs/views.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Blocks of the whole model; of a list its records.
template <class T>
[[nodiscard]] T layers_of(const Structure& structure, const StackView<T>& stack, const Listed& layers) {
  if (is_listed(structure.architecture)) return T{static_cast<double>(layers.size())};
  return max(stack.layers, T{1.0});
}
/// Blocks of the fullest pipeline stage: the pieces in which weights and activations come and go.
template <class T>
[[nodiscard]] T blocks_of(const Structure& structure, const StackView<T>& stack, const Listed& layers,
                          const Plan<T>& plan) {
  return ceil_div(layers_of(structure, stack, layers), plan.pp);
}

}  // namespace mlsysim

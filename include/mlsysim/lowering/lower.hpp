#pragma once
/// Lowering: from a structure and numbers to the operator list. The only one; both fidelities, the memory model,
/// the parameter count, reports and exporters read this list.

#include <mlsysim/lowering/backward.hpp>
#include <mlsysim/lowering/convolution.hpp>
#include <mlsysim/lowering/transformer.hpp>
#include <mlsysim/lowering/update.hpp>

namespace mlsysim {

/// Number of operators of each part of a list made by `lower`.
struct LoweredRange {
  std::size_t forward_end = 0;  ///< operators [0, forward_end) are one forward pass
  std::size_t end = 0;
};

/// Appends the operators of one pass (serving) or of one micro-batch and its update (training) on one device.
///
/// Numbers are those of one device of the plan; `count` gives executions per micro-batch, and operators of
/// Pass::update happen once a step. No allocation.
/// @param structure which operators exist
/// @param shape     sizes of a transformer (ignored for a convolutional network)
/// @param layers    records of a convolutional network (empty otherwise)
/// @param plan      division of the work and sizes of the pass
/// @param ops       list to fill; cleared first
template <class T>
LoweredRange lower(const Structure& structure, const Shape<T>& shape, std::span<const ConvLayer> layers,
                   const Plan<T>& plan, OpList<T>& ops) {
  ops.clear();
  const bool convolutional = structure.architecture == Architecture::cnn;
  if (convolutional) detail::forward_convolution(layers, plan, ops);
  else detail::forward_transformer(structure, shape, plan, ops);
  const std::size_t weights_end = ops.size();
  if (!convolutional) detail::pipeline_transfer(structure, shape, plan, ops);
  if (structure.phase == Phase::training) detail::gather_weights(structure, plan, ops, weights_end);
  LoweredRange range{.forward_end = ops.size()};
  if (structure.phase == Phase::training) {
    detail::recompute(structure, ops, weights_end);
    detail::backward(structure, plan, ops, range.forward_end);
    detail::update(structure, plan, ops, weights_end);
  }
  range.end = ops.size();
  return range;
}

}  // namespace mlsysim

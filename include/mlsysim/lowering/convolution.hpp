#pragma once
/// Forward pass of a convolutional network: each convolution is an implicit matrix product.
///
///     m = images out_h out_w          n = out / groups          k = (in / groups) kernel_h kernel_w
///     work = 2 m n k groups           out_h = ceil(size / stride), padding "same"
///
/// in, out: channels. At inference batch norm is folded into the convolution, unless nothing is fused.
/// In training it is a pass of its own. Input, output and weights cross the memory interface once.
/// @cite lavin2016winograd, section 4.1
///
/// Example: 3 x 3, 64 -> 64 channels, 56 x 56, one image: m 3,136, n 64, k 576, 0.231 GFLOP, 36,864 weights.

#include <mlsysim/lowering/emit.hpp>
#include <mlsysim/specs/workload.hpp>

#include <span>

namespace mlsysim::detail {

/// Extents of one record, missing values filled in.
struct ConvExtents {
  double in, out, groups, kernel_h, kernel_w, out_h, out_w, in_h, in_w, times;
};
[[nodiscard]] inline ConvExtents extents_of(const ConvLayer& layer) {
  const bool per_channel = layer.op == LayerOp::depthwise || layer.op == LayerOp::pool;
  const double in = per_channel ? layer.channels.value_or(0) : layer.in.value_or(0);
  const double out = per_channel ? in : layer.out.value_or(0);
  const double stride = layer.stride.value_or(1);
  const double h = layer.size_h.value_or(layer.size.value_or(1)),
               w = layer.size_w.value_or(layer.size.value_or(1));
  const double kernel_h = layer.kernel_h.value_or(layer.kernel.value_or(1));
  const double kernel_w = layer.kernel_w.value_or(layer.kernel.value_or(1));
  const bool dense = layer.op == LayerOp::linear, valid = layer.padding == Padding::valid;
  const auto output = [&](double size, double kernel) {
    return valid ? std::floor((size - kernel) / stride) + 1 : std::ceil(size / stride);
  };
  return {in,
          out,
          per_channel ? in : layer.groups.value_or(1),
          kernel_h,
          kernel_w,
          dense ? 1 : output(h, kernel_h),
          dense ? 1 : output(w, kernel_w),
          dense ? 1 : h,
          dense ? 1 : w,
          layer.times.value_or(1)};
}

/// Batch norm, sum and activation of inference, each a kernel of its own. The projection that widens a
/// residual block has no activation before the sum.
template <class T>
void normalise_apart(const ConvLayer& layer, const Plan<T>& plan, const T& outputs, OpList<T>& ops) {
  const auto pass = [&](std::string_view name, double reads) {
    Op<T>& op = emit(ops, OpKind::elementwise, OpGroup::convolution, name, T{layer.times.value_or(1)});
    op.m = outputs;
    op.n = T{1.0};
    op.work = flops<T>(2.0 * outputs);
    op.working_set = plan.activation_bytes * (2.0 * outputs);
    op.memory_bytes = plan.activation_bytes * ((reads + 1.0) * outputs);
  };
  const ConvExtents e = extents_of(layer);
  pass("batch_norm", 1);
  if (layer.residual) pass("convolution_residual", 2);
  if (layer.residual || e.kernel_h > 1 || e.kernel_w > 1 || e.out <= e.in) pass("convolution_activation", 1);
}

/// Batch normalization, activation and, at the end of a residual block, the sum: for inference they are
/// folded into the convolution unless nothing is fused. Training needs the statistics of the batch before it
/// can normalize: it reads the output for them, reads it again to normalize it, and the activation and the
/// sum are passes as well. The backward pass reads the output and its gradient twice again.
template <class T>
void normalise(const Structure& structure, const ConvLayer& layer, const Plan<T>& plan, const T& outputs,
               OpList<T>& ops) {
  const bool training = structure.phase == Phase::training;
  if (!layer.batch_norm || (structure.fused && !training)) return;
  if (!training) return normalise_apart(layer, plan, outputs, ops);
  Op<T>& op = emit(ops, OpKind::elementwise, OpGroup::convolution, "batch_norm", T{layer.times.value_or(1)});
  const double reads = 3 + (layer.residual ? 2 : 0), writes = layer.residual ? 3 : 2;
  op.work = flops<T>(8.0 * outputs);
  op.working_set = plan.activation_bytes * (2.0 * outputs);
  op.memory_bytes = plan.activation_bytes * ((reads + writes) * outputs);
  op.saved_bytes = plan.activation_bytes * outputs;
}

/// Rows of the product are output pixels, columns output channels, depth the receptive field.
template <class T>
void forward_convolution(const Structure& structure, std::span<const ConvLayer> layers, const Plan<T>& plan,
                         OpList<T>& ops) {
  const T images = plan.batch;
  for (const auto& layer : layers) {
    ops.reserve(4);
    const ConvExtents e = extents_of(layer);
    const OpKind kind = layer.op == LayerOp::pool     ? OpKind::elementwise
                        : layer.op == LayerOp::linear ? OpKind::matmul
                                                      : OpKind::convolution;
    Op<T>& op = emit(ops, kind, OpGroup::convolution, name_of(layer.op), T{e.times});
    const T inputs = images * (e.in * e.in_h * e.in_w), outputs = images * (e.out * e.out_h * e.out_w);
    if (layer.op == LayerOp::pool) {
      op.work = flops<T>(outputs * (e.kernel_h * e.kernel_w));
    } else {
      op.m = images * (e.out_h * e.out_w);
      op.n = T{e.out / e.groups};
      op.k = T{e.in / e.groups * e.kernel_h * e.kernel_w};
      op.copies = T{e.groups};
      // F(2x2, 3x3): 36 multiplications become 16 (lavin2016winograd, section 4.1).
      const bool square =
          e.kernel_h == 3 && e.kernel_w == 3 && e.groups == 1 && layer.stride.value_or(1) == 1;
      if (square) op.fewer_products = T{2.25};
      op.work = flops<T>(2.0 * op.m * op.n * op.k * op.copies);
      op.params = params<T>(op.n * op.k * op.copies + (layer.bias ? e.out : 0.0) +
                            (layer.unit_bias ? e.out * e.out_h * e.out_w : 0.0) +
                            (layer.batch_norm ? 2 * e.out : 0.0));
      op.saved_bytes = plan.activation_bytes * inputs;
    }
    op.working_set = plan.activation_bytes * (inputs + outputs);
    op.memory_bytes = op.working_set + plan.weight_bytes * op.params;
    normalise(structure, layer, plan, outputs, ops);
  }
}

}  // namespace mlsysim::detail

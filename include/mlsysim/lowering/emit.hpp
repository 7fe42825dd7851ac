#pragma once
/// Helpers with which the lowering rules append operators: products, element-wise kernels, collectives,
/// norms.
///
///     product:      work = 2 m n k copies          params = (n k + bias n) copies
///                   memory_bytes = activation_bytes m (k + n) copies + weight_bytes params
///     element-wise: memory_bytes = activation_bytes (reads + writes) values
///
/// A Frame holds one device's share: sequences = batch / ep, at least 1, and tokens = sequences new_tokens /
/// cp. Caches serve every reuse: inputs, outputs and weights cross the memory interface once.
///
/// Example: QKV projection of Llama-3.1-70B, TP 8, 16 sequences, bf16: m 16, k 8,192, n 1,280.
/// 0.336 GFLOP, 0.30 + 20.97 = 21.3 MB.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/lowering/stack_view.hpp>
#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/specs/views.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim::detail {

/// Sequences of a micro-batch on the fullest device. Expert-parallel ranks share the replica's sequences
/// between them, and none of them divides one: of fewer sequences than ranks some have one whole, and the
/// others wait for them.
template <class T> [[nodiscard]] T sequences_of(const Plan<T>& p) {
  const T ranks = p.sequence_ranks();
  return select(ranks > T{1.0}, max(p.batch / ranks, T{1.0}), p.batch);
}

/// Tokens of a sequence that its encoder reads.
template <class T> [[nodiscard]] T encoded_tokens(const Plan<T>& p) {
  return select(p.encoded > T{0.0}, p.encoded, p.context);
}

/// Inputs of every forward rule: model, plan, and the sizes of this device's share of one micro-batch.
template <class T> struct Frame {
  const Structure& structure;
  const StackView<T>& stack;
  const Plan<T>& plan;
  OpList<T>& ops;
  T sequences;                   ///< sequences on this device
  T tokens;                      ///< tokens that this device adds in this pass
  T split;                       ///< 1 / devices over which activations outside the matrices are split
  T stage;                       ///< share of all layers that the fullest pipeline stage holds
  DataPerParam<T> weight_bytes;  ///< of a weight of the operators at hand

  Frame(const Structure& s, const StackView<T>& h, const Plan<T>& p, OpList<T>& o)
      : structure(s),
        stack(h),
        plan(p),
        ops(o),
        // Context-parallel ranks divide each sequence.
        sequences(sequences_of(p)),
        tokens(sequences * p.new_tokens / p.cp),
        split(s.sequence_parallel ? 1.0 / p.tp : T{1.0}),
        stage(ceil_div(h.layers, p.pp) / h.layers),
        weight_bytes(p.weight_bytes) {}

  /// This frame with the weight storage of embedding and head.
  [[nodiscard]] Frame edge() const {
    Frame f = *this;
    if (structure.mixed_storage) f.weight_bytes = plan.edge_bytes;
    return f;
  }
  [[nodiscard]] bool training() const { return structure.phase == Phase::training; }
  /// Bytes of `values` activations.
  [[nodiscard]] Data<T> activations(const T& values) const { return plan.activation_bytes * values; }
};

template <class T> [[nodiscard]] Params<T> params(const T& n) { return Params<T>::from_base(n); }
template <class T> [[nodiscard]] Work<T> flops(const T& n) { return Work<T>::from_base(n); }

/// The part of a block that a group of operators is.
[[nodiscard]] constexpr Parts part_of(OpGroup group) {
  switch (group) {
    case OpGroup::attention:
      return part::attention;
    case OpGroup::feed_forward:
    case OpGroup::experts:
      return part::feed_forward;
    case OpGroup::norm:
      return part::norm;
    default:
      return part::none;
  }
}

/// Appends an empty operator of the blocks; `parts` beside those of its group.
template <class T>
Op<T>& emit(OpList<T>& ops, OpKind kind, OpGroup group, std::string_view name, const T& count,
            Parts parts = part::none) {
  Op<T>& op = ops.push();
  op.kind = kind;
  op.group = group;
  op.name = name;
  op.count = count;
  op.parts = parts | part_of(group) | part::block;
  op.recompute_parts = op.parts;
  return op;
}

/// A product without weights: `copies` x (m x k)(k x n), both operands activations.
template <class T>
Op<T>& activation_product(const Frame<T>& f, std::string_view name, OpGroup group, const T& count, const T& m,
                          const T& n, const T& k, const T& copies, Parts parts = part::none) {
  Op<T>& op = emit(f.ops, OpKind::matmul, group, name, count, parts);
  op.m = m;
  op.n = n;
  op.k = k;
  op.copies = copies;
  op.work = flops<T>(2.0 * m * n * k * copies);
  op.working_set = f.activations((m * k + m * n) * copies);
  op.memory_bytes = op.working_set + f.activations(n * k * copies);
  return op;
}

template <class T>
Op<T>& elementwise(const Frame<T>& f, std::string_view name, OpGroup group, const T& count, const T& values,
                   double reads, double writes, double flops_per_value, Parts parts = part::none);

/// Casts a factor of a product in narrow training: read at 16 bits and written at 8, once more in the other
/// layout where weights have gradients. Values of 4 bits have a scale for 16 of them and one for the tensor,
/// whose maximum is read before. @cite nvidia2025nvfp4
template <class T>
void cast_factor(const Frame<T>& f, OpGroup group, const T& count, const T& values, Parts parts) {
  const bool four = f.structure.four_bits;
  Op<T>& op = elementwise(f, "cast", group, count, values, 1, 0, 2, parts);
  op.working_set += values * ((f.structure.adapts() ? 1.0 : 2.0) * (four ? 0.5625 : 1.0)) * unit::B;
  op.memory_bytes = op.working_set + f.activations(four ? values : T{0.0});
}

/// A dense product: `copies` x (m x k)(k x n), weights (k x n) read once per copy. In narrow training its
/// left factor is cast first; the output head stays wide, as it does in the common recipes.
template <class T>
Op<T>& matmul(const Frame<T>& f, std::string_view name, OpGroup group, const T& count, const T& m, const T& n,
              const T& k, const T& copies = T{1.0}, Parts parts = part::none) {
  const bool wide = group == OpGroup::head;
  if (f.structure.narrow && !wide) cast_factor(f, group, count, T(m * k * copies), parts);
  Op<T>& op = emit(f.ops, OpKind::matmul, group, name, count, parts);
  op.stays_16bit = wide && f.structure.narrow;
  op.dequantizes_in_kernel = f.structure.widened && f.structure.phase == Phase::decode;
  op.biased = f.stack.bias;
  op.m = m;
  op.n = n;
  op.k = k;
  op.copies = copies;
  const T depth = k * copies, width = n * copies;
  op.work = flops<T>(2.0 * m * n * depth);
  op.params = params<T>(n * depth + f.stack.bias * width);
  op.saved_bytes = f.activations(m * depth);
  op.working_set = op.saved_bytes + f.activations(m * width);
  op.memory_bytes = op.working_set + f.weight_bytes * op.params;
  return op;
}

/// A pass over `values` activations that reads `reads` and writes `writes` arrays of that size.
template <class T>
Op<T>& elementwise(const Frame<T>& f, std::string_view name, OpGroup group, const T& count, const T& values,
                   double reads, double writes, double flops_per_value, Parts parts) {
  Op<T>& op = emit(f.ops, OpKind::elementwise, group, name, count, parts);
  op.work = flops<T>(flops_per_value * values);
  op.working_set = f.activations((reads + writes) * values);
  op.memory_bytes = op.working_set;
  return op;
}

/// A collective of `ranks` devices that are `stride` apart.
template <class T>
Op<T>& collective(OpList<T>& ops, std::string_view name, Collective pattern, CommGroup comm_group,
                  const T& count, const Data<T>& message, const T& ranks, const T& stride) {
  Op<T>& op = emit(ops, OpKind::collective, OpGroup::communication, name, count);
  op.collective = pattern;
  op.comm_group = comm_group;
  op.message = message;
  op.ranks = ranks;
  op.stride = stride;
  return op;
}

/// Joins the partial sums of a row-parallel product of `tokens` rows over the `ranks` innermost devices.
template <class T>
void join_partial_sums(const Frame<T>& f, std::string_view name, const T& count, Parts parts, const T& tokens,
                       const T& ranks) {
  const Data<T> message = f.activations(tokens * f.stack.hidden);
  const auto join = [&](Collective pattern) {
    auto& op = collective(f.ops, name, pattern, CommGroup::tp, count, message, ranks, T{1.0});
    op.m = tokens;
    op.parts = parts | part::block;
    op.overlap_with = OverlapWith::product;
  };
  if (f.structure.sequence_parallel) {
    join(Collective::reduce_scatter);
    join(Collective::all_gather);
  } else {
    join(Collective::all_reduce);
  }
}

/// Joins the partial sums of a row-parallel product over the tensor-parallel group.
template <class T>
void join_tensor_parallel(const Frame<T>& f, std::string_view name, const T& count, Parts parts) {
  join_partial_sums(f, name, count, parts, f.tokens, f.plan.tp);
}

/// Residual sum and normalization. Serving fuses the two: reads the sum and the branch, writes the new sum
/// and its norm. Training runs them one after the other and reads the sum again. Where nothing is fused,
/// dropout is a pass of its own before them.
template <class T> Op<T>& norm(const Frame<T>& f, std::string_view name, const T& count) {  // count may be 0
  const T values = f.tokens * f.stack.hidden * f.split;
  const double apart = !f.structure.fused && f.structure.dropout && f.training() ? 1 : 0;
  Op<T>& op =
      elementwise(f, name, OpGroup::norm, count, values, (f.training() ? 3 : 2) + apart, 2 + apart, 6);
  op.params = params<T>(f.stack.norm_vectors * f.stack.hidden);
  op.saved_bytes = f.activations(values);
  op.recompute_parts = part::block;
  return op;
}

/// The mask of a dropout layer: one byte a value, kept for the backward pass.
template <class T> void dropout_mask(const Frame<T>& f, Op<T>& op, const T& values) {
  if (f.structure.dropout && f.training()) op.saved_bytes += values * unit::B;
}

/// Adds the bytes of the dropout mask to the kernel that writes it. The backward rules add the reads.
template <class T> void dropout_traffic(const Frame<T>& f, Op<T>& op, const T& values) {
  if (!f.structure.dropout || !f.training()) return;
  op.memory_bytes += values * unit::B;
}

}  // namespace mlsysim::detail

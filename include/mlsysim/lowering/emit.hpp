#pragma once
/// Helpers with which the lowering rules append operators.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/lowering/structure.hpp>
#include <mlsysim/spec/views.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim::detail {

/// What every rule of the forward pass needs: sizes of this device's share of one micro-batch.
template <class T>
struct Frame {
  const Structure& structure;
  const Shape<T>& shape;
  const Plan<T>& plan;
  OpList<T>& ops;
  T sequences;  ///< sequences on this device
  T tokens;     ///< tokens that this device adds in this pass
  T sp;         ///< devices over which activations outside the matrices are split
  T stage;      ///< share of all layers that the fullest pipeline stage holds

  Frame(const Structure& s, const Shape<T>& h, const Plan<T>& p, OpList<T>& o)
      : structure(s), shape(h), plan(p), ops(o),
        // Expert-parallel ranks share the replica's sequences between them.
        sequences(p.batch / p.ep), tokens(p.batch / p.ep * p.new_tokens),
        sp(s.sequence_parallel ? p.tp : T{1.0}), stage(ceil_div(h.layers, p.pp) / h.layers) {}

  [[nodiscard]] bool training() const { return structure.phase == Phase::training; }
  /// Bytes of `values` activations.
  [[nodiscard]] Data<T> activations(const T& values) const { return plan.activation_bytes * values; }
};

template <class T>
[[nodiscard]] Params<T> params(const T& n) {
  return Params<T>::from_base(n);
}
template <class T>
[[nodiscard]] Work<T> flops(const T& n) {
  return Work<T>::from_base(n);
}

/// A dense product: `copies` x (m x k)(k x n), weights (k x n) read once per copy.
template <class T>
Op<T>& matmul(const Frame<T>& f, std::string_view name, OpGroup group, const T& count, const T& m, const T& n,
              const T& k, const T& copies = T{1.0}) {
  Op<T> op;
  op.kind = OpKind::matmul;
  op.group = group;
  op.name = name;
  op.count = count;
  op.m = m;
  op.n = n;
  op.k = k;
  op.copies = copies;
  op.work = flops<T>(2.0 * m * n * k * copies);
  op.params = params<T>(n * k * copies + f.shape.bias * n * copies);
  op.live = f.activations((m * k + m * n) * copies);
  op.traffic = op.live + f.plan.weight_bytes * op.params;
  op.unfused_traffic = op.traffic;
  op.kept = f.activations(m * k * copies);
  return f.ops.push(op);
}

/// A pass over `values` activations that reads `reads` and writes `writes` arrays of that size.
template <class T>
Op<T>& elementwise(const Frame<T>& f, std::string_view name, OpGroup group, const T& count, const T& values,
                   double reads, double writes, double flops_per_value) {
  Op<T> op;
  op.kind = OpKind::elementwise;
  op.group = group;
  op.name = name;
  op.count = count;
  op.work = flops<T>(flops_per_value * values);
  op.live = f.activations((reads + writes) * values);
  op.traffic = op.live;
  op.unfused_traffic = op.traffic;
  return f.ops.push(op);
}

/// A collective of `ranks` devices that are `stride` apart.
template <class T>
Op<T>& collective(OpList<T>& ops, std::string_view name, Collective pattern, const T& count, const Data<T>& message,
                  const T& ranks, const T& stride) {
  Op<T> op;
  op.kind = OpKind::collective;
  op.group = OpGroup::communication;
  op.collective = pattern;
  op.name = name;
  op.count = count;
  op.message = message;
  op.ranks = ranks;
  op.stride = stride;
  return ops.push(op);
}

/// Joins the partial sums of a row-parallel product over the tensor-parallel group.
template <class T>
void join_tensor_parallel(const Frame<T>& f, std::string_view name, const T& count) {
  const Data<T> message = f.activations(f.tokens * f.shape.hidden);
  if (f.structure.sequence_parallel) {
    collective(f.ops, name, Collective::reduce_scatter, count, message, f.plan.tp, T{1.0});
    collective(f.ops, name, Collective::all_gather, count, message, f.plan.tp, T{1.0});
  } else {
    collective(f.ops, name, Collective::all_reduce, count, message, f.plan.tp, T{1.0});
  }
}

template <class T>
void norm(const Frame<T>& f, std::string_view name, const T& count) {  // count may be 0
  const T values = f.tokens * f.shape.hidden / f.sp;
  Op<T>& op = elementwise(f, name, OpGroup::norm, count, values, 1, 1, 5);
  op.params = params<T>(f.shape.norm_vectors * f.shape.hidden);
  op.kept = f.activations(values);
}

/// The mask of a dropout layer: one byte a value, kept for the backward pass.
template <class T>
void dropout_mask(const Frame<T>& f, Op<T>& op, const T& values) {
  if (f.structure.dropout && f.training()) op.kept += values * unit::B;
}

}  // namespace mlsysim::detail

#pragma once
/// Forward pass of a model that is a list of records: a convolutional network, or a captured program.
///
///     memory_bytes = activation_bytes batch (reads + writes) + weight_bytes weights + batch bytes
///
/// reads, writes: activation values of a record, the smaller fused counts where chains are fused. bytes:
/// integers and truth values. A joined record adds its bytes to the kernel before it where chains fuse. A
/// product with weights gets more rows with the batch, a product of activations runs more often.
///
/// Example: a pointwise record with 2,000 reads (1,000 fused), 1,000 writes, batch 4, 2 B per value.
/// 4 x 3,000 x 2 B = 24,000 B unfused, 16,000 B fused.

#include <mlsysim/lowering/convolution.hpp>

namespace mlsysim::detail {

/// The cost model of an operator of a program.
[[nodiscard]] constexpr OpKind kind_of(ListedKind kind) {
  switch (kind) {
    case ListedKind::convolution:
      return OpKind::convolution;
    case ListedKind::product:
      return OpKind::matmul;
    case ListedKind::movement:
      return OpKind::gather;
    case ListedKind::pointwise:
    case ListedKind::reduction:
      break;
  }
  return OpKind::elementwise;
}

/// Operators of a program. Of several runs taken together a product with weights has more rows and reads the
/// weights once; a product of activations occurs more often; what works on weights alone stays as it is.
/// Joined operators are part of the kernel before them where chains are fused: their values stay on chip, and
/// their arithmetic is that of the kernel unless its time is a product's, which hides it.
template <class T>
void forward_operators(const Structure& structure, std::span<const ListedOperator> operators,
                       const Plan<T>& plan, OpList<T>& ops) {
  for (const auto& r : operators) {
    const T batch = r.fixed ? T{1.0} : plan.batch;
    const double reads = r.reads.value_or(0), writes = r.writes.value_or(0);
    const Data<T> others = batch * r.bytes.value_or(0) * unit::B;
    const Data<T> weights = plan.weight_bytes * params<T>(T{r.weights.value_or(0)});
    const Data<T> unfused = plan.activation_bytes * (batch * (reads + writes)) + weights + others;
    const Data<T> fused =
        plan.activation_bytes * (batch * (r.fused_reads.value_or(0) + r.fused_writes.value_or(0))) + weights +
        others;
    const T flops_there = batch * r.flops.value_or(0);
    if (r.joined && structure.fused && ops.size() > 0) {
      Op<T>& head = ops[ops.size() - 1];
      head.memory_bytes += fused;
      head.params += params<T>(T{r.stored.value_or(0)});
      head.working_set =
          max(head.working_set, Data<T>(plan.activation_bytes * (batch * r.alive.value_or(0))));
      if (head.kind != OpKind::matmul && head.kind != OpKind::convolution)
        head.work += mlsysim::detail::flops<T>(flops_there);
      continue;
    }
    ops.reserve(4);
    Op<T>& op = emit(ops, kind_of(r.op), OpGroup::program, r.path.empty() ? name_of(r.op) : r.path,
                     T{r.times.value_or(1)});
    if (op.kind == OpKind::matmul || op.kind == OpKind::convolution) {
      op.m = T{r.rows.value_or(1)} * (r.weighted ? batch : T{1.0});
      op.n = T{r.columns.value_or(1)};
      op.k = T{r.depth.value_or(1)};
      op.copies = T{r.copies.value_or(1)} * (r.weighted ? T{1.0} : batch);
      op.work = mlsysim::detail::flops<T>(2.0 * op.m * op.n * op.k * op.copies);
      op.saved_bytes = plan.activation_bytes * (batch * reads);
    } else {
      op.work = mlsysim::detail::flops<T>(flops_there);
    }
    op.params = params<T>(T{r.stored.value_or(0)});
    op.working_set = plan.activation_bytes * (batch * r.alive.value_or(0));
    op.memory_bytes = structure.fused ? fused : unfused;
  }
}

template <class T>
void forward_listed(const Structure& structure, const Listed& records, const Plan<T>& plan, OpList<T>& ops) {
  forward_convolution(structure, records.convolution, plan, ops);
  forward_operators(structure, records.operators, plan, ops);
}

}  // namespace mlsysim::detail

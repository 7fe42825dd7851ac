#pragma once
/// Low-rank adapters beside frozen products (LoRA), and frozen weights stored in few bits (QLoRA).
///
///     y = x W + (x A) B               A: k x rank, one per merged matrix          B: rank x n
///     adapter weights = rank (joins k + n) copies
///     widen bytes = stored + wide     of a kernel before the product, which then reads wide for stored
///
/// joins: weight matrices that lie side by side in the product. stored, wide: bytes of the weights in few
/// bits and in the buffer that the product reads. Routed experts get no adapters. A frozen product without an
/// adapter saves no input for the backward pass.
/// @cite hu2022lora, section 4.1; dettmers2023qlora, section 3
///
/// Example: rank 16 beside 8,192 x 8,192, 4,096 tokens: 262,144 weights, 2.15 GFLOP beside 550 GFLOP.

#include <mlsysim/lowering/emit.hpp>

namespace mlsysim::detail {

/// Whether adapters learn beside a product: all dense products of the blocks, or those of attention alone.
template <class T> [[nodiscard]] bool is_adapted(const Structure& structure, const Op<T>& op) {
  return !(op.parts & part::routed) &&
         (structure.adapted == LoraModules::all || op.group == OpGroup::attention);
}

/// Appends an operator that runs where `beside` does.
template <class T>
Op<T>& emit_beside(OpList<T>& ops, std::size_t beside, OpKind kind, std::string_view name) {
  Op<T>& op = emit(ops, kind, ops[beside].group, name, ops[beside].count);
  op.parts = ops[beside].parts | part::adapter;
  op.recompute_parts = ops[beside].recompute_parts;
  op.place = ops[beside].place;
  return op;
}

/// A product of `copies` matrices of adapters, (m x k)(k x n); in 16 bits also where others have fewer.
template <class T>
void adapter_product(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::size_t beside,
                     std::string_view name, const T& m, const T& n, const T& k, const T& copies) {
  Op<T>& op = emit_beside(ops, beside, OpKind::matmul, name);
  op.stays_16bit = structure.narrow;
  op.m = m;
  op.n = n;
  op.k = k;
  op.copies = copies;
  op.work = flops<T>(2.0 * m * n * k * copies);
  op.params = params<T>(n * k * copies);
  op.working_set = plan.activation_bytes * ((m * k + m * n) * copies);
  op.memory_bytes = op.working_set + plan.adapter_bytes * op.params;
}

/// The adapters of one product: each of the matrices that it joins has its own A and B. The parts of a
/// divided product are those of its adapters, so that partial sums are joined with its own. Input x is saved
/// with the product.
template <class T>
void adapt_product(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::size_t i) {
  const T m = ops[i].m, n = ops[i].n, k = ops[i].k, copies = ops[i].copies, joins = ops[i].merged_matrices;
  adapter_product(structure, plan, ops, i, "adapter_down", m, T(plan.lora_rank * joins), k, copies);
  adapter_product(structure, plan, ops, i, "adapter_up", m, T(n / joins), plan.lora_rank, T(copies * joins));
  ops[ops.size() - 1].saved_bytes = plan.activation_bytes * (m * plan.lora_rank * joins * copies);
  Op<T>& sum = emit_beside(ops, i, OpKind::elementwise, "adapter_sum");
  const T values = m * n * copies;
  sum.work = flops<T>(2.0 * values);
  // Scaled and added in one pass, or in two.
  sum.working_set = plan.activation_bytes * ((structure.fused ? 3.0 : 5.0) * values);
  sum.memory_bytes = sum.working_set;
}

/// Stored weights of few bits are widened into a buffer before a product, which reads them there.
/// @param width bytes of a weight in the buffer
template <class T>
void widen(const Structure& structure, const Plan<T>& plan, const DataPerParam<T>& width, OpList<T>& ops,
           std::size_t i) {
  const T values = ops[i].n * ops[i].k * ops[i].copies;
  const bool expert = structure.mixed_storage && (ops[i].parts & part::routed);
  const bool edge = structure.mixed_storage && ops[i].place != StageScope::every_block;
  const Data<T> stored = (expert ? plan.expert_bytes
                          : edge ? plan.edge_bytes
                                 : plan.weight_bytes) *
                         params<T>(values),
                wide = width * params<T>(values);
  ops[i].memory_bytes += wide - stored;
  Op<T>& op = emit_beside(ops, i, OpKind::elementwise, "widen");
  op.parts = ops[i].parts | part::widened;
  op.work = flops<T>(2.0 * values);  // a look-up and a scale
  op.working_set = wide;
  op.memory_bytes = stored + wide;
}

/// Products of more than `unpack_rows` rows read weights that were widened before them; others widen theirs
/// on the way. @cite llama-cpp-cuda, ggml_cuda_op_mul_mat_cublas
template <class T> void unpack(const Structure& structure, const Plan<T>& plan, OpList<T>& ops) {
  const DataPerParam<T> width = plan.activation_bytes / Params<T>::from_base(T{1.0});
  const std::size_t end = ops.size();
  for (std::size_t i = 0; i < end; ++i) {
    if (ops[i].kind != OpKind::matmul || ops[i].parts & part::core) continue;
    ops.reserve(1);
    const Data<T> own = ops[i].memory_bytes;
    widen(structure, plan, width, ops, i);
    const auto many = ops[i].m > plan.unpack_rows;
    ops[i].memory_bytes = select(many, ops[i].memory_bytes, own);
    ops[ops.size() - 1].count = select(many, ops[i].count, T{0.0});
  }
}

/// Adds adapters to the forward list of a step that trains nothing else.
template <class T> void adapt(const Structure& structure, const Plan<T>& plan, OpList<T>& ops) {
  const std::size_t end = ops.size();
  for (std::size_t i = 0; i < end; ++i) {
    ops.reserve(4);
    const bool product = ops[i].kind == OpKind::matmul && !(ops[i].parts & part::core);
    const bool inside = ops[i].place == StageScope::every_block;
    if (!product) continue;
    const bool learns = inside && is_adapted(structure, ops[i]);
    if (!learns) ops[i].saved_bytes = {};
    if (inside && structure.adapters == Adapters::qlora) widen(structure, plan, plan.adapter_bytes, ops, i);
    if (learns) adapt_product(structure, plan, ops, i);
  }
}

}  // namespace mlsysim::detail

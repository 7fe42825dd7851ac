#pragma once
/// Muon: orthogonal updates of the weight matrices of the blocks, as products of the optimizer step.
///
///     A = X X^T,  A A,  (.) X          five Newton-Schulz iterations on the momentum X (a x b, a <= b)
///     work = 5 (4 a^2 b + 2 a^3)       of a matrix [FLOP]
///
/// From ZeRO-1 on each rank updates its share of the matrices, whole. Without ZeRO every replica updates all.
/// Tensor-parallel ranks treat their parts as matrices. Experts that the batch does not touch are updated
/// too.
/// @cite jordan2024muon; liu2025muon, section 2.3
///
/// Example: a matrix of 4,096 x 4,096: 5 x 6 x 4,096^3 = 2.06 TFLOP.

#include <mlsysim/lowering/emit.hpp>
#include <mlsysim/lowering/holders.hpp>

namespace mlsysim::detail {

/// Appends `count` products (m x k)(k x n) of `copies` matrices, in 16 bits.
template <class T>
void update_product(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::string_view name,
                    const T& count, const T& m, const T& n, const T& k, const T& copies) {
  Op<T>& op = emit(ops, OpKind::matmul, OpGroup::optimizer, name, count);
  op.pass = Pass::update;
  op.stays_16bit = structure.narrow;
  op.m = m;
  op.n = n;
  op.k = k;
  op.copies = copies;
  op.work = flops<T>(2.0 * m * n * k * copies);
  op.working_set = op.memory_bytes = plan.activation_bytes * ((m * k + k * n + m * n) * copies);
}

/// Appends the update of every weight matrix of the blocks.
template <class T>
void orthogonalize(const Structure& structure, const Plan<T>& plan, OpList<T>& ops, std::size_t forward_end) {
  constexpr double iterations = 5;
  for (std::size_t i = 0; i < forward_end; ++i) {
    ops.reserve(3);
    const Op<T>& of = ops[i];
    if (of.kind != OpKind::matmul || (of.parts & part::core) || of.place != StageScope::every_block) continue;
    const bool routed = of.parts & part::routed;
    const T wide = of.n / of.merged_matrices, a = min(wide, of.k), b = max(wide, of.k);
    // A pass uses some of the experts; all that are stored are updated.
    const T stored = routed ? T(of.params.base() / (of.n * of.k * of.copies)) : T{1.0};
    const T share = structure.zero_stage >= 1 ? T(1.0 / Holders<T>(plan, routed).shards) : T{1.0};
    const T count = of.count * (iterations * share * plan.trainable),
            copies = of.copies * of.merged_matrices * stored;
    update_product(structure, plan, ops, "update_square", count, a, a, b, copies);
    update_product(structure, plan, ops, "update_power", count, a, a, a, copies);
    update_product(structure, plan, ops, "update_turn", count, a, b, a, copies);
  }
}

}  // namespace mlsysim::detail

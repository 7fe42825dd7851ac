#pragma once
/// Sums over an operator list: weights, FLOP, memory bytes, saved activations, KV cache, largest working set.
///
///     total = sum over the forward operators of amount x count          working_set = the largest one
///
/// Sums are by place (blocks, first stage, last stage), so that a stage is blocks times the first plus its
/// ends. A working set, and the activations that recomputation restores, do not grow with the number of
/// blocks.
///
/// Example: blocks of 5 FLOP, 19 B of state and 17 B of working set. Three of them: 15 FLOP, 57 B, 17 B.

#include <mlsysim/lowering/op.hpp>

namespace mlsysim {

template <class T = double> struct ListTotals {
  Params<T> dense_params, expert_params;  ///< weights stored, outside and inside the routed experts
  Params<T> adapter_params;               ///< weights of low-rank adapters, in neither of the two
  Params<T> block_params;                 ///< of the dense ones, those inside blocks; where stages are summed
  Work<T> work;         ///< products, convolutions, attention and the rest, one forward pass
  Work<T> weight_work;  ///< of it, products and convolutions with weights, adapters apart
  Data<T> memory_bytes;
  Data<T> saved_bytes;  ///< activations kept for the backward pass, one micro-batch
  Data<T> block_again;  ///< activations of one block that recomputation restores
  Data<T> working_set;  ///< largest working set of one operator
  Data<T> state;        ///< KV cache and recurrent states

  [[nodiscard]] Params<T> params() const { return dense_params + expert_params; }

  ListTotals& operator+=(const Op<T>& op) {
    if (op.parts & part::adapter)
      adapter_params += op.params * op.count;
    else if (op.parts & part::routed)
      expert_params += op.params * op.count;
    else
      dense_params += op.params * op.count;
    work += op.work * op.count;
    if ((op.kind == OpKind::matmul || op.kind == OpKind::convolution) &&
        !(op.parts & (part::core | part::adapter)))
      weight_work += op.work * op.count;
    memory_bytes += op.memory_bytes * op.count;
    saved_bytes += op.saved_bytes * op.count;
    state += op.state * op.count;
    // A block holds each of its operators once where the operator occurs at all.
    const T once = min(op.count, T{1.0});
    block_again += op.recomputed_bytes * once;
    working_set = max(working_set, op.working_set * once);
    return *this;
  }
  /// The two together on one device, the second `share` times. What one block holds while it is at work does
  /// not grow with the number of blocks: it is there where any of them is.
  ListTotals& add(const ListTotals& other, const T& share) {
    const T there = min(ceil(share), T{1.0});
    dense_params += other.dense_params * share;
    expert_params += other.expert_params * share;
    adapter_params += other.adapter_params * share;
    work += other.work * share;
    weight_work += other.weight_work * share;
    memory_bytes += other.memory_bytes * share;
    saved_bytes += other.saved_bytes * share;
    block_again += other.block_again * there;
    working_set = max(working_set, other.working_set * there);
    state += other.state * share;
    return *this;
  }
};

/// Totals of the forward operators by the place where they run.
template <class T = double> struct PlaceTotals {
  std::array<ListTotals<T>, kStageScopes> at{};

  [[nodiscard]] const ListTotals<T>& operator[](StageScope p) const {
    return at[static_cast<std::size_t>(p)];
  }
  /// Totals of a pipeline stage with `blocks` of the fullest stage's blocks.
  /// @param first, last 1 where it is the first or the last stage
  [[nodiscard]] ListTotals<T> stage(const T& first, const T& last, const T& blocks = T{1.0}) const {
    ListTotals<T> t;
    t.add((*this)[StageScope::every_block], blocks);
    t.add((*this)[StageScope::first], first);
    t.add((*this)[StageScope::last], last);
    t.block_params = (*this)[StageScope::every_block].dense_params * blocks;
    return t;
  }
};

/// Sums the forward operators of [0, end) by place.
template <class T> [[nodiscard]] PlaceTotals<T> place_totals_of(const OpList<T>& ops, std::size_t end) {
  PlaceTotals<T> t;
  // Neighbors mostly share a place: the sums of a run of them stay in registers.
  for (std::size_t i = 0; i < end;) {
    const StageScope place = ops[i].place;
    ListTotals<T>& at = t.at[static_cast<std::size_t>(place)];
    ListTotals<T> sums = at;
    for (; i < end && ops[i].place == place; ++i)
      if (ops[i].pass == Pass::forward) sums += ops[i];
    at = sums;
  }
  return t;
}

/// Sums the forward operators of [0, end): a device that holds both ends of the model.
template <class T> [[nodiscard]] ListTotals<T> totals_of(const OpList<T>& ops, std::size_t end) {
  return place_totals_of(ops, end).stage(T{1.0}, T{1.0});
}

}  // namespace mlsysim

#pragma once
/// Forward rules of feed-forward layers: dense (MLP, gated MLP) and mixture of experts.
///
///     touched = (experts / ep) (1 - (1 - top_k / experts)^(all_tokens imbalance))          in training
///     rows    = tokens top_k imbalance / touched                    of a touched expert
///     message = dispatch_bytes tokens top_k hidden max(imbalance, 1)          all-to-all of a rank
///
/// touched: local experts whose weights are read. Serving adds a spread of popularity (TouchedExperts).
/// tokens: of this rank. all_tokens: of the expert-parallel group. imbalance: rows of the fullest
/// expert-parallel rank over the mean, by chance if not stated. All ranks wait for the fullest one. All local
/// experts are stored, also those that the batch does not touch.
/// @cite fedus2022switch, section 2.2; liu2025folding
///
/// Example: 256 experts, top 8, ep 1, 64 tokens: 256 (1 - (1 - 8 / 256)^64) = 222 experts touched.

#include <mlsysim/lowering/emit.hpp>
#include <mlsysim/physics/routing.hpp>

namespace mlsysim::detail {

/// Two or three matrices of width `width`, on `rows` rows for each of `copies` independent layers.
template <class T>
void feed_forward_pair(const Frame<T>& f, OpGroup group, std::string_view up_name, std::string_view act_name,
                       std::string_view down_name, const T& count, const T& rows, const T& width,
                       const T& copies, const T& outer, const T& matrices) {
  const T matrices_up = matrices - 1.0;
  auto& up = matmul(f, up_name, group, count, rows, matrices_up * width, outer, copies);
  up.merged_matrices = matrices_up;
  up.saved_bytes *= f.split;
  up.recompute_parts = part::norm | part::block;
  const T values = rows * width * copies;
  auto& act = elementwise(f, act_name, group, count, values, 1, 1, 8, part::activation);
  // A gate is read too; as a pass of its own its product reads and writes once more.
  act.memory_bytes += f.activations((matrices_up - 1.0) * (f.structure.fused ? 1.0 : 3.0) * values);
  act.saved_bytes = f.activations(matrices_up * values);
  act.recompute_parts = part::feed_forward | part::block;
  auto& down = matmul(f, down_name, group, count, rows, outer, width, copies);
  down.recompute_parts = down.recompute_parts | part::activation;
  dropout_mask(f, down, rows * outer * f.split);
}

template <class T> void feed(const Frame<T>& f, const T& count, const DenseView<T>& h) {
  const std::size_t first = f.ops.size();
  feed_forward_pair(f, OpGroup::feed_forward, "ffn_up", "ffn_activation", "ffn_down", count, f.tokens,
                    h.width / f.plan.tp, T{1.0}, f.stack.hidden, h.matrices);
  for (std::size_t i = first; i < f.ops.size(); ++i)
    if (f.ops[i].kind == OpKind::matmul) f.ops[i].params += params<T>(h.bias * f.ops[i].n);
  join_tensor_parallel(f, "ffn_tp_reduce", count, part::feed_forward);
}

/// Joins what the devices of one expert computed, and those of the shared experts.
///
/// Folded experts lie over `expert_width` of the tp devices, each of which dispatches its part of the tokens;
/// shared experts stay on all of them (Liu et al. 2025).
/// @cite liu2025folding
template <class T> void join_experts(const Frame<T>& f, const T& count, const T& shared) {
  if (!f.plan.folded) return join_tensor_parallel(f, "experts_tp_reduce", count, part::feed_forward);
  const T width = f.plan.expert_width();
  join_partial_sums(f, "experts_tp_reduce", count, part::feed_forward, T(f.tokens * width / f.plan.tp),
                    width);
  join_tensor_parallel(f, "shared_experts_tp_reduce", T(count * shared), part::feed_forward);
}

/// All-to-all of the expert-parallel ranks, to the experts or back. `rows` are those of the fullest rank, one
/// for each expert of a token.
template <class T>
void exchange_rows(const Frame<T>& f, const ExpertsView<T>& h, std::string_view name, const T& count,
                   const T& rows, const Data<T>& value, const Data<T>& value_back) {
  auto& op = collective(f.ops, name, Collective::all_to_all, CommGroup::ep, count,
                        Data<T>(value * (rows * h.hidden)), f.plan.ep, T(f.plan.expert_width() * f.plan.cp));
  op.message_back = value_back * (rows * h.hidden);
  op.routed = {h.experts, h.top_k, h.groups, h.limited, f.structure.expert_copies == ExpertCopies::per_node};
  op.parts = part::feed_forward | part::block;
  if (f.structure.expert_overlap != ExpertOverlap::none) op.overlap_with = OverlapWith::marked;
}

/// Rows of the fullest expert-parallel rank over the mean, where `tokens` are routed together.
template <class T>
[[nodiscard]] T rank_imbalance(const Frame<T>& f, const ExpertsView<T>& h, const T& tokens) {
  const T chance =
      apply<FullestRank, T>({.experts = h.experts, .top_k = h.top_k, .tokens = tokens, .ranks = f.plan.ep})
          .imbalance;
  return select(f.plan.rank_imbalance > T{0.0}, min(f.plan.rank_imbalance, f.plan.ep), chance);
}

/// Experts that `tokens` touch, over all.
template <class T>
[[nodiscard]] T touched_share(const Frame<T>& f, const ExpertsView<T>& h, const T& tokens) {
  if (f.training()) return 1.0 - pow(1.0 - h.top_k / h.experts, tokens);
  return apply<TouchedExperts, T>(
             {.experts = h.experts, .top_k = h.top_k, .tokens = tokens, .spread = f.plan.routing_spread})
      .share;
}

/// Routed and shared experts. A token's `top_k` experts are distinct. The fullest rank has `imbalance` times
/// the rows of the mean, and touches as many of its experts as one with so many times the tokens.
template <class T> void feed(const Frame<T>& f, const T& count, const ExpertsView<T>& h) {
  const T& hidden = f.stack.hidden;
  auto& router = matmul(f, "router", OpGroup::experts, count, f.tokens, h.experts, hidden);
  router.recompute_parts = part::norm | part::block;
  router.params += params<T>(h.router_bias * h.experts + h.shared_gate * hidden);
  // Experts that work at another width share a projection down and one up.
  const T resized = select(h.hidden < hidden, T{1.0}, T{0.0});
  matmul(f, "routed_width_down", OpGroup::experts, count * resized, f.tokens, h.hidden, hidden).params +=
      params<T>(h.latent_norm * h.hidden);

  // Devices that share an expert; of the tp devices of a rank each so many have the same tokens.
  const T width = f.plan.expert_width();
  const T own = f.plan.folded ? T(f.tokens * width / f.plan.tp) : f.tokens;
  const T routed = own * h.top_k;  // rows that leave the fullest rank
  // Kernels beside the products: choice, counts and order of the rows, which are then put in the experts'
  // order.
  const std::size_t layer = f.ops.size();
  elementwise(f, "expert_choice", OpGroup::experts, count * 3.0, f.tokens * h.experts, 1, 0, 4, part::routed);
  elementwise(f, "expert_gather", OpGroup::experts, count, routed * h.hidden, 1, 1, 0, part::routed);
  // Routing deals the rows of all ranks evenly but for chance, also to ranks that have no sequence of their
  // own.
  const T with_sequences = f.plan.batch / f.plan.sequence_ranks() / f.sequences;
  const T everyone =
      f.tokens * f.plan.sequence_ranks() * with_sequences;  // tokens of the whole expert-parallel group
  const T uneven = rank_imbalance(f, h, everyone), fullest = with_sequences * uneven;
  const T sent = routed * max(fullest, T{1.0});  // or received, where that is more
  exchange_rows(f, h, "expert_dispatch", count, sent, f.plan.dispatch_bytes, f.plan.activation_bytes);

  const T local = h.experts / f.plan.ep;
  const T touched = max(local * touched_share(f, h, T(everyone * uneven)), T{1.0});
  const std::size_t first = f.ops.size();
  Frame<T> inside = f;  // what an expert keeps lies on the devices that share it
  if (f.plan.folded && f.structure.sequence_parallel) inside.split = 1.0 / width;
  if (f.structure.mixed_storage) inside.weight_bytes = f.plan.expert_bytes;
  feed_forward_pair(inside, OpGroup::experts, "expert_up", "expert_activation", "expert_down", count,
                    T(routed * fullest / touched), h.width / width, touched, h.hidden, h.matrices);
  // Stored are all local experts, also those that this batch does not touch.
  const T stored = local / touched;
  for (std::size_t i = first; i < f.ops.size(); ++i) {
    Op<T>& op = f.ops[i];
    if (op.kind == OpKind::matmul) op.params += params<T>(h.bias * op.n * touched);
    op.params = op.params * stored;
    op.parts = op.parts | part::routed;
  }

  exchange_rows(f, h, "expert_combine", count, sent, f.plan.activation_bytes, f.plan.dispatch_bytes);
  auto& sum = elementwise(f, "expert_sum", OpGroup::experts, count, routed * h.hidden, 1, 0, 2, part::routed);
  sum.memory_bytes += f.activations(own * h.hidden);
  sum.working_set = sum.memory_bytes;
  for (std::size_t i = layer; i < f.ops.size(); ++i) {
    f.ops[i].device_experts = local;
    f.ops[i].expert_width = h.width / width;
  }
  matmul(f, "routed_width_up", OpGroup::experts, count * resized, f.tokens, hidden, h.hidden);
  const std::size_t first_shared = f.ops.size();
  feed_forward_pair(f, OpGroup::experts, "shared_expert_up", "shared_expert_activation", "shared_expert_down",
                    count * select(h.shared > T{0.0}, T{1.0}, T{0.0}), f.tokens,
                    h.shared * h.shared_width / f.plan.tp, T{1.0}, hidden, h.matrices);
  if (f.structure.expert_overlap == ExpertOverlap::shared_expert)
    for (std::size_t i = first_shared; i < f.ops.size(); ++i)
      f.ops[i].parts = f.ops[i].parts | part::overlap_compute;
  join_experts(f, count, select(h.shared > T{0.0}, T{1.0}, T{0.0}));
}

/// All layers of one kind of feed-forward.
template <class T> void feed(const Frame<T>& f, const FeedForwardView<T>& layer) {
  const T count = layer.layers * f.stage;
  std::visit([&](const auto& rule) { feed(f, count, rule); }, layer.rule);
}

}  // namespace mlsysim::detail

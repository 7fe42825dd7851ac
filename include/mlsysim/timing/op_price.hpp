#pragma once
/// Time of an operator on a device, all its executions: product, attention, stream, recurrence or collective.
///
///     product  = launch + min(overlap(whole waves, memory), overlap(depth over all units, memory) + split)
///     stream   = launch + soft_max(work / vector rate, memory_bytes / bandwidth) + search
///     transfer = message / bandwidth                       over the host link, or in host memory
///     total    = count time
///
/// overlap(a, b) = sqrt(a^2 + b^2). soft_max(a, b) = (a^4 + b^4)^(1/4). Rates are sustained shares of the
/// peaks. search: blocks that look for the highest values of a row [s]. Attention: physics/attention.hpp.
/// Linear attention: physics/recurrence.hpp. Collectives overlap with nothing here (timing/pass_cost.hpp
/// overlaps them).
/// @cite nvidia2023matmul; osama2023streamk, section 4; williams2009roofline
/// Example: 4096 x 4096 x 4096, bf16, H100: 165 us of arithmetic, 34 us of memory traffic, in all 172 us.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/physics/attention.hpp>
#include <mlsysim/physics/matmul.hpp>
#include <mlsysim/physics/recurrence.hpp>
#include <mlsysim/specs/views.hpp>
#include <mlsysim/timing/collective.hpp>

namespace mlsysim {

/// Time of one operator, all its executions [s].
template <class T = double> struct OpCost {
  Time<T> total, compute, memory, network, overhead;
  T launches{1.0};  ///< kernels of one execution
};

/// The constants of a family for the shape of a routed product: of its tuned tiles, or of its default one.
template <class T> [[nodiscard]] TunedExperts<T> expert_constants(const Op<T>& op, const Device<T>& d) {
  const auto& e = d.experts;
  TunedExperts<T> out{e.share, e.stream, e.tile, e.launch};
  if (e.shapes == nullptr) return out;
  T tuned{0.0};
  for (const auto& shape : *e.shapes) {
    const T away = abs(op.device_experts - shape.experts) + abs(op.expert_width - shape.width);
    tuned = select(away < T{0.5}, T{1.0}, tuned);
  }
  const auto there = tuned > T{0.5};
  return {select(there, e.tuned.share, out.share), select(there, e.tuned.stream, out.stream),
          select(there, e.tuned.tile, out.tile), select(there, e.tuned.launch, out.launch)};
}

/// One execution of a product of routed experts in the kernels of a family: tiles of `tile` rows and 64
/// columns, whole waves or a depth spread over all units, at their own share of the peak of their arithmetic.
template <class T> [[nodiscard]] OpCost<T> expert_product_cost(const Op<T>& op, const Device<T>& d) {
  constexpr double columns = 64;
  const auto e = expert_constants(op, d);
  const auto r = apply<MatmulTime, T>({.m = op.m,
                                       .n = op.n,
                                       .k = op.k,
                                       .count = op.copies,
                                       .traffic = op.memory_bytes,
                                       .tile_m = e.tile,
                                       .tile_n = T{columns},
                                       .units = d.compute.units,
                                       .split_depth = T{1.0},
                                       .peak = d.compute.dense * (d.experts.rate_ratio * e.share),
                                       .bandwidth = d.memory.bandwidth * d.efficiency.memory * e.stream,
                                       .launch = e.launch,
                                       .wave = Time<T>(),
                                       .split = d.kernels.split});
  return {.total = r.time, .compute = r.compute, .memory = r.memory, .overhead = e.launch};
}

/// One execution of a product or convolution: whole tiles and waves or a split depth, at the rate that the
/// power limit leaves for the work of all executions.
template <class T> [[nodiscard]] OpCost<T> matmul_cost(const Op<T>& op, const Device<T>& d) {
  if (d.experts.has_family && op.parts & part::routed) return expert_product_cost(op, d);
  T share = op.stays_16bit ? d.efficiency.matrix * d.compute.wide_ratio : d.efficiency.matrix;
  if (op.parts & part::routed) share *= d.efficiency.grouped;
  const ComputeRate<T> rate = apply<BurstRate, T>({.work = op.work * op.count,
                                                   .peak = d.compute.dense * share,
                                                   .burst = d.efficiency.burst,
                                                   .burst_time = d.efficiency.burst_time})
                                  .rate;
  // A narrower product is padded to whole matrix instructions only. Kernels that widen weights on their way
  // multiply by warp, 16 rows at a time, where a library fills a warp group's 64 (frantar2024marlin, section
  // 3).
  constexpr double warp_rows = 16;
  const T rows =
      op.dequantizes_in_kernel ? T(min(d.compute.matrix_rows, T{warp_rows})) : d.compute.matrix_rows;
  const auto r = apply<MatmulTime, T>(
      {.m = op.m,
       .n = op.n,
       .k = op.k,
       .count = op.copies,
       .traffic = op.memory_bytes,
       .tile_m = min(rows * ceil_div(max(op.m, T{1.0}), rows), d.tiles.tile_m),
       .tile_n = min(rows * ceil_div(max(op.n, T{1.0}), rows), d.tiles.tile_n),
       .units = d.compute.units,
       .split_depth = d.tiles.split_depth,
       .peak = rate,
       .bandwidth = d.memory.bandwidth * d.efficiency.memory * d.efficiency.product_stream,
       .launch = d.kernels.launch,
       .wave = d.kernels.wave,
       .split = d.kernels.split});
  return {.total = r.time, .compute = r.compute, .memory = r.memory, .overhead = d.kernels.launch};
}

/// Kernels on latents: all heads of a token fill a block together, which costs one fixed time and the
/// products of its steps. Where each token has entries of its own it is a sequence by itself, a block takes
/// 64 heads, whether there are so many or not, and a step is the gathering of its entries.
/// @cite aisimulate-kernels, blocks by heads
template <class T>
void use_latent_kernels(AttentionTime::Inputs<T>& in, const Op<T>& op, const Device<T>& d) {
  constexpr double chosen_heads = 64;
  const bool chosen = op.keys == Keys::chosen;
  in.group = op.group_heads;
  in.block_tile = chosen ? min(d.tiles.attention_tile, T{chosen_heads}) : d.tiles.attention_tile;
  in.bandwidth = d.memory.bandwidth * d.efficiency.memory * d.efficiency.latent_stream;
  in.launch = d.kernels.launch;
  in.block = chosen ? d.kernels.chosen_block : d.kernels.latent_block;
  in.block_rows = Time<T>();
  in.least_step = chosen ? d.kernels.chosen_step : Time<T>();
  in.split = d.kernels.latent_split;
  if (!chosen) return;
  in.copies *= in.new_tokens;
  in.new_tokens = T{1.0};
  in.keys = in.reach;
}

/// One execution of fused attention. `attention_backward` compares whole kernels, so the softmax of a
/// backward pass, with the gradient of the scores, takes as many times longer as its products do.
template <class T> [[nodiscard]] OpCost<T> attention_cost(const Op<T>& op, const Device<T>& d) {
  const bool back = op.pass == Pass::backward;
  const T longer = back ? T(kAttentionBackward / d.efficiency.attention_backward) : T{1.0};
  const T rows = max(op.m, T{1.0}), keys = max(op.n, T{1.0});
  const bool made = op.keys == Keys::made;
  // Kernels for one query of each sequence and for several are not the same; a prompt may have one token.
  const auto several = max(op.m, T{made ? 2.0 : 1.0}) > T{1.0};
  const T reach = max(select(op.attended_keys > T{0.0}, op.attended_keys, op.n), T{1.0});
  const T pairs = max(op.copies * rows * reach, T{1.0});
  const T held = max(op.copies / op.group_heads * keys, T{1.0});  // keys, once for the heads that share them
  AttentionTime::Inputs<T> in{
      .copies = op.copies,
      .group = select(several, min(op.group_heads, d.tiles.prompt_group), op.group_heads),
      .new_tokens = rows,
      .keys = keys,
      .reach = reach,
      .no_split_kv = made || op.keys == Keys::undivided ? T{1.0} : T{0.0},
      .pair_work = op.work / pairs,
      .pair_softmax = d.tiles.softmax_work / (d.compute.vector * d.efficiency.vector) * longer,
      .traffic = op.memory_bytes,
      .tile = d.tiles.attention_tile,
      .block_tile = select(several, d.tiles.prompt_tile, d.tiles.attention_tile),
      .units = d.compute.units,
      .peak = d.compute.dense * d.compute.cache_ratio *
              (back ? d.efficiency.attention * d.efficiency.attention_backward : d.efficiency.attention),
      .bandwidth = d.memory.bandwidth * d.efficiency.memory * d.efficiency.attention_stream,
      .launch = d.kernels.attention_launch,
      .block = select(several, d.kernels.prompt_block, d.kernels.attention_block),
      .block_rows = select(several, d.kernels.prompt_rows, d.kernels.attention_rows),
      .least_step = d.kernels.attention_step *
                    ((op.memory_bytes - op.working_set * (back ? 2.0 : 1.0)) / (held * (512.0 * unit::B))),
      .split = d.kernels.attention_split};
  if (op.keys == Keys::latents || op.keys == Keys::chosen) use_latent_kernels(in, op, d);
  const auto r = apply<AttentionTime, T>(in);
  return {.total = r.time, .compute = r.compute, .memory = r.memory, .overhead = in.launch};
}

/// One execution of anything else, which streams: launch + soft maximum of arithmetic outside the matrix
/// engine and traffic, and blocks that search a row each.
template <class T> [[nodiscard]] OpCost<T> stream_cost(const Op<T>& op, const Device<T>& d) {
  const auto r = apply<SoftRoofline, T>({.work = op.work,
                                         .traffic = op.memory_bytes,
                                         .peak = d.compute.vector * d.efficiency.vector,
                                         .bandwidth = d.memory.bandwidth * d.efficiency.memory});
  const Time<T> launch =
      d.experts.has_family && op.parts & part::routed ? expert_constants(op, d).launch : d.kernels.launch;
  const Time<T> search = d.kernels.search * (op.searched / d.compute.units);
  return {.total = r.time + launch + search,
          .compute = r.compute + search,
          .memory = r.memory,
          .overhead = launch};
}

/// Bytes of the arrays of a chain for `tokens` of each state, in chunks of `chunk`.
template <class T>
[[nodiscard]] Data<T> chain_traffic(const ChainLaunch& l, const Op<T>& op, const T& tokens, double chunk) {
  const T token =
      op.k * (l.keys / op.group_heads + l.wide_keys) + op.n * l.values + l.squares * min(tokens, T{chunk});
  const T states = op.k * op.n * (l.cells * ceil_div(tokens, T{chunk}));
  return (token * tokens + states) * op.copies * (2.0 * unit::B);
}

/// One execution of linear attention in the kernels of a family. Backward the chain runs twice: the states
/// again, and the gradients.
template <class T>
[[nodiscard]] OpCost<T> recurrence_cost(const Op<T>& op, const SettledRecurrence& k, const Device<T>& d) {
  const T tokens = max(op.m, T{1.0}), chunks = ceil_div(tokens, T{k.chunk});
  const bool twice = k.listed && op.pass == Pass::backward;
  const T times{twice ? 2.0 : 1.0};
  const T one_chunk = min(tokens, T{k.chunk});
  // Products of the chunked form: those of a triangle of the chunk, and those with the state.
  const T pair = (op.k * 3.0 + op.n * 2.0) * (2.0 * one_chunk) + op.k * op.n * 6.0;
  const auto r = apply<RecurrenceTime, T>(
      {.launches = times * k.launches,
       .rows = times * one_chunk,
       .chunks = times * (k.listed ? chunks : T{0.0}),
       .blocks = op.copies * max(op.n / k.columns, T{1.0}),
       .units = d.compute.units,
       .work = k.listed ? Work<T>::from_base(T(pair * tokens * op.copies * times)) : op.work,
       .aside = k.listed ? chain_traffic(k.aside, op, tokens, k.chunk) * times
                         : op.memory_bytes + op.working_set * (chunks * k.chunk / tokens - 1.0),
       .in_order = chain_traffic(k.in_order, op, tokens, k.chunk) * times,
       .states = op.state * (times * k.states),
       .peak = k.listed ? d.compute.dense * d.efficiency.matrix : d.compute.vector * d.efficiency.vector,
       .bandwidth = d.memory.bandwidth * d.efficiency.memory * k.stream,
       .launch = Time<T>(k.launch),
       .row = Time<T>(k.row),
       .step = Time<T>(k.step)});
  return {.total = r.time,
          .compute = r.compute,
          .memory = r.memory,
          .network = {},
          .overhead = r.overhead,
          .launches = times * k.launches};
}

/// The kernels of linear attention that a device has for an operator; null where it streams.
template <class T> [[nodiscard]] const SettledRecurrence* recurrence_of(const Op<T>& op, const Device<T>& d) {
  if (op.recurrence == Recurrence::none || d.recurrences == nullptr) return nullptr;
  const auto& k = d.recurrences->of[static_cast<std::size_t>(op.recurrence)][op.stepping ? 1 : 0];
  return k.known ? &k : nullptr;
}

/// Estimates one operator, all its executions.
template <class T>
[[nodiscard]] OpCost<T> price(const Op<T>& op, const Device<T>& device, const Links<T>& links) {
  OpCost<T> cost;
  switch (op.kind) {
    case OpKind::collective:
      cost.network = collective_time(op, links) * op.count;
      cost.total = cost.network;
      return cost;
    case OpKind::host_transfer:
      cost.network = op.message / device.host_link.bandwidth * op.count;
      cost.total = cost.network;
      return cost;
    case OpKind::host_compute:
      cost.network = op.message / op.host_bandwidth * op.count;
      cost.total = cost.network;
      return cost;
    case OpKind::matmul:
    case OpKind::convolution:
      cost = matmul_cost(op, device);
      break;
    case OpKind::attention:
      cost = attention_cost(op, device);
      break;
    case OpKind::elementwise:
    case OpKind::gather:
    case OpKind::recurrence:
      if (const auto* kernels = recurrence_of(op, device))
        cost = recurrence_cost(op, *kernels, device);
      else
        cost = stream_cost(op, device);
      break;
  }
  return {.total = cost.total * op.count,
          .compute = cost.compute * op.count,
          .memory = cost.memory * op.count,
          .network = {},
          .overhead = cost.overhead * op.count,
          .launches = cost.launches};
}

}  // namespace mlsysim

#pragma once
/// Forward rules of token mixers: grouped-query (GQA), latent (MLA), compressed and linear attention,
/// Mamba-2.
///
///     work         = 2 sequences heads (pairs / cp) (qk + v)
///     memory_bytes = kv_bytes sequences keys cached_width + activation_bytes tokens heads (qk + v)
///     state        = kv_bytes sequences min(context, window) cached_width
///
/// pairs: query-key pairs of a head and sequence. keys: distinct keys that they read. qk, v: widths of a
/// head. cached_width: cached values of a token, kv_heads (qk + v) of GQA, kv_rank + rope of MLA. Scores stay
/// on chip unless the kernel is unfused. MLA decodes on the latent with absorbed projections. Outside serving
/// nothing is cached: keys and values are activations.
/// @cite dao2022flashattention
/// Example: Llama-3.1-70B, TP 8, decode of 16 sequences at 2,304 tokens, bf16, one layer.
/// 8 heads: 2 x 16 x 8 x 2,304 x 256 = 0.151 GFLOP. 1 KV head: 16 x 2,304 x 256 x 2 B = 18.9 MB.

#include <mlsysim/lowering/emit.hpp>
#include <mlsysim/physics/attention.hpp>

namespace mlsysim::detail {

/// Tokens that a layer sees at most, and keeps.
template <class T> [[nodiscard]] T seen_at_most(const ReachView<T>& reach, const Plan<T>& plan) {
  if (reach.windowed) return min(reach.window, plan.context);
  if (reach.chunked) return min(reach.chunk, plan.context);
  return plan.context;
}

/// Query-key pairs of one head and sequence, and the distinct keys that they read.
template <class T>
[[nodiscard]] auto attended(const Structure& structure, const Plan<T>& plan, const ReachView<T>& reach) {
  const T past = plan.context - plan.new_tokens;
  if (structure.causal && reach.chunked) {
    const auto in_chunks = apply<ChunkedAttentionPairs, T>(
        {.new_tokens = plan.new_tokens, .past_tokens = past, .chunk = reach.chunk});
    return WindowedAttentionPairs::Result<T>{.pairs = in_chunks.pairs, .keys = in_chunks.keys};
  }
  if (structure.causal)
    return apply<WindowedAttentionPairs, T>(
        {.new_tokens = plan.new_tokens, .past_tokens = past, .window = seen_at_most(reach, plan)});
  return WindowedAttentionPairs::Result<T>{.pairs = plan.new_tokens * plan.context, .keys = plan.context};
}

/// Keys and values that a layer holds after the pass.
template <class T>
[[nodiscard]] Data<T> plan_state(const Frame<T>& f, const T& window, const T& cached_width) {
  return f.plan.kv_bytes * (f.sequences * min(f.plan.context, window) * cached_width);
}

/// Joins what tensor-parallel ranks have of the output of attention. Beside a feed-forward in parallel the
/// two are added on each rank, and the join of the feed-forward is the only one (chowdhery2022palm, section
/// 2).
template <class T> void join_attention(const Frame<T>& f, const T& count) {
  if (!f.stack.parallel) join_tensor_parallel(f, "attention_tp_reduce", count, part::attention);
}

/// Rotates queries and keys, and writes keys and values to the cache when serving. Unfused, the rotation is a
/// swap of halves, two products and a sum: five arrays in, four out.
template <class T>
void rotary_and_cache(const Frame<T>& f, const T& count, const T& rotated, const T& cached_width) {
  auto& op = elementwise(f, "rotary_and_cache", OpGroup::attention, count, f.tokens * rotated,
                         f.structure.fused ? 1 : 5, f.structure.fused ? 1 : 4, 6);
  op.memory_bytes += f.plan.kv_bytes * (f.tokens * cached_width);
}

/// Norms of queries and of keys, a kernel for each. What is not fused has them in its launch list.
template <class T>
void norm_queries_and_keys(const Frame<T>& f, const T& count, const T& queries, const T& keys) {
  const T each = f.tokens * (queries + keys) / 2.0;
  elementwise(f, "query_key_norm", OpGroup::attention, T(2.0 * count), each, 1, 1, 6);
}

/// Whether keys and values are cached.
template <class T> [[nodiscard]] bool serves(const Frame<T>& f) {
  return f.structure.phase == Phase::prefill || f.structure.phase == Phase::decode;
}

/// Casts the inputs of a product to the fewer bits of its weights, in a kernel of its own with scales of
/// blocks. Weights that are widened have wide inputs.
template <class T> void cast_inputs(const Frame<T>& f, const T& count, const T& values) {
  if (!serves(f) || f.structure.widened) return;
  const Data<T> made = f.plan.activation_bytes, stored = f.weight_bytes * params<T>(T{1.0});
  auto& op = elementwise(f, "quantisation", OpGroup::attention, count * select(stored < made, T{1.0}, T{0.0}),
                         f.tokens * values, 1, 0, 2);
  op.memory_bytes += stored * (f.tokens * values);
}

/// The attention core: scores, softmax, weighted sum over the tokens in reach.
/// @param heads, kv_heads heads on this device
template <class T>
void attention_core(const Frame<T>& f, std::string_view name, const T& count, const T& heads,
                    const T& kv_heads, const T& qk, const T& v, const T& cached_width,
                    const ReachView<T>& reach) {
  const T window = seen_at_most(reach, f.plan);
  const T head_copies = f.sequences * heads;
  const Data<T> inputs = f.activations(f.tokens * (heads * qk + kv_heads * (qk + v)));
  const bool cached = serves(f);
  // A windowed layer keeps its window; what it read while the window moved on is gone.
  const Data<T> state = cached ? plan_state(f, window, cached_width) : Data<T>();
  if (f.structure.kernel == AttentionKernel::unfused) {
    // Each step reads and writes the whole square of scores; a mask zeroes what is not attended to.
    const T rows = f.plan.new_tokens / f.plan.cp, keys = min(f.plan.context, window),
            square = head_copies * rows * keys;
    const Parts core = part::core;
    // Heads of a group find cached keys and values in the L2 cache.
    const auto read_once = [&](Op<T>& op, const T& width) {
      if (!cached) return;
      op.memory_bytes = op.working_set + f.plan.kv_bytes * (f.sequences * kv_heads * keys * width);
    };
    auto& scores = activation_product(f, "attention_scores", OpGroup::attention, count, rows, keys, qk,
                                      head_copies, core);
    read_once(scores, qk);
    scores.saved_bytes = f.training() ? inputs : Data<T>();
    scores.recompute_parts = part::attention | part::block;
    scores.state = state;
    // Softmax and dropout; scale and mask are passes of their own where nothing is fused.
    const double arrays = f.structure.dropout && f.training() ? 2.0 : 1.0;
    const double passes = arrays + (f.structure.fused ? 0.0 : 2.0);
    auto& softmax = elementwise(f, "softmax", OpGroup::attention, count, square, passes, passes, 6, core);
    softmax.saved_bytes = f.activations(arrays * square);
    dropout_mask(f, softmax, square);
    dropout_traffic(f, softmax, square);
    read_once(activation_product(f, "attention_values", OpGroup::attention, count, rows, v, keys, head_copies,
                                 core),
              v);
    return;
  }
  if (f.structure.kernel == AttentionKernel::fused_fp8) {
    const T values = f.tokens * (heads * qk + kv_heads * (qk + v));
    auto& cast = elementwise(f, "attention_cast", OpGroup::attention, count, values, 1, 0, 2);
    cast.memory_bytes = cast.memory_bytes + values * unit::B;
  }
  const auto seen = attended(f.structure, f.plan, reach);
  Op<T>& op = emit(f.ops, OpKind::attention, OpGroup::attention, name, count);
  op.m = f.plan.new_tokens / f.plan.cp;
  op.n = seen.keys;
  op.k = qk;
  op.copies = head_copies;
  op.work = flops<T>(2.0 * head_copies * (seen.pairs / f.plan.cp) * (qk + v));
  op.state = state;
  op.attended_keys = seen.pairs / f.plan.new_tokens;
  op.group_heads = heads / kv_heads;
  // Outside serving nothing is cached: keys and values are activations like any other.
  const Data<T> keys = cached ? f.plan.kv_bytes * (f.sequences * op.n * cached_width)
                              : f.activations(f.sequences * op.n * cached_width);
  op.working_set = f.activations(f.tokens * heads * (qk + v));
  op.memory_bytes = keys + op.working_set;
  if (f.training()) op.saved_bytes = inputs;
}

/// Context-parallel ranks hold a part of each sequence and pass keys and values around, beside the attention
/// of the part at hand.
template <class T> void exchange_context(const Frame<T>& f, const T& count, const T& width) {
  if (f.structure.phase == Phase::decode) return;
  auto& op = collective(f.ops, "context_exchange", Collective::all_gather, CommGroup::cp, count,
                        f.activations(f.sequences * f.plan.new_tokens * width), f.plan.cp, f.plan.tp);
  op.parts = op.parts | part::attention;
  op.overlap_with = OverlapWith::pass;
}

/// Scores of every cached entry against light-weight index heads, to choose the ones that attention reads
/// (DeepSeek-V3.2, section 2.1): a product of each query's heads with one key an entry, whose results are
/// clipped, weighted and added over the heads in place of being stored; then the entries of the highest sums
/// are found.
/// @param per tokens of an entry
template <class T>
void block_index(const Frame<T>& f, const T& count, const ReachView<T>& h, const T& query_inputs,
                 const T& per) {
  if (h.index_shared) return;
  const T width = h.index_heads * h.index_dim;
  matmul(f, "index_query", OpGroup::attention, count, f.tokens, width, query_inputs);
  auto& key = matmul(f, "index_key", OpGroup::attention, count, f.tokens,
                     h.index_dim * (h.compressed ? 4.0 : 1.0) + h.index_heads, f.stack.hidden);
  key.params += params<T>(h.index_dim * (h.compressed ? 9.0 : 2.0));
  const T entries = f.plan.context / per;
  // The mean query of a pass sees the entries before it.
  const T seen = f.structure.causal ? (f.plan.context - 0.5 * (f.plan.new_tokens - 1.0)) / per : entries;
  Op<T>& op = emit(f.ops, OpKind::matmul, OpGroup::attention, "index_scores", count, part::core);
  op.m = f.plan.new_tokens / f.plan.cp * h.index_heads;
  op.n = seen;
  op.k = h.index_dim;
  op.copies = f.sequences;
  op.work = flops<T>(2.0 * f.tokens * seen * width);
  const Data<T> value =
      select(h.index_key_bytes > T{0.0}, Data<T>::from_base(h.index_key_bytes), f.plan.kv_bytes);
  op.state = value * (f.sequences * entries * h.index_dim);
  // Queries are cast to the format of the keys; what leaves the kernel is one FP32 sum a query and entry.
  const Data<T> sums = f.tokens * seen * (4.0 * unit::B);
  op.working_set = value * (f.tokens * width);
  op.memory_bytes = op.state + op.working_set + sums;
  Op<T>& choice = emit(f.ops, OpKind::elementwise, OpGroup::attention, "index_choice", count, part::core);
  choice.work = flops<T>(f.tokens * seen);  // a comparison each
  choice.memory_bytes = sums;
  if (!serves(f)) return;
  // Entries of many tokens are few, and their kernels fused.
  const T alone = select(h.index_block > T{1.0}, T{0.0}, T{1.0});
  choice.searched = f.tokens * alone;
  // Norm, rotation, Hadamard transform and quantization of queries and keys, weights of the heads, the cache;
  // where entries are compressed they are fused in three. As many passes over the queries as three of eight.
  elementwise(f, "index_preparation", OpGroup::attention, count * alone * (h.compressed ? 3.0 : 8.0),
              f.tokens * width * 0.375, 1, 1, 6);
}

/// Keys that attention reads if an index chooses: `top_k` entries of each query's past. The cache keeps all.
template <class T> [[nodiscard]] ReachView<T> chosen_reach(const ReachView<T>& reach) {
  ReachView<T> chosen = reach;
  chosen.windowed = true;
  chosen.window = reach.top_k * reach.index_block;
  return chosen;
}

/// The attention core over chosen entries. Where all heads share them, each token gathers its own.
template <class T>
void chosen_core(const Frame<T>& f, std::string_view name, const T& count, const T& heads, const T& kv_heads,
                 const T& qk, const T& v, const T& cached_width, const ReachView<T>& reach) {
  const std::size_t first = f.ops.size();
  attention_core(f, name, count, heads, kv_heads, qk, v, cached_width, chosen_reach(reach));
  if (!serves(f)) return;
  f.ops[first].state = plan_state(f, f.plan.context, cached_width);
}

/// Attention over the output of an encoder. Its keys and values are made once, in the pass over the prompt,
/// and the cache of them does not grow.
/// @cite raffel2020t5, section 2.1
template <class T>
void mix_encoder(const Frame<T>& f, const T& count, const GroupedView<T>& h, const T& heads,
                 const T& kv_heads) {
  const T& hidden = f.stack.hidden;
  const T each = encoded_tokens(f.plan), encoded = f.sequences * each;
  const T kv_width = kv_heads * (h.qk_dim + h.v_dim);
  auto& query = matmul(f, "encoder_query", OpGroup::attention, count, f.tokens, heads * h.qk_dim, hidden);
  if (f.structure.phase == Phase::decode)  // the matrices for keys and values rest
    query.params += params<T>((hidden + f.stack.bias) * kv_width);
  else
    matmul(f, "encoder_key_value", OpGroup::attention, count, encoded, kv_width, hidden);
  Op<T>& op = emit(f.ops, OpKind::attention, OpGroup::attention, "encoder_attention", count);
  op.m = f.plan.new_tokens;
  op.n = each;
  op.k = h.qk_dim;
  op.copies = f.sequences * heads;
  op.group_heads = heads / kv_heads;
  op.work = flops<T>(2.0 * op.copies * op.m * op.n * (h.qk_dim + h.v_dim));
  if (serves(f)) op.state = f.plan.kv_bytes * (encoded * kv_width);
  op.working_set = f.activations(f.tokens * heads * (h.qk_dim + h.v_dim));
  const T values = encoded * kv_width;
  op.memory_bytes = op.working_set + (serves(f) ? f.plan.kv_bytes * values : f.activations(values));
  matmul(f, "encoder_output", OpGroup::attention, count, f.tokens, hidden, heads * h.v_dim);
  join_attention(f, count);
}

/// Multi-head, grouped-query or multi-query attention of `count` layers.
template <class T>
void mix(const Frame<T>& f, const T& count, const ReachView<T>& reach, const GroupedView<T>& h) {
  const T& hidden = f.stack.hidden;
  const T heads = h.heads / f.plan.tp;
  // Fewer key-value heads than devices: each device holds one, copied.
  const T kv_heads = max(h.kv_heads / f.plan.tp, T{1.0});
  const T query_width = heads * h.qk_dim, kv_width = kv_heads * (h.qk_dim + h.v_dim);
  if (h.cross) return mix_encoder(f, count, h, heads, kv_heads);
  {
    // Values may be the keys before their rotation: one projection, and both are cached.
    auto& op =
        matmul(f, "qkv_projection", OpGroup::attention, count, f.tokens,
               query_width * (1.0 + h.output_gate) + kv_heads * (h.qk_dim + h.v_dim * h.own_values), hidden);
    op.params += params<T>(h.qkv_bias * (query_width + kv_width) + h.qk_norm_head * 2.0 * h.qk_dim +
                           h.qk_norm_full * (query_width + kv_heads * h.qk_dim) + h.sinks * heads);
    op.merged_matrices = 2.0 + h.own_values;
    op.saved_bytes *= f.split;
    op.recompute_parts = part::norm | part::block;
    op.biased += h.qkv_bias;
  }
  if (h.normed) norm_queries_and_keys(f, count, query_width, T(kv_heads * h.qk_dim));
  rotary_and_cache(f, count, query_width + kv_heads * h.qk_dim, kv_width);
  exchange_context(f, count, kv_width);
  if (reach.selected) {
    block_index(f, count, reach, hidden, reach.index_pool);
    chosen_core(f, "attention", count, heads, kv_heads, h.qk_dim, h.v_dim, kv_width, reach);
  } else {
    attention_core(f, "attention", count, heads, kv_heads, h.qk_dim, h.v_dim, kv_width, reach);
  }
  auto& out = matmul(f, "output_projection", OpGroup::attention, count, f.tokens, hidden, heads * h.v_dim);
  out.params += params<T>(h.output_bias * hidden);
  out.biased += h.output_bias;
  dropout_mask(f, out, f.tokens * hidden * f.split);
  join_attention(f, count);
}

/// Norms of the latents, one kernel.
template <class T> void norm_latents(const Frame<T>& f, const T& count, const T& width) {
  if (serves(f)) elementwise(f, "latent_norm", OpGroup::attention, count, f.tokens * width, 1, 1, 6);
}

/// Adds the parts that decoding on latents leaves behind: its kernels divide the cached tokens among the
/// units and store one FP32 sum a head, as wide as a latent, for each part; a second kernel adds them up. One
/// part a sequence is counted: how many more there are depends on the device.
/// @cite flashdecoding2023, the reduction over splits
template <class T>
void join_parts(const Frame<T>& f, const T& count, const T& heads, const LatentView<T>& h) {
  Op<T>& op =
      emit(f.ops, OpKind::elementwise, OpGroup::attention, "latent_attention_join", count, part::core);
  const T sums = f.tokens * heads * h.kv_rank;
  op.work = flops<T>(2.0 * sums);
  op.working_set = f.activations(sums);
  op.memory_bytes = op.working_set + sums * (4.0 * unit::B);
}

/// Casts queries, keys and values of a prompt to the format in which attention multiplies, where the cache
/// has fewer bits than activations, but not fewer than a matrix engine takes here (8).
template <class T>
[[nodiscard]] T cast_for_attention(const Frame<T>& f, const T& count, const T& heads,
                                   const LatentView<T>& h) {
  const Data<T> cached = f.plan.kv_bytes, made = f.plan.activation_bytes;
  const T narrow = select(cached < made, select(cached < Data<T>(1.0 * unit::B), T{0.0}, T{1.0}), T{0.0});
  const T values = f.tokens * heads * (2.0 * (h.nope + h.rope) + h.v_dim);
  auto& op =
      elementwise(f, "attention_cast", OpGroup::attention, count * narrow, values, 1, 0, 2, part::core);
  op.memory_bytes += cached * values;
  return narrow;
}

/// Attention of a prompt whose keys and values were made from the latents just now, for every head. Two
/// kernels rotate queries and put the rotated key beside each head's; attention reads all where they lie, in
/// place of a cache, and does not split them over the units.
template <class T>
void made_core(const Frame<T>& f, const T& count, const T& heads, const T& cached_width,
               const ReachView<T>& reach, const LatentView<T>& h) {
  const bool cached = serves(f);
  if (cached)
    elementwise(f, "key_assembly", OpGroup::attention, 2.0 * count, f.tokens * heads * h.rope / 2.0, 2, 1, 2,
                part::core);
  const T narrow = cached ? cast_for_attention(f, count, heads, h) : T{0.0};
  const std::size_t first = f.ops.size();
  attention_core(f, "attention", count, heads, heads, h.nope + h.rope, h.v_dim, cached_width, reach);
  Op<T>& op = f.ops[first];
  op.keys = Keys::made;
  if (op.kind != OpKind::attention) return;
  const T values = f.sequences * op.n * heads * (h.nope + h.rope + h.v_dim);
  const Data<T> keys = select(narrow > T{0.5}, Data<T>(f.plan.kv_bytes * values), f.activations(values));
  op.memory_bytes = op.working_set + keys;
}

/// Multi-head latent attention (DeepSeek-V2, section 2.1). Decoding works on the latent directly, with the up
/// projections absorbed into the query and the output; so do prompts of which an index chooses entries. The
/// absorbed part of a query and its rotated part are joined by a kernel, and so are both latents normalized.
template <class T>
void mix(const Frame<T>& f, const T& count, const ReachView<T>& reach, const LatentView<T>& h) {
  const T& hidden = f.stack.hidden;
  const T heads = h.heads / f.plan.tp;
  const T query_inputs = select(h.q_rank > T{0.0}, h.q_rank, hidden);
  const T latent = h.kv_rank + h.rope;
  const bool serving = serves(f),
             on_latents = serving && (f.structure.phase == Phase::decode || reach.selected);
  // The down projections are small and are held by every device of the group.
  cast_inputs(f, count, hidden);
  auto& down =
      matmul(f, "latent_down_projection", OpGroup::attention, count, f.tokens, h.q_rank + latent, hidden);
  down.params += params<T>(h.q_rank + h.kv_rank);  // norms of the two latents
  down.saved_bytes *= f.split;
  norm_latents(f, count, h.q_rank + h.kv_rank);
  cast_inputs(f, count, query_inputs);
  matmul(f, "query_up_projection", OpGroup::attention, count, f.tokens, heads * (h.nope + h.rope),
         query_inputs);
  rotary_and_cache(f, count, (heads + 1.0) * h.rope, latent);
  exchange_context(f, count, latent);
  if (on_latents) {
    matmul(f, "absorbed_key_projection", OpGroup::attention, count, f.tokens, h.kv_rank, h.nope, heads);
    elementwise(f, "query_assembly", OpGroup::attention, count, f.tokens * heads * latent, 1, 1, 0);
    const std::size_t first = f.ops.size();
    if (reach.selected)
      chosen_core(f, "latent_attention", count, heads, T{1.0}, latent, h.kv_rank, latent, reach);
    else
      attention_core(f, "latent_attention", count, heads, T{1.0}, latent, h.kv_rank, latent, reach);
    f.ops[first].keys = reach.selected ? Keys::chosen : Keys::latents;
    if (f.structure.phase == Phase::decode) join_parts(f, count, heads, h);
    matmul(f, "absorbed_value_projection", OpGroup::attention, count, f.tokens, h.v_dim, h.kv_rank, heads);
  } else {
    cast_inputs(f, count, h.kv_rank);
    matmul(f, "key_value_up_projection", OpGroup::attention, count, f.tokens, heads * (h.nope + h.v_dim),
           h.kv_rank);
    made_core(f, count, heads, latent, reach, h);
  }
  if (reach.selected) block_index(f, count, reach, query_inputs, reach.index_pool);
  matmul(f, "output_gate", OpGroup::attention, count * h.output_gate, f.tokens, heads * h.v_dim, hidden);
  cast_inputs(f, count, heads * h.v_dim);
  matmul(f, "output_projection", OpGroup::attention, count, f.tokens, hidden, heads * h.v_dim);
  join_attention(f, count);
}

/// Compressed attention: a sliding window, and the past as one vector for each block of tokens, of which the
/// selection reads some where there is one (DeepSeek-V4). Keys and values are one shared vector.
template <class T>
void mix(const Frame<T>& f, const T& count, const ReachView<T>& reach, const CompressedView<T>& h) {
  const T& hidden = f.stack.hidden;
  const T heads = h.heads / f.plan.tp;
  cast_inputs(f, count, hidden);
  auto& down =
      matmul(f, "query_down_projection", OpGroup::attention, count, f.tokens, h.q_rank + h.width, hidden);
  down.params += params<T>(h.q_rank + h.width);
  norm_latents(f, count, h.q_rank + h.width);
  cast_inputs(f, count, h.q_rank);
  matmul(f, "query_up_projection", OpGroup::attention, count, f.tokens, heads * h.width, h.q_rank);
  if (serves(f)) rotary_and_cache(f, count, (heads + 1.0) * h.width, h.width);
  T blocks{0.0};
  if (reach.compressed) {
    // Two gated projections for each block, twice as many where blocks overlap; weights for each position.
    const double wide = reach.overlapping ? 2.0 : 1.0;
    auto& press =
        matmul(f, "block_compression", OpGroup::attention, count, f.tokens, 2.0 * wide * h.width, hidden);
    press.params += params<T>((reach.block * wide + 1.0) * h.width);
    blocks = f.plan.context / reach.block;
  }
  const T window = min(f.plan.context, reach.window);
  const T seen = window + (reach.selected ? min(blocks, reach.top_k) : blocks);
  if (reach.selected) block_index(f, count, reach, h.q_rank, reach.block);

  Op<T>& op = emit(f.ops, OpKind::attention, OpGroup::attention, "compressed_attention", count);
  op.m = f.plan.new_tokens;
  op.n = seen;
  op.k = h.width;
  op.copies = f.sequences * heads;
  if (serves(f)) {
    op.group_heads = heads;
    op.keys = Keys::chosen;
  }
  op.params = params<T>(heads);
  op.work = flops<T>(4.0 * f.tokens * heads * seen * h.width);
  op.state = f.plan.kv_bytes * (f.sequences * (window + blocks) * h.width);
  op.working_set = f.activations(2.0 * f.tokens * heads * h.width);
  // Each new token of a sequence selects its own blocks; what several of them read is read once at best.
  op.memory_bytes = op.working_set + f.plan.kv_bytes * (f.sequences * seen * h.width);
  if (f.training()) op.saved_bytes = f.activations(f.tokens * (heads + 1.0) * h.width);

  cast_inputs(f, count, heads * h.width);
  matmul(f, "grouped_output_down", OpGroup::attention, count, f.tokens, h.output_rank,
         heads * h.width / h.output_groups, h.output_groups);
  cast_inputs(f, count, h.output_groups * h.output_rank / f.plan.tp);
  matmul(f, "grouped_output_up", OpGroup::attention, count, f.tokens, hidden,
         h.output_groups * h.output_rank / f.plan.tp);
  join_attention(f, count);
}

/// Marks the convolution and the state of linear attention for the kernels of a family. A step of several
/// tokens, which may be taken back, writes the state of each.
template <class T>
void recur(const Frame<T>& f, Op<T>& op, Recurrence kernels, const T& heads, const T& group, const T& key,
           const T& value) {
  op.recurrence = kernels;
  op.stepping = f.structure.phase == Phase::decode;
  op.m = f.tokens / f.sequences;
  op.n = value;
  op.k = key;
  op.copies = f.sequences * heads;
  op.group_heads = group;
  if (op.stepping && kernels != Recurrence::convolution)
    op.memory_bytes += op.state * (max(op.m, T{1.0}) - 1.0);
}

/// The convolution over time before a recurrence, which needs the last tokens before the next one. They are
/// read and written in the format of activations.
/// @param width channels
/// @param weights of the layer that no product has, the convolution's among them
template <class T, class View>
void short_convolution(const Frame<T>& f, const T& count, const View& h, const T& width, const T& weights) {
  auto& conv = elementwise(f, "short_convolution", OpGroup::attention, count, f.tokens * width, 1, 1, 8);
  const T tokens_before = f.sequences * max(h.conv_width - 1.0, T{0.0});
  conv.params = params<T>(weights);
  conv.saved_bytes = f.activations(f.tokens * width);
  conv.state = h.state_bytes * (tokens_before * width);
  conv.memory_bytes += f.activations(2.0 * tokens_before * width);
  recur(f, conv, Recurrence::convolution, T{1.0}, T{1.0}, T{1.0}, T{1.0});
}

/// Gated linear attention with a recurrent state per value head (delta rule).
template <class T> void mix(const Frame<T>& f, const T& count, const ReachView<T>&, const LinearView<T>& h) {
  const T& hidden = f.stack.hidden;
  const T keys = h.key_heads / f.plan.tp, values = h.value_heads / f.plan.tp;
  const T width = values * h.value_dim;
  const T mixed = 2.0 * keys * h.key_dim + width;
  // A gate of low rank goes through a product of its own.
  const T low = select(h.gate_rank > T{0.0}, T{1.0}, T{0.0}),
          gate = select(h.gate_rank > T{0.0}, h.gate_rank, width);
  // Query, key, value and output gate; beside them write strength and decay, of which Kimi's is a vector
  // through a low rank instead of a number.
  auto& in = matmul(f, "linear_attention_input", OpGroup::attention, count, f.tokens,
                    mixed + gate + values * (h.channel_decay ? 1.0 : 2.0), hidden);
  in.saved_bytes *= f.split;
  matmul(f, "output_gate", OpGroup::attention, count * low, f.tokens, width, h.gate_rank);
  if (h.channel_decay) {
    matmul(f, "decay_down", OpGroup::attention, count, f.tokens, h.decay_rank, hidden);
    auto& up = matmul(f, "decay_up", OpGroup::attention, count, f.tokens, values * h.key_dim, h.decay_rank);
    up.params += params<T>(values * h.key_dim - values);
  }
  short_convolution(f, count, h, mixed, h.conv_width * mixed + 2.0 * values + h.value_dim);

  Op<T>& op = emit(f.ops, OpKind::recurrence, OpGroup::attention, "recurrent_state", count);
  const T cells = width * h.key_dim;
  // Decay (1), rank-one read (2), rank-one write (2), query (2): seven FLOP a state cell and token.
  op.work = flops<T>(7.0 * cells * f.tokens);
  op.state = h.state_bytes * (cells * f.sequences);
  op.working_set = f.activations(f.tokens * (mixed + width));
  op.memory_bytes = 2.0 * op.state + op.working_set;
  recur(f, op, h.channel_decay ? Recurrence::kda : Recurrence::gated_delta, values, values / keys, h.key_dim,
        h.value_dim);
  op.saved_bytes = f.activations(f.tokens * mixed);

  matmul(f, "linear_attention_output", OpGroup::attention, count, f.tokens, hidden, width);
  join_attention(f, count);
}

/// State-space block with a scalar decay per head (Mamba-2).
template <class T>
void mix(const Frame<T>& f, const T& count, const ReachView<T>&, const StateSpaceView<T>& h) {
  const T& hidden = f.stack.hidden;
  const T heads = h.heads / f.plan.tp, groups = max(h.groups / f.plan.tp, T{1.0});
  const T inner = heads * h.head_dim;
  const T mixed = inner + 2.0 * groups * h.state;  // values, and the matrices in and out of the state
  auto& in =
      matmul(f, "state_space_input", OpGroup::attention, count, f.tokens, inner + mixed + heads, hidden);
  in.params += params<T>(h.bias * (inner + mixed + heads));
  in.saved_bytes *= f.split;
  // Decay, step and skip of each head, and the norm before the output.
  short_convolution(f, count, h, mixed, (h.conv_width + h.conv_bias) * mixed + 3.0 * heads + inner);

  Op<T>& op = emit(f.ops, OpKind::recurrence, OpGroup::attention, "recurrent_state", count);
  const T cells = inner * h.state;
  // Decay (1), rank-one write (2), read (2): five FLOP a state cell and token.
  op.work = flops<T>(5.0 * cells * f.tokens);
  op.state = h.state_bytes * (cells * f.sequences);
  op.working_set = f.activations(f.tokens * (mixed + inner));
  op.memory_bytes = 2.0 * op.state + op.working_set;
  recur(f, op, Recurrence::state_space, heads, heads / groups, h.state, h.head_dim);
  op.saved_bytes = f.activations(f.tokens * mixed);

  auto& out = matmul(f, "state_space_output", OpGroup::attention, count, f.tokens, hidden, inner);
  out.params += params<T>(h.bias * hidden);
  join_attention(f, count);
}

/// All layers of one kind of mixer.
template <class T> void mix(const Frame<T>& f, const MixerView<T>& mixer) {
  const T count = mixer.layers * f.stage;
  std::visit([&](const auto& rule) { mix(f, count, mixer.reach, rule); }, mixer.rule);
}

}  // namespace mlsysim::detail

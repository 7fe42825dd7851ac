#pragma once
/// Forward pass of a transformer, decoder or encoder: embedding, blocks (mixer, feed-forward, norms), head,
/// loss.
///
///     embedding weights = vocab hidden / tp + position_rows hidden
///     head work         = 2 rows (vocab / tp) hidden          rows: last tokens in serving, all in training
///     loss memory_bytes = (activation_bytes + 16 B) logits, unless the loss runs in chunks
///
/// Mixers: lowering/attention.hpp. Feed-forward: lowering/feed_forward.hpp. Numbers are those of the fullest
/// pipeline stage. A tied output matrix is a copy where embedding and head lie on different stages.
/// @cite hsu2024liger, section 3.2
///
/// Example: the list of Llama-3.1-8B has 8,030,261,248 weights and 15.0 GFLOP of weight products per token.

#include <mlsysim/lowering/attention.hpp>
#include <mlsysim/lowering/feed_forward.hpp>

namespace mlsysim::detail {

template <class T> void input_embedding(const Frame<T>& f) {
  const auto& h = f.stack;
  const T values = f.tokens * h.hidden;
  Op<T>& op = emit(f.ops, OpKind::gather, OpGroup::embedding, "embedding", T{1.0});
  op.place = StageScope::first;
  op.params = params<T>(h.vocab * h.hidden / f.plan.tp + h.position_rows * h.hidden);
  op.working_set = f.activations(values);
  op.memory_bytes = op.working_set + f.weight_bytes * params<T>(values);
  if (h.looks_up) {
    op.params += params<T>(h.lookup_values);
    op.memory_bytes += f.weight_bytes * params<T>(f.tokens * h.lookup_reads);
  }
  if (h.shares_ends) op.params = Params<T>();
  dropout_mask(f, op, values * f.split);
  dropout_traffic(f, op, values * f.split);
  if (f.structure.architecture == Architecture::encoder) {
    const std::size_t first = f.ops.size();
    auto& patch = matmul(f, "patch_embedding", OpGroup::embedding,
                         select(h.patch_inputs > T{0.0}, T{1.0}, T{0.0}), f.tokens, h.hidden, h.patch_inputs);
    patch.params = patch.params + params<T>(2.0 * h.hidden);  // bias and class token
    for (std::size_t i = first; i < f.ops.size(); ++i) f.ops[i].place = StageScope::first;
  }
  auto& join = collective(f.ops, "embedding_join",
                          f.structure.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce,
                          CommGroup::tp, T{1.0}, f.activations(values), f.plan.tp, T{1.0});
  join.m = f.tokens;
  join.place = StageScope::first;
}

/// Output head and cross entropy chunk by chunk over the tokens, so that logits are never whole in memory: a
/// chunk's logits are as large as all hidden states (the rule of Liger). Each chunk's logits become their
/// gradients in place and are multiplied on at once, so that the gradient of the hidden states is kept
/// instead of these, and nothing of the loss is left for the backward pass. Its products are counted there
/// all the same.
/// @cite hsu2024liger, section 3.2
template <class T> void chunked_loss(const Frame<T>& f, const T& rows, Op<T>& head) {
  const T logits = rows * f.stack.vocab / f.plan.tp;
  const Data<T> chunk = f.activations(rows * min(f.stack.hidden, f.stack.vocab / f.plan.tp));
  head.working_set = head.saved_bytes + chunk;
  auto& op = elementwise(f, "loss", OpGroup::head, T{1.0}, logits, 2, 1, 6);
  op.working_set = chunk;
}

/// Cross entropy over logits that are divided over the tensor-parallel ranks: in fp32, several passes.
template <class T> void loss(const Frame<T>& f, const T& rows) {
  const T logits = rows * f.stack.vocab / f.plan.tp;
  auto& op = elementwise(f, "loss", OpGroup::head, T{1.0}, logits, 1, 0, 6);
  // To fp32 (write), maximum (read), exponential and sum (read, write): 16 B a logit beside the read above.
  op.memory_bytes += (16.0 * unit::B) * logits;
  op.saved_bytes = (4.0 * unit::B) * logits;
  // At the peak the logits, their fp32 copy and its gradient are alive beside the probabilities that are
  // kept.
  op.working_set += (8.0 * unit::B) * logits;
}

template <class T> void output_head(const Frame<T>& f) {
  const auto& h = f.stack;
  const std::size_t first = f.ops.size();
  norm(f, "edge_norm", h.edge_norms);
  // Serving needs the logits of the last token of each sequence only.
  const T rows = f.training() ? f.tokens : f.sequences;
  if (h.several_streams)  // one weight a value and stream
    matmul(f, "stream_join", OpGroup::norm, T{1.0}, rows, h.streams, h.streams * h.hidden).params +=
        params<T>(h.streams + 1.0);
  if (f.structure.architecture == Architecture::decoder) {
    if (f.structure.sequence_parallel)
      collective(f.ops, "logits_gather", Collective::all_gather, CommGroup::tp, T{1.0},
                 f.activations(rows * h.hidden), f.plan.tp, T{1.0});
    auto& logits = matmul(f, "logits", OpGroup::head, T{1.0}, rows, h.vocab / f.plan.tp, h.hidden);
    // A tied matrix is the embedding itself where both live on one stage, and a copy of it elsewhere.
    const T copied = select(f.plan.pp > T{1.0}, T{1.0}, T{0.0});
    logits.biased = h.head_bias;
    logits.params = params<T>(h.vocab * h.hidden / f.plan.tp * max(h.own_head, copied) +
                              h.head_bias * h.vocab / f.plan.tp);
    if (h.shares_ends) logits.params = Params<T>();
    if (f.training() && f.structure.chunks_loss())
      chunked_loss(f, rows, logits);
    else if (f.training())
      loss(f, rows);
  } else {
    matmul(f, "pooler", OpGroup::head, h.pooler, f.sequences, h.hidden, h.hidden);
    matmul(f, "classifier", OpGroup::head, select(h.outputs > T{0.0}, T{1.0}, T{0.0}), f.sequences, h.outputs,
           h.hidden)
        .params += params<T>(h.outputs * (1.0 - h.bias));
  }
  for (std::size_t i = first; i < f.ops.size(); ++i) f.ops[i].place = StageScope::last;
}

/// Hyper-connections (mHC): before and after each of the two parts of a layer the residual streams are mixed,
/// with weights that a small product makes of all of them: n to read, n to write, n^2 to mix.
template <class T> void mix_streams(const Frame<T>& f, const T& count) {
  const T &n = f.stack.streams, wide = n * f.stack.hidden, made = n * n + 2.0 * n;
  matmul(f, "stream_weights", OpGroup::norm, count, f.tokens, made, wide).params += params<T>(made + 3.0);
  elementwise(f, "stream_mix", OpGroup::norm, count, f.tokens * wide, 2, 1, 4);
}

template <class T>
void forward_transformer(const Structure& structure, const StackView<T>& h, const Plan<T>& plan,
                         OpList<T>& ops);

/// The encoder whose output the layers of a decoder read, in one pass over all that it is given. It keeps
/// nothing. When serving, its weights lie on the device as those of a tower do, and no step reads them.
template <class T>
void forward_encoder(const Structure& structure, const StackView<T>& encoder, const Plan<T>& plan,
                     OpList<T>& ops) {
  Structure own = structure;
  own.architecture = Architecture::encoder;
  own.causal = false;
  const bool serving = structure.phase == Phase::prefill;
  if (serving) own.phase = Phase::inference;
  Plan<T> pass = plan;
  pass.new_tokens = pass.context = encoded_tokens(plan);
  const std::size_t first = ops.size();
  forward_transformer(own, encoder, pass, ops);
  if (serving)
    for (std::size_t i = first; i < ops.size(); ++i) ops[i].params = Params<T>();
}

/// Appends the forward pass of one micro-batch on the fullest pipeline stage.
template <class T>
void forward_transformer(const Structure& structure, const StackView<T>& h, const Plan<T>& plan,
                         OpList<T>& ops) {
  if (h.encoder && structure.phase != Phase::decode) forward_encoder(structure, *h.encoder, plan, ops);
  const Frame<T> f(structure, h, plan, ops);
  input_embedding(f.edge());

  const T norms = h.layers * f.stage * (0.5 * h.norms);
  // The kernels of residual sum and norm drop the branch's output before: two branches a block, however many
  // norms.
  const T dropped = f.tokens * h.hidden * f.split * (2.0 / max(h.norms, T{1.0}));
  auto& attention_norm = norm(f, "attention_norm", norms);
  attention_norm.recompute_parts = part::none;  // its input is the block's, which is always kept
  dropout_traffic(f, attention_norm, dropped);
  if (h.several_streams) mix_streams(f, T(2.0 * h.layers * f.stage));
  constexpr std::size_t most = 64;  // operators of one kind of mixer or feed-forward, or of the ends
  for (const auto& mixer : h.mixers) {
    ops.reserve(most);
    mix(f, mixer);
  }

  ops.reserve(most);
  dropout_traffic(f, norm(f, "ffn_norm", norms), dropped);
  for (const auto& layer : h.feed_forwards) {
    ops.reserve(most);
    feed(f, layer);
  }
  ops.reserve(most);
  output_head(f.edge());
}

}  // namespace mlsysim::detail

#pragma once
/// Forward pass of a transformer: decoder or encoder.

#include <mlsysim/lowering/attention.hpp>
#include <mlsysim/lowering/feed_forward.hpp>

namespace mlsysim::detail {

template <class T> void input_embedding(const Frame<T>& f) {
  const auto& h = f.shape;
  const T values = f.tokens * h.hidden;
  Op<T>& op = emit(f.ops, OpKind::gather, OpGroup::embedding, "embedding", T{1.0});
  op.place = Place::first;
  op.params = params<T>(h.vocab * h.hidden / f.plan.tp + h.position_rows * h.hidden);
  op.live = f.activations(values);
  op.traffic = op.live + f.plan.weight_bytes * params<T>(values);
  op.unfused_traffic = op.traffic;
  dropout_mask(f, op, values * f.split);
  dropout_traffic(f, op, values * f.split);
  if (f.structure.architecture == Architecture::encoder) {
    const std::size_t first = f.ops.size();
    auto& patch = matmul(f, "patch_embedding", OpGroup::embedding,
                         select(h.patch_inputs > T{0.0}, T{1.0}, T{0.0}), f.tokens, h.hidden, h.patch_inputs);
    patch.params = patch.params + params<T>(2.0 * h.hidden);  // bias and class token
    for (std::size_t i = first; i < f.ops.size(); ++i) f.ops[i].place = Place::first;
  }
  collective(f.ops, "embedding_join",
             f.structure.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce,
             Traffic::tensor, T{1.0}, f.activations(values), f.plan.tp, T{1.0})
      .place = Place::first;
}

/// Cross entropy over logits that are divided over the tensor-parallel ranks: in fp32, several passes.
template <class T> void loss(const Frame<T>& f, const T& rows) {
  const T logits = rows * f.shape.vocab / f.plan.tp;
  auto& op = elementwise(f, "loss", OpGroup::head, T{1.0}, logits, 1, 0, 6);
  // To fp32 (write), maximum (read), exponential and sum (read, write): 16 B a logit beside the read above.
  op.traffic += (16.0 * unit::B) * logits;
  op.unfused_traffic = op.traffic;
  op.kept = (4.0 * unit::B) * logits;
  // At the peak the logits, their fp32 copy and its gradient are alive beside the probabilities that are
  // kept.
  op.live += (8.0 * unit::B) * logits;
}

template <class T> void output_head(const Frame<T>& f) {
  const auto& h = f.shape;
  const std::size_t first = f.ops.size();
  norm(f, "edge_norm", h.edge_norms);
  // Serving needs the logits of the last token of each sequence only.
  const T rows = f.training() ? f.tokens : f.sequences;
  if (f.structure.architecture == Architecture::decoder) {
    if (f.structure.sequence_parallel)
      collective(f.ops, "logits_gather", Collective::all_gather, Traffic::tensor, T{1.0},
                 f.activations(rows * h.hidden), f.plan.tp, T{1.0});
    auto& logits = matmul(f, "logits", OpGroup::head, T{1.0}, rows, h.vocab / f.plan.tp, h.hidden);
    // A tied matrix is the embedding itself where both live on one stage, and a copy of it elsewhere.
    const T copied = select(f.plan.pp > T{1.0}, T{1.0}, T{0.0});
    logits.biased = T{0.0};
    logits.params = params<T>(h.vocab * h.hidden / f.plan.tp * max(h.head_params, copied));
    if (f.training()) loss(f, rows);
  } else {
    matmul(f, "pooler", OpGroup::head, h.pooler, f.sequences, h.hidden, h.hidden);
    matmul(f, "classifier", OpGroup::head, select(h.outputs > T{0.0}, T{1.0}, T{0.0}), f.sequences, h.outputs,
           h.hidden)
        .params += params<T>(h.outputs * (1.0 - h.bias));
  }
  for (std::size_t i = first; i < f.ops.size(); ++i) f.ops[i].place = Place::last;
}

/// Appends the forward pass of one micro-batch on the fullest pipeline stage.
template <class T>
void forward_transformer(const Structure& structure, const Shape<T>& h, const Plan<T>& plan, OpList<T>& ops) {
  const Frame<T> f(structure, h, plan, ops);
  input_embedding(f);

  const T layers = h.layers * f.stage;
  const T norms = layers * (0.5 * h.norms_per_layer);
  // The kernels of residual sum and norm drop the branch's output before: two branches a block, however many
  // norms.
  const T dropped = f.tokens * h.hidden * f.split * (2.0 / max(h.norms_per_layer, T{1.0}));
  auto& attention_norm = norm(f, "attention_norm", norms);
  attention_norm.remade = part::none;  // its input is the block's, which is always kept
  dropout_traffic(f, attention_norm, dropped);
  const T global = (h.layers - h.window_layers - h.linear_layers) * f.stage;
  if (structure.attention == AttentionKind::compressed) {
    const T every = plan.context;  // no selection: all blocks are read
    compressed_attention(f, (h.layers - h.compress4_layers - h.compress128_layers) * f.stage, 1, every);
    compressed_attention(f, h.compress4_layers * f.stage, 4, h.index_top_k);
    compressed_attention(f, h.compress128_layers * f.stage, 128, every);
  } else if (structure.attention == AttentionKind::mla) {
    latent_attention(f, global);
  } else {
    grouped_attention(f, global, plan.context);
  }
  if (structure.windowed) grouped_attention(f, h.window_layers * f.stage, min(h.window, plan.context));
  if (structure.linear) linear_attention(f, h.linear_layers * f.stage);

  dropout_traffic(f, norm(f, "ffn_norm", norms), dropped);
  if (!structure.moe) {
    dense_feed_forward(f, layers);
  } else {
    dense_feed_forward(f, (h.layers - h.moe_layers) * f.stage);
    expert_feed_forward(f, h.moe_layers * f.stage);
  }
  output_head(f);
}

}  // namespace mlsysim::detail

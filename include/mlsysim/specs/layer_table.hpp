#pragma once
/// The layers of a model: stacks of runs of layers, each layer with mixers, reach, feed-forward and residual.
///
///     depth = sum over runs and pattern layers of run.times * layer.times
///
/// Sizes that a file does not state are absent, and each member says what absence means. Flags and choices
/// are categories that fix the operators. Parts without a lowering rule are kept too (`parts_without_law`).
/// Example: 8 times a pattern of 5 sliding-window layers and 1 full layer is a stack of depth 48.

#include <mlsysim/reflect/field.hpp>
#include <mlsysim/specs/choices.hpp>

#include <optional>
#include <vector>

namespace mlsysim {

/// Role of a stack. A tower reads images or sound for a decoder; a draft proposes further tokens (MTP).
enum class StackRole : std::uint8_t { decoder, encoder, tower, draft };
template <> inline constexpr auto names_of<StackRole> = ChoiceNames{"role of a stack"};

/// Rule by which linear attention writes its state. `kda` decays each channel by itself (Kimi).
enum class LinearRule : std::uint8_t { gated_delta, kda, delta, gated, lightning, rwkv };
template <> inline constexpr auto names_of<LinearRule> = ChoiceNames{"rule of linear attention"};

enum class StateSpaceRule : std::uint8_t { mamba1, mamba2 };
template <> inline constexpr auto names_of<StateSpaceRule> = ChoiceNames{"rule of a state space"};

enum class RecurrentRule : std::uint8_t { rg_lru, lstm, gru };
template <> inline constexpr auto names_of<RecurrentRule> = ChoiceNames{"rule of a recurrence"};

enum class Activation : std::uint8_t { unstated, silu, gelu, relu, relu2, swiglu_oai, situ };
template <> inline constexpr auto names_of<Activation> = ChoiceNames{"activation"};

/// How experts are chosen: the best ones, groups first and then experts, or by a hash of the token.
enum class Routing : std::uint8_t { top_k, grouped, hash };
template <> inline constexpr auto names_of<Routing> = ChoiceNames{"routing"};

/// The width that norms on queries and keys span.
enum class QkNorm : std::uint8_t { none, head, full };
template <> inline constexpr auto names_of<QkNorm> = ChoiceNames{"query-key norm"};

/// Tensors that are stored alike.
enum class TensorGroup : std::uint8_t {
  all,
  embedding,
  attention,
  linear,
  dense,
  shared_experts,
  experts,
  router,
  head,
  tower,
  draft,
  cache,
  index_keys,
  state
};
template <> inline constexpr auto names_of<TensorGroup> = ChoiceNames{"group of tensors"};

/// Multi-head, grouped-query or multi-query attention, also with compressed queries and outputs
/// (DeepSeek-V4).
struct GroupedAttention {
  std::optional<double> heads;
  std::optional<double> kv_heads;                                 ///< absent: as many as heads
  std::optional<double> head_dim;                                 ///< absent: hidden / heads
  std::optional<double> value_head_dim;                           ///< absent: head_dim
  std::optional<double> rope_dim;                                 ///< absent: the whole head
  std::optional<double> q_lora_rank, output_rank, output_groups;  ///< absent: projections of full rank
  bool qkv_bias = false, output_bias = false, sinks = false, output_gate = false;
  bool shared_kv = false;   ///< keys and values are one vector (Gemma 4, DeepSeek-V4)
  bool borrows_kv = false;  ///< reads the cache of an earlier layer and has no key-value projection
  QkNorm qk_norm = QkNorm::none;

  template <class A = GroupedAttention> static constexpr auto fields() {
    return rows(
        field(&A::heads, "heads", "", "query heads").positive(),
        field(&A::kv_heads, "kv_heads", "", "key and value heads").positive(),
        field(&A::head_dim, "head_dim", "", "width of a query and key head").positive(),
        field(&A::value_head_dim, "value_head_dim", "", "width of a value head").positive(),
        field(&A::rope_dim, "rope_dim", "", "part of a head that is rotated").non_negative(),
        field(&A::q_lora_rank, "q_lora_rank", "", "rank of the query projection").positive(),
        field(&A::output_rank, "output_rank", "", "rank of the output projection, each group").positive(),
        field(&A::output_groups, "output_groups", "", "groups of the output projection").positive(),
        field(&A::qkv_bias, "qkv_bias", "", "query, key and value projections have a bias").defaulted("none"),
        field(&A::output_bias, "output_bias", "", "the output projection has a bias").defaulted("none"),
        field(&A::sinks, "sinks", "", "one learned sink per head").defaulted("none"),
        field(&A::output_gate, "output_gate", "", "a projection of its own gates the output")
            .defaulted("none"),
        field(&A::shared_kv, "shared_kv", "", "keys and values are one vector").defaulted("two"),
        field(&A::borrows_kv, "borrows_kv", "", "reads the cache of an earlier layer").defaulted("its own"),
        field(&A::qk_norm, "qk_norm", "", "norms on queries and keys").defaulted("none"));
  }
};

/// Multi-head latent attention (MLA).
struct LatentAttention {
  std::optional<double> heads;
  std::optional<double> q_lora_rank;  ///< absent: full rank
  std::optional<double> kv_lora_rank, nope_head_dim;
  std::optional<double> rope_head_dim;  ///< 0: no position encoding
  std::optional<double> value_head_dim;
  bool output_gate = false;

  template <class A = LatentAttention> static constexpr auto fields() {
    return rows(field(&A::heads, "heads", "", "query heads").positive(),
                field(&A::q_lora_rank, "q_lora_rank", "", "rank of the query compression").positive(),
                field(&A::kv_lora_rank, "kv_lora_rank", "", "rank of the key-value compression").positive(),
                field(&A::nope_head_dim, "nope_head_dim", "", "head width without rotation").positive(),
                field(&A::rope_head_dim, "rope_head_dim", "", "head width with rotation").non_negative(),
                field(&A::value_head_dim, "value_head_dim", "", "width of a value head").positive(),
                field(&A::output_gate, "output_gate", "", "a projection of its own gates the output")
                    .defaulted("none"));
  }
};

/// Attention with a recurrent state per value head instead of a cache.
struct LinearAttention {
  LinearRule rule = LinearRule::gated_delta;
  std::optional<double> key_heads, value_heads, key_head_dim;
  std::optional<double> value_head_dim;      ///< absent: key_head_dim
  std::optional<double> conv_width;          ///< absent: no convolution
  std::optional<double> decay_rank;          ///< of kda; absent: key_head_dim
  std::optional<double> gate_rank;           ///< of the output gate; absent: full rank
  std::optional<Precision> state_precision;  ///< absent: fp32

  template <class L = LinearAttention> static constexpr auto fields() {
    return rows(field(&L::rule, "rule", "", "rule of the recurrence").defaulted("gated_delta"),
                field(&L::key_heads, "key_heads", "", "query and key heads").positive(),
                field(&L::value_heads, "value_heads", "", "value heads").positive(),
                field(&L::key_head_dim, "key_head_dim", "", "width of a query and key head").positive(),
                field(&L::value_head_dim, "value_head_dim", "", "width of a value head").positive(),
                field(&L::conv_width, "conv_width", "", "taps of the short convolution").positive(),
                field(&L::decay_rank, "decay_rank", "", "rank of the decay").positive(),
                field(&L::gate_rank, "gate_rank", "", "rank of the output gate").positive(),
                field(&L::state_precision, "state_precision", "", "format of the state"));
  }
};

/// State-space block (Mamba).
struct StateSpace {
  StateSpaceRule rule = StateSpaceRule::mamba1;
  std::optional<double> state_size, expand, heads, head_dim, groups, conv_width, dt_rank, chunk;
  bool conv_bias = false, projection_bias = false;
  std::optional<Precision> state_precision;

  template <class S = StateSpace> static constexpr auto fields() {
    return rows(
        field(&S::rule, "rule", "", "rule of the recurrence").defaulted("mamba1"),
        field(&S::state_size, "state_size", "", "state per channel").positive(),
        field(&S::expand, "expand", "", "inner width over the residual width").positive(),
        field(&S::heads, "heads", "", "heads (mamba2)").positive(),
        field(&S::head_dim, "head_dim", "", "width of one head (mamba2)").positive(),
        field(&S::groups, "groups", "", "groups that share input and output matrices (mamba2)").positive(),
        field(&S::conv_width, "conv_width", "", "taps of the short convolution").positive(),
        field(&S::dt_rank, "dt_rank", "", "rank of the step projection").positive(),
        field(&S::chunk, "chunk", "", "tokens of one chunk of the scan (mamba2)").positive(),
        field(&S::conv_bias, "conv_bias", "", "the convolution has a bias").defaulted("none"),
        field(&S::projection_bias, "projection_bias", "", "the projections have a bias").defaulted("none"),
        field(&S::state_precision, "state_precision", "", "format of the state"));
  }
};

/// Recurrent block of another rule.
struct Recurrent {
  RecurrentRule rule = RecurrentRule::rg_lru;
  std::optional<double> width, conv_width;

  template <class R = Recurrent> static constexpr auto fields() {
    return rows(field(&R::rule, "rule", "", "rule of the recurrence").defaulted("rg_lru"),
                field(&R::width, "width", "", "width of the state").positive(),
                field(&R::conv_width, "conv_width", "", "taps of the short convolution").positive());
  }
};

/// Layer that moves information between tokens. None: no mixer. Several run side by side on one input, and
/// their outputs are summed (Falcon-H1). `cross` reads the output of the encoder, after the others and behind
/// its own norm.
struct Mixer {
  std::optional<GroupedAttention> grouped;
  std::optional<LatentAttention> latent;
  std::optional<LinearAttention> linear;
  std::optional<StateSpace> state_space;
  std::optional<Recurrent> recurrent;
  std::optional<GroupedAttention> cross;

  template <class M = Mixer> static constexpr auto fields() {
    return rows(field(&M::grouped, "grouped", "", "multi-head, grouped-query or multi-query attention"),
                field(&M::latent, "latent", "", "multi-head latent attention"),
                field(&M::linear, "linear", "", "attention with a recurrent state"),
                field(&M::state_space, "state_space", "", "state-space block"),
                field(&M::recurrent, "recurrent", "", "recurrent block"),
                field(&M::cross, "cross", "", "attention over the output of the encoder"));
  }
};

/// A light-weight index that chooses the entries that attention reads (DeepSeek-V3.2).
struct Selection {
  std::optional<double> heads, head_dim, top_k;
  std::optional<double> block;      ///< tokens of one entry; absent: 1
  std::optional<double> pool;       ///< tokens that share an index key; absent: 1
  std::optional<double> key_bytes;  ///< stored width of a value of an index key; absent: that of the cache
  bool shared = false;              ///< uses the choice of an earlier layer

  template <class S = Selection> static constexpr auto fields() {
    return rows(field(&S::heads, "heads", "", "heads of the index").positive(),
                field(&S::head_dim, "head_dim", "", "width of an index head").positive(),
                field(&S::top_k, "top_k", "", "entries that attention reads").positive(),
                field(&S::block, "block", "", "tokens of one entry").positive(),
                field(&S::pool, "pool", "", "tokens that share an index key").positive(),
                field(&S::key_bytes, "key_bytes", "", "stored bytes of one value of an index key").positive(),
                field(&S::shared, "shared", "", "uses the choice of an earlier layer").defaulted("its own"));
  }
};

/// Which earlier tokens attention sees. Nothing stated: all. A window beside `compress` is the recent past at
/// full resolution beside the compressed one.
struct Reach {
  std::optional<double> window, chunk;
  std::optional<double> compress;  ///< tokens of one compressed entry
  bool overlapping = false;        ///< compressed entries overlap: two projections each
  std::optional<Selection> select;

  template <class R = Reach> static constexpr auto fields() {
    return rows(field(&R::window, "window", "", "tokens that a token sees, itself included").positive(),
                field(&R::chunk, "chunk", "", "tokens of one attention chunk").positive(),
                field(&R::compress, "compress", "", "tokens of one compressed entry").positive(),
                field(&R::overlapping, "overlapping", "", "compressed entries overlap").defaulted("apart"),
                field(&R::select, "select", "", "index that chooses what is read"));
  }
};

/// Feed-forward layer: two matrices, or three where it is gated.
struct DenseFeedForward {
  std::optional<double> width;
  bool gated = true, bias = false;
  Activation activation = Activation::unstated;

  template <class D = DenseFeedForward> static constexpr auto fields() {
    return rows(field(&D::width, "width", "", "inner width").positive(),
                field(&D::gated, "gated", "", "three matrices instead of two").defaulted("gated"),
                field(&D::bias, "bias", "", "the matrices have biases").defaulted("none"),
                field(&D::activation, "activation", "", "function between them").defaulted("unstated"));
  }
};

/// Mixture of experts.
struct Experts {
  std::optional<double> count, top_k, width;
  std::optional<double> shared;        ///< absent: none
  std::optional<double> shared_width;  ///< absent: width
  std::optional<double> latent;        ///< width at which routed experts work; absent: hidden
  std::optional<double> groups, limited_groups;
  bool gated = true, bias = false, router_bias = false, shared_gate = false, latent_norm = false;
  Routing routing = Routing::top_k;
  Activation activation = Activation::unstated;

  template <class E = Experts> static constexpr auto fields() {
    return rows(
        field(&E::count, "count", "", "routed experts of a layer").positive(),
        field(&E::top_k, "top_k", "", "experts that a token visits").positive(),
        field(&E::width, "width", "", "inner width of an expert").positive(),
        field(&E::shared, "shared", "", "experts that every token visits").non_negative(),
        field(&E::shared_width, "shared_width", "", "inner width of a shared expert").positive(),
        field(&E::latent, "latent", "", "width at which routed experts work").positive(),
        field(&E::groups, "groups", "", "groups of experts").positive(),
        field(&E::limited_groups, "limited_groups", "", "groups that a token may visit").positive(),
        field(&E::gated, "gated", "", "three matrices an expert instead of two").defaulted("gated"),
        field(&E::bias, "bias", "", "the matrices of an expert have biases").defaulted("none"),
        field(&E::router_bias, "router_bias", "", "one router bias per expert").defaulted("none"),
        field(&E::shared_gate, "shared_gate", "", "a vector gates the shared expert").defaulted("none"),
        field(&E::latent_norm, "latent_norm", "", "a norm at the width of routed experts").defaulted("none"),
        field(&E::routing, "routing", "", "how experts are chosen").defaulted("top_k"),
        field(&E::activation, "activation", "", "function between the matrices").defaulted("unstated"));
  }
};

/// Dense, experts, both on one input (Arctic), or none.
struct FeedForward {
  std::optional<DenseFeedForward> dense;
  std::optional<Experts> experts;

  template <class F = FeedForward> static constexpr auto fields() {
    return rows(field(&F::dense, "dense", "", "one network for every token"),
                field(&F::experts, "experts", "", "mixture of experts"));
  }
};

/// How the parts of a layer join the residual stream.
struct Residual {
  double norms = 2;
  bool norm_bias = false;
  bool parallel = false;               ///< mixer and feed-forward read one norm and join once (GPT-J)
  double streams = 1;                  ///< residual streams (hyper-connections)
  std::optional<double> memory_every;  ///< layers between two that attend to earlier residuals

  template <class R = Residual> static constexpr auto fields() {
    return rows(
        field(&R::norms, "norms", "", "norms of one layer").within(0, 8).defaulted("2"),
        field(&R::norm_bias, "norm_bias", "", "norms have a bias").defaulted("none"),
        field(&R::parallel, "parallel", "", "mixer and feed-forward side by side").defaulted("in turn"),
        field(&R::streams, "streams", "", "residual streams").at_least(1).defaulted("1"),
        field(&R::memory_every, "memory_every", "", "layers between two that attend to earlier residuals")
            .positive());
  }
};

/// One layer, or several equal ones in a row. Parts that it does not state come from its stack.
struct Layer {
  std::optional<double> times;  ///< absent: once
  std::optional<Mixer> mixer;
  std::optional<Reach> reach;
  std::optional<FeedForward> feed_forward;
  std::optional<Residual> residual;

  template <class L = Layer> static constexpr auto fields() {
    return rows(field(&L::times, "times", "", "how often in a row").at_least(1),
                field(&L::mixer, "mixer", "", "what moves information between tokens"),
                field(&L::reach, "reach", "", "which earlier tokens attention sees"),
                field(&L::feed_forward, "feed_forward", "", "what works on each token by itself"),
                field(&L::residual, "residual", "", "norms and joins"));
  }
};

/// A repeated pattern of layers. Without a pattern it is one layer as its stack states it.
struct LayerRun {
  std::optional<double> times;  ///< absent: once
  std::vector<Layer> pattern;

  template <class R = LayerRun> static constexpr auto fields() {
    return rows(field(&R::times, "times", "", "repetitions of the pattern").positive(),
                field(&R::pattern, "pattern", "", "layers of one repetition").defaulted("one layer"));
  }
};

/// Tables from which rows are read: n-gram or per-layer embeddings.
struct Lookup {
  std::optional<double> rows, width, reads;
  bool per_layer = false;

  template <class L = Lookup> static constexpr auto fields() {
    return mlsysim::rows(field(&L::rows, "rows", "", "rows of the table").positive(),
                         field(&L::width, "width", "", "values of one row").positive(),
                         field(&L::reads, "reads", "", "rows that a token reads").positive(),
                         field(&L::per_layer, "per_layer", "", "every layer has its own").defaulted("one"));
  }
};

/// Input of a stack: tokens, patches of an image, or frames of sound.
struct StackInput {
  std::optional<double> vocab;
  std::optional<double> positions;  ///< rows of learned positions; absent: none
  std::optional<double> token_types;
  std::optional<double> image_size, patch_size, temporal_patch_size, channels, merge, max_tokens, frame_width;
  bool norm = false;
  std::vector<Lookup> lookups;

  template <class S = StackInput> static constexpr auto fields() {
    return rows(field(&S::vocab, "vocab", "", "vocabulary").positive(),
                field(&S::positions, "positions", "", "learned position embeddings").positive(),
                field(&S::token_types, "token_types", "", "segment embeddings").positive(),
                field(&S::image_size, "image_size", "", "height and width of the image").positive(),
                field(&S::patch_size, "patch_size", "", "height and width of a patch").positive(),
                field(&S::temporal_patch_size, "temporal_patch_size", "", "frames of a patch").positive(),
                field(&S::channels, "channels", "", "channels of the image").positive(),
                field(&S::merge, "merge", "", "patches, in each direction, that become one token").positive(),
                field(&S::max_tokens, "max_tokens", "", "tokens of one image at most").positive(),
                field(&S::frame_width, "frame_width", "", "values of one frame of sound").positive(),
                field(&S::norm, "norm", "", "norm after the embedding").defaulted("none"),
                field(&S::lookups, "lookups", "", "further tables of embeddings").defaulted("none"));
  }
};

struct StackOutput {
  bool logits = true;  ///< decoder: a distribution over the vocabulary
  bool tied = false, bias = false, norm = true, pooler = false;
  std::optional<double> classes, projector_width;

  template <class S = StackOutput> static constexpr auto fields() {
    return rows(
        field(&S::logits, "logits", "", "ends in a distribution over the vocabulary").defaulted("present"),
        field(&S::tied, "tied", "", "the output matrix is the input embedding").defaulted("untied"),
        field(&S::bias, "bias", "", "the output matrix has a bias").defaulted("none"),
        field(&S::norm, "norm", "", "norm before the output").defaulted("present"),
        field(&S::pooler, "pooler", "", "ends in a pooling matrix").defaulted("none"),
        field(&S::classes, "classes", "", "classes of the output").positive(),
        field(&S::projector_width, "projector_width", "", "width of the stack that reads it").positive());
  }
};

/// Layers in sequence, with their input and output.
struct Stack {
  StackRole role = StackRole::decoder;
  std::optional<double> hidden;
  std::vector<LayerRun> layers;
  // Defaults for every layer that does not state its own.
  Mixer mixer;
  Reach reach;
  FeedForward feed_forward;
  Residual residual;
  StackInput input;
  StackOutput output;
  bool biases = false;             ///< every product has a bias (GPT-2, BERT)
  std::optional<double> predicts;  ///< draft: tokens it adds in one pass; absent: 1
  bool own_embedding = false;      ///< draft: embedding and head are not those of the decoder

  /// Layers of all runs.
  [[nodiscard]] double depth() const;

  template <class S = Stack> static constexpr auto fields() {
    return rows(
        field(&S::role, "role", "", "what the stack is for").defaulted("decoder"),
        field(&S::hidden, "hidden", "", "width of the residual stream").positive(),
        field(&S::layers, "layers", "", "runs of layers, in order").defaulted("absent"),
        field(&S::mixer, "mixer", "", "what moves information between tokens").defaulted("none"),
        field(&S::reach, "reach", "", "which earlier tokens attention sees").defaulted("all"),
        field(&S::feed_forward, "feed_forward", "", "what works on each token by itself").defaulted("none"),
        field(&S::residual, "residual", "", "norms and joins").defaulted("two norms"),
        field(&S::input, "input", "", "what the stack reads").defaulted("absent"),
        field(&S::output, "output", "", "what the stack gives").defaulted("logits"),
        field(&S::biases, "biases", "", "every product has a bias").defaulted("none"),
        field(&S::predicts, "predicts", "", "tokens that a draft adds in one pass").positive(),
        field(&S::own_embedding, "own_embedding", "", "a draft with an embedding of its own")
            .defaulted("shared"));
  }
};

/// A stated layer, with the parts that its stack supplies.
struct LayerPlace {
  const Mixer* mixer;
  const Reach* reach;
  const FeedForward* feed_forward;
  const Residual* residual;
  const LayerRun* run;
  const Layer* layer;  ///< null where the run has no pattern
};

/// Calls `f(LayerPlace)` for each layer that a stack states, in order: once for a layer of a pattern, however
/// often it occurs.
template <class F> void for_each_place(const Stack& stack, F&& f) {
  const auto or_stack = [](const auto& own, const auto& of_stack) { return own ? &*own : &of_stack; };
  for (const LayerRun& run : stack.layers) {
    if (run.pattern.empty())
      f(LayerPlace{&stack.mixer, &stack.reach, &stack.feed_forward, &stack.residual, &run, nullptr});
    for (const Layer& layer : run.pattern)
      f(LayerPlace{or_stack(layer.mixer, stack.mixer), or_stack(layer.reach, stack.reach),
                   or_stack(layer.feed_forward, stack.feed_forward), or_stack(layer.residual, stack.residual),
                   &run, &layer});
  }
}

/// Whether attention is of the compressed kind: one vector for keys and values, and projections through low
/// ranks on both sides.
[[nodiscard]] inline bool is_compressed(const GroupedAttention& a) {
  return a.shared_kv && a.q_lora_rank && a.output_rank && a.output_groups;
}

/// How a group of tensors is stored; the format of the arithmetic is the request's.
struct StoredFormat {
  TensorGroup tensors = TensorGroup::all;
  Precision precision = Precision::bf16;
  std::optional<double> block;       ///< values in a row that share a scale; absent: none is stored
  std::optional<double> block_rows;  ///< rows that share it; absent: 1
  std::optional<Data<>> scale;       ///< one scale
  std::optional<double> bits;        ///< of a weight, scales included, where they take no place of their own

  template <class F = StoredFormat> static constexpr auto fields() {
    return rows(
        field(&F::tensors, "tensors", "", "which tensors").defaulted("all"),
        field(&F::precision, "precision", "", "format of a value"),
        field(&F::block, "block", "", "values in a row that share a scale").positive(),
        field(&F::block_rows, "block_rows", "", "rows that share a scale").positive(),
        field(&F::scale, "scale", "B", "one scale").positive(),
        field(&F::bits, "bits", "", "bits of a weight, in place of precision, block and scale").positive());
  }
};

/// Sizes of a model whose layers are not listed.
struct Outline {
  std::optional<double> layers, hidden, heads, experts, top_k, image_size;

  template <class O = Outline> static constexpr auto fields() {
    return rows(field(&O::layers, "layers", "", "layers").positive(),
                field(&O::hidden, "hidden", "", "width of the residual stream").positive(),
                field(&O::heads, "heads", "", "query heads").positive(),
                field(&O::experts, "experts", "", "routed experts of a layer").positive(),
                field(&O::top_k, "top_k", "", "experts that a token visits").positive(),
                field(&O::image_size, "image_size", "", "height and width of the image").positive());
  }
};

// Made in src/specs/zoo_tables.cpp, once for all units.
extern template const TableInfo& field_table<Stack>();

}  // namespace mlsysim

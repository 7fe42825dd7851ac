#pragma once
/// A machine-learning model: its totals and, where known, its shape.

#include <mlsysim/spec/choices.hpp>
#include <mlsysim/table/describe.hpp>
#include <mlsysim/units/quantity.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

struct Entry;

/// What norms on queries and keys span.
enum class QkNorm : std::uint8_t { none, head, full };
template <> struct Choices<QkNorm> {
  static constexpr std::string_view what = "query-key norm";
  static constexpr std::array<std::string_view, 3> names{"none", "head", "full"};
};

/// Sizes of a transformer.
struct TransformerShape {
  std::optional<double> layers, hidden, ffn, heads, kv_heads, head_dim, vocab;
  bool gated_ffn = false;
  bool tied_embeddings = false;
  bool learned_positions = false;
  bool biases = false;              ///< every projection has a bias (GPT-2, BERT)
  bool norm_biases = false;         ///< norms have a bias beside their weight
  bool qkv_biases = false;          ///< query, key and value projections have a bias (Qwen2)
  bool attention_biases = false;    ///< query, key, value and output projections have a bias
  bool expert_biases = false;       ///< the matrices of an expert have biases
  bool router_biases = false;       ///< the router has one bias per expert
  bool head_bias = false;           ///< the output matrix has a bias
  bool attention_sinks = false;     ///< one learned sink per head
  bool shared_expert_gate = false;  ///< a vector gates the shared expert
  bool embedding_norm = false;      ///< norm after the embedding
  bool final_norm = true;           ///< norm before the output
  QkNorm qk_norm = QkNorm::none;    ///< norms on queries and keys: one per head width, or over all heads
  bool pooler = false;              ///< encoder with a pooling matrix
  double norms_per_layer = 2;
  std::optional<double> token_types;
  std::optional<double> classes, image_size, patch_size;  ///< vision transformers

  static constexpr auto fields() {
    using S = TransformerShape;
    return rows(
        field(&S::layers, "layers", "", "transformer blocks").positive(),
        field(&S::hidden, "hidden", "", "width of the residual stream").positive(),
        field(&S::ffn, "ffn", "", "width of the dense feed-forward layer").positive(),
        field(&S::heads, "heads", "", "query heads").positive(),
        field(&S::kv_heads, "kv_heads", "", "key and value heads").positive(),
        field(&S::head_dim, "head_dim", "", "width of one head").positive(),
        field(&S::vocab, "vocab", "", "vocabulary").positive(),
        field(&S::gated_ffn, "gated_ffn", "", "three feed-forward matrices").defaulted("two matrices"),
        field(&S::tied_embeddings, "tied_embeddings", "", "output shares the input embedding")
            .defaulted("untied"),
        field(&S::learned_positions, "learned_positions", "", "position embeddings are weights")
            .defaulted("none"),
        field(&S::biases, "biases", "", "every projection and norm has a bias").defaulted("none"),
        field(&S::norm_biases, "norm_biases", "", "norms have a bias").defaulted("none"),
        field(&S::qkv_biases, "qkv_biases", "", "query, key, value projections have a bias")
            .defaulted("none"),
        field(&S::attention_biases, "attention_biases", "", "all projections of attention have a bias")
            .defaulted("none"),
        field(&S::expert_biases, "expert_biases", "", "the matrices of an expert have biases")
            .defaulted("none"),
        field(&S::router_biases, "router_biases", "", "one router bias per expert").defaulted("none"),
        field(&S::head_bias, "head_bias", "", "the output matrix has a bias").defaulted("none"),
        field(&S::attention_sinks, "attention_sinks", "", "one learned sink per head").defaulted("none"),
        field(&S::shared_expert_gate, "shared_expert_gate", "", "a vector gates the shared expert")
            .defaulted("none"),
        field(&S::embedding_norm, "embedding_norm", "", "norm after the embedding").defaulted("none"),
        field(&S::final_norm, "final_norm", "", "norm before the output").defaulted("present"),
        field(&S::qk_norm, "qk_norm", "", "norms on queries and keys").defaulted("none"),
        field(&S::pooler, "pooler", "", "encoder ends in a pooling matrix").defaulted("none"),
        field(&S::norms_per_layer, "norms_per_layer", "", "norms of one block").within(1, 8).defaulted("2"),
        field(&S::token_types, "token_types", "", "segment embeddings").positive(),
        field(&S::classes, "classes", "", "classes of the output").positive(),
        field(&S::image_size, "image_size", "", "height and width of the image").positive(),
        field(&S::patch_size, "patch_size", "", "height and width of a patch").positive());
  }
};

struct AttentionShape {
  AttentionKind kind = AttentionKind::mha;
  std::optional<double> q_lora_rank, kv_lora_rank, nope_head_dim, rope_head_dim, value_head_dim;
  std::optional<double> sliding_window, full_attention_layers, chunk;
  std::string pattern;

  static constexpr auto fields() {
    using A = AttentionShape;
    return rows(
        field(&A::kind, "kind", "", "how keys and values are kept").defaulted("mha"),
        field(&A::q_lora_rank, "q_lora_rank", "", "rank of the query compression").positive(),
        field(&A::kv_lora_rank, "kv_lora_rank", "", "rank of the key-value compression").positive(),
        field(&A::nope_head_dim, "nope_head_dim", "", "head width without rotation").positive(),
        field(&A::rope_head_dim, "rope_head_dim", "", "head width with rotation").positive(),
        field(&A::value_head_dim, "value_head_dim", "", "width of a value head").positive(),
        field(&A::sliding_window, "sliding_window", "", "tokens a windowed layer sees").positive(),
        field(&A::full_attention_layers, "full_attention_layers", "", "layers that see the whole context")
            .non_negative(),
        field(&A::chunk, "chunk", "", "tokens of one attention chunk").positive(),
        field(&A::pattern, "pattern", "", "order of the layer kinds, in words").defaulted("uniform"));
  }
};

/// Mixture of experts.
struct MoeShape {
  std::optional<double> experts, top_k, shared_experts, expert_ffn, shared_expert_ffn, dense_layers,
      moe_every;

  static constexpr auto fields() {
    using M = MoeShape;
    return rows(
        field(&M::experts, "experts", "", "routed experts per layer").positive(),
        field(&M::top_k, "top_k", "", "experts that a token visits").positive(),
        field(&M::shared_experts, "shared_experts", "", "experts that every token visits").non_negative(),
        field(&M::expert_ffn, "expert_ffn", "", "width of one expert").positive(),
        field(&M::shared_expert_ffn, "shared_expert_ffn", "", "width of a shared expert, if another")
            .positive(),
        field(&M::dense_layers, "dense_layers", "", "layers with a dense feed-forward instead")
            .non_negative(),
        field(&M::moe_every, "moe_every", "", "one layer in so many has experts").positive());
  }
};

/// Layers with a recurrent state instead of a KV cache.
struct LinearAttentionShape {
  std::string kind;
  std::optional<double> layers, key_heads, value_heads, head_dim, conv_width;

  static constexpr auto fields() {
    using L = LinearAttentionShape;
    return rows(field(&L::kind, "kind", "", "rule of the recurrence").defaulted("unstated"),
                field(&L::layers, "layers", "", "layers of this kind").non_negative(),
                field(&L::key_heads, "key_heads", "", "query and key heads").positive(),
                field(&L::value_heads, "value_heads", "", "value heads").positive(),
                field(&L::head_dim, "head_dim", "", "width of one head").positive(),
                field(&L::conv_width, "conv_width", "", "taps of the short convolution").positive());
  }
};

/// State-space blocks.
struct StateSpaceShape {
  std::optional<double> state_size, expand, conv_width, dt_rank;

  static constexpr auto fields() {
    using S = StateSpaceShape;
    return rows(field(&S::state_size, "state_size", "", "state per channel").positive(),
                field(&S::expand, "expand", "", "inner width over the residual width").positive(),
                field(&S::conv_width, "conv_width", "", "taps of the short convolution").positive(),
                field(&S::dt_rank, "dt_rank", "", "rank of the step projection").positive());
  }
};

/// Iterated denoising.
struct DiffusionShape {
  std::optional<double> denoising_steps, resolution, evaluations_per_step;

  static constexpr auto fields() {
    using D = DiffusionShape;
    return rows(
        field(&D::denoising_steps, "denoising_steps", "", "steps of one image").positive(),
        field(&D::resolution, "resolution", "", "height and width of the image").positive(),
        field(&D::evaluations_per_step, "evaluations_per_step", "", "network runs per step").positive());
  }
};

/// Embedding tables and the networks around them.
struct RecommendationShape {
  std::optional<Data<>> model_size;
  std::optional<double> embedding_entries, dense_features, embedding_dim, cross_layers, cross_rank,
      rows_per_sample;
  std::vector<Params<>> parameter_range;
  std::vector<double> bottom_mlp, top_mlp, table_rows, table_pooling;

  static constexpr auto fields() {
    using R = RecommendationShape;
    return rows(
        field(&R::model_size, "model_size", "GB", "published size").positive(),
        field(&R::embedding_entries, "embedding_entries", "", "values in all tables").positive(),
        field(&R::dense_features, "dense_features", "", "continuous inputs").positive(),
        field(&R::embedding_dim, "embedding_dim", "", "width of one row").positive(),
        field(&R::cross_layers, "cross_layers", "", "layers of the cross network").positive(),
        field(&R::cross_rank, "cross_rank", "", "rank of a cross layer").positive(),
        field(&R::rows_per_sample, "rows_per_sample", "", "rows that one sample reads").positive(),
        field(&R::parameter_range, "parameter_range", "Gparam", "usual sizes of the class").positive(),
        field(&R::bottom_mlp, "bottom_mlp", "", "widths of the network before the tables").positive(),
        field(&R::top_mlp, "top_mlp", "", "widths of the network after the tables").positive(),
        field(&R::table_rows, "table_rows", "", "rows of each table").positive(),
        field(&R::table_pooling, "table_pooling", "", "rows that one sample reads of each table").positive());
  }
};

/// How the border of an image is treated.
enum class Padding : std::uint8_t { same, valid };
template <> struct Choices<Padding> {
  static constexpr std::string_view what = "padding";
  static constexpr std::array<std::string_view, 2> names{"same", "valid"};
};

/// Kind of a record of a convolutional network.
enum class LayerOp : std::uint8_t { conv, depthwise, linear, pool };
template <> struct Choices<LayerOp> {
  static constexpr std::string_view what = "layer";
  static constexpr std::array<std::string_view, 4> names{"conv", "depthwise", "linear", "pool"};
};

/// One record of a convolutional network; with "same" padding the output is ceil(size / stride).
struct ConvLayer {
  LayerOp op = LayerOp::conv;
  std::optional<double> in, out, channels, kernel, kernel_h, kernel_w, stride, size, size_h, size_w, groups,
      times;
  bool bias = false, batch_norm = false;
  bool residual = false;   ///< the input of the block is added to its output
  bool unit_bias = false;  ///< a bias per output unit instead of per channel
  Padding padding = Padding::same;

  static constexpr auto fields() {
    using C = ConvLayer;
    return rows(field(&C::op, "op", "", "conv, depthwise, linear or pool"),
                field(&C::in, "in", "", "input channels or features").positive(),
                field(&C::out, "out", "", "output channels or features").positive(),
                field(&C::channels, "channels", "", "channels of a depthwise or pooling layer").positive(),
                field(&C::kernel, "kernel", "", "height and width of the kernel").positive(),
                field(&C::kernel_h, "kernel_h", "", "height of the kernel").positive(),
                field(&C::kernel_w, "kernel_w", "", "width of the kernel").positive(),
                field(&C::stride, "stride", "", "step of the kernel").positive(),
                field(&C::size, "size", "", "height and width of the input").positive(),
                field(&C::size_h, "size_h", "", "height of the input").positive(),
                field(&C::size_w, "size_w", "", "width of the input").positive(),
                field(&C::groups, "groups", "", "groups of channels").positive(),
                field(&C::times, "times", "", "how often the record occurs").positive(),
                field(&C::bias, "bias", "", "has a bias").defaulted("none"),
                field(&C::batch_norm, "batch_norm", "", "followed by batch normalisation").defaulted("none"),
                field(&C::residual, "residual", "", "ends a block whose input is added").defaulted("none"),
                field(&C::unit_bias, "unit_bias", "", "one bias per output unit").defaulted("none"),
                field(&C::padding, "padding", "", "same or valid").defaulted("same"));
  }
};

/// Published cost of one inference.
struct InferenceTotals {
  std::optional<Work<>> work;
  WorkUnit per = WorkUnit::token;
  std::optional<double> sequence_length;
  std::optional<Energy<>> energy;

  static constexpr auto fields() {
    using I = InferenceTotals;
    return rows(
        field(&I::work, "work", "GFLOP", "arithmetic of one unit of work").positive(),
        field(&I::per, "per", "", "unit of work").defaulted("token"),
        field(&I::sequence_length, "sequence_length", "", "tokens when the unit is a sequence").positive(),
        field(&I::energy, "energy", "J", "energy of one unit of work").positive());
  }
};

/// Published facts of the training run.
struct TrainingTotals {
  std::optional<Tokens<>> tokens;
  std::optional<Work<>> work;
  std::optional<Data<>> dataset_size;
  std::optional<double> accelerators;
  std::optional<Time<>> days, gpu_days, pretraining_gpu_days;
  std::optional<Energy<>> energy;
  std::string hardware;

  static constexpr auto fields() {
    using R = TrainingTotals;
    return rows(
        field(&R::tokens, "tokens", "Ttoken", "tokens seen").positive(),
        field(&R::work, "work", "FLOP", "arithmetic of the run").positive(),
        field(&R::dataset_size, "dataset_size", "GB", "size of the data set").positive(),
        field(&R::accelerators, "accelerators", "", "accelerators used").positive(),
        field(&R::days, "days", "d", "elapsed time").positive(),
        field(&R::gpu_days, "gpu_days", "d", "accelerator time").positive(),
        field(&R::pretraining_gpu_days, "pretraining_gpu_days", "d", "accelerator time of pre-training alone")
            .positive(),
        field(&R::energy, "energy", "MWh", "electrical energy").positive(),
        field(&R::hardware, "hardware", "", "accelerator").defaulted("unstated"));
  }
};

/// A machine-learning model.
struct Workload {
  std::string name;
  std::string category;
  Architecture architecture = Architecture::opaque;
  std::optional<double> release_year;
  std::optional<Params<>> parameters, active_parameters;  ///< published totals
  std::optional<double> max_positions;
  TransformerShape shape;
  AttentionShape attention;
  MoeShape moe;
  LinearAttentionShape linear_attention;
  std::vector<ConvLayer> convolution;
  StateSpaceShape state_space;
  DiffusionShape diffusion;
  RecommendationShape recommendation;
  InferenceTotals inference;
  TrainingTotals training;
  std::optional<Data<>> model_size;     ///< published size where it is not parameters times a width
  std::map<std::string, double> extra;  ///< further numbers by name; items of a list as "name[0]", true as 1
  const Entry* entry = nullptr;

  /// Bytes of all weights at this precision [B]: the published size, or published parameters times the width.
  /// @throws InputError when neither is known
  [[nodiscard]] Data<> size(Precision precision = Precision::fp16) const;
  /// True where the operator list can be made from the shape.
  [[nodiscard]] bool has_shape() const;
  [[nodiscard]] bool is_moe() const { return moe.experts.has_value(); }
  /// Whether one unit of work is a token of a generated sequence.
  [[nodiscard]] bool is_language_decoder() const { return architecture == Architecture::decoder; }

  static constexpr auto fields() {
    using W = Workload;
    return rows(
        field(&W::name, "name", "", "key of the model"),
        field(&W::category, "category", "", "language, vision, tiny, ...").defaulted("unstated"),
        field(&W::architecture, "architecture", "", "what the model is made of"),
        field(&W::release_year, "release_year", "", "year of release").within(1970, 2100),
        field(&W::parameters, "parameters", "Gparam", "published number of weights").positive(),
        field(&W::active_parameters, "active_parameters", "Gparam", "published weights that one token uses")
            .positive(),
        field(&W::max_positions, "max_positions", "", "longest context").positive(),
        field(&W::shape, "shape", "", "sizes of a transformer").defaulted("absent"),
        field(&W::attention, "attention", "", "attention").defaulted("absent"),
        field(&W::moe, "moe", "", "mixture of experts").defaulted("absent"),
        field(&W::linear_attention, "linear_attention", "", "layers with a recurrent state")
            .defaulted("absent"),
        field(&W::convolution, "convolution", "", "layers of a convolutional network").defaulted("absent"),
        field(&W::state_space, "state_space", "", "state-space blocks").defaulted("absent"),
        field(&W::diffusion, "diffusion", "", "iterated denoising").defaulted("absent"),
        field(&W::recommendation, "recommendation", "", "embedding tables").defaulted("absent"),
        field(&W::inference, "inference", "", "published cost of one inference").defaulted("absent"),
        field(&W::training, "training", "", "published facts of training").defaulted("absent"),
        field(&W::model_size, "model_size", "GB", "published size").positive(),
        field(&W::extra, "extra", "", "further numbers").defaulted("absent"));
  }
};

template <> struct ObjectType<Workload> { static constexpr std::string_view name = "workload"; };

}  // namespace mlsysim

#pragma once
/// A machine-learning model: its published totals and, where known, the shape of its layers.
///
///     size(precision) = model_size, or parameters * bytes_per_element(precision)
///
/// Example: 70 Gparam are 140 GB at fp16 and 70 GB at fp8.

#include <mlsysim/specs/layer_table.hpp>
#include <mlsysim/units/quantity.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

struct Entry;

/// Iterated denoising.
struct DiffusionShape {
  std::optional<double> denoising_steps, resolution, evaluations_per_step, latent_size, context_tokens,
      context_width, blocks_per_level;

  template <class D = DiffusionShape> static constexpr auto fields() {
    return rows(
        field(&D::denoising_steps, "denoising_steps", "", "steps of one image").positive(),
        field(&D::resolution, "resolution", "", "height and width of the image").positive(),
        field(&D::evaluations_per_step, "evaluations_per_step", "", "network runs per step").positive(),
        field(&D::latent_size, "latent_size", "", "height and width of the latent image").positive(),
        field(&D::context_tokens, "context_tokens", "", "tokens of the prompt").positive(),
        field(&D::context_width, "context_width", "", "width of the prompt's embedding").positive(),
        field(&D::blocks_per_level, "blocks_per_level", "", "blocks of one resolution").positive());
  }
};

/// The output of a robot policy in one pass.
struct ActionShape {
  std::optional<double> horizon, dim;

  template <class A = ActionShape> static constexpr auto fields() {
    return rows(field(&A::horizon, "horizon", "", "actions of one chunk").positive(),
                field(&A::dim, "dim", "", "numbers of one action").positive());
  }
};

/// Embedding tables and the networks around them.
struct RecommendationShape {
  std::optional<Data<>> model_size;
  std::optional<double> embedding_entries, dense_features, embedding_dim, cross_layers, cross_rank,
      rows_per_sample;
  std::vector<Params<>> parameter_range;
  std::vector<double> bottom_mlp, top_mlp, table_rows, table_pooling;

  template <class R = RecommendationShape> static constexpr auto fields() {
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

/// Padding at the border of an image.
enum class Padding : std::uint8_t { same, valid };
template <> inline constexpr auto names_of<Padding> = ChoiceNames{"padding"};

/// Kind of a record of a convolutional network.
enum class LayerOp : std::uint8_t { conv, depthwise, linear, pool };
template <> inline constexpr auto names_of<LayerOp> = ChoiceNames{"layer"};

/// One record of a convolutional network; with "same" padding the output is ceil(size / stride).
struct ConvLayer {
  LayerOp op = LayerOp::conv;
  std::optional<double> in, out, channels, kernel, kernel_h, kernel_w, stride, size, size_h, size_w, groups,
      times;
  bool bias = false, batch_norm = false;
  bool residual = false;   ///< the input of the block is added to its output
  bool unit_bias = false;  ///< a bias per output unit instead of per channel
  Padding padding = Padding::same;

  template <class C = ConvLayer> static constexpr auto fields() {
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

/// Kind of an operator of a program: a convolution or product as the implicit product that it is, arithmetic
/// on each value, a sum or maximum over some, or data that moves.
enum class ListedKind : std::uint8_t { convolution, product, pointwise, reduction, movement };
template <> inline constexpr auto names_of<ListedKind> = ChoiceNames{"kind of operator"};

/// One operator of a program. Amounts are those of one execution in one run of the program. `weighted` and
/// `fixed` say what grows with the number of runs that are batched. Values have the number format in which
/// the program is run, and `bytes` holds all others.
struct ListedOperator {
  std::string path;  ///< modules around it, numbers of layers that are alike replaced by *
  ListedKind op = ListedKind::pointwise;
  std::optional<double> times, rows, columns, depth, copies, flops, reads, writes, fused_reads, fused_writes,
      weights, stored, bytes, alive;
  bool weighted = false;  ///< one factor of the product is a weight
  bool fixed = false;     ///< works on weights alone
  bool joined = false;    ///< runs in the kernel of the operator before it where chains are fused

  template <class L = ListedOperator> static constexpr auto fields() {
    return mlsysim::rows(
        field(&L::path, "path", "", "modules around it").defaulted("unstated"),
        field(&L::op, "op", "", "convolution, product, pointwise, reduction or movement"),
        field(&L::times, "times", "", "executions in one run").positive(),
        field(&L::rows, "rows", "", "rows of the product").positive(),
        field(&L::columns, "columns", "", "columns of the product").positive(),
        field(&L::depth, "depth", "", "terms of each sum of the product").positive(),
        field(&L::copies, "copies", "", "products of these extents").positive(),
        field(&L::flops, "flops", "", "arithmetic outside of products").positive(),
        field(&L::reads, "reads", "", "activations read").positive(),
        field(&L::writes, "writes", "", "activations written").positive(),
        field(&L::fused_reads, "fused_reads", "", "of them, read from memory where chains are fused")
            .positive(),
        field(&L::fused_writes, "fused_writes", "", "of them, written to memory where chains are fused")
            .positive(),
        field(&L::weights, "weights", "", "weights read").positive(),
        field(&L::stored, "stored", "", "of them, not held for an operator before").positive(),
        field(&L::bytes, "bytes", "", "bytes of integers and truth values, read and written").positive(),
        field(&L::alive, "alive", "", "activations that are held while it runs").positive(),
        field(&L::weighted, "weighted", "", "one factor of the product is a weight").defaulted("none"),
        field(&L::fixed, "fixed", "", "works on weights alone").defaulted("none"),
        field(&L::joined, "joined", "", "part of the kernel before it where chains are fused")
            .defaulted("none"));
  }
};

/// Published cost of one inference.
struct InferenceTotals {
  std::optional<Work<>> work;
  WorkUnit per = WorkUnit::token;
  std::optional<double> sequence_length;
  std::optional<Energy<>> energy;

  template <class I = InferenceTotals> static constexpr auto fields() {
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

  template <class R = TrainingTotals> static constexpr auto fields() {
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
  std::vector<Stack> stacks;
  std::vector<StoredFormat> formats;
  Outline outline;  ///< sizes, where the layers are not listed
  std::vector<ConvLayer> convolution;
  std::vector<ListedOperator> operators;
  DiffusionShape diffusion;
  ActionShape action;
  RecommendationShape recommendation;
  InferenceTotals inference;
  TrainingTotals training;
  std::optional<Data<>> model_size;  ///< published size where it is not parameters times a width
  const Entry* entry = nullptr;

  /// Bytes of all weights at this precision [B]: the published size, or published parameters times the width.
  /// @throws InputError when neither is known
  [[nodiscard]] Data<> size(Precision precision = Precision::fp16) const;
  /// The main stack: the decoder, else the encoder, else the draft of a model that is a head. Null where no
  /// layers are listed.
  [[nodiscard]] const Stack* main() const;
  /// The encoder whose output the layers of `main` read (T5, Whisper); null where there is none.
  [[nodiscard]] const Stack* encoder() const;
  /// True where the operator list can be made from the layers, or from the records of a convolutional
  /// network.
  [[nodiscard]] bool has_shape() const;
  /// The first routed experts of the main stack, or null. `expert_layers` counts the layers that have some.
  [[nodiscard]] const Experts* experts() const;
  [[nodiscard]] double expert_layers() const;
  [[nodiscard]] bool is_moe() const { return experts() != nullptr; }
  // Sizes of the main stack; absent where it does not state them. Heads are those of the first layer that has
  // any.
  [[nodiscard]] std::optional<double> layers() const;
  [[nodiscard]] std::optional<double> hidden() const;
  [[nodiscard]] std::optional<double> heads() const;
  [[nodiscard]] std::optional<double> kv_heads() const;
  [[nodiscard]] std::optional<double> head_dim() const;
  /// Whether it can be served token by token: a decoder, or an encoder and a decoder whose layers are known.
  [[nodiscard]] bool generates_tokens() const {
    return is_language_decoder() || (architecture == Architecture::encoder_decoder && has_shape());
  }
  /// Whether one unit of work is a token of a generated sequence.
  [[nodiscard]] bool is_language_decoder() const { return architecture == Architecture::decoder; }

  template <class W = Workload> static constexpr auto fields() {
    return rows(
        field(&W::name, "name", "", "key of the model"),
        field(&W::category, "category", "", "language, vision, tiny, ...").defaulted("unstated"),
        field(&W::architecture, "architecture", "", "what the model is made of"),
        field(&W::release_year, "release_year", "", "year of release").within(1970, 2100),
        field(&W::parameters, "parameters", "Gparam", "published number of weights").positive(),
        field(&W::active_parameters, "active_parameters", "Gparam", "published weights that one token uses")
            .positive(),
        field(&W::max_positions, "max_positions", "", "longest context").positive(),
        field(&W::stacks, "stacks", "", "stacks of layers").defaulted("absent"),
        field(&W::formats, "formats", "", "how tensors are stored").defaulted("absent"),
        field(&W::outline, "outline", "", "sizes, where the layers are not listed").defaulted("absent"),
        field(&W::convolution, "convolution", "", "layers of a convolutional network").defaulted("absent"),
        field(&W::operators, "operators", "", "operators of a program").defaulted("absent"),
        field(&W::diffusion, "diffusion", "", "iterated denoising").defaulted("absent"),
        field(&W::action, "action", "", "what a robot policy gives").defaulted("absent"),
        field(&W::recommendation, "recommendation", "", "embedding tables").defaulted("absent"),
        field(&W::inference, "inference", "", "published cost of one inference").defaulted("absent"),
        field(&W::training, "training", "", "published facts of training").defaulted("absent"),
        field(&W::model_size, "model_size", "GB", "published size").positive());
  }
};

/// The records of a model that is a list of convolutions or operators. The workload owns them.
struct Listed {
  std::span<const ConvLayer> convolution{};
  std::span<const ListedOperator> operators{};

  Listed() = default;
  Listed(std::span<const ConvLayer> layers) : convolution(layers) {}     // NOLINT: either list is one
  Listed(const std::vector<ConvLayer>& layers) : convolution(layers) {}  // NOLINT
  Listed(const Workload& w) : convolution(w.convolution), operators(w.operators) {}  // NOLINT
  [[nodiscard]] std::size_t size() const { return convolution.size() + operators.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
};

template <> struct ObjectType<Workload> { static constexpr std::string_view name = "workload"; };

/// Whether a model is a head that mixes no tokens, so that each token that it proposes has weights of its own
/// (Medusa).
[[nodiscard]] bool head_per_token(const Workload& head);
/// Paths of the parts of the main stack that no lowering rule covers: "stacks[0].mixer.state_space". Empty
/// where operators can be listed.
[[nodiscard]] std::vector<std::string> parts_without_law(const Workload& workload);
/// Words for the stacks beside the main one, whose work no answer counts.
[[nodiscard]] std::vector<std::string> stacks_not_counted(const Workload& workload);

/// The sizes of a plain decoder, every layer alike: for tests, rows of measurements and users who have no
/// file.
struct PlainDecoder {
  double layers = 0, hidden = 0, heads = 0, vocab = 0;
  std::optional<double> kv_heads, head_dim, ffn;  ///< absent: heads; hidden / heads; no feed-forward
  bool gated = false, tied = false, biases = false;
};
/// A decoder of these sizes.
[[nodiscard]] Stack plain_decoder(const PlainDecoder& sizes);

}  // namespace mlsysim

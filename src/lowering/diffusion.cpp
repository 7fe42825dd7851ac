#include <mlsysim/lowering/diffusion.hpp>
#include <mlsysim/lowering/lower.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace mlsysim {
namespace {

using detail::collective;
using detail::elementwise;
using detail::emit;
using detail::Frame;
using detail::matmul;

constexpr double kPixelsPerLatent = 8;

/// Rules that all stages share, over the list of one stage.
class Lister {
 public:
  explicit Lister(DiffusionStage& stage)
      : f_(stage.structure, stage.stack, stage.plan, stage.ops), stage_(stage) {}

 protected:
  /// A chain of kernels over `values`, named for the launch list of the runtime.
  void chain(std::string_view name, OpGroup group, double count, double values) {
    if (count <= 0 || values <= 0) return;
    f_.ops.reserve(2);
    elementwise(f_, name, group, count, values, 1, 1, 2);
  }
  void product(std::string_view name, OpGroup group, double count, double rows, double out, double in,
               double joins = 1) {
    if (count <= 0 || rows <= 0) return;
    f_.ops.reserve(2);
    matmul(f_, name, group, count, rows, out, in).merged_matrices = joins;
  }
  void attention(double count, double sequences, double heads, double queries, double keys, double head) {
    if (count <= 0) return;
    f_.ops.reserve(2);
    auto& op = emit(f_.ops, OpKind::attention, OpGroup::attention, "attention", count);
    constexpr double step = 32;
    op.m = queries;
    op.n = keys;
    op.k = head;
    op.copies = sequences * heads;
    op.work = detail::flops<double>(4 * op.copies * queries * keys * step * std::ceil(head / step));
    op.working_set = f_.activations(2 * op.copies * queries * head);
    op.memory_bytes = op.working_set + f_.activations(2 * op.copies * keys * head);
  }
  /// @param pixels of the output; a stride reads stride^2 as many
  void convolution(double count, double pixels, double in, double out, double kernel, double frames = 1,
                   double stride = 1) {
    f_.ops.reserve(2);
    auto& op = emit(f_.ops, OpKind::convolution, OpGroup::convolution, "convolution", count);
    op.m = pixels;
    op.n = out;
    op.k = in * kernel * kernel * frames;
    op.work = detail::flops<double>(2 * op.m * op.n * op.k);
    op.params = detail::params<double>(op.n * op.k);
    op.working_set = f_.activations(pixels * (in * stride * stride + out));
    op.memory_bytes = op.working_set + f_.weight_bytes * op.params;
  }
  /// Norm, activation and convolution, twice, and the sum. A denoiser adds the step in between.
  void residual_block(double images, double pixels, double in, double out, double frames, double step_width) {
    const double rows = images * pixels;
    chain("group_norm", OpGroup::convolution, 1, rows * in);
    chain("image_activation", OpGroup::convolution, 1, rows * in);
    convolution(1, rows, in, out, 3, frames);
    if (step_width > 0) {
      product("step_projection", OpGroup::convolution, 1, images, out, step_width);
      chain("step_shift", OpGroup::convolution, 1, rows * out);
    }
    chain("group_norm", OpGroup::convolution, 1, rows * out);
    chain("image_activation", OpGroup::convolution, 1, rows * out);
    convolution(1, rows, out, out, 3, frames);
    if (in != out) convolution(1, rows, in, out, 1);
    chain("residual", OpGroup::convolution, 1, rows * out);
  }
  void repeat(double rounds) {
    for (std::size_t i = 0; i < f_.ops.size(); ++i) f_.ops[i].count *= rounds;
  }

  Frame<double> f_;
  DiffusionStage& stage_;
};

double width_of(const DiffusionNetwork& d) { return d.image_width > 0 ? d.image_width : d.height; }
double latent_frames(const DiffusionNetwork& d) { return std::ceil((d.frames - 1) / d.frame_scale + 1); }
constexpr std::array kWidths{1.0, 2.0, 4.0, 4.0};  ///< of the levels, finest first

double divided(double tokens, double devices) {
  return std::fmod(tokens, devices) == 0 ? tokens / devices : tokens;
}

/// Blocks of a transformer over patches.
class TransformerLister : Lister {
 public:
  TransformerLister(const DiffusionNetwork& shape, const DiffusionTask& task, DiffusionStage& stage)
      : Lister(stage),
        d_(shape),
        task_(task),
        sequences_(task.outputs * task.evaluations),
        layers_(d_.layers),
        hidden_(d_.hidden),
        heads_(d_.heads),
        patches_(patches_of(shape)),
        text_(d_.text_tokens),
        own_patches_(sequences_ * patches_ / task.devices),
        own_text_(sequences_ * divided(text_, task.devices)) {}

  void list() {
    const double single = d_.single_layers, twofold = layers_ - single;
    const bool apart = d_.text_weights && text_ > 0;
    if (apart) {
      stream(twofold, own_patches_);
      stream(twofold, own_text_);
    } else {
      stream(twofold, own_patches_ + own_text_);
    }
    single_blocks(single);
    self_attention(layers_, patches_ + text_, own_patches_ + own_text_);
    if (text_ > 0) chain("text_join", OpGroup::attention, 3 * layers_, (own_patches_ + own_text_) * hidden_);
    if (const double second = d_.second_attentions; second > 0) {
      modulate(second, own_patches_);
      project(second, own_patches_);
      self_attention(second, patches_, own_patches_);
      residual(second, own_patches_);
    }
    if (d_.cross_tokens > 0) cross_attention(d_.cross_tokens);
    if (const double skips = d_.skips; skips > 0) {
      chain("skip_join", OpGroup::feed_forward, skips, 2 * own_patches_ * hidden_);
      chain(norm_name(), OpGroup::feed_forward, skips, 2 * own_patches_ * hidden_);
      product("skip_projection", OpGroup::feed_forward, skips, own_patches_, hidden_, 2 * hidden_);
    }
    repeat(task_.steps);
  }

  static double patches_of(const DiffusionNetwork& d) {
    const double side = kPixelsPerLatent * d.patch;
    return std::floor(d.height / side) * std::floor(width_of(d) / side) *
           std::ceil(latent_frames(d) / d.frame_patch);
  }

 private:
  [[nodiscard]] std::string_view norm_name() const {
    return d_.fp32_norms ? "fp32_block_norms" : "block_norms";
  }

  /// Shift and scale of what enters a part of a block, made of the step and the text.
  void modulate(double count, double rows) {
    if (d_.modulation == Modulation::shift)
      chain("step_shift", OpGroup::norm, count, rows * hidden_);
    else
      chain(d_.fp32_norms ? "fp32_modulation" : "modulation", OpGroup::norm, count, rows * hidden_);
  }
  /// Vectors of `parts` parts of a block: shift, scale and gate of each.
  void adapt(double count, double parts) {
    if (d_.modulation == Modulation::table)
      return chain("step_table", OpGroup::norm, count, sequences_ * 3 * parts * hidden_);
    const double vectors = d_.modulation == Modulation::shift ? 1 : 3 * parts;
    product("step_projection", OpGroup::norm, count, sequences_, vectors * hidden_, hidden_);
  }
  void residual(double count, double rows) {
    const bool gated = d_.modulation != Modulation::shift;
    chain(!gated ? "residual" : d_.fp32_norms ? "fp32_gate" : "gate", OpGroup::norm, count, rows * hidden_);
  }
  /// Queries, keys and values with their norms, and the product of the outputs.
  void project(double count, double rows) {
    product("qkv_projection", OpGroup::attention, count, rows, 3 * hidden_, hidden_, 3);
    normalize(2 * count, rows);
    product("attention_output", OpGroup::attention, count, rows, hidden_, hidden_);
  }
  void normalize(double count, double rows) {
    if (d_.query_key_norm == DenoiserNorm::none) return;
    chain(d_.query_key_norm == DenoiserNorm::rms ? "rms_query_norms" : "layer_query_norms",
          OpGroup::attention, count, rows * hidden_);
  }
  void rotate(double count, double rows) {
    if (d_.rotation == DenoiserRotation::none) return;
    chain(d_.rotation == DenoiserRotation::stacked ? "stacked_rotation" : "halves_rotation",
          OpGroup::attention, count, rows * hidden_);
  }
  /// Attention and feed-forward one after the other, over rows with weights of their own.
  void stream(double count, double rows) {
    const double values = rows * hidden_, width = d_.width;
    adapt(count, 2);
    chain(norm_name(), OpGroup::norm, 2 * count, values);
    modulate(d_.modulation == Modulation::shift ? count : 2 * count, rows);
    project(count, rows);
    residual(2 * count, rows);
    product("ffn_up", OpGroup::feed_forward, count, rows, width, hidden_);
    chain("ffn_activation", OpGroup::feed_forward, count, rows * width);
    product("ffn_down", OpGroup::feed_forward, count, rows, hidden_, width);
  }
  /// Blocks in which both read the same input and end in one product.
  void single_blocks(double count) {
    const double rows = own_patches_ + own_text_, width = d_.width;
    if (count <= 0) return;
    adapt(count, 1);
    chain(norm_name(), OpGroup::norm, count, rows * hidden_);
    modulate(count, rows);
    product("qkv_projection", OpGroup::attention, count, rows, 3 * hidden_, hidden_, 3);
    normalize(2 * count, rows);
    product("ffn_up", OpGroup::feed_forward, count, rows, width, hidden_);
    chain("ffn_activation", OpGroup::feed_forward, count, rows * width);
    chain("text_join", OpGroup::attention, count, rows * (3 * hidden_ + width));
    product("ffn_down", OpGroup::feed_forward, count, rows, hidden_, hidden_ + width);
    residual(count, rows);
  }
  /// Attention of all tokens to all. Ranks of a ring pass keys and values on and merge partial outputs; ranks
  /// of Ulysses trade tokens for heads and back, and copy what they send and what comes.
  void self_attention(double count, double tokens, double own_rows) {
    const double head = hidden_ / heads_, ring = task_.ring, ulysses = task_.ulysses;
    const double keys = tokens / ring, heads = heads_ / ulysses;
    const bool whole = divided(text_, task_.devices) == text_ && tokens > patches_;
    const double queries = whole ? patches_ / ring + text_ : keys;
    rotate(2 * count, own_rows);
    attention(count * ring, sequences_, heads, queries, keys, head);
    if (task_.devices <= 1) return;
    const double outputs = sequences_ * queries * hidden_ / ulysses;
    chain("partial_output", OpGroup::attention, count, outputs);
    if (ring > 1) {
      chain("ring_merge", OpGroup::attention, count * (ring - 1), outputs);
      collective(f_.ops, "ring_exchange", Collective::point_to_point, CommGroup::cp, count * (ring - 1),
                 f_.activations(2 * sequences_ * keys * hidden_ / ulysses), ring, ulysses);
    }
    if (ulysses > 1) {
      chain("head_copy", OpGroup::attention, 8 * count, own_rows * hidden_);
      collective(f_.ops, "head_exchange", Collective::all_to_all, CommGroup::cp, 4 * count,
                 f_.activations(own_rows * hidden_), ulysses, 1.0);
    }
  }
  /// Attention to a text whose keys and values each block makes anew.
  void cross_attention(double tokens) {
    const double text = sequences_ * tokens, head = hidden_ / heads_;
    if (d_.fp32_norms) chain(norm_name(), OpGroup::norm, layers_, own_patches_ * hidden_);
    product("cross_query", OpGroup::attention, layers_, own_patches_, hidden_, hidden_);
    product("cross_key_value", OpGroup::attention, layers_, text, 2 * hidden_, hidden_, 2);
    normalize(layers_, own_patches_);
    normalize(layers_, text);
    if (d_.rotation == DenoiserRotation::stacked) rotate(layers_, own_patches_);
    attention(layers_, sequences_, heads_, patches_ / task_.devices, tokens, head);
    product("attention_output", OpGroup::attention, layers_, own_patches_, hidden_, hidden_);
    chain("residual", OpGroup::attention, layers_, own_patches_ * hidden_);
  }

  const DiffusionNetwork& d_;
  const DiffusionTask& task_;
  double sequences_, layers_, hidden_, heads_, patches_, text_, own_patches_, own_text_;
};

/// A network of convolutions that halves and doubles the resolution, with attention at its finer levels.
class UnetLister : Lister {
 public:
  UnetLister(const DiffusionNetwork& shape, const DiffusionTask& task, DiffusionStage& stage)
      : Lister(stage), d_(shape), images_(task.outputs * task.evaluations), steps_(task.steps) {
    for (const double times : kWidths) channels_.push_back(times * d_.unet_width);
  }

  void list() {
    const std::size_t levels = channels_.size();
    const double blocks = d_.unet_blocks, latent = d_.latent_channels;
    convolution(1, images_ * pixels(0), latent, channels_[0], 3);
    std::vector<double> skips{channels_[0]};
    double in = channels_[0];
    for (std::size_t i = 0; i < levels; ++i) {
      for (int j = 0; j < blocks; ++j) {
        block(i, in);
        in = channels_[i];
        skips.push_back(in);
      }
      if (i + 1 == levels) break;
      convolution(1, images_ * pixels(i + 1), in, in, 3, 1, 2);
      skips.push_back(in);
    }
    residual_block(images_, pixels(levels - 1), in, in, 1, step_width());
    transformer(levels - 1, in);
    residual_block(images_, pixels(levels - 1), in, in, 1, step_width());
    for (std::size_t i = levels; i-- > 0;) {
      for (int j = 0; j <= blocks; ++j) {
        const double skip = skips.back();
        skips.pop_back();
        chain("skip_join", OpGroup::convolution, 1, images_ * pixels(i) * (in + skip));
        block(i, in + skip);
        in = channels_[i];
      }
      if (i == 0) break;
      chain("upsample", OpGroup::convolution, 1, images_ * pixels(i - 1) * in);
      convolution(1, images_ * pixels(i - 1), in, in, 3);
    }
    chain("group_norm", OpGroup::convolution, 1, images_ * pixels(0) * in);
    chain("image_activation", OpGroup::convolution, 1, images_ * pixels(0) * in);
    convolution(1, images_ * pixels(0), in, latent, 3);
    repeat(steps_);
  }

 private:
  [[nodiscard]] double pixels(std::size_t level) const {
    return d_.height * width_of(d_) / std::pow(4.0, static_cast<double>(level) + 3);
  }
  [[nodiscard]] double step_width() const { return 4 * channels_.front(); }
  void block(std::size_t level, double in) {
    residual_block(images_, pixels(level), in, channels_[level], 1, step_width());
    if (level + 1 < channels_.size()) transformer(level, channels_[level]);
  }
  /// Attention of the pixels to each other and to the text, and a gated feed-forward, between two products.
  void transformer(std::size_t level, double width) {
    const double pixel = pixels(level), rows = images_ * pixel, heads = d_.heads;
    const double text = d_.cross_tokens, text_width = d_.context_width;
    chain("group_norm", OpGroup::convolution, 1, rows * width);
    convolution(2, rows, width, width, 1);
    chain("head_copy", OpGroup::attention, 2, rows * width);
    chain("block_norms", OpGroup::norm, 3, rows * width);
    product("qkv_projection", OpGroup::attention, 1, rows, 3 * width, width, 3);
    attention(1, images_, heads, pixel, pixel, width / heads);
    product("cross_query", OpGroup::attention, 1, rows, width, width);
    product("cross_key_value", OpGroup::attention, 1, images_ * text, 2 * width, text_width, 2);
    attention(1, images_, heads, pixel, text, width / heads);
    product("attention_output", OpGroup::attention, 2, rows, width, width);
    product("ffn_up", OpGroup::feed_forward, 1, rows, 8 * width, width);
    chain("gated_gelu", OpGroup::feed_forward, 1, rows * 4 * width);
    product("ffn_down", OpGroup::feed_forward, 1, rows, width, 4 * width);
    chain("residual", OpGroup::attention, 4, rows * width);
  }

  const DiffusionNetwork& d_;
  std::vector<double> channels_;
  double images_, steps_;
};

/// Convolutions that double the resolution, and in videos the frames, level by level.
class DecoderLister : Lister {
 public:
  DecoderLister(const DiffusionNetwork& shape, const DiffusionTask& task, DiffusionStage& stage)
      : Lister(stage), d_(shape), images_(task.outputs) {}

  void list() {
    const double kernel = d_.frame_scale > 1 ? 3 : 1;  // of the frames
    double made = latent_frames(d_), in = d_.decoder_width * kWidths.back();
    double pixels = d_.height * width_of(d_) / (kPixelsPerLatent * kPixelsPerLatent) * made;
    convolution(1, images_ * pixels, d_.latent_channels, in, 3, kernel);
    for (int i = 0; i < 2; ++i) residual_block(images_, pixels, in, in, kernel, 0);
    if (kernel == 1) {
      product("qkv_projection", OpGroup::attention, 1, images_ * pixels, 3 * in, in, 3);
      attention(1, images_, 1, pixels, pixels, in);
      product("attention_output", OpGroup::attention, 1, images_ * pixels, in, in);
    }
    for (std::size_t i = kWidths.size(); i-- > 0;) {
      for (int j = 0; j <= d_.decoder_blocks; ++j) {
        residual_block(images_, pixels, in, d_.decoder_width * kWidths[i], kernel, 0);
        in = d_.decoder_width * kWidths[i];
      }
      if (i == 0) break;
      const double more = std::min(2.0, d_.frames / made);
      pixels *= 4 * more;
      made *= more;
      chain("upsample", OpGroup::convolution, 1, images_ * pixels * in);
      convolution(1, images_ * pixels, in, in, 3);
    }
    chain("group_norm", OpGroup::convolution, 1, images_ * pixels * in);
    chain("image_activation", OpGroup::convolution, 1, images_ * pixels * in);
    convolution(1, images_ * pixels, in, 3, 3, kernel);
  }

 private:
  const DiffusionNetwork& d_;
  double images_;
};

/// The categories of a stage: one pass of a model that is no decoder of text.
void begin(DiffusionStage& stage, double hidden) {
  stage.structure.phase = Phase::inference;
  stage.structure.architecture = Architecture::encoder;
  stage.structure.causal = stage.structure.fused = false;
  stage.stack = {};
  stage.stack.layers = 1;
  stage.stack.hidden = hidden;
  stage.ops.clear();
}

}  // namespace

void list_text_encoder(const DiffusionNetwork& d, const DiffusionTask& task, DiffusionStage& stage) {
  begin(stage, d.encoder_hidden);
  if (d.encoder_layers <= 0) return;
  constexpr double head = 64, matrices = 3;
  const double heads = d.encoder_hidden / head;
  stage.stack.layers = d.encoder_layers;
  stage.stack.mixers.push_back(
      {GroupedView<>{.heads = heads, .kv_heads = heads, .qk_dim = head, .v_dim = head},
       {},
       d.encoder_layers});
  stage.stack.feed_forwards.push_back(
      {DenseView<>{.width = d.encoder_width, .matrices = matrices}, d.encoder_layers});
  stage.plan.batch = task.outputs * task.evaluations;
  stage.plan.new_tokens = stage.plan.context = d.encoded_tokens;
  lower(stage.structure, stage.stack, {}, stage.plan, stage.ops);
}

void list_denoiser(const DiffusionNetwork& d, const DiffusionTask& task, DiffusionStage& stage) {
  begin(stage, d.layers > 0 ? d.hidden : d.unet_width);
  if (d.layers > 0)
    TransformerLister(d, task, stage).list();
  else if (d.unet_width > 0)
    UnetLister(d, task, stage).list();
}

void list_decoder(const DiffusionNetwork& d, const DiffusionTask& task, DiffusionStage& stage) {
  begin(stage, 1);
  if (d.decoder_width > 0) DecoderLister(d, task, stage).list();
}

}  // namespace mlsysim

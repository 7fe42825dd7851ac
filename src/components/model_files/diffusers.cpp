// Weights and arithmetic of the networks of diffusers, class by class.

#include "detail/diffusers.hpp"

#include "detail/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// Sums over the modules of a network.
struct Tally {
  double weights = 0, flops = 0;

  void vectors(double values) { weights += values; }
  void product(double times, double rows, double in, double out, bool bias = true) {
    weights += times * out * (in + (bias ? 1 : 0));
    flops += 2 * times * rows * in * out;
  }
  void convolution(double times, double pixels, double in, double out, double kernel = 3) {
    product(times, pixels, kernel * kernel * in, out);
  }
  void attention(double times, double queries, double keys, double width) {
    flops += 4 * times * queries * keys * width;
  }
  /// Two matrices between which a network has its own width (TimestepEmbedding, FeedForward).
  void network(double times, double rows, double in, double width, double out) {
    product(times, rows, in, width);
    product(times, rows, width, out);
  }
};

/// A configuration over the defaults of its class.
class Sizes {
 public:
  Sizes(const Config& config, DiffusersNetwork& out, Tally& tally) : network(out), t(tally), c_(config) {}
  DiffusersNetwork& network;
  Tally& t;

  [[nodiscard]] double operator[](std::string_view key) const { return number(at(key), key); }
  [[nodiscard]] bool flag(std::string_view key) const {
    const Json& value = at(key);
    if (!value.is_boolean()) c_.refuse_key(key, "is no flag", value, "true or false");
    return value.get<bool>();
  }
  [[nodiscard]] bool holds(std::string_view key) const { return c_.at(key) != nullptr; }
  /// Whether a key that may be absent has the one value that is read.
  [[nodiscard]] bool is(std::string_view key, std::string_view word) const {
    if (holds(key) && at(key) != word)
      c_.refuse_key(key, "is not read yet", at(key), fmt::format("null or {}", word));
    return holds(key);
  }
  /// A list of `count` members; one number stands for all of them.
  [[nodiscard]] std::vector<double> list(std::string_view key, std::size_t count) const {
    const Json& value = at(key);
    if (!value.is_array()) return std::vector<double>(count, number(value, key));
    std::vector<double> out;
    for (const Json& one : value) out.push_back(number(one, key));
    if (out.size() != count)
      c_.refuse_key(key, "does not name every level", value, fmt::format("{} members", count));
    return out;
  }
  /// For each level, whether its blocks are of the second kind.
  [[nodiscard]] std::vector<bool> kinds(std::string_view key, std::size_t levels, std::string_view plain,
                                        std::string_view attends) const {
    const Json& value = at(key);
    std::vector<bool> out;
    for (const Json& one : value) {
      if (one != plain && one != attends)
        c_.refuse_key(key, "holds a kind of block that is not read", one,
                      fmt::format("{} or {}", plain, attends));
      out.push_back(one == attends);
    }
    if (out.size() != levels)
      c_.refuse_key(key, "does not name every level", value, fmt::format("{} members", levels));
    return out;
  }
  /// Members of a list, 0 where there is none.
  [[nodiscard]] std::size_t length(std::string_view key) const { return at(key).size(); }

 private:
  [[nodiscard]] const Json& at(std::string_view key) const {
    static const Json none;
    const Json* found = c_.at(key);
    return found == nullptr ? none : *found;
  }
  [[nodiscard]] double number(const Json& value, std::string_view key) const {
    constexpr double kMost = 1e5;  // a larger one would only cost time
    const double x = checked_count(value, c_.file(), std::string(key));
    if (x < 1 || x > kMost)
      c_.refuse_key(key, "is no size of a network", value, fmt::format("1 to {:g}", kMost));
    return x;
  }
  const Config& c_;
};

/// @param step width of the embedded step; 0: the block has none
void residual_block(Tally& t, double pixels, double in, double out, double step) {
  t.vectors(2 * in + 2 * out);
  t.convolution(1, pixels, in, out);
  if (step > 0) t.product(1, 1, step, out);
  t.convolution(1, pixels, out, out);
  if (in != out) t.convolution(1, pixels, in, out, 1);
}

/// Attention of the pixels to each other and to the text, and a gated feed-forward (Transformer2DModel).
void pixel_transformer(Tally& t, double pixels, double width, double layers, double tokens, double text) {
  t.vectors(2 * width);
  t.product(2, pixels, width, width);
  t.vectors(6 * width * layers);
  t.product(4 * layers, pixels, width, width, false);
  t.product(2 * layers, tokens, text, width, false);
  t.product(2 * layers, pixels, width, width);
  t.attention(layers, pixels, pixels, width);
  t.attention(layers, pixels, tokens, width);
  t.product(layers, pixels, width, 8 * width);
  t.product(layers, pixels, 4 * width, width);
}

void unet(const Sizes& s) {
  Tally& t = s.t;
  const std::size_t levels = s.length("block_out_channels");
  const auto down = s.kinds("down_block_types", levels, "DownBlock2D", "CrossAttnDownBlock2D");
  const auto up = s.kinds("up_block_types", levels, "UpBlock2D", "CrossAttnUpBlock2D");
  const auto width = s.list("block_out_channels", levels), blocks = s.list("layers_per_block", levels),
             layers = s.list("transformer_layers_per_block", levels),
             heads = s.list("attention_head_dim", levels);
  const double side = s["sample_size"], text = s["cross_attention_dim"], tokens = s.network.text_tokens;
  const double step = 4 * width[0];
  const auto pixels = [&](std::size_t level) {
    return side * side / std::pow(4.0, static_cast<double>(level));
  };
  t.convolution(1, pixels(0), s["in_channels"], width[0]);
  t.network(1, 1, width[0], step, step);
  if (s.is("addition_embed_type", "text_time"))
    t.network(1, 1, s["projection_class_embeddings_input_dim"], step, step);
  std::vector<double> skips{width[0]};
  double in = width[0];
  for (std::size_t i = 0; i < levels; ++i) {
    for (int j = 0; j < blocks[i]; ++j) {
      residual_block(t, pixels(i), in, width[i], step);
      in = width[i];
      if (down[i]) pixel_transformer(t, pixels(i), in, layers[i], tokens, text);
      skips.push_back(in);
    }
    if (i + 1 == levels) break;
    t.convolution(1, pixels(i + 1), in, in);
    skips.push_back(in);
  }
  for (int i = 0; i < 2; ++i) residual_block(t, pixels(levels - 1), in, in, step);
  pixel_transformer(t, pixels(levels - 1), in, layers.back(), tokens, text);
  for (std::size_t i = levels; i-- > 0;) {
    for (int j = 0; j <= blocks[i]; ++j) {
      const double skip = skips.back();
      skips.pop_back();
      residual_block(t, pixels(i), in + skip, width[i], step);
      in = width[i];
      if (up[levels - 1 - i]) pixel_transformer(t, pixels(i), in, layers[i], tokens, text);
    }
    if (i > 0) t.convolution(1, pixels(i - 1), in, in);
  }
  t.vectors(2 * in);
  t.convolution(1, pixels(0), in, s["out_channels"]);
  s.network.text_width = text;
  s.network.side = 8 * side;
  const std::vector<double> paper{width[0], 2 * width[0], 4 * width[0], 4 * width[0]};
  const auto all = [](const std::vector<double>& of, double n) {
    return std::all_of(of.begin(), of.end(), [&](double x) { return x == n; });
  };
  if (width == paper && down == std::vector{true, true, true, false} && all(layers, 1) && all(heads, 8) &&
      all(blocks, blocks[0]))
    s.network.width = width[0], s.network.blocks = blocks[0];
}

/// Encoder and decoder of the latents; the arithmetic is that of the decoder.
void autoencoder(const Sizes& s) {
  Tally encoder, decoder;
  const std::size_t levels = s.length("block_out_channels");
  (void)s.kinds("down_block_types", levels, "DownEncoderBlock2D", "DownEncoderBlock2D");
  (void)s.kinds("up_block_types", levels, "UpDecoderBlock2D", "UpDecoderBlock2D");
  const auto width = s.list("block_out_channels", levels);
  const double blocks = s["layers_per_block"], latent = s["latent_channels"], side = s["sample_size"];
  const auto pixels = [&](std::size_t level) {
    return side * side / std::pow(4.0, static_cast<double>(level));
  };
  const double coarse = pixels(levels - 1), widest = width.back();
  const auto middle = [&](Tally& t) {
    for (int i = 0; i < 2; ++i) residual_block(t, coarse, widest, widest, 0);
    if (!s.flag("mid_block_add_attention")) return;
    t.vectors(2 * widest);
    t.product(4, coarse, widest, widest);
    t.attention(1, coarse, coarse, widest);
  };
  const auto end = [&](Tally& t, double area, double in, double out) {
    t.vectors(2 * in);
    t.convolution(1, area, in, out);
  };
  double in = width[0];
  encoder.convolution(1, pixels(0), s["in_channels"], in);
  for (std::size_t i = 0; i < levels; ++i) {
    for (int j = 0; j < blocks; ++j, in = width[i]) residual_block(encoder, pixels(i), in, width[i], 0);
    if (i + 1 < levels) encoder.convolution(1, pixels(i + 1), in, in);
  }
  middle(encoder);
  end(encoder, coarse, in, 2 * latent);
  if (s.flag("use_quant_conv")) encoder.convolution(1, coarse, 2 * latent, 2 * latent, 1);
  if (s.flag("use_post_quant_conv")) decoder.convolution(1, coarse, latent, latent, 1);
  decoder.convolution(1, coarse, latent, in);
  middle(decoder);
  for (std::size_t i = levels; i-- > 0;) {
    for (int j = 0; j <= blocks; ++j, in = width[i]) residual_block(decoder, pixels(i), in, width[i], 0);
    if (i > 0) decoder.convolution(1, pixels(i - 1), in, in);
  }
  end(decoder, pixels(0), in, s["out_channels"]);
  s.t.weights += encoder.weights + decoder.weights;
  s.t.flops += decoder.flops;
  s.network.side = side;
}

/// Sizes that transformers over patches share.
struct Patches {
  double hidden, head, layers, tokens, text;
  explicit Patches(const Sizes& s, double count)
      : hidden(s["num_attention_heads"] * s["attention_head_dim"]),
        head(s["attention_head_dim"]),
        layers(s["num_layers"]),
        tokens(count),
        text(s.network.text_tokens) {}
};

/// Attention and feed-forward of one stream of rows with weights of its own; `vectors` of the modulation.
void stream(Tally& t, const Patches& p, double times, double rows, double vectors, double norms) {
  t.product(times, 1, p.hidden, vectors * p.hidden);
  t.product(4 * times, rows, p.hidden, p.hidden);
  t.vectors(times * norms);
  t.network(times, rows, p.hidden, 4 * p.hidden, p.hidden);
}

/// Norm by the step, and the product of the outputs.
void last_layer(Tally& t, const Patches& p, double step, double out) {
  t.product(1, 1, step, 2 * p.hidden);
  t.product(1, p.tokens, p.hidden, out);
}

/// Text and image with weights of their own in blocks that attend to both (MM-DiT): Flux, SD3, Qwen-Image.
void joint(const Sizes& s, const Patches& p, double pooled, double in, double out, double norms) {
  Tally& t = s.t;
  t.network(1, 1, 256, p.hidden, p.hidden);
  if (pooled > 0) t.network(1, 1, pooled, p.hidden, p.hidden);
  s.network.text_width = s["joint_attention_dim"];
  t.product(1, p.text, s.network.text_width, p.hidden);
  t.product(1, p.tokens, in, p.hidden);
  for (const double rows : {p.tokens, p.text}) stream(t, p, p.layers, rows, 6, norms);
  t.attention(p.layers, p.tokens + p.text, p.tokens + p.text, p.hidden);
  last_layer(t, p, p.hidden, out);
}

void flux(const Sizes& s) {
  const double packed = s.network.side / 16;  // two latents of each direction, eight pixels each
  const Patches p(s, packed * packed);
  const double out = s.holds("out_channels") ? s["out_channels"] : s["in_channels"],
               single = s["num_single_layers"];
  joint(s, p, s["pooled_projection_dim"], s["in_channels"], out, 2 * p.head);
  if (s.flag("guidance_embeds")) s.t.network(1, 1, 256, p.hidden, p.hidden);
  const double rows = p.tokens + p.text;
  s.t.product(single, 1, p.hidden, 3 * p.hidden);
  s.t.product(3 * single, rows, p.hidden, p.hidden);
  s.t.vectors(single * 2 * p.head);
  s.t.product(single, rows, p.hidden, 4 * p.hidden);
  s.t.product(single, rows, 5 * p.hidden, p.hidden);
  s.t.attention(single, rows, rows, p.hidden);
}

void qwen_image(const Sizes& s) {
  const double packed = s.network.side / 16, patch = s["patch_size"];
  const Patches p(s, packed * packed);
  joint(s, p, 0, s["in_channels"], patch * patch * s["out_channels"], 2 * p.head);
  s.t.vectors(s.network.text_width);
}

void sd3(const Sizes& s) {
  Tally& t = s.t;
  const double patch = s["patch_size"], side = std::floor(s["sample_size"] / patch);
  const Patches p(s, side * side);
  const double norms = s.is("qk_norm", "rms_norm") ? 2 * p.head : 0;
  joint(s, p, s["pooled_projection_dim"], patch * patch * s["in_channels"], patch * patch * s["out_channels"],
        norms);
  // The text ends with the attention of the last block: its keys and values, and two of its six vectors.
  Tally more;
  stream(more, p, 1, p.text, 6, norms);
  more.product(-3, p.text, p.hidden, p.hidden);
  more.product(-1, 1, p.hidden, 2 * p.hidden);
  more.vectors(-norms);
  t.weights -= more.weights;
  t.flops -= more.flops;
  const auto twice =
      static_cast<double>(s.length("dual_attention_layers"));  // blocks that attend to the image once more
  t.product(twice, 1, p.hidden, 3 * p.hidden);
  t.product(4 * twice, p.tokens, p.hidden, p.hidden);
  t.vectors(twice * norms);
  t.attention(twice, p.tokens, p.tokens, p.hidden);
  s.network.side = 8 * s["sample_size"];
}

/// Attention to a text beside that of the patches (PixArt, Wan); a table beside the six vectors of the step.
void cross_attention(const Sizes& s, const Patches& p, double patch, double width, double norms,
                     double text_width) {
  Tally& t = s.t;
  t.network(1, 1, 256, p.hidden, p.hidden);
  t.product(1, 1, p.hidden, 6 * p.hidden);
  s.network.text_width = text_width;
  t.network(1, p.text, text_width, p.hidden, p.hidden);
  t.product(1, p.tokens, patch * s["in_channels"], p.hidden);
  t.vectors(p.layers * 6 * p.hidden + 2 * p.hidden);
  t.product(6 * p.layers, p.tokens, p.hidden, p.hidden);
  t.product(2 * p.layers, p.text, p.hidden, p.hidden);
  t.vectors(p.layers * norms);
  t.attention(p.layers, p.tokens, p.tokens + p.text, p.hidden);
  t.network(p.layers, p.tokens, p.hidden, width, p.hidden);
  t.product(1, p.tokens, p.hidden, patch * s["out_channels"]);
}

void pixart(const Sizes& s) {
  const double patch = s["patch_size"], side = std::floor(s["sample_size"] / patch);
  const Patches p(s, side * side);
  cross_attention(s, p, patch * patch, 4 * p.hidden, 0, s["caption_channels"]);
  if (s.holds("use_additional_conditions") && s.flag("use_additional_conditions"))
    for (int i = 0; i < 2; ++i) s.t.network(1, 1, 256, p.hidden / 3, p.hidden / 3);
  s.network.side = 8 * s["sample_size"];
}

/// 81 frames of 832 x 480: 21 x 104 x 60 latents. @cite diffusers-docs, WanPipeline
void wan(const Sizes& s) {
  const auto patch = s.list("patch_size", 3);
  const Patches p(s, std::ceil(21 / patch[0]) * std::floor(60 / patch[1]) * std::floor(104 / patch[2]));
  const double all_heads = 4 * p.hidden, cross_norm = s.flag("cross_attn_norm") ? 2 * p.hidden : 0;
  cross_attention(s, p, patch[0] * patch[1] * patch[2], s["ffn_dim"], all_heads + cross_norm, s["text_dim"]);
  s.network.output = "a video of 81 frames of 832 x 480";
}

void cogvideox(const Sizes& s) {
  Tally& t = s.t;
  const double patch = s["patch_size"], frames = s["sample_frames"], step = s["time_embed_dim"];
  const double kept = std::ceil((frames - 1) / s["temporal_compression_ratio"] + 1);
  const Patches p(s, kept * std::floor(s["sample_height"] / patch) * std::floor(s["sample_width"] / patch));
  const double rows = p.tokens + p.text;
  t.product(1, p.tokens, patch * patch * s["in_channels"], p.hidden);
  s.network.text_width = s["text_embed_dim"];
  t.product(1, p.text, s.network.text_width, p.hidden);
  t.network(1, 1, p.hidden, step, step);
  t.product(2 * p.layers, 1, step, 6 * p.hidden);
  t.vectors(p.layers * (4 * p.hidden + 4 * p.head));
  t.product(4 * p.layers, rows, p.hidden, p.hidden);
  t.attention(p.layers, rows, rows, p.hidden);
  t.network(p.layers, rows, p.hidden, 4 * p.hidden, p.hidden);
  t.vectors(4 * p.hidden);
  last_layer(t, p, step, patch * patch * s["out_channels"]);
  s.network.output = fmt::format("a video of {:g} frames of {:g} x {:g}", frames, 8 * s["sample_width"],
                                 8 * s["sample_height"]);
}

/// A class: its sizes with their defaults, keys whose other values change what is computed, and the usual
/// request of its pipeline. @cite diffusers-docs, version 0.42
struct Class {
  std::string_view name;
  void (*count)(const Sizes&);
  const char *sizes, *fixed;
  double steps = 0, evaluations = 0, text_tokens = 0, side = 0;
};
constexpr std::array kClasses{
    Class{
        "UNet2DConditionModel", unet,
        R"({"sample_size": 64, "in_channels": 4, "out_channels": 4, "block_out_channels": [320, 640, 1280, 1280],
              "down_block_types": ["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"],
              "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"],
              "layers_per_block": 2, "transformer_layers_per_block": 1, "cross_attention_dim": 1280, "attention_head_dim": 8,
              "addition_embed_type": null, "projection_class_embeddings_input_dim": null})",
        R"({"mid_block_type": "UNetMidBlock2DCrossAttn", "only_cross_attention": false, "dual_cross_attention": false,
              "reverse_transformer_layers_per_block": null, "encoder_hid_dim": null, "encoder_hid_dim_type": null,
              "class_embed_type": null, "num_class_embeds": null, "resnet_time_scale_shift": "default",
              "time_embedding_type": "positional", "time_embedding_dim": null, "time_cond_proj_dim": null,
              "conv_in_kernel": 3, "conv_out_kernel": 3, "attention_type": "default", "class_embeddings_concat": false,
              "mid_block_only_cross_attention": null, "cross_attention_norm": null})",
        50, 2, 77},
    Class{
        "AutoencoderKL", autoencoder,
        R"({"in_channels": 3, "out_channels": 3, "latent_channels": 4, "sample_size": 32, "layers_per_block": 1,
              "down_block_types": ["DownEncoderBlock2D"], "up_block_types": ["UpDecoderBlock2D"],
              "block_out_channels": [64], "use_quant_conv": true, "use_post_quant_conv": true,
              "mid_block_add_attention": true})",
        "{}"},
    Class{"FluxTransformer2DModel", flux,
          R"({"in_channels": 64, "out_channels": null, "num_layers": 19, "num_single_layers": 38,
              "attention_head_dim": 128, "num_attention_heads": 24, "joint_attention_dim": 4096,
              "pooled_projection_dim": 768, "guidance_embeds": false})",
          R"({"patch_size": 1})", 28, 1, 512, 1024},
    Class{
        "QwenImageTransformer2DModel", qwen_image,
        R"({"patch_size": 2, "in_channels": 64, "out_channels": 16, "num_layers": 60, "attention_head_dim": 128,
              "num_attention_heads": 24, "joint_attention_dim": 3584})",
        R"({"guidance_embeds": false, "use_additional_t_cond": false})", 50, 2, 512, 1024},
    Class{"SD3Transformer2DModel", sd3,
          R"({"sample_size": 128, "patch_size": 2, "in_channels": 16, "out_channels": 16, "num_layers": 18,
              "attention_head_dim": 64, "num_attention_heads": 18, "joint_attention_dim": 4096,
              "pooled_projection_dim": 2048, "dual_attention_layers": [], "qk_norm": null})",
          "{}", 28, 2, 333},
    Class{"PixArtTransformer2DModel", pixart,
          R"({"sample_size": 128, "patch_size": 2, "in_channels": 4, "out_channels": 8, "num_layers": 28,
              "attention_head_dim": 72, "num_attention_heads": 16, "caption_channels": 4096,
              "use_additional_conditions": null})",
          R"({"attention_bias": true, "norm_type": "ada_norm_single", "norm_elementwise_affine": false,
              "attention_type": "default"})",
          20, 2, 300},
    Class{
        "WanTransformer3DModel", wan,
        R"({"patch_size": [1, 2, 2], "in_channels": 16, "out_channels": 16, "num_layers": 40, "ffn_dim": 13824,
              "attention_head_dim": 128, "num_attention_heads": 40, "text_dim": 4096, "cross_attn_norm": true})",
        R"({"freq_dim": 256, "qk_norm": "rms_norm_across_heads", "image_dim": null, "added_kv_proj_dim": null,
              "pos_embed_seq_len": null})",
        50, 2, 512},
    Class{
        "CogVideoXTransformer3DModel", cogvideox,
        R"({"patch_size": 2, "in_channels": 16, "out_channels": 16, "num_layers": 30, "time_embed_dim": 512,
              "attention_head_dim": 64, "num_attention_heads": 30, "text_embed_dim": 4096, "sample_width": 90,
              "sample_height": 60, "sample_frames": 49, "temporal_compression_ratio": 4})",
        R"({"attention_bias": true, "norm_elementwise_affine": true, "patch_size_t": null, "ofs_embed_dim": null,
              "use_learned_positional_embeddings": false, "patch_bias": true})",
        50, 2, 226},
};

/// Keys of names, of heads and of rotation, which change no size.
constexpr std::array<std::string_view, 8> kNoSize{"num_attention_heads",    "addition_time_embed_dim",
                                                  "axes_dims_rope",         "caption_projection_dim",
                                                  "mid_block_scale_factor", "addition_embed_type_num_heads",
                                                  "cross_attention_dim",    "rope_max_seq_len"};

}  // namespace

std::string diffusers_class(const Json& config) {
  const auto named = config.find("_class_name");
  return named != config.end() && named->is_string() ? named->get<std::string>() : std::string();
}

DiffusersNetwork read_diffusers(const Json& config, const std::string& file,
                                std::vector<std::string>& notes) {
  DiffusersNetwork out;
  out.type = diffusers_class(config);
  const auto known =
      std::find_if(kClasses.begin(), kClasses.end(), [&](const Class& c) { return c.name == out.type; });
  if (known == kClasses.end()) {
    std::vector<std::string_view> names;
    for (const auto& c : kClasses) names.push_back(c.name);
    throw InputError("mlsysim.model_files.024",
                     fmt::format("a model of the class '{}' cannot be read", out.type), "_class_name",
                     fmt::format("'{}'", out.type), fmt::format("one of {}", fmt::join(names, ", ")),
                     "write the entry by hand (docs/how-to/add-a-model.md)", {file});
  }
  Json whole = Json::parse(known->sizes);
  const Json fixed = Json::parse(known->fixed);
  std::vector<std::string> defaulted, unread;
  for (const auto& [key, value] : whole.items())
    if (!config.contains(key) && !value.is_null())
      defaulted.push_back(fmt::format("{} {}", key, shown(value)));
  for (const auto& [key, value] : config.items()) {
    if (key.starts_with('_') || value.is_null()) continue;
    if (!whole.contains(key) && !fixed.contains(key) && smells_of_structure(key) &&
        std::find(kNoSize.begin(), kNoSize.end(), key) == kNoSize.end())
      unread.push_back(key);
    whole[key] = value;
  }
  const Config c(whole, file, "", out.type, notes);
  for (const auto& [key, value] : fixed.items())
    if (const Json* given = c.at(key); given != nullptr && *given != value)
      c.refuse_key(key, "is not read yet", *given, shown(value));
  out.steps = known->steps;
  out.evaluations = known->evaluations;
  out.text_tokens = known->text_tokens;
  out.side = known->side;
  Tally tally;
  known->count(Sizes(c, out, tally));
  out.weights = tally.weights;
  out.flops = tally.flops;
  if (out.output.empty()) out.output = fmt::format("an image of {0:g} x {0:g}", out.side);
  if (!defaulted.empty())
    notes.push_back(fmt::format("not stated, as {} has it: {}", out.type, fmt::join(defaulted, ", ")));
  if (!unread.empty()) notes.push_back(fmt::format("not understood: {}", fmt::join(unread, ", ")));
  return out;
}

}  // namespace mlsysim::detail

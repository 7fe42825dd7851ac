#pragma once
/// The parts of a diffusion pipeline: text encoder, denoiser and decoder of the latents.
///
///     patches = floor(height / (8 patch)) floor(image_width / (8 patch)) ceil(latent frames / frame_patch)
///
/// A latent stands for 8 x 8 pixels. The denoiser is a transformer over patches (`layers`) or a U-Net
/// (`unet_width`). U-Net and decoder have four levels, 1, 2, 4 and 4 times as wide as the finest one.
/// @cite rombach-2022-ldm
/// Example: an image of 512 x 512 pixels with patch 2 has 32 x 32 = 1024 patches.

#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/reflect/field.hpp>

#include <cstdint>

namespace mlsysim {

/// How a block adapts to the denoising step: by three vectors per part from a product (AdaLN-Zero) or from a
/// table, or by a shift.
enum class Modulation : std::uint8_t { product, table, shift };
template <> inline constexpr auto names_of<Modulation> = ChoiceNames{"modulation"};

/// How queries and keys are normalized. Root mean squares are chains of kernels in FP32 in diffusers.
enum class DenoiserNorm : std::uint8_t { none, layer, rms };
template <> inline constexpr auto names_of<DenoiserNorm> = ChoiceNames{"norm of queries and keys"};

/// How queries and keys are rotated: rotated pairs stacked in FP32, or halves written in place.
enum class DenoiserRotation : std::uint8_t { none, stacked, halves };
template <> inline constexpr auto names_of<DenoiserRotation> = ChoiceNames{"rotation of queries and keys"};

/// The networks of a diffusion model and the size of its outputs.
struct DiffusionNetwork {
  double height = 512, image_width = 0, frames = 1;
  // Transformer over patches.
  double layers = 0, single_layers = 0, hidden = 1, heads = 8, width = 0, second_attentions = 0, skips = 0;
  double text_tokens = 0, cross_tokens = 0, patch = 2, frame_patch = 1;
  bool text_weights = false, fp32_norms = false;
  Modulation modulation = Modulation::product;
  DenoiserNorm query_key_norm = DenoiserNorm::none;
  DenoiserRotation rotation = DenoiserRotation::none;
  // Convolutions.
  double unet_width = 0, unet_blocks = 2, context_width = 768;
  double decoder_width = 0, decoder_blocks = 2, latent_channels = 4, frame_scale = 1;
  // Text encoder.
  double encoder_layers = 0, encoder_hidden = 1, encoder_width = 0, encoded_tokens = 1;

  template <class D = DiffusionNetwork> static constexpr auto fields() {
    return rows(
        field(&D::height, "height", "", "height of an output [pixels]").positive().defaulted("512"),
        field(&D::image_width, "image_width", "", "its width [pixels]").non_negative().defaulted("as height"),
        field(&D::frames, "frames", "", "frames of a video").at_least(1).defaulted("1, an image"),
        field(&D::layers, "layers", "", "blocks of a transformer").non_negative().defaulted("0, a U-Net"),
        field(&D::single_layers, "single_layers", "",
              "of them, blocks whose attention and feed-forward read one input and join one product")
            .non_negative()
            .defaulted("0"),
        field(&D::hidden, "hidden", "", "its width").at_least(1).defaulted("1"),
        field(&D::heads, "heads", "", "attention heads").at_least(1).defaulted("8"),
        field(&D::width, "width", "", "width of the feed-forward, two matrices")
            .non_negative()
            .defaulted("0"),
        field(&D::second_attentions, "second_attentions", "", "blocks that attend to the image once more")
            .non_negative()
            .defaulted("0"),
        field(&D::skips, "skips", "", "blocks that join the output of an earlier one")
            .non_negative()
            .defaulted("0"),
        field(&D::text_tokens, "text_tokens", "", "tokens of the text beside the patches in every block")
            .non_negative()
            .defaulted("0"),
        field(&D::cross_tokens, "cross_tokens", "", "tokens of a text that attention of its own reads")
            .non_negative()
            .defaulted("0"),
        field(&D::patch, "patch", "", "latents of a side of a patch").at_least(1).defaulted("2"),
        field(&D::frame_patch, "frame_patch", "", "latent frames of a patch").at_least(1).defaulted("1"),
        field(&D::text_weights, "text_weights", "", "text has weights of its own outside single_layers")
            .defaulted("those of the image"),
        field(&D::fp32_norms, "fp32_norms", "", "norms, modulation and sums of a block work in FP32")
            .defaulted("16 bits"),
        field(&D::modulation, "modulation", "", "how a block adapts to the step").defaulted("product"),
        field(&D::query_key_norm, "query_key_norm", "", "norms of queries and keys").defaulted("none"),
        field(&D::rotation, "rotation", "", "rotation of queries and keys").defaulted("none"),
        field(&D::unet_width, "unet_width", "", "channels of the finest level of a U-Net")
            .non_negative()
            .defaulted("0, a transformer"),
        field(&D::unet_blocks, "unet_blocks", "", "residual blocks of a level").at_least(1).defaulted("2"),
        field(&D::context_width, "context_width", "", "width of the text that a U-Net reads")
            .at_least(1)
            .defaulted("768"),
        field(&D::decoder_width, "decoder_width", "", "channels of the finest level of the decoder")
            .non_negative()
            .defaulted("0, not counted"),
        field(&D::decoder_blocks, "decoder_blocks", "", "residual blocks of a level but one")
            .at_least(1)
            .defaulted("2"),
        field(&D::latent_channels, "latent_channels", "", "channels of a latent").at_least(1).defaulted("4"),
        field(&D::frame_scale, "frame_scale", "", "frames of a video for a frame of latents")
            .at_least(1)
            .defaulted("1"),
        field(&D::encoder_layers, "encoder_layers", "", "layers of the text encoder")
            .non_negative()
            .defaulted("0, not counted"),
        field(&D::encoder_hidden, "encoder_hidden", "", "its width, heads of 64").at_least(1).defaulted("1"),
        field(&D::encoder_width, "encoder_width", "", "width of its feed-forward, three matrices")
            .non_negative()
            .defaulted("0"),
        field(&D::encoded_tokens, "encoded_tokens", "", "tokens that it reads").at_least(1).defaulted("1"));
  }
};

}  // namespace mlsysim

#pragma once
/// Operator lists of a diffusion pipeline: text encoder, steps of the denoiser, decoder of the latents.
///
///     denoiser work = steps evaluations outputs (work of one pass over all latents)
///
/// evaluations: passes per step and output, 2 with classifier-free guidance.
/// Schedulers, tokenizers and the copy to the host are not counted.
/// @cite diffusers-source; xdit-source
///
/// Example: Stable Diffusion 1.5, one image of 512 x 512, 50 steps, 2 evaluations.
/// Text encoder 0.027, denoiser 87.2, decoder 2.5 TFLOP.

#include <mlsysim/lowering/op.hpp>
#include <mlsysim/lowering/stack_view.hpp>
#include <mlsysim/specs/diffusion.hpp>
#include <mlsysim/specs/views.hpp>

namespace mlsysim {

/// The output of a pipeline, its sampling steps, and the devices that share the work.
struct DiffusionTask {
  double outputs = 1;            ///< images or videos made together
  double steps = 1;              ///< of the sampler
  double evaluations = 1;        ///< passes a step and output: 2 with and without the text (guidance)
  double devices = 1;            ///< tokens are divided over them
  double ring = 1, ulysses = 1;  ///< of them, around which keys pass, and that trade tokens for heads
};

/// One stage: its operators, all passes counted, and what their rules start from.
struct DiffusionStage {
  Structure structure;
  StackView<> stack;
  Plan<> plan;
  OpList<> ops;
};

/// Appends the operators of a stage whose plan states how values are stored. A stage that the model does not
/// state stays empty.
///
/// A step of the denoiser is one pass over all patches; its blocks are listed as diffusers runs them, kernel
/// chains by name, so that a runtime says of which kernels each consists. Blocks read the text beside the
/// patches or by attention of their own. A text whose tokens the devices divide is divided like the patches,
/// another one is computed on each. FlashAttention has kernels for heads of 32, 64, 96, ... values. Narrower
/// heads are padded.
void list_text_encoder(const DiffusionNetwork& network, const DiffusionTask& task, DiffusionStage& stage);
void list_denoiser(const DiffusionNetwork& network, const DiffusionTask& task, DiffusionStage& stage);
void list_decoder(const DiffusionNetwork& network, const DiffusionTask& task, DiffusionStage& stage);

}  // namespace mlsysim

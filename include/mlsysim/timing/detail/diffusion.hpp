#pragma once
/// Time of a diffusion pipeline on a device: text encoder, denoiser and decoder of the latents in turn.
///
///     time = sum over stages of max(total, host_launch_time)
///
/// total: kernels and collectives of a stage [s]. host_launch_time: time in which the host launches them [s].
/// Without a runtime, kernels are fused and a captured graph launches them.
///
/// Example: Stable Diffusion 1.5, 512 x 512, 50 steps with guidance, fp16, one H100, no runtime.
/// 0.5 + 300.4 + 5.2 = 306.1 ms.

#include <mlsysim/lowering/diffusion.hpp>
#include <mlsysim/specs/software.hpp>
#include <mlsysim/timing/breakdown.hpp>
#include <mlsysim/timing/views.hpp>

#include <array>
#include <memory>

namespace mlsysim {

/// A pipeline on a device. Each stage is a list of operators and waits for the one before.
struct DiffusionPipeline {
  std::array<std::unique_ptr<DiffusionStage>, 3> stages;
  Device<> device;
  Links<> links;

  DiffusionPipeline(const DiffusionNetwork& network, const DiffusionTask& task, const HardwareNode& hardware,
                    const ServingEngine* runtime, Precision precision, const Conventions& conventions,
                    Notes& notes);

  /// Kernels of a stage and the time in which the host launches them.
  [[nodiscard]] PassBreakdown<> cost(const DiffusionStage& stage) const;
  [[nodiscard]] static Time<> time(const PassBreakdown<>& cost) {
    return max(cost.total, cost.host_launch_time);
  }
};

}  // namespace mlsysim

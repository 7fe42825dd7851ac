#pragma once
/// How long the stages of a diffusion pipeline take on a device.

#include <mlsysim/lowering/diffusion.hpp>
#include <mlsysim/specs/software.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/timing/views.hpp>

#include <array>
#include <memory>

namespace mlsysim {

/// A pipeline on a device: text encoder, denoiser and decoder, each a list of operators.
///
/// Each stage takes the longer of the device's kernels and of the host that launches them; one stage waits
/// for the one before. Without a runtime kernels are fused and a graph launches them.
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

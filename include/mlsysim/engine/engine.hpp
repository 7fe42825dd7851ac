#pragma once
/// Engine: time, memory and energy of one batch on one device.
///
/// Example: ResNet50 on one A100, batch size 1, fp16: 0.394 ms. Parts: 0.151 ms compute, 0.021 ms memory,
/// 0.222 ms launch and dispatch overhead.

#include <mlsysim/resolvers/models/single_node.hpp>

namespace mlsysim {

/// Entry point for one device; see SingleNodeModel for the equations.
struct Engine {
  using Options = SingleNodeModel::Inputs;

  [[nodiscard]] static SingleNodeModel::Result solve(const Options& options);
  [[nodiscard]] static SingleNodeModel::Result solve(const Workload& workload, const HardwareNode& hardware,
                                                     double batch_size = 1,
                                                     Precision precision = Precision::fp16);
};

}  // namespace mlsysim

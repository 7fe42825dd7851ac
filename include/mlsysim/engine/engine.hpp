#pragma once
/// Engine: the answer for one batch on one device.

#include <mlsysim/resolvers/models/single_node.hpp>

namespace mlsysim {

/// The main entry for one device.
struct Engine {
  using Options = SingleNodeModel::Inputs;

  /// Time, memory and energy of one batch on one device; see SingleNodeModel.
  [[nodiscard]] static SingleNodeModel::Result solve(const Options& options);
  [[nodiscard]] static SingleNodeModel::Result solve(const Workload& workload, const HardwareNode& hardware,
                                                     double batch_size = 1,
                                                     Precision precision = Precision::fp16);
};

}  // namespace mlsysim

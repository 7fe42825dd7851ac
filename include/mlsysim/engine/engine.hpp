#pragma once
/// Engine: one call for one answer, one call for many.

#include <mlsysim/catalogue/models/single_node.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// One point of a sweep.
struct SweepPoint {
  const HardwareNode* hardware = nullptr;
  double batch_size = 1;
  Precision precision = Precision::fp16;
  bool skipped = false;             ///< the device has no rate at this precision
  std::string reason;               ///< why it was skipped
  SingleNodeModel::Result profile;  ///< valid unless skipped
};

/// The main entry for one device.
struct Engine {
  using Options = SingleNodeModel::Inputs;

  /// Time, memory and energy of one batch on one device; see SingleNodeModel.
  [[nodiscard]] static SingleNodeModel::Result solve(const Options& options);
  [[nodiscard]] static SingleNodeModel::Result solve(const Workload& workload, const HardwareNode& hardware,
                                                     double batch_size = 1,
                                                     Precision precision = Precision::fp16);

  /// Every combination of hardware, batch size and precision, in that nesting order. A device without a rate
  /// at a precision gives a skipped point with the reason; a point that does not fit gives a profile with
  /// feasible = false.
  /// @param base all other inputs; its workload is the one that is swept
  [[nodiscard]] static std::vector<SweepPoint> sweep(const Options& base,
                                                     std::span<const HardwareNode* const> hardware,
                                                     std::span<const double> batch_sizes,
                                                     std::span<const Precision> precisions);
};

}  // namespace mlsysim

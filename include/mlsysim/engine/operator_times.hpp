#pragma once
/// The operators of a program by their time on a device.

#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

#include <optional>
#include <vector>

namespace mlsysim {

struct Conventions;

/// One record of a program, all its executions. What joins a kernel is part of it.
struct OperatorTime {
  const ListedOperator* record = nullptr;  ///< of the workload
  double times = 1;
  Time<> time, compute, memory, overhead;
  Work<> work;
  Data<> traffic;
};

/// Operators of one run, the longest first; their times add up to the time of the run's kernels.
/// @param precision absent: the device's default @param batch runs taken together
/// @throws InputError for a workload that is no program
[[nodiscard]] std::vector<OperatorTime> operator_times(const Workload& workload, const HardwareNode& hardware,
                                                       std::optional<Precision> precision, double batch,
                                                       const Conventions& conventions);

}  // namespace mlsysim

#pragma once
/// Times of the operators of a program on one device, the longest first. They add up to the kernel time of
/// one run.
///
///   time = max(compute, memory) + overhead        [s], of all executions
///
/// The maximum is smoothed where compute and memory are close. Links and the dispatch time of the run are
/// left out.
/// Example: the multilayer perceptron of tests/data/programs/stablehlo/mnist_mlp.mlir on H100: five kernels.
/// The longest is the first product, 784 x 128: 3.74 us, of which 2.61 us are overhead.

#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

#include <optional>
#include <vector>

namespace mlsysim {

struct Conventions;

/// One record of a program with all its executions. Operators that join its kernel are part of it.
struct OperatorTime {
  const ListedOperator* record = nullptr;  ///< of the workload
  double times = 1;
  Time<> time, compute, memory, overhead;
  Work<> work;
  Data<> traffic;
};

/// Operators of one run, the longest first.
/// @param precision absent: the device's default @param batch runs taken together
/// @throws InputError for a workload that is not a program
[[nodiscard]] std::vector<OperatorTime> operator_times(const Workload& workload, const HardwareNode& hardware,
                                                       std::optional<Precision> precision, double batch,
                                                       const Conventions& conventions);

}  // namespace mlsysim

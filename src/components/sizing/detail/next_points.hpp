#pragma once
// Measurements that make a decision surer.

#include "sizing/detail/decide_costs.hpp"

#include <mlsysim/sizing/decide.hpp>

#include <vector>

namespace mlsysim::detail {

/// A kernel of a plan's step that can be timed alone, with the part of the variance of the step's time that
/// it stands for.
struct KernelShare {
  KernelPoint point;
  double share = 0, variance = 0;
};

/// Kernels of a decode step, or of the forward pass of a training step, on one device: products in 16 bits or
/// fp8, and attention over a cache or over the keys of its own pass. The largest share first; none for a plan
/// whose operators are not listed.
[[nodiscard]] std::vector<KernelShare> measurable_kernels(const Scenario& busy);

/// Fills in what to measure next. @param options those that are compared, as `costs`
void add_measurements(const std::vector<DecideOption>& options, std::vector<Costs>& costs,
                      const ErrorBox& box, DecideAnswer& out);

}  // namespace mlsysim::detail

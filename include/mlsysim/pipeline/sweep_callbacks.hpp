#pragma once
/// Reports the progress of a sweep to callbacks, outside of any pipeline run.
///
/// Example: `tell(512, 1024, 2)` calls `on_sweep` of each callback with 512 of 1024 points done and 2 s left.

#include <mlsysim/pipeline/run.hpp>

#include <mutex>
#include <string>
#include <vector>

namespace mlsysim {

/// Threads of the sweep may call it at once. The callbacks are called one at a time.
class SweepCallbacks {
 public:
  /// @param callbacks outlive this
  SweepCallbacks(std::vector<Callback*> callbacks, std::string title)
      : callbacks_(std::move(callbacks)), title_(std::move(title)) {}
  [[nodiscard]] bool empty() const { return callbacks_.empty(); }
  void tell(double done, double total, double seconds_left);
  /// Reports the end, unless the last call of `tell` already did.
  void finish(double total);
  /// The callbacks that threw. They are not called again.
  [[nodiscard]] const std::vector<PipelineReport::Failure>& failures() const { return failures_; }

 private:
  void tell_all(const SweepEvent& event);
  std::vector<Callback*> callbacks_;
  std::string title_;
  double last_ = -1;
  std::vector<PipelineReport::Failure> failures_;
  std::mutex mutex_;
};

}  // namespace mlsysim

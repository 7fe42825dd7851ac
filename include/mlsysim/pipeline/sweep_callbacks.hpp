#pragma once
/// Callbacks of a sweep, which has no run.

#include <mlsysim/pipeline/run.hpp>

#include <mutex>
#include <string>
#include <vector>

namespace mlsysim {

/// Tells callbacks how far a sweep is. Its threads may call it at once; the callbacks are called one at a
/// time.
class SweepCallbacks {
 public:
  /// @param callbacks outlive this
  SweepCallbacks(std::vector<Callback*> callbacks, std::string title)
      : callbacks_(std::move(callbacks)), title_(std::move(title)) {}
  [[nodiscard]] bool empty() const { return callbacks_.empty(); }
  void tell(double done, double total, double seconds_left);
  /// The end, where the last of `tell` was not it.
  void finish(double total);
  /// Those that threw, each once: they are not called again.
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

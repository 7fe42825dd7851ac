#include <mlsysim/pipeline/sweep_callbacks.hpp>

#include "detail/tell.hpp"

namespace mlsysim {

void SweepCallbacks::tell_all(const SweepEvent& event) {
  last_ = event.done;
  std::erase_if(callbacks_, [&](Callback* callback) {
    return !detail::tell(
        *callback, "on_sweep", [&](Callback& c) { c.on_sweep(event); }, failures_);
  });
}

void SweepCallbacks::tell(double done, double total, double seconds_left) {
  const std::lock_guard lock(mutex_);
  tell_all({title_, done, total, seconds_left});
}

void SweepCallbacks::finish(double total) {
  const std::lock_guard lock(mutex_);
  if (last_ != total) tell_all({title_, total, total, 0});
}

}  // namespace mlsysim

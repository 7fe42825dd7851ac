#pragma once
/// Runs an initializer once, in the thread that calls first.
///
/// Unlike `std::call_once`, no exception passes through the C library, which aborts when memory for unwinding
/// is short. An initializer that throws leaves the object uninitialized, and the next call tries again.
/// Example: four threads call `once.call(make)`. `make` runs once, and all four return after it has finished.

#include <atomic>
#include <mutex>
#include <utility>

namespace mlsysim::detail {

/// A flag and its lock. After the first success a call costs one load.
class Once {
 public:
  template <class F> void call(F&& make) {
    if (done()) return;
    const std::lock_guard lock(mutex_);
    if (made_.load(std::memory_order_relaxed)) return;
    std::forward<F>(make)();
    made_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool done() const { return made_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> made_{false};
  std::mutex mutex_;
};

}  // namespace mlsysim::detail

#pragma once
/// Something that is made once, by the thread that asks first.

#include <atomic>
#include <mutex>
#include <utility>

namespace mlsysim::detail {

/// As std::once_flag, but no exception passes through the C library, which ends the process where memory is
/// too short to unwind its own frames. What throws is not made, and the next call tries again.
class Once {
 public:
  template <class F> void call(F&& make) {
    if (made_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (made_.load(std::memory_order_relaxed)) return;
    std::forward<F>(make)();
    made_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<bool> made_{false};
  std::mutex mutex_;
};

}  // namespace mlsysim::detail

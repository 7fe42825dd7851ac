#pragma once
// Points of a block whose resolver has no answer, told beside the numbers: such a point costs itself and no more.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mlsysim::detail {

/// Index within the block, and why.
using PointFailures = std::vector<std::pair<std::size_t, std::string>>;

/// Who listens on this thread; null where nobody counts failures. A batch runs on the thread that asked for it.
inline PointFailures*& failure_listener() {
  thread_local PointFailures* listener = nullptr;
  return listener;
}

/// Collects the failures of the batches that run in its scope.
class ListenForFailures {
 public:
  explicit ListenForFailures(PointFailures& to) : before_(failure_listener()) { failure_listener() = &to; }
  ListenForFailures(const ListenForFailures&) = delete;
  ListenForFailures& operator=(const ListenForFailures&) = delete;
  ~ListenForFailures() { failure_listener() = before_; }

 private:
  PointFailures* before_;
};

}  // namespace mlsysim::detail

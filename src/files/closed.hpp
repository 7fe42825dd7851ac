#pragma once
/// A descriptor that is closed whatever happens.

#include <unistd.h>
#include <utility>

namespace mlsysim::files {

/// Closes a descriptor, also where an error passes by.
class Closed {
 public:
  explicit Closed(int file) : file_(file) {}
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;
  ~Closed() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

}  // namespace mlsysim::files

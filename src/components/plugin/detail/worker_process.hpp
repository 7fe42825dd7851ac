#pragma once
/// The process in which an isolated plugin lives.

#include "wire.hpp"

#include <mlsysim/plugin/host.hpp>

#include <sys/types.h>
#include <memory>
#include <string>

namespace mlsysim::plugin::detail {

/// The process of a plugin, and what it prints.
class Child {
 public:
  using Clock = Channel::Clock;

  /// @throws PluginFault where the worker is not found, or the system has no process, pipe or socket
  Child(const std::string& library, const IsolationLimits& limits);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] const Channel& channel() const { return *channel_; }

  /// Kills it where it lives; says how it ended.
  std::string stop();
  /// Kills the process without waiting for it to end by itself. @return how it ended
  std::string kill();

  /// Reads the output that the process printed since the last call, up to about 1 MiB.
  std::string printed();
  /// Waits for a message or for output. @return false at the deadline
  bool wait(int descriptor, Clock::time_point deadline) const;
  void output_is_closed() { open_ = false; }
  [[nodiscard]] bool output_ended() const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool open_ = true;
  std::unique_ptr<Channel> channel_;
  std::string how_ = "it was not started";
};

}  // namespace mlsysim::plugin::detail

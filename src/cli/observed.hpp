#pragma once
// Events of a command, sent where MLSYSIM_OBSERVE says.

#include "commands.hpp"

#include <mlsysim/explore/search/explore.hpp>
#include <mlsysim/pipeline/sweep_callbacks.hpp>

#include <functional>
#include <memory>
#include <string>

namespace mlsysim::cli {

/// An observer that sends events, and how it ends.
struct Watcher {
  std::shared_ptr<Callback> callback{};  ///< null: nobody watches
  std::function<void()> finish{};        ///< @throws Error where something could not be sent
};
/// The observer of the observability.yaml that MLSYSIM_OBSERVE names. @throws InputError, ErrorList for a
/// configuration that cannot be used
[[nodiscard]] Watcher watcher_of_environment();

/// Observers of a command: the callbacks of loaded plugins, and the observer of the observability.yaml that
/// MLSYSIM_OBSERVE names.
class Observed {
 public:
  /// @throws InputError, ErrorList for a configuration that cannot be used
  Observed();
  /// Null where MLSYSIM_OBSERVE is not set.
  [[nodiscard]] Callback* observer() const { return watcher_.callback.get(); }
  /// Tells how far a sweep is, besides `next`, which may be empty.
  [[nodiscard]] std::function<void(const Progress&)> progress(const std::string& title,
                                                              std::function<void(const Progress&)> next);
  /// The end of a sweep that told nothing by itself.
  void swept(const std::string& title, double points);
  /// Runs a command and sends what was seen, also where it fails. What cannot be sent is an error with exit
  /// code 5 beside the answer.
  template <class F> Answer around(F&& command) {
    Answer out;
    try {
      out = command();
    } catch (...) {
      (void)sent();
      throw;
    }
    if (auto fault = sent(); !fault.empty()) {
      out.diagnostics += fault;
      if (out.exit == Exit::fine) out.exit = static_cast<Exit>(5);
    }
    return out;
  }

 private:
  /// Sends what was seen and returns the errors as text; empty where nothing failed.
  [[nodiscard]] std::string sent();
  SweepCallbacks& sweep(const std::string& title);
  Watcher watcher_;
  std::unique_ptr<SweepCallbacks> sweep_;
};

}  // namespace mlsysim::cli

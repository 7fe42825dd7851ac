#pragma once
/// Error of a plugin: status code, plugin, call, message and further facts. Also reports violations of the
/// interface.
///
/// Example: acme/PowerEfficiencyModel on a device without a TDP: plugin() is "acme-efficiency", call() is
/// "solve of acme/PowerEfficiencyModel" and code() is MLS_INVALID_ARGUMENT.

#include <mlsysim/plugin/mlsysim_plugin.h>
#include <mlsysim/units/error.hpp>

#include <string>
#include <utility>
#include <vector>

namespace mlsysim::plugin {

/// An error that came from a plugin.
class PluginFault : public PluginError {
 public:
  PluginFault(ErrorFacts facts, MlsStatus code, std::string plugin = {}, std::string call = {},
              std::vector<std::pair<std::string, std::string>> payload = {})
      : PluginError(std::move(facts)),
        code_(code),
        plugin_(std::move(plugin)),
        call_(std::move(call)),
        payload_(std::move(payload)) {}

  [[nodiscard]] MlsStatus code() const noexcept { return code_; }
  [[nodiscard]] const std::string& plugin() const noexcept { return plugin_; }
  /// "solve of acme/PowerEfficiencyModel"
  [[nodiscard]] const std::string& call() const noexcept { return call_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& payload() const noexcept {
    return payload_;
  }

 private:
  MlsStatus code_;
  std::string plugin_, call_;
  std::vector<std::pair<std::string, std::string>> payload_;
};

}  // namespace mlsysim::plugin

#pragma once
/// Plugins whose code is open, and what is published of them.

#include "code.hpp"
#include "discovery.hpp"
#include "plugin_callback.hpp"
#include "plugin_resolver.hpp"

#include <mlsysim/zoo/detail/contribution.hpp>

namespace mlsysim::plugin::detail {

/// One open plugin.
struct Loaded {
  Candidate candidate;
  std::shared_ptr<PluginCode> code;  ///< null for a plugin of zoo files alone
  PluginDescription description;     ///< of the code, or made from the manifest
  std::vector<ZooContribution> zoo;
  std::vector<OptionSetting> settings;
  std::vector<std::shared_ptr<PluginResolver>> resolvers;
  std::vector<std::shared_ptr<PluginCallback>> callbacks;
  std::uint64_t uses = 1;
  IsolationLimits limits{};  ///< of its process, where it has one

  [[nodiscard]] const std::string& name() const { return description.name; }
};

/// Opens a plugin that was found: vets it, runs initialize and register_all, and compares it with its
/// manifest.
/// @param private_copy open a copy of the file, so that the same path can be opened again
[[nodiscard]] Loaded open_candidate(Candidate candidate, const HostOptions& options,
                                    const std::shared_ptr<LocalServices>& services, bool private_copy);

/// Settings of options from the environment, the user's file and the manifest, in this order of precedence.
/// @throws PluginFault for a key that no option has
[[nodiscard]] std::vector<OptionSetting> settings_of(const PluginDescription& plugin,
                                                     const std::optional<Manifest>& manifest);

/// Variables of the environment that are written for options of this plugin and name none; empty, or a
/// sentence.
/// @param others names of the plugins that were found: a variable may be for one of a longer name
[[nodiscard]] std::string unknown_variables(const PluginDescription& plugin,
                                            const std::vector<std::string>& others);

/// Publishes what a set of plugins registers, beside what ships. Plugins that cannot be taken are moved to
/// `refused` with the reason, as a whole; resolvers that exist already are used as they are.
void publish(std::vector<Loaded>& plugins, ObjectTable& objects,
             std::vector<std::pair<Loaded, PluginFailure>>& refused);

}  // namespace mlsysim::plugin::detail

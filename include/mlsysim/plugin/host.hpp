#pragma once
/// Plugin host: finds plugins, checks and loads them, and publishes what they register.
///
/// Resolvers go to ResolverRegistry::standard(), units to UnitRegistry::standard(), entries to
/// standard_zoo(). Sources in order: named paths, MLSYSIM_PLUGIN_PATH, ./.mlsysim/plugins, the user's data
/// folder, the installation. A plugin may run in a process of its own, with limits on the time of a call and
/// on memory.
/// Example: `host.load` of the hello-c library adds the resolver "hello/DecodeFloor".
/// `host.unload("hello-c")` removes it.

#include <mlsysim/plugin/description.hpp>
#include <mlsysim/plugin/fault.hpp>
#include <mlsysim/plugin/manifest.hpp>
#include <mlsysim/plugin/support.hpp>
#include <mlsysim/reflect/value.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {
class Callback;
}

namespace mlsysim::plugin {

/// How far a plugin has come.
enum class PluginState : std::uint8_t { found, skipped, refused, vetted, loaded, initialised, shut_down };

/// Where the code of plugins runs. `as_asked`: in this process, unless the manifest asks for a process of its
/// own, or the library once ended a process. An unknown library is tried in a process of its own first.
/// `never`: in this process, untried.
enum class Isolation : std::uint8_t { as_asked, never, always };

/// Which of several plugins of one name is loaded: the first found, or the highest version.
enum class Prefer : std::uint8_t { first, newest };

/// Whether a source of plugins is searched.
enum class Look : std::uint8_t { no, yes };

/// Limits on a plugin in a process of its own.
struct IsolationLimits {
  std::chrono::milliseconds timeout{10000};  ///< of one call, initialization included
  std::uint64_t memory = 2ULL << 30;         ///< address space [B]; 0: no limit
};

struct HostOptions {
  std::vector<std::filesystem::path> paths{};  ///< libraries, manifests and folders that the caller names
  Look environment = Look::yes;                ///< MLSYSIM_PLUGIN_PATH
  Look project = Look::no;                     ///< ./.mlsysim/plugins
  Look user = Look::yes;                       ///< $XDG_DATA_HOME/mlsysim/plugins
  Look install = Look::yes;                    ///< lib/mlsysim/plugins of the installation
  std::optional<std::string> allowed{};        ///< "none" or names with commas; without it MLSYSIM_PLUGINS
  Isolation isolation = Isolation::as_asked;
  std::vector<std::string>
      isolated{};  ///< names of plugins that run in a process of their own, whatever `isolation` says
  IsolationLimits limits{};
  Prefer prefer = Prefer::first;
  Look insecure = Look::no;  ///< also plugins that everybody can write to
  std::function<void(std::int32_t level, std::string_view text)> log{};  ///< lines that plugins log
};

/// Isolation of the plugins that one call loads, in addition to the options of the host.
struct Placement {
  Isolation isolation = Isolation::as_asked;
  std::vector<std::string> isolated{};      ///< names, of those that `load_all` finds
  std::optional<IsolationLimits> limits{};  ///< instead of those of the host
};

/// Why a plugin is not available.
struct PluginFailure {
  std::string stage;  ///< "manifest", "vet", "dlopen", "initialize", "register_all", "solve of acme/X", ...
  MlsStatus code = MLS_UNKNOWN;
  std::string message, hint;
  std::string first_problem{};  ///< of a message with several, in one line
};

/// One plugin as `mlsysim plugin list` shows it.
struct PluginRecord {
  std::string name, version, summary, license;
  std::filesystem::path library, manifest;
  std::string source;  ///< "named", "MLSYSIM_PLUGIN_PATH", "project", "user", "install"
  PluginState state = PluginState::found;
  bool isolated = false;
  std::vector<std::pair<std::string, std::string>>
      provides;  ///< kind and name; from the manifest until it is loaded
  std::optional<PluginFailure> failure;
  std::string note;  ///< why it was skipped, or a warning
  std::uint64_t instances = 0;
};

/// The outcome of loading all plugins.
struct LoadReport {
  std::vector<std::string> loaded;
  std::vector<PluginRecord> failed;
};

struct ReloadReport {
  std::string old_version, new_version;
  bool same_interface = true;  ///< runs hold on to the old code, and new runs use the new one
  std::string old_code;        ///< "is unloaded when its last run ends", or why it stays mapped
};

/// The plugins of a process. One host exists at a time, and its end withdraws what it published.
///
/// Thread-safe. No library is opened before `load`, and no instance is made before a resolver runs.
class PluginHost {
 public:
  explicit PluginHost(HostOptions options = {});
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;
  ~PluginHost();

  /// Searches all sources and reads manifests. Failures become records.
  void discover();
  /// Searches, and checks each permitted plugin without running its code in this process. A plugin with a
  /// manifest is vetted, and a library without one is asked in a process of its own. Failures become records.
  void inspect();
  /// All plugins in order of their sources, and bytewise by name within one.
  [[nodiscard]] std::vector<PluginRecord> records() const;

  /// Loads one plugin by name or path. A second load counts, and needs a second `unload`. @return its name
  /// @throws PluginFault, also if a plugin that runs in this process is requested in a process of its own
  std::string load(const std::string& name_or_path, const Placement& how = {});
  /// Loads all permitted plugins. A plugin that fails does not stop the others.
  LoadReport load_all(const Placement& how = {});
  /// Withdraws what a plugin registered and shuts it down; runs that use it keep its code. @throws
  /// LookupError
  void unload(const std::string& name);
  /// Loads the file again, from a private copy, and switches new runs over. On failure the old one stays.
  /// @throws PluginFault, LookupError
  ReloadReport reload(const std::string& name);

  /// Everything about a loaded plugin. @throws LookupError
  [[nodiscard]] PluginDescription description(const std::string& name) const;
  /// Whether a loaded plugin has a feature, asked by name; unknown ones are false. @throws LookupError
  [[nodiscard]] bool has_feature(const std::string& name, std::string_view feature) const;
  /// One value of an option with the place that it comes from, in order of the declarations.
  struct OptionValue {
    std::string resolver, option, value, origin;
  };
  [[nodiscard]] std::vector<OptionValue> options_of(const std::string& name) const;
  /// Whether an instance of a resolver could be made now, with the options as they are set; asks, and changes
  /// nothing.
  struct Availability {
    Ownership ownership = Ownership::shared;
    std::string resource;  ///< resource of an exclusive instance
    std::optional<PluginFailure>
        held;  ///< empty if it could be made; otherwise the holder, or the reason that the plugin gives
  };
  /// @throws LookupError
  [[nodiscard]] Availability can_create(const std::string& resolver) const;
  /// Every backend that plugins registered.
  [[nodiscard]] std::vector<BackendDescription> backends() const;
  /// Asks a backend whether it runs a program on one of its devices; touches no device.
  /// @param effort 0 names, 1 attributes, 2 types and shapes, 3 context, 4 trial rewrite
  /// @throws LookupError, PluginFault
  [[nodiscard]] SupportAnswer support(const std::string& backend, const Program& program,
                                      const std::string& device, int effort = MLS_EFFORT_TYPES,
                                      SupportMode mode = SupportMode::conservative) const;
  /// Why a backend is not handed a program of this representation ("stablehlo:1.9.0"), by the formats and
  /// versions that its plugin states; nothing where it may be. @throws LookupError
  [[nodiscard]] std::optional<SupportReason> refused_version(const std::string& backend,
                                                             const std::string& source) const;
  /// Every importer and exporter that plugins registered.
  [[nodiscard]] std::vector<ConverterDescription> converters() const;
  /// Converts a file with an importer into the text of a zoo file, which is checked as a user's file. @throws
  /// LookupError, PluginFault, ErrorList
  [[nodiscard]] std::string import_text(const std::string& importer, const std::string& file,
                                        std::string_view bytes) const;
  /// An object in the format of an exporter. @throws LookupError, PluginFault
  [[nodiscard]] std::string export_text(const std::string& exporter, ObjectRef object) const;
  /// Observers of pipelines that plugins registered, for RunOptions; valid until their plugin is reloaded or
  /// unloaded.
  [[nodiscard]] std::vector<Callback*> callbacks() const;
  /// Observers of pipelines that plugins registered; each lives as long as its shared pointer.
  [[nodiscard]] std::vector<std::shared_ptr<Callback>> kept_callbacks() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// From now on, a plugin that ends this process by a signal or by `exit` is named on stderr. It is noted, so
/// that later runs give it a process of its own. `exit` ends with 1. Earlier signal handlers are called
/// afterwards.
void name_crashes();
/// Ends the process as `_exit` does. If a plugin calls it, the plugin is named on stderr and the status is 1.
/// A program that exports `_exit` and calls this reports every exit by a plugin.
[[noreturn]] void end_process(int status);

/// "found", ...
[[nodiscard]] std::string_view name_of(PluginState state);

}  // namespace mlsysim::plugin

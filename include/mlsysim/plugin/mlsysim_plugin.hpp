#pragma once
/// Writes a plugin in C++: ordinary Model, Solver and Optimizer classes become the C table of the plugin.
///
///   struct RequiredBandwidthSolver : mlsysim::Solver<RequiredBandwidthSolver> { ... };
///   MLSYSIM_PLUGIN(({.name = "acme-bandwidth", .space = "acme", .version = "1.0.0"})) {
///     plugin.add<RequiredBandwidthSolver>();
///   }
///
/// Only C crosses. The library code that a plugin uses is its own private copy: link `mlsysim::plugin_sdk`, a
/// static library with hidden symbols. Exceptions become errors. Specs are copied value by value.
/// Example: the code above registers the resolver "acme/RequiredBandwidthSolver".

#include <mlsysim/plugin/sdk_resolver.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::plugin::sdk {

/// The description that a plugin gives of itself.
struct About {
  std::string name;     ///< "acme-power"
  std::string space;    ///< namespace of what it registers: "acme"
  std::string version;  ///< "1.0.0"
  std::string summary{}, license{};
  std::int32_t threads = MLS_THREAD_SERIAL;
  std::uint32_t flags = 0;
  std::vector<std::pair<std::string, std::string>> attributes{};
  std::vector<std::string> features{};  ///< for has_feature
};

/// Collects the registrations of a plugin, and makes its table.
class Plugin {
 public:
  explicit Plugin(About about) : about_(std::move(about)) {}
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  /// A Model, Solver or Optimizer, or a law; its name is "space/Class".
  template <class R> Plugin& add(R resolver = {}) {
    resolvers_.push_back(
        std::make_unique<detail::Exported>(make_resolver(std::move(resolver)), about_.space, about_.version));
    return *this;
  }
  /// The resolver that was added last holds an exclusive resource: MLS_OWN_EXCLUSIVE_PROCESS or
  /// MLS_OWN_EXCLUSIVE_SYSTEM. @param resource its name: letters, digits, '_', '-' and '.'; empty: the
  /// resolver itself
  Plugin& exclusive(std::int32_t ownership, std::string_view resource = {}) {
    if (!resolvers_.empty()) resolvers_.back()->own(ownership, resource);
    return *this;
  }
  /// One `symbol` is multiplier / divisor of `base`; whole numbers.
  Plugin& unit(std::string symbol, std::string base, double multiplier, double divisor, std::string meaning) {
    units_.push_back({std::move(symbol), std::move(base), std::move(meaning), multiplier, divisor});
    return *this;
  }
  /// The text of a file of the zoo.
  Plugin& zoo_text(std::string name, std::string yaml) {
    zoo_.emplace_back(std::move(name), std::move(yaml));
    return *this;
  }
  /// A backend: devices by their names in the zoo, and a support query. @param query gives a verdict
  /// @tparam Predict a Model that becomes a resolver like any other
  template <class Predict>
  Plugin& backend(const std::string& name, std::string summary, std::vector<std::string> devices,
                  std::int32_t max_effort, std::int32_t (*query)(SupportQuery&)) {
    auto& row = backends_.emplace_back();
    row.name = about_.space + "/" + name;
    row.summary = std::move(summary);
    row.devices = std::move(devices);
    row.max_effort = max_effort;
    row.query = query;
    row.predict = std::make_unique<detail::Exported>(make_resolver(Predict{}), about_.space, about_.version);
    for (const auto& d : row.devices) row.device_texts.push_back(c_text(d));
    return *this;
  }
  /// Makes the text of a zoo file from the bytes of a file.
  Plugin& importer(const std::string& name, std::string summary, std::string format,
                   std::string (*function)(std::string_view file, std::string_view bytes)) {
    auto& row = converters_.emplace_back();
    row.name = about_.space + "/" + name;
    row.summary = std::move(summary);
    row.format = std::move(format);
    row.reads = function;
    return *this;
  }
  /// Writes an object in a format of its own.
  Plugin& exporter(const std::string& name, std::string summary, std::string format,
                   std::string (*function)(const MlsObject* object)) {
    auto& row = converters_.emplace_back();
    row.name = about_.space + "/" + name;
    row.summary = std::move(summary);
    row.format = std::move(format);
    row.writes = function;
    return *this;
  }
  /// An observer of pipelines and sweeps. A null function observes nothing. An exception is reported.
  /// @param observe called with every event of a pipeline
  /// @param on_break with each stage without a full answer, by a host of version 1.3
  /// @param on_sweep with the progress of sweeps, by a host of version 1.3
  Plugin& callback(const std::string& name, std::string summary, void (*observe)(const MlsEvent&),
                   void (*on_break)(const MlsBreak&) = nullptr, void (*on_sweep)(const MlsSweep&) = nullptr) {
    callbacks_.push_back({about_.space + "/" + name, std::move(summary), observe, on_break, on_sweep});
    return *this;
  }

  [[nodiscard]] const MlsPluginApi* table() {
    table_ = {};
    table_.struct_size = sizeof table_;
    table_.abi_major = MLS_ABI_MAJOR;
    table_.abi_minor = MLS_ABI_MINOR;
    table_.needs_host_minor = backends_.empty() && converters_.empty() ? 0 : 1;
    table_.flags = about_.flags;
    table_.threads = about_.threads;
    table_.name = c_text(about_.name);
    table_.version = c_text(about_.version);
    table_.summary = c_text(about_.summary);
    table_.license = c_text(about_.license);
    for (const auto& [name, text] : about_.attributes)
      attributes_.push_back({c_text(name), {MLS_STRING, 0, 0, c_text(text), nullptr}});
    table_.attributes = attributes_.data();
    table_.attribute_count = attributes_.size();
    current() = this;
    table_.initialize = [](const MlsHostApi* api) -> MlsError* {
      host_table() = api;
      return nullptr;
    };
    table_.register_all = [](const MlsHostApi* api, MlsRegistration* registration) -> MlsError* {
      return current()->register_all(api, registration);
    };
    table_.has_feature = [](MlsString name) -> std::int32_t {
      const auto& all = current()->about_.features;
      return std::find(all.begin(), all.end(), cpp_text(name)) != all.end() ? 1 : 0;
    };
    return &table_;
  }

 private:
  struct UnitRow {
    std::string symbol, base, meaning;
    double multiplier, divisor;
  };
  struct CallbackRow {
    std::string name, summary;
    void (*observe)(const MlsEvent&);
    void (*on_break)(const MlsBreak&);
    void (*on_sweep)(const MlsSweep&);
  };
  /// A slot of C that calls a function of a row.
  template <class E, void (*CallbackRow::*Function)(const E&)> static MlsError* observed(const E* event) {
    try {
      (static_cast<const CallbackRow*>(event->user)->*Function)(*event);
      return nullptr;
    } catch (...) {
      return Host(event->host).error_of_exception();
    }
  }
  struct BackendRow {
    std::string name, summary;
    std::vector<std::string> devices;
    std::vector<MlsString> device_texts;
    std::int32_t max_effort = 0;
    std::int32_t (*query)(SupportQuery&) = nullptr;
    std::unique_ptr<detail::Exported> predict;
  };
  struct ConverterRow {
    std::string name, summary, format;
    std::string (*reads)(std::string_view, std::string_view) = nullptr;
    std::string (*writes)(const MlsObject*) = nullptr;
  };

  static MlsError* query_support(MlsSupportArgs* args) noexcept {
    try {
      const auto& row = *static_cast<const BackendRow*>(args->user);
      SupportQuery query(*args);
      args->effort_used = std::min(args->effort, row.max_effort);
      args->verdict = row.query(query);
      return nullptr;
    } catch (...) {
      return Host(args->host).error_of_exception();
    }
  }
  static MlsError* convert(MlsConvertArgs* args) noexcept {
    try {
      const auto& row = *static_cast<const ConverterRow*>(args->user);
      const auto text = row.reads != nullptr ? row.reads(cpp_text(args->file), cpp_text(args->input))
                                             : row.writes(args->object);
      args->output = args->host->keep(args->host, args->call, c_text(text));
      return nullptr;
    } catch (...) {
      return Host(args->host).error_of_exception();
    }
  }
  [[nodiscard]] MlsError* register_since_1_1(const MlsHostApi* api, MlsRegistration* registration) const {
    for (const auto& row : backends_) {
      MlsBackend c{};
      c.struct_size = sizeof c;
      c.name = c_text(row.name);
      c.summary = c_text(row.summary);
      c.devices = row.device_texts.data();
      c.device_count = row.device_texts.size();
      c.user = &row;
      c.query_support = &Plugin::query_support;
      c.predict = row.predict->c();
      c.max_effort = row.max_effort;
      if (auto* error = api->add_backend(api, registration, &c)) return error;
    }
    for (const auto& row : converters_) {
      MlsConverter c{};
      c.struct_size = sizeof c;
      c.name = c_text(row.name);
      c.summary = c_text(row.summary);
      c.format = c_text(row.format);
      c.user = &row;
      c.convert = &Plugin::convert;
      c.direction = row.reads != nullptr ? MLS_IMPORTER : MLS_EXPORTER;
      if (auto* error = api->add_converter(api, registration, &c)) return error;
    }
    return nullptr;
  }
  static Plugin*& current() {
    static Plugin* plugin = nullptr;
    return plugin;
  }

  MlsError* register_all(const MlsHostApi* api, MlsRegistration* registration) const noexcept {
    for (const auto& u : units_) {
      const MlsUnit c{sizeof c,       0,  nullptr,           c_text(u.symbol),
                      c_text(u.base), {}, c_text(u.meaning), u.multiplier,
                      u.divisor};
      if (auto* error = api->add_unit(api, registration, &c)) return error;
    }
    for (const auto& r : resolvers_)
      if (auto* error = api->add_resolver(api, registration, r->c())) return error;
    for (const auto& [name, text] : zoo_)
      if (auto* error = api->add_zoo(api, registration, c_text(name), c_text(text))) return error;
    for (const auto& row : callbacks_) {
      MlsCallback c{};
      c.struct_size = sizeof c;
      c.name = c_text(row.name);
      c.summary = c_text(row.summary);
      c.user = &row;
      if (row.observe != nullptr) c.on_event = &observed<MlsEvent, &CallbackRow::observe>;
      if (row.on_break != nullptr) c.on_break = &observed<MlsBreak, &CallbackRow::on_break>;
      if (row.on_sweep != nullptr) c.on_sweep = &observed<MlsSweep, &CallbackRow::on_sweep>;
      if (auto* error = api->add_callback(api, registration, &c)) return error;
    }
    if (!backends_.empty() || !converters_.empty()) return register_since_1_1(api, registration);
    return nullptr;
  }

  About about_;
  std::vector<std::unique_ptr<detail::Exported>> resolvers_;
  std::vector<UnitRow> units_;
  std::vector<std::pair<std::string, std::string>> zoo_;
  std::deque<CallbackRow> callbacks_;
  std::deque<BackendRow> backends_;
  std::deque<ConverterRow> converters_;
  std::vector<MlsNamed> attributes_;
  MlsPluginApi table_{};
};

}  // namespace mlsysim::plugin::sdk

/// Defines the exported symbol. The block that follows fills `plugin`. An exception in it makes the plugin
/// unusable.
#define MLSYSIM_PLUGIN(...)                                                                  \
  static void mlsysim_fill_plugin(mlsysim::plugin::sdk::Plugin& plugin);                     \
  extern "C" MLS_EXPORT const MlsPluginApi* mlsysim_get_plugin_api(void) {                   \
    static const MlsPluginApi* const table = []() noexcept -> const MlsPluginApi* {          \
      try {                                                                                  \
        static mlsysim::plugin::sdk::Plugin plugin(mlsysim::plugin::sdk::About __VA_ARGS__); \
        mlsysim_fill_plugin(plugin);                                                         \
        return plugin.table();                                                               \
      } catch (...) {                                                                        \
        return nullptr;                                                                      \
      }                                                                                      \
    }();                                                                                     \
    return table;                                                                            \
  }                                                                                          \
  static void mlsysim_fill_plugin([[maybe_unused]] mlsysim::plugin::sdk::Plugin& plugin)

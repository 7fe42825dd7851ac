#pragma once
/// Description of a plugin and of everything that it registers, with texts owned by the host.
///
/// It copies the C structs of the plugin interface, so that it stays valid after the library is closed.
/// Example: a plugin with the unit furlong and the model acme/X: `provides()` is {("unit", "furlong"),
/// ("model", "acme/X")}.

#include <mlsysim/plugin/mlsysim_plugin.h>
#include <mlsysim/reflect/choice.hpp>
#include <mlsysim/resolver_api/resolver_info.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::plugin {

/// An MlsValue with texts of its own.
struct OwnedValue {
  std::int32_t kind = MLS_NONE;
  bool flag = false;
  double number = 0;
  std::string text;  ///< a text, or the unit of a number
  const MlsObject* object = nullptr;

  /// The value as a C struct, valid as long as this object.
  [[nodiscard]] MlsValue view() const;
  [[nodiscard]] static OwnedValue of(const MlsValue& value);
};

/// An MlsField with texts of its own.
struct FieldDescription {
  std::string name, meaning, unit, display, object_type, default_source;
  std::vector<std::string> choices;
  OwnedValue default_value;
  double low = 0, high = 0;
  std::int32_t kind = MLS_FIELD_NUMBER;
  std::uint32_t flags = 0;

  [[nodiscard]] bool has(std::uint32_t flag) const { return (flags & flag) != 0; }
};

/// How many instances of a resolver may exist at a time: any number, one in a process, one on the machine.
enum class Ownership : std::uint8_t { shared, exclusive_process, exclusive_system };

struct ResolverDescription {
  Tier tier = Tier::model;
  std::uint32_t flags = 0;
  std::string name, summary, version, law, source;
  std::vector<FieldDescription> inputs, outputs, options;
  bool has_instances = false;  ///< an instance must be created, or a resource held, before a call
  Ownership ownership = Ownership::shared;
  std::string resource;  ///< resource of an exclusive instance; the resolver's name if the plugin names none
};

struct UnitDescription {
  std::string symbol, base, decimal_prefixes, meaning;
  double multiplier = 1, divisor = 1;
};

struct ZooText {
  std::string name, text;
};

struct CallbackDescription {
  std::string name, summary;
  bool on_event = true, on_break = false, on_sweep = false;  ///< the calls that it implements
};

struct BackendDescription {
  std::string name, summary, predict;  ///< predict: name of its resolver, or empty
  std::vector<std::string> devices;
  std::int32_t max_effort = 0;
};

struct ConverterDescription {
  std::string name, summary, format;
  std::int32_t direction = MLS_IMPORTER;
};

/// Everything about one plugin.
struct PluginDescription {
  std::string name, version, summary, license;
  std::uint32_t abi_major = 0, abi_minor = 0, needs_host_minor = 0, flags = 0;
  std::int32_t threads = MLS_THREAD_SERIAL;
  std::vector<std::pair<std::string, OwnedValue>> attributes;
  std::vector<ResolverDescription> resolvers;
  std::vector<UnitDescription> units;
  std::vector<ZooText> zoo;
  std::vector<CallbackDescription> callbacks;
  std::vector<BackendDescription> backends;
  std::vector<ConverterDescription> converters;

  /// Kind and name of everything that it registers: units, resolvers, zoo texts, callbacks, backends,
  /// converters.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> provides() const;
};

/// A text of the C interface.
[[nodiscard]] inline MlsString to_c(std::string_view text) { return {text.data(), text.size()}; }
[[nodiscard]] inline std::string_view from_c(MlsString text) {
  return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}
/// "INVALID_ARGUMENT", ...
[[nodiscard]] std::string_view status_name(MlsStatus status);

}  // namespace mlsysim::plugin

namespace mlsysim {
template <>
inline constexpr auto names_of<plugin::Ownership> =
    ChoiceNames{"ownership", "shared", "exclusive-process", "exclusive-system"};
}  // namespace mlsysim

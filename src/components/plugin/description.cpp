#include "detail/code.hpp"

#include <mlsysim/plugin/description.hpp>

#include <fmt/format.h>

#include <array>

namespace mlsysim::plugin {

MlsValue OwnedValue::view() const { return {kind, flag ? 1 : 0, number, to_c(text), object}; }

OwnedValue OwnedValue::of(const MlsValue& v) {
  return {v.kind, v.flag != 0, v.number, std::string(from_c(v.text)), v.object};
}

std::vector<std::pair<std::string, std::string>> PluginDescription::provides() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& u : units) out.emplace_back("unit", u.symbol);
  for (const auto& r : resolvers) out.emplace_back(std::string(name_of(r.tier)), r.name);
  for (const auto& z : zoo) out.emplace_back("zoo", z.name);
  for (const auto& c : callbacks) out.emplace_back("callback", c.name);
  for (const auto& b : backends) out.emplace_back("backend", b.name);
  for (const auto& c : converters)
    out.emplace_back(c.direction == MLS_IMPORTER ? "importer" : "exporter", c.name);
  return out;
}

std::string_view status_name(MlsStatus status) {
  static constexpr std::array<std::string_view, 17> names{
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return status >= 0 && status < static_cast<MlsStatus>(names.size())
             ? names[static_cast<std::size_t>(status)]
             : "UNKNOWN";
}

namespace detail {

std::string slot_of(const PluginDescription& plugin, std::string_view slot, std::size_t i) {
  const auto named = [&](const auto& list) {
    return i < list.size() ? fmt::format("{} of {}", slot, list[i].name) : std::string(slot);
  };
  if (slot == "on_event" || slot == "on_break" || slot == "on_sweep") return named(plugin.callbacks);
  if (slot == "query_support") return named(plugin.backends);
  if (slot == "convert") return named(plugin.converters);
  if (slot == "create" || slot == "can_create" || slot == "destroy" || slot == "solve")
    return named(plugin.resolvers);
  return std::string(slot);
}

PluginFault with_names(const PluginFault& fault, std::string_view plugin, std::string_view call) {
  if (!fault.plugin().empty()) return fault;
  auto facts = fault.facts();
  facts.message = fmt::format("{} of '{}': {}", call, plugin, facts.message);
  return {std::move(facts), fault.code(), std::string(plugin), std::string(call), fault.payload()};
}

}  // namespace detail

}  // namespace mlsysim::plugin

#pragma once
/// Matches the format of a program against the formats that a plugin accepts.

#include <mlsysim/plugin/support.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace mlsysim::plugin::detail {

/// How a program is handed to a plugin, or why it is not.
struct Handover {
  std::string format;  ///< "operators", or a representation with its version
  std::optional<SupportReason> refused;
};
/// The intersection of what a plugin takes with what a program is.
/// @param accepted the attribute formats.in: "operators, stablehlo:0.9.0..1.20.0"; empty: operators
/// @param source as Program::source
[[nodiscard]] Handover handover(std::string_view accepted, std::string_view source);

}  // namespace mlsysim::plugin::detail

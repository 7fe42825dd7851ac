#pragma once
/// Refusals of this room.

#include <mlsysim/units/error.hpp>

#include <string>
#include <string_view>

namespace mlsysim::detail {

[[noreturn]] inline void refuse_telemetry(std::string_view id, std::string message, std::string found,
                                          std::string expected, std::string hint) {
  throw InputError({.id = std::string(id),
                    .message = std::move(message),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

}  // namespace mlsysim::detail

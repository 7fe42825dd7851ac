#pragma once
/// Wrong use of a command.

#include <mlsysim/units/error.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace mlsysim::cli {

/// @throws InputError with these facts
[[noreturn]] inline void refuse(std::string_view id, std::string message, std::string key, std::string found,
                                std::string expected, std::string hint) {
  throw InputError({.id = std::string(id),
                    .message = std::move(message),
                    .key = std::move(key),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

}  // namespace mlsysim::cli

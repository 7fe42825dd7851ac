#pragma once
/// The message for a call of the system that failed with a file.

#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <cerrno>
#include <cstring>
#include <string>

namespace mlsysim::cli {

/// @throws InputError always, with what errno says
[[noreturn]] inline void file_fault(const std::string& path, std::string message, std::string hint) {
  throw InputError({.id = "mlsysim.cli.067",
                    .message = std::move(message),
                    .key = path,
                    .found = fmt::format("'{}': {}", path, std::strerror(errno)),
                    .hint = std::move(hint)});
}

}  // namespace mlsysim::cli

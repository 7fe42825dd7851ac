#include <mlsysim/ops/export/credentials.hpp>

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <cstdlib>

namespace mlsysim {

std::string credentials_in(std::string_view variable) {
  if (variable.empty()) return {};
  if (const char* value = std::getenv(std::string(variable).c_str())) return value;
  throw InputError("mlsysim.telemetry.009", "credentials are missing", "",
                   fmt::format("no variable '{}'", variable), "user:password in it",
                   "set it, or leave its name out");
}

std::string secret_of(std::string_view reference) {
  if (reference.starts_with("env:")) return credentials_in(reference.substr(4));
  if (!reference.starts_with("file:"))
    throw InputError("mlsysim.telemetry.013", "a secret stands where a reference to it is due", "",
                     fmt::format("a text of {} characters", reference.size()), "env:NAME or file:PATH",
                     "move it into a variable or a file, and change it: it may have been seen");
  const auto text = files::read(std::string(reference.substr(5)), "a file with a secret", 1U << 16);
  return text.substr(0, text.find_first_of("\r\n"));
}

std::string state_of_secret(std::string_view reference) {
  try {
    return secret_of(reference).empty() ? "empty" : "set";
  } catch (const Error& error) {
    return error.facts().message + ": " + error.facts().found;
  }
}

}  // namespace mlsysim

#pragma once
/// Secrets by reference: a variable or a file holds them, and nothing else ever shows them.

#include <string>
#include <string_view>

namespace mlsysim {

/// Reads an environment variable; empty where no name is given. @throws InputError where it is not set
[[nodiscard]] std::string credentials_in(std::string_view variable);
/// A secret from its reference: "env:NAME" or "file:PATH" (the first line). @throws InputError for a secret
/// that stands there itself, which is not repeated, and for references that lead nowhere
[[nodiscard]] std::string secret_of(std::string_view reference);

/// Whether a reference leads to a secret, in words that do not show it: "set", or what is missing.
[[nodiscard]] std::string state_of_secret(std::string_view reference);

}  // namespace mlsysim

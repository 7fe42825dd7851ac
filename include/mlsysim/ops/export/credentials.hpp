#pragma once
/// Secrets by reference: an environment variable or a file holds the secret, and no message ever shows it.
///
/// A reference is "env:NAME", or "file:PATH" for the first line of a file.
/// Example: with TOKEN=x set, `state_of_secret("env:TOKEN")` is "set". The literal "hunter2" as a reference
/// is refused with "a text of 7 characters".

#include <string>
#include <string_view>

namespace mlsysim {

/// Reads an environment variable; empty where no name is given. @throws InputError where it is not set
[[nodiscard]] std::string credentials_in(std::string_view variable);
/// The secret of a reference. @throws InputError for a literal secret, which is not repeated, and for a
/// reference to nothing
[[nodiscard]] std::string secret_of(std::string_view reference);

/// Whether a reference leads to a secret: "set", "empty", or the error. The secret is not shown.
[[nodiscard]] std::string state_of_secret(std::string_view reference);

}  // namespace mlsysim

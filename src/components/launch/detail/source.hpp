#pragma once
/// Reads a launch without interpreting it: words of a shell command, keys of a file.

#include <mlsysim/units/error.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

inline constexpr std::size_t kLongestLaunch = 1 << 20;  ///< bytes
inline constexpr std::size_t kMostSettings = 10000;     ///< words of a command, keys of a file

/// A word of a shell's command.
struct ShellWord {
  std::string text;
  int line = 1;
};
/// A script, split but not run: commands, and what was assigned before them.
struct ShellScript {
  std::vector<std::vector<ShellWord>> commands;  ///< without their leading assignments
  std::vector<std::pair<std::string, ShellWord>> assignments;
  std::map<std::string, std::string> batch;      ///< variables that Slurm makes of its options
  std::string machine;                           ///< the device that its options name, "h100"
  std::map<std::string, std::string> variables;  ///< all that are set at its end
  std::map<std::string, std::string> files;  ///< texts that here-documents write, by the name that is written
};
/// Splits as a shell does: quotes, continued lines, comments, arrays. `$NAME` and `${NAME:-word}` stand for
/// what was assigned in this text, and for nothing else; substitutions of commands stay as they are written.
/// `$((A * B))` is a number where A and B are.
/// @param variables that are set before
/// @throws InputError for a quote or an array that is not closed, or too many words
[[nodiscard]] ShellScript split_shell(std::string_view text, const std::string& name,
                                      std::map<std::string, std::string> variables = {});

/// The number that `$((text))` stands for: sums, products and quotients of whole numbers and of variables
/// that hold such. Nothing where a shell would have to be asked.
[[nodiscard]] std::optional<std::string> arithmetic(std::string_view text,
                                                    const std::map<std::string, std::string>& variables);

/// A key of a file with its value, or a flag of a command with what follows it.
struct Given {
  std::string key, value;
  Location where;
  bool has_value = true;
  bool flag_of_file = false;  ///< comes from a file that a command names
};
/// The leaves of a YAML or JSON text, keys joined by dots; a list is one value. @throws InputError, ErrorList
[[nodiscard]] std::vector<Given> flatten_yaml(std::string text, const std::string& name,
                                              const std::string& prefix = {});
/// The leaves of a TOML text: tables, keys with dots, scalars and lists of them. @throws InputError
[[nodiscard]] std::vector<Given> flatten_toml(std::string_view text, const std::string& name);

}  // namespace mlsysim::detail

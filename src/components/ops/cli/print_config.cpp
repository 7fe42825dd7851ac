// Prints each setting in force for a command, and its source: --print-config. Secrets are never shown.

#include "cli/commands_ci.hpp"
#include "cli/program.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/ops/export/credentials.hpp>
#include <mlsysim/ops/export/push.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include <unistd.h>

namespace mlsysim::cli {
namespace {

/// Variables that the program reads and whose values are no secrets.
constexpr std::array<std::string_view, 15> kVariables{
    "MLSYSIM_OBSERVE",  "MLSYSIM_ZOO_PATH", "MLSYSIM_PLUGIN_PATH", "MLSYSIM_PLUGINS", "MLSYSIM_TABLES",
    "MLSYSIM_LOCK_DIR", "MLSYSIM_SECURE",   "MLSYSIM_PYTHON",      "GIT_COMMIT",      "GITHUB_SHA",
    "CI_COMMIT_SHA",    "GITHUB_ACTIONS",   "SOURCE_DATE_EPOCH",   "NO_COLOR",        "TERM"};

/// A value without the user and the password of a URL.
std::string without_password(const std::string& value) {
  return value.find("://") == std::string::npos ? value : masked_url(value);
}

std::string name_of_option(const CLI::Option& option) {
  return option.get_positional() ? option.get_name() : option.get_name(false, true);
}

/// Options of a command and of those around it which have a value.
/// @param words of the command line
void add_options(const CLI::App* command, const std::vector<std::string>& words, std::vector<Setting>& out) {
  for (const auto* at = command; at != nullptr; at = at->get_parent())
    for (const auto* option : at->get_options()) {
      const auto name = option->get_single_name();
      if (name == "help" || name == "version" || name == "print-config") continue;
      if (option->count() > 0) {
        std::vector<std::string> values;
        for (const auto& value : option->results()) values.push_back(without_password(value));
        auto text = option->get_items_expected_max() == 0 ? std::string("on")
                                                          : fmt::format("{}", fmt::join(values, " "));
        if (name == "credentials-env") text += fmt::format(" ({})", state_of_secret("env:" + text));
        const auto variable = option->get_envname();
        const bool said = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
          return word.substr(0, word.find('=')) == "--" + name;
        });
        out.push_back({name_of_option(*option), std::move(text),
                       variable.empty() || said ? "command line" : "environment, " + variable});
      } else if (!option->get_default_str().empty()) {
        out.push_back({name_of_option(*option), option->get_default_str(), "default"});
      }
    }
}

/// Variables that are set. Of one that is not known, only that it is there.
void add_variables(std::vector<Setting>& out) {
  std::vector<Setting> found;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view pair(*at);
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = pair.substr(0, equals);
    const bool known = std::find(kVariables.begin(), kVariables.end(), name) != kVariables.end();
    if (known)
      found.push_back(
          {std::string(name), without_password(std::string(pair.substr(equals + 1))), "environment"});
    else if (name.starts_with("MLSYSIM_"))
      found.push_back({std::string(name), "set, not shown", "environment"});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  out.insert(out.end(), found.begin(), found.end());
}

/// The file of exporters that the command would use; empty where there is none.
std::string exporters_of(const CLI::App* command) {
  if (const auto* option = command->get_option_no_throw("--observe");
      option != nullptr && option->count() > 0)
    return option->results().front();
  const char* file = files::secure() ? nullptr : std::getenv("MLSYSIM_OBSERVE");
  return file == nullptr ? std::string() : std::string(file);
}

}  // namespace

Answer Program::configuration(const CLI::App* command) {
  settle_format(command->get_name());
  std::vector<Setting> all;
  add_options(command, words_, all);
  add_variables(all);
  const auto file = exporters_of(command);
  auto plan = file.empty() ? ObservePlan() : read_observability(file);
  if (const auto* given = command->get_option_no_throw("--commit"); given != nullptr && given->count() > 0) {
    plan.commit = given->results().front();
    plan.from["commit"] = "command line";
  }
  for (auto& s : settings_of(plan)) all.push_back(std::move(s));
  Table table{.schema = "mlsysim/config@1",
              .title = "In force, and where it comes from",
              .columns = {{"setting"}, {"value"}, {"from"}}};
  for (const auto& s : all) table.rows.push_back({s.name, s.value, s.from});
  if (file.empty()) table.footer = "no exporter is configured: nothing is sent";
  return {render(table, render_)};
}

}  // namespace mlsysim::cli

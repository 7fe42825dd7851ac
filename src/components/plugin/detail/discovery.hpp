#pragma once
/// Where plugins are looked for, and whether a file may be opened.

#include <mlsysim/plugin/host.hpp>

#include <set>

namespace mlsysim::plugin::detail {

/// A plugin that was found, with its manifest where it has one.
struct Candidate {
  PluginRecord record;
  std::optional<Manifest> manifest;
  bool named = false;  ///< the caller asked for this one
};

/// Everything in the sources of the options; nothing is opened.
[[nodiscard]] std::vector<Candidate> find_candidates(const HostOptions& options);
/// A library, manifest or the only plugin of a folder. @throws PluginFault
[[nodiscard]] Candidate candidate_at(const std::filesystem::path& path);
/// The names that may be loaded; nothing: all of them.
[[nodiscard]] std::optional<std::set<std::string>> allowed_names(const HostOptions& options);

/// Throws the failure that a plugin has on record. @throws PluginFault
[[noreturn]] void refuse(const PluginRecord& record, std::string key);
/// Checks a plugin without executing it: the library with its headers, symbols, digest and permissions; that
/// files with entries can be read. @throws PluginFault
void vet(const Candidate& candidate, const HostOptions& options);

/// Whether the environment and the files of the user are not to be trusted.
[[nodiscard]] bool is_secure();

/// The failure behind an exception.
[[nodiscard]] PluginFailure failure_of(const std::exception& error, std::string stage);
/// Whether version `a` is above `b`: numbers compare as numbers.
[[nodiscard]] bool is_newer(std::string_view a, std::string_view b);

}  // namespace mlsysim::plugin::detail

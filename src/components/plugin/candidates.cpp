// Which of the plugins that discovery finds may be loaded: those that are allowed, and one of each name.

#include "detail/candidates.hpp"

#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::plugin::detail {

namespace fs = std::filesystem;

namespace {

fs::path folder_of(const PluginRecord& r) {
  return (r.manifest.empty() ? r.library : r.manifest).parent_path();
}
int priority(const Candidate& c) { return c.manifest ? c.manifest->priority : Manifest().priority; }

}  // namespace

std::string place_of(const PluginRecord& r) {
  return (r.manifest.empty() ? r.library : r.manifest).generic_string();
}

bool same_file(const PluginRecord& a, const PluginRecord& b) {
  const auto& x = a.library.empty() ? a.manifest : a.library;
  const auto& y = b.library.empty() ? b.manifest : b.library;
  std::error_code failed;
  return !x.empty() && !y.empty() && (x == y || fs::equivalent(x, y, failed));
}

void Candidates::look(const HostOptions& options) {
  all_ = find_candidates(options);
  const auto allowed = allowed_names(options);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    auto& c = all_[i];
    if (c.record.state == PluginState::refused) continue;
    if (allowed && !c.named && !allowed->contains(c.record.name)) {
      c.record.state = PluginState::skipped;
      c.record.note = "skipped (not allowed by MLSYSIM_PLUGINS)";
      continue;
    }
    for (std::size_t k = 0; k < i; ++k) {
      auto& first = all_[k];
      if (first.record.name != c.record.name || first.record.state != PluginState::found) continue;
      // Folders are in the order of the user; within one, names of files say nothing, and the manifests
      // decide.
      const bool ahead = options.prefer == Prefer::newest ? is_newer(c.record.version, first.record.version)
                                                          : folder_of(c.record) == folder_of(first.record) &&
                                                                priority(c) > priority(first);
      auto& loses = ahead ? first : c;
      const auto& wins = &loses == &c ? first : c;
      loses.record.state = PluginState::skipped;
      loses.record.note =
          fmt::format("skipped: another plugin of this name is used, {}", place_of(wins.record));
    }
  }
  if (allowed) add_missing(*allowed);
  looked_ = true;
}

/// Records the names that the user allows and that are found nowhere as refused.
void Candidates::add_missing(const std::set<std::string>& allowed) {
  for (const auto& name : allowed)
    if (std::none_of(all_.begin(), all_.end(), [&](const Candidate& c) { return c.record.name == name; })) {
      Candidate missing;
      missing.record.name = name;
      missing.record.source = "MLSYSIM_PLUGINS";
      missing.record.state = PluginState::refused;
      missing.record.failure = {
          "find", MLS_NOT_FOUND,
          fmt::format("the plugin '{}', which MLSYSIM_PLUGINS names, is not found", name),
          "mlsysim plugin list shows what is found; packages of Python are for Python alone"};
      all_.push_back(std::move(missing));
    }
}

void Candidates::remember(const PluginRecord& record) {
  for (auto& c : all_)
    if (same_file(c.record, record) || (c.record.library.empty() && c.record.manifest == record.manifest))
      c.record = record;
}

void Candidates::refuse(PluginRecord& record, const std::exception& error, const char* stage) {
  // A failure that is known already says more than the error that repeats it.
  if (!record.failure) record.failure = failure_of(error, stage);
  record.state = PluginState::refused;
  remember(PluginRecord(record));
}

Candidate Candidates::by_name(const std::string& name) const {
  std::vector<std::string> names;
  const Candidate* skipped = nullptr;
  for (const auto& c : all_) {
    names.push_back(c.record.name);
    if (c.record.name != name) continue;
    if (c.record.state != PluginState::skipped) return c;
    skipped = &c;
  }
  if (skipped != nullptr)
    fail(MLS_PERMISSION_DENIED,
         {.id = "mlsysim.plugin.103",
          .message = fmt::format("the plugin '{}' is not loaded", name),
          .key = name,
          .found = skipped->record.note,
          .expected = "a plugin that is allowed",
          .hint = "change MLSYSIM_PLUGINS"},
         name, "find");
  fail(MLS_NOT_FOUND,
       {.id = "mlsysim.plugin.104",
        .message = fmt::format("there is no plugin '{}'", name),
        .key = name,
        .found = fmt::format("'{}'", name),
        .expected =
            names.empty() ? "a plugin; none was found" : fmt::format("one of {}", fmt::join(names, ", ")),
        .hint = did_you_mean(name, names)},
       name, "find");
}

std::vector<std::string> Candidates::names() const {
  std::vector<std::string> out;
  for (const auto& c : all_) out.push_back(c.record.name);
  return out;
}

}  // namespace mlsysim::plugin::detail

#pragma once
/// Plugins that discovery found, and which of them may be loaded.

#include "loaded.hpp"

#include <set>
#include <string>
#include <vector>

namespace mlsysim::plugin::detail {

/// The manifest of a plugin, or its library where it has none.
[[nodiscard]] std::string place_of(const PluginRecord& r);
[[nodiscard]] bool same_file(const PluginRecord& a, const PluginRecord& b);

/// The plugins that were found, in the order of the places searched, with the state of each.
class Candidates {
 public:
  /// Searches all places again. What is not allowed is skipped, and all but one of each name.
  void look(const HostOptions& options);
  [[nodiscard]] bool looked() const { return looked_; }
  [[nodiscard]] std::vector<Candidate>& all() { return all_; }
  [[nodiscard]] const std::vector<Candidate>& all() const { return all_; }
  [[nodiscard]] std::vector<std::string> names() const;
  /// @throws PluginFault if there is none of this name that may be loaded
  [[nodiscard]] Candidate by_name(const std::string& name) const;
  /// Stores the new state of a plugin in its candidate, if it has one.
  void remember(const PluginRecord& record);
  /// Marks a record as refused, with the failure as the reason.
  void refuse(PluginRecord& record, const std::exception& error, const char* stage = "open");

 private:
  void add_missing(const std::set<std::string>& allowed);

  std::vector<Candidate> all_;
  bool looked_ = false;
};

}  // namespace mlsysim::plugin::detail

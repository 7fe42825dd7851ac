#pragma once
/// Commands about plugins, and about the programs that backends support.

#include "cli/plugins.hpp"

namespace mlsysim::cli {

[[nodiscard]] Answer plugin_list(const RenderOptions& options);
[[nodiscard]] Answer plugin_show(const std::string& name, const RenderOptions& options);
[[nodiscard]] Answer plugin_caps(const std::string& name, const RenderOptions& options);
[[nodiscard]] Answer plugin_reload(const std::string& name, const RenderOptions& options);
/// Runs mlsysim-plugin-check, which lies beside this program, with these words.
[[nodiscard]] Answer plugin_check(const std::vector<std::string>& words);
/// Writes a project that builds and passes the kit. @param language c, cpp or python
[[nodiscard]] Answer plugin_new(const std::string& name, const std::string& language,
                                const std::string& folder);

/// Request of `mlsysim support`; an empty name means every program, hardware or backend.
struct SupportRequest {
  std::string program, hardware, backend;
  std::vector<std::string> files;  ///< programs, instead of a model of the zoo
  int effort = 2;
  bool aggressive = false;
};
/// Exit code of a verdict that is neither yes nor no.
inline constexpr Exit kMaybe{4};
/// Yes, no or maybe, with every reason; one answer sets the exit code: 0, 1, 4.
[[nodiscard]] Answer support(const SupportRequest& request, const RenderOptions& options);
/// Reads a file with an importer, and returns the text of a zoo file.
[[nodiscard]] Answer plugin_import(const std::string& importer, const std::string& file);
[[nodiscard]] Answer plugin_export(const std::string& exporter, const std::string& entry);

}  // namespace mlsysim::cli

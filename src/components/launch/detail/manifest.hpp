#pragma once
/// Manifests of containers and tasks that hold launches.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// A manifest: what it is, and its commands as a script that is read and never run.
struct Manifest {
  std::string kind;  ///< "a docker-compose file"
  std::string script;
  std::vector<std::string> images;
  std::vector<std::string> notes{};  ///< copies and choices that it states
  std::string machine{};  ///< the device that it asks for, as people write it; empty where it names none
};
/// The manifest that a YAML text is, or nothing. @throws InputError, ErrorList for a manifest that is no YAML
[[nodiscard]] std::optional<Manifest> read_manifest(std::string_view text, const std::string& name);
/// The Modelfile of Ollama that a text is, or its `ollama run MODEL`, as a launch of llama.cpp, which runs
/// it; or nothing.
[[nodiscard]] std::optional<Manifest> read_modelfile(std::string_view text);
/// The Dockerfile that a text is: its entry point and command in its last image; or nothing.
[[nodiscard]] std::optional<Manifest> read_dockerfile(std::string_view text);

}  // namespace mlsysim::detail

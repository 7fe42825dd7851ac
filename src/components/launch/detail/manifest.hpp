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
  std::string slice{};    ///< the profile of MIG that it asks for; empty where it asks for none
};
/// The manifest that a text is, or nothing: YAML by the name of its file, or a Modelfile, a Dockerfile or a
/// unit of systemd. @throws InputError, ErrorList for a manifest that is no YAML
[[nodiscard]] std::optional<Manifest> read_manifest(std::string_view text, const std::string& name);

/// The Modelfile of Ollama that a text is, or its `ollama run MODEL`, as a launch of llama.cpp, which runs
/// it; or nothing.
[[nodiscard]] std::optional<Manifest> read_ollama(std::string_view text);
/// The launch that a script of Python makes by a call (`LLM(...)`, `TrainingArguments(...)`) or as a list of
/// words; or nothing.
[[nodiscard]] std::optional<Manifest> read_python(std::string_view text);
/// The names of the calls that it knows, for messages.
[[nodiscard]] std::string python_calls();
/// One word in quotes, with `${NAME}` and `$(NAME)` left to be set. What a shell computes stays as it is.
[[nodiscard]] std::string quoted(std::string text);

}  // namespace mlsysim::detail

#include "detail/unread.hpp"

#include "detail/source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace mlsysim::detail {
namespace {

/// Programs that people start and that are not read, by their names.
constexpr auto kUnread = std::to_array<std::string_view>({"ollama",
                                                          "text-generation-launcher",
                                                          "text-generation-inference",
                                                          "text-embeddings-router",
                                                          "text-embeddings-inference",
                                                          "nim",
                                                          "infinity_emb",
                                                          "lmdeploy",
                                                          "tritonserver",
                                                          "mlc_llm",
                                                          "mlx_lm.server",
                                                          "axolotl",
                                                          "llamafactory-cli",
                                                          "trl",
                                                          "tune",
                                                          "accelerate",
                                                          "deepspeed",
                                                          "torchrun",
                                                          "horovodrun",
                                                          "composer",
                                                          "trtllm-bench",
                                                          "swift",
                                                          "xtuner",
                                                          "colossalai",
                                                          "sglang.bench_serving",
                                                          "sglang_router.launch_server",
                                                          "vllm",
                                                          "sglang"});

/// Keys in the first column of a YAML text, for the error message.
std::string keys_of(std::string_view text) {
  std::vector<std::string_view> keys;
  while (!text.empty() && keys.size() < 6) {
    const auto line = text.substr(0, std::min(text.find('\n'), text.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && colon > 0 && colon < 40 && line.find_first_of(" #-") > 0)
      keys.push_back(line.substr(0, colon));
  }
  return fmt::format("a file with the keys {}", fmt::join(keys, ", "));
}

/// Programs of a script, for the error message.
std::string programs_of(const ShellScript& script) {
  std::vector<std::string> names;
  for (const auto& command : script.commands) {
    if (command.empty()) continue;
    const std::string name = "'" + command.front().text.substr(0, 40) + "'";
    if (std::find(names.begin(), names.end(), name) == names.end() && names.size() < 4) names.push_back(name);
  }
  return names.empty() ? "no command" : fmt::format("commands {}", fmt::join(names, ", "));
}

}  // namespace

std::string unread_program(const LaunchQuestion& q) {
  if (q.name.ends_with(".yaml") || q.name.ends_with(".yml")) return keys_of(q.text);
  if (q.name.ends_with(".py"))
    return fmt::format("a script of Python without a command in a list, and without a call of {}",
                       python_calls());
  const auto script = split_shell(q.text, q.name);
  for (const auto& command : script.commands)
    for (const auto& word : command) {
      auto program = std::string_view(word.text).substr(word.text.find_last_of('/') + 1);
      program = word.text.starts_with("nvcr.io/nim/") ? "nim" : program.substr(0, program.find(':'));
      if (std::find(kUnread.begin(), kUnread.end(), program) != kUnread.end())
        return fmt::format("a launch of {}, which is not read", program);
    }
  return programs_of(script);
}

std::string what_instead(const LaunchQuestion& q) {
  const auto has = [&](std::string_view words) { return q.text.find(words) != std::string::npos; };
  if (has("ollama serve"))
    return "the server names no model: give 'ollama run MODEL', with its OLLAMA_ variables in front";
  if (has("text-embeddings-"))
    return "mlsysim eval MODEL DEVICE --batch-size N --seq-len N has the pass of an encoder";
  for (const std::string_view server : {"text-generation-", "lmdeploy", "mlx_lm", "mlc_llm", "nim"})
    if (has(server))
      return "mlsysim eval MODEL DEVICE --tp-size N --seq-len N --batch-size N predicts it for a generic "
             "engine";
  return "--format names the engine of a file";
}

void refuse_manifest(const Manifest& manifest, std::string_view name) {
  throw InputError(kNoLaunch.with(
      {.found = manifest.images.empty()
                    ? manifest.kind + " without an engine that is read"
                    : fmt::format("{} with the images {}", manifest.kind, fmt::join(manifest.images, ", ")),
       .hint = "give the command of the engine, in quotes",
       .where = {std::string(name)}}));
}

}  // namespace mlsysim::detail

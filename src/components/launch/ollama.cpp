// Models that Ollama runs, as launches of llama.cpp.

#include "detail/command.hpp"
#include "detail/manifest.hpp"
#include "detail/settings.hpp"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <utility>

namespace mlsysim::detail {
namespace {

/// Names of Ollama's library without a size, or whose size is that of another model (ollama.com/library,
/// November 2026; some are recalled, to be compared with it before a release).
constexpr auto kLibrary = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"llama3.1", "llama3.1-8b"},
    {"llama3.2", "llama3.2-3b"},
    {"llama3.3", "llama3.3-70b"},
    {"llama3", "llama3-8b"},
    {"llama2", "llama2-7b"},
    {"codellama", "codellama-7b"},
    {"mistral", "mistral-7b-instruct-v0.3"},
    {"mistral-7b", "mistral-7b-instruct-v0.3"},
    {"mixtral", "mixtral-8x7b"},
    {"gemma2", "gemma2-9b"},
    {"gemma3", "gemma3-4b"},
    {"phi4", "phi-4"},
    {"phi4-14b", "phi-4"},
    {"qwen2.5", "qwen2.5-7b"},
    {"qwen2.5-coder", "qwen2.5-coder-7b"},
    {"qwen2.5vl", "qwen2.5-vl-7b"},
    {"qwen2.5vl-3b", "qwen2.5-vl-3b"},
    {"qwen2.5vl-7b", "qwen2.5-vl-7b"},
    {"qwen2.5vl-32b", "qwen2.5-vl-32b"},
    {"qwen2.5vl-72b", "qwen2.5-vl-72b"},
    {"qwen3", "qwen3-8b"},
    {"qwen3-30b", "qwen3-30b-a3b"},
    {"qwen3-235b", "qwen3-235b-a22b"},
    {"qwen3-coder", "qwen3-coder-30b-a3b-instruct"},
    {"qwen3-coder-30b", "qwen3-coder-30b-a3b-instruct"},
    {"qwen3-coder-480b", "qwen3-coder-480b-a35b-instruct"},
    {"qwq", "qwq-32b"},
    {"phi3", "phi-3-mini-128k"},
    {"phi3.5", "phi-3.5-mini"},
    {"mistral-nemo", "mistral-nemo-instruct-2407"},
    {"mistral-small", "mistral-small-24b-instruct-2501"},
    {"mistral-small-24b", "mistral-small-24b-instruct-2501"},
    {"mistral-small3.1", "mistral-small-3.1-24b-instruct-2503"},
    {"mistral-small3.1-24b", "mistral-small-3.1-24b-instruct-2503"},
    {"mistral-small3.2", "mistral-small-3.2-24b-instruct-2506"},
    {"mistral-small3.2-24b", "mistral-small-3.2-24b-instruct-2506"},
    {"mistral-large", "mistral-large-instruct-2411"},
    {"magistral", "magistral-small-2506"},
    {"magistral-24b", "magistral-small-2506"},
    {"devstral", "devstral-small-2507"},
    {"devstral-24b", "devstral-small-2507"},
    {"command-r", "c4ai-command-r-08-2024"},
    {"command-r-plus", "c4ai-command-r-plus-08-2024"},
    {"deepseek-coder-v2", "deepseek-coder-v2-lite"},
    {"deepseek-coder-v2-16b", "deepseek-coder-v2-lite"},
    {"deepseek-v3-671b", "deepseek-v3"},
    {"deepseek-v3.1-671b", "deepseek-v3.1"},
    {"llama4", "llama-4-scout-17b-16e"},
    {"solar", "solar-10.7b-v1.0"},
    {"solar-10.7b", "solar-10.7b-v1.0"},
    {"vicuna-7b", "vicuna-7b-v1.5"},
    {"vicuna-13b", "vicuna-13b-v1.5"},
    {"gpt-oss", "gpt-oss-20b"},
    {"tinyllama", "tinyllama-1.1b"},
    {"deepseek-r1", "deepseek-r1-0528-qwen3-8b"},
    {"deepseek-r1-1.5b", "deepseek-r1-distill-qwen-1.5b"},
    {"deepseek-r1-7b", "deepseek-r1-distill-qwen-7b"},
    {"deepseek-r1-8b", "deepseek-r1-0528-qwen3-8b"},
    {"deepseek-r1-14b", "deepseek-r1-distill-qwen-14b"},
    {"deepseek-r1-32b", "deepseek-r1-distill-qwen-32b"},
    {"deepseek-r1-70b", "deepseek-r1-distill-llama-70b"},
    {"deepseek-r1-671b", "deepseek-r1-0528"},
});

/// A name of Ollama's library as that of a checkpoint: "llama3.1:8b" is "llama3.1-8b-q4_K_M".
std::string library_checkpoint(std::string model) {
  if (model.ends_with(":latest")) model.erase(model.rfind(':'));
  const auto tag = model.find(':');
  // A tag without a format is the one in Q4_K_M, and of GPT-OSS the one in MXFP4 (ollama.com/library).
  const bool stated = tag != std::string::npos && (model.find("-q", tag) != std::string::npos ||
                                                   model.find("fp16", tag) != std::string::npos ||
                                                   model.find("bf16", tag) != std::string::npos);
  if (tag != std::string::npos) model[tag] = '-';
  for (const auto& [name, meant] : kLibrary)
    if (model == name) {
      model = meant;
      break;
    }
  if (stated) return model;
  return model + (model.starts_with("gpt-oss") ? "-mxfp4" : "-q4_K_M");
}

/// `ollama run MODEL` with its environment, as the text of a Modelfile; empty where nothing runs so.
std::string modelfile_of_command(std::string_view text) {
  if (text.find("ollama run ") == std::string_view::npos) return {};
  const auto script = split_shell(text, "command line");
  std::string out;
  for (const auto& command : script.commands)
    for (std::size_t i = 0; i + 2 < command.size() && out.empty(); ++i)
      if (command[i].text.ends_with("ollama") && command[i + 1].text == "run")
        out = fmt::format("FROM {}\nPARAMETER from_library 1\n", command[i + 2].text);
  for (const auto& [name, word] : script.assignments) {
    if (name == "OLLAMA_CONTEXT_LENGTH") out += fmt::format("PARAMETER num_ctx {}\n", word.text);
    if (name == "OLLAMA_NUM_PARALLEL") out += fmt::format("PARAMETER num_parallel {}\n", word.text);
    if (name == "CUDA_VISIBLE_DEVICES" && !word.text.empty())
      out += fmt::format("PARAMETER visible_devices {}\n", word.text);
  }
  return out;
}

}  // namespace

std::optional<Manifest> read_ollama(std::string_view text) {
  const auto command = modelfile_of_command(text);
  if (!command.empty()) text = command;
  std::string model, flags, context, parallel, visible;
  bool speaks = false;  // of a Modelfile rather than of a Dockerfile
  bool from_hub = false;
  for (std::string_view rest = text; !rest.empty();) {
    const auto line = rest.substr(0, std::min(rest.find('\n'), rest.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::istringstream words{std::string(line)};
    std::string instruction, name, value;
    words >> instruction >> name >> value;
    if (instruction == "FROM" && model.empty()) model = name;
    for (const std::string_view hub : {"hf.co/", "huggingface.co/"})
      if (model.starts_with(hub)) model.erase(0, hub.size()), from_hub = true;
    speaks = speaks || from_hub || model.ends_with(".gguf") || instruction == "PARAMETER" ||
             instruction == "TEMPLATE" || instruction == "SYSTEM";
    if (instruction != "PARAMETER" || value.empty()) continue;
    if (name == "num_ctx") context = value;
    if (name == "num_parallel") parallel = value;
    if (name == "num_gpu") flags += " -ngl " + quoted(value);
    if (name == "visible_devices") visible = fmt::format("CUDA_VISIBLE_DEVICES={} ", quoted(value));
    if (name == "num_batch") flags += " -b " + quoted(value);
  }
  if (model.empty() || !speaks) return std::nullopt;
  // Each of its requests has `num_ctx` tokens; llama.cpp is told those of all.
  const double copies = number_of(parallel).value_or(1);
  constexpr double usual = 4096;  // docs.ollama.com/context-length, November 2026
  flags += fmt::format(" -c {}", count_text(number_of(context).value_or(usual) * copies));
  if (!parallel.empty()) flags += " -np " + quoted(parallel);
  if (from_hub)  // llama.cpp reads it as it stands
    flags = " -hf " + quoted(std::exchange(model, "")) + flags;
  else if (!model.ends_with(".gguf") && !model.starts_with('.') && !model.starts_with('/'))
    model = library_checkpoint(std::move(model)), flags += " --mmproj library";
  return Manifest{
      command.empty() ? "a Modelfile of Ollama" : "a command of Ollama",
      fmt::format("{}llama-server{}{}\n", visible, model.empty() ? "" : " -m " + quoted(model), flags),
      {}};
}

}  // namespace mlsysim::detail

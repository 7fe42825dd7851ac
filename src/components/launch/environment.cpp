// Variables, launchers of ranks and names of scripts state settings beside the flags of an engine.

#include "detail/command.hpp"

#include <mlsysim/units/detail/lower.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mlsysim::detail {
namespace {

/// Calls put(name, value, line) for each variable of a script, and for those before a command:
/// docker run -e NAME=value.
template <class Put>
void for_each_variable(const ShellScript& script, const EngineCommand& command, const Put& put) {
  for (const auto& [key, word] : script.assignments) put(key, word.text, word.line);
  for (const auto& word : command.before)
    if (const auto equals = word.text.find('='); equals != std::string::npos)
      put(std::string_view(word.text).substr(0, equals), word.text.substr(equals + 1), word.line);
}

}  // namespace

std::string listed_devices(std::string_view value) {
  while (!value.empty() && value.front() == '"') value.remove_prefix(1);
  while (!value.empty() && value.back() == '"') value.remove_suffix(1);
  constexpr std::string_view named = "device=";
  if (value.starts_with(named)) return std::string(value.substr(named.size()));
  const auto count = number_of(std::string(value));
  if (!count || *count < 1 || *count > 4096) return {};
  std::string out = "0";
  for (int i = 1; i < *count; ++i) out += fmt::format(",{}", i);
  return out;
}

/// How many ranks the environment says: NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train ...
void put_environment(const FlagTable& table, const ShellScript& script, const std::string& name,
                     Settings& settings) {
  for (const auto& [key, word] : script.assignments) {
    const std::string flag = lower(key);
    const auto* row = table.find(flag, {});
    const bool counts = row != nullptr && (row->sets == "nodes" || row->sets == "per_node");
    if (counts && !settings.has(row->sets) && number_of(word.text))
      settings.put(*row, {.key = key, .value = word.text, .where = {.file = name, .line = word.line}});
  }
}

/// Flags of llama.cpp that its environment holds: LLAMA_ARG_CTX_SIZE=16384.
void put_llama_environment(const FlagTable& table, const ShellScript& script, const EngineCommand& command,
                           const std::string& name, Settings& settings) {
  constexpr std::string_view begin = "LLAMA_ARG_";
  const auto put = [&](std::string_view key, const std::string& value, int line) {
    if (!key.starts_with(begin)) return;
    const std::string flag = lower(key.substr(begin.size()));
    const Given given{.key = std::string(key), .value = value, .where = {.file = name, .line = line}};
    const auto* row = table.find(flag, given.where);
    if (row == nullptr)
      settings.put_unknown(given, "");
    else if (row->sets.empty() || !settings.has(row->sets))
      settings.put(*row, given);
  };
  for_each_variable(script, command, put);
}

/// The devices that the environment of a launch leaves visible: CUDA_VISIBLE_DEVICES=0,1.
void put_visible(const ShellScript& script, const EngineCommand& command, const std::string& name,
                 Settings& settings) {
  constexpr auto names = std::to_array<std::string_view>(
      {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"});
  const auto put = [&](std::string_view key, const std::string& value, int line) {
    if (std::find(names.begin(), names.end(), key) == names.end()) return;
    if (value.empty() || value == "all" || value == "void" || value == "none" || settings.has("visible"))
      return;
    const Given given{.key = std::string(key), .value = value, .where = {.file = name, .line = line}};
    if (value.find_first_of("$`") != std::string::npos)
      settings.put_unknown(given, "the shell computes it, and nothing is run here");
    else
      settings.put({.flag = given.key, .sets = "visible"}, given);
  };
  for_each_variable(script, command, put);
  // docker run --gpus 2, --gpus=2, --gpus '"device=0,1"'
  for (std::size_t i = 0; i < command.before.size(); ++i) {
    std::string_view value = command.before[i].text;
    if (value == "--gpus" && i + 1 < command.before.size())
      value = command.before[i + 1].text;
    else if (value.starts_with("--gpus="))
      value.remove_prefix(std::string_view("--gpus=").size());
    else
      continue;
    put("NVIDIA_VISIBLE_DEVICES", listed_devices(value), command.before[i].line);
  }
}

/// Whether the environment lets requests be longer than the positions of the model.
void put_long_context(const ShellScript& script, const EngineCommand& command, const std::string& name,
                      Settings& settings) {
  const auto put = [&](std::string_view key, const std::string& value, int line) {
    if (key != "VLLM_ALLOW_LONG_MAX_MODEL_LEN" && key != "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") return;
    const bool on = value == "1" || lower(value) == "true";
    settings.put(
        {.flag = std::string(key), .sets = "long_context"},
        {.key = std::string(key), .value = on ? "true" : "false", .where = {.file = name, .line = line}});
  };
  for_each_variable(script, command, put);
}

/// How many ranks start, and on how many devices of a machine, as launchers and Slurm say.
void put_ranks(const ShellScript& script, const EngineCommand& command, const std::string& name,
               Settings& settings) {
  static const FlagRow ranks{.flag = "ranks", .takes = Takes::count, .sets = "devices"};
  static const FlagRow of_node{.flag = "devices of a node", .takes = Takes::count, .sets = "per_node"};
  const auto put = [&](const FlagRow& row, double count) {
    if (count >= 1) settings.put(row, {.key = row.flag, .value = count_text(count), .where = {.file = name}});
  };
  if (engine_entry(command.format).empty()) {
    if (!settings.has("devices") && !settings.has("per_node")) put(ranks, ranks_of_launcher(command, script));
  } else if (const auto found = script.batch.find("SLURM_GPUS_ON_NODE"); found != script.batch.end()) {
    put(of_node, number_of(found->second).value_or(0));
  }
}

/// Scripts of Megatron-LM that train another model than a decoder: "pretrain_bert.py".
void put_script(const EngineCommand& command, const std::string& name, Settings& settings) {
  static const FlagRow row{.flag = "script", .sets = "script"};
  const auto script = command.program.substr(command.program.find_last_of('/') + 1);
  for (const std::string_view model :
       {"bert", "t5", "ict", "retro", "realm", "vision", "vlm", "multimodal", "mamba", "hybrid"})
    if (script.find(fmt::format("_{}", model)) != std::string::npos)
      settings.put(row, {.key = row.flag, .value = script, .where = {.file = name}});
}

}  // namespace mlsysim::detail

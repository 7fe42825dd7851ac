#pragma once
/// The command of a script that starts an engine.

#include "settings.hpp"

namespace mlsysim::detail {

/// A command of an engine: what it is, and the words that are its own.
struct EngineCommand {
  LaunchFormat format = LaunchFormat::vllm;
  std::vector<ShellWord> before, words;  ///< words of launchers, and those behind the program
  std::string program{};                 ///< or the script
};
/// How many ranks the words of launchers say: `mpirun -np 16`, `srun -N 2 --ntasks-per-node 8` and
/// `deepspeed --include host:0,1`; 0 where they do not, or start one launcher of ranks each.
[[nodiscard]] double ranks_of_launcher(const EngineCommand& command, const ShellScript& script);
/// The engine that a command of a script starts, or nothing.
[[nodiscard]] std::optional<EngineCommand> engine_command(const std::vector<ShellWord>& command,
                                                          const ShellScript& script);
/// The release that the words before a program state, "0.12.0": the tag of an image of the engine, or the
/// package that a runner of tools takes ("vllm==0.12.0", "vllm@0.12.0"). Empty where they state none.
[[nodiscard]] std::string stated_release(const EngineCommand& command);
/// Files that a launch names: those that its script writes, and those beside it.
struct NamedFiles {
  std::map<std::string, std::string> written;
  std::filesystem::path folder;  ///< empty: nothing beside the launch is read

  /// Whether a file may be read: it is written by the script, or lies in the folder or below it.
  [[nodiscard]] bool reachable(const std::filesystem::path& path) const;
  /// @throws InputError where it cannot be read
  [[nodiscard]] std::string text(const std::filesystem::path& path) const;
  [[nodiscard]] bool holds(const std::filesystem::path& path) const;
};
/// Files the words under their rows.
void put_words(const FlagTable& table, const EngineCommand& command, const std::string& name,
               const NamedFiles& files, Settings& settings);
/// Files the keys of a file under their rows.
void put_keys(const FlagTable& table, const std::vector<Given>& keys, Settings& settings);

/// How many ranks the environment says: NNODES=2 NPROC_PER_NODE=8 llamafactory-cli train ...
void put_environment(const FlagTable& table, const ShellScript& script, const std::string& name,
                     Settings& settings);
/// Flags of llama.cpp that its environment holds: LLAMA_ARG_CTX_SIZE=16384.
void put_llama_environment(const FlagTable& table, const ShellScript& script, const EngineCommand& command,
                           const std::string& name, Settings& settings);
/// Devices as a list, of what `docker run --gpus` takes: "2" is "0,1", and "device=2,3" is "2,3". Empty for
/// "all" and whatever is no count.
[[nodiscard]] std::string listed_devices(std::string_view value);
/// The devices that the environment of a launch leaves visible: CUDA_VISIBLE_DEVICES=0,1.
void put_visible(const ShellScript& script, const EngineCommand& command, const std::string& name,
                 Settings& settings);
/// Whether the environment lets requests be longer than the positions of the model.
void put_long_context(const ShellScript& script, const EngineCommand& command, const std::string& name,
                      Settings& settings);
/// How many ranks start, and on how many devices of a machine, as launchers and Slurm say.
void put_ranks(const ShellScript& script, const EngineCommand& command, const std::string& name,
               Settings& settings);
/// Scripts of Megatron-LM that train another model than a decoder: "pretrain_bert.py".
void put_script(const EngineCommand& command, const std::string& name, Settings& settings);

}  // namespace mlsysim::detail

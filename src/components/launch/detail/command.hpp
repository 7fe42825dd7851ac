#pragma once
/// The command of a script that starts an engine.

#include "settings.hpp"

namespace mlsysim::detail {

/// A command of an engine: what it is, and the words that are its own.
struct EngineCommand {
  LaunchFormat format = LaunchFormat::vllm;
  std::vector<ShellWord> before, words;  ///< words of launchers, and those behind the program
};
/// The engine that a command starts, or nothing.
[[nodiscard]] std::optional<EngineCommand> engine_command(const std::vector<ShellWord>& command);
/// The release that the words before a program state, "0.12.0": the tag of an image of the engine, or the
/// package that a runner of tools takes ("vllm==0.12.0", "vllm@0.12.0"). Empty where they state none.
[[nodiscard]] std::string stated_release(const EngineCommand& command);
/// Files the words under their rows. @param folder of files that they name; empty: refused
void put_words(const FlagTable& table, const EngineCommand& command, const std::string& name,
               const std::filesystem::path& folder, Settings& settings);
/// Files the keys of a file under their rows.
void put_keys(const FlagTable& table, const std::vector<Given>& keys, Settings& settings);

}  // namespace mlsysim::detail

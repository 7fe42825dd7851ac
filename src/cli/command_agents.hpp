#pragma once
/// The server for agents, which is written in Python.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::cli {

/// The folder of the running program; the file it leads to where it is a link.
[[nodiscard]] std::filesystem::path program_folder();

/// The interpreter of parts in Python: MLSYSIM_PYTHON, else the one beside the program, else python3 of PATH.
[[nodiscard]] std::string interpreter();

/// The words that run a module of the package, isolated: neither the current folder nor a variable says what
/// is imported. A package that was built beside the program comes first, else that of the interpreter.
[[nodiscard]] std::vector<std::string> python_module(const std::string& python, std::string_view module);

/// Becomes `python3 -m mlsysim.mcp` with these words, so that the server has our standard input and output.
/// @throws InputError where there is no such interpreter, or it has no package mlsysim
[[noreturn]] void become_server(std::vector<std::string> words);

}  // namespace mlsysim::cli

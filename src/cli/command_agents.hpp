#pragma once
/// The server for agents, which is written in Python.

#include <string>
#include <vector>

namespace mlsysim::cli {

/// The interpreter of parts in Python: MLSYSIM_PYTHON, else python3.
[[nodiscard]] std::string interpreter();

/// Becomes `python3 -m mlsysim mcp` with these words, so that the server has our standard input and output.
/// @throws InputError where there is no such interpreter, or it has no package mlsysim
[[noreturn]] void become_server(std::vector<std::string> words);

}  // namespace mlsysim::cli

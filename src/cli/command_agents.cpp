#include "command_agents.hpp"

#include "child_process.hpp"

#include <mlsysim/units/error.hpp>

#include <unistd.h>

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace mlsysim::cli {

std::string interpreter() {
  const char* given = std::getenv("MLSYSIM_PYTHON");  // NOLINT(concurrency-mt-unsafe): read before threads
  return given != nullptr && *given != 0 ? given : "python3";
}

void become_server(std::vector<std::string> words) {
  const auto python = interpreter();
  const auto asked = run_child({python, "-c", "import mlsysim.mcp.server"});
  const auto why = std::string_view(asked.err).substr(0, asked.err.find_last_not_of('\n') + 1);
  const auto last = why.substr(why.rfind('\n') + 1);
  if (asked.status == 0) {
    words.insert(words.begin(), {python, "-m", "mlsysim", "mcp"});
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp(arguments.front(), arguments.data());
  }
  throw InputError({.id = "mlsysim.cli.170",
                    .message = "the server for agents is a part of the Python package",
                    .key = "MLSYSIM_PYTHON",
                    .found = asked.status == 127 || last.empty() ? fmt::format("no '{}'", python)
                                                                 : fmt::format("'{}': {}", python, last),
                    .expected = "an interpreter that has it",
                    .hint = "install the wheel of mlsysim and pip install 'mcp>=2', or name another "
                            "interpreter in MLSYSIM_PYTHON"});
}

}  // namespace mlsysim::cli

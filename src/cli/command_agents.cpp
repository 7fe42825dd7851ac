#include "command_agents.hpp"

#include "child_process.hpp"

#include <mlsysim/files/detail/files.hpp>
#include <mlsysim/units/error.hpp>

#include <unistd.h>

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <string_view>

namespace mlsysim::cli {

std::filesystem::path program_folder() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
}

std::string interpreter() {
  const char* given =
      files::secure() ? nullptr
                      : std::getenv("MLSYSIM_PYTHON");  // NOLINT(concurrency-mt-unsafe): read before threads
  if (given != nullptr && *given != 0) return given;
  const auto beside = program_folder() / "python3";
  return ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "python3";
}

std::vector<std::string> python_module(const std::string& python, std::string_view module) {
  // Only `sys`, which is a part of every interpreter, is imported before the path is right.
  static constexpr const char* kStart =
      "import sys\nif sys.argv[1]: sys.path.insert(0, sys.argv[1])\n"
      "import runpy\nmodule = sys.argv[2]\ndel sys.argv[1:3]\n"
      "runpy.run_module(module, run_name='__main__', alter_sys=True)";
  auto built = program_folder().parent_path() / "python";
  std::error_code failed;
  const bool beside = std::filesystem::exists(built / "mlsysim" / "__init__.py", failed);
  return {python, "-I", "-c", kStart, beside ? built.string() : std::string(), std::string(module)};
}

void become_server(std::vector<std::string> words) {
  const auto python = interpreter();
  const auto asked = run_child(python_module(python, "mlsysim.mcp.server"));
  const auto why = std::string_view(asked.err).substr(0, asked.err.find_last_not_of('\n') + 1);
  const auto last = why.substr(why.rfind('\n') + 1);
  if (asked.status == 0) {
    auto all = python_module(python, "mlsysim.mcp");
    all.insert(all.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
    std::vector<char*> arguments;
    for (auto& word : all) arguments.push_back(word.data());
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

#include <mlsysim/cli/detail/run_program.hpp>

#include "output.hpp"
#include "program.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

namespace mlsysim::cli {
namespace {

int run(int argc, char** argv) {
  prepare_process();
  try {
    const std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
    const bool completes = !words.empty() && words.front() == "__complete";
    Program program(completes ? std::vector<std::string>() : words);
    if (completes) {
      try {
        return put(program.complete({words.begin() + 1, words.end()}));
      } catch (const std::exception&) {
        return static_cast<int>(Exit::bad_input);  // a shell that completes wants names or nothing
      }
    }
    return program.run();
  } catch (const std::exception& error) {
    return put({"", error_text(error), Exit::bad_input});
  }
}

}  // namespace

int run_program(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    say_no_memory();
    return static_cast<int>(Exit::bad_input);
  }
}

}  // namespace mlsysim::cli

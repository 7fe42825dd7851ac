#include <mlsysim/cli/detail/run_program.hpp>

#include "output.hpp"
#include "program.hpp"

#include <new>
#include <string_view>

namespace mlsysim::cli {
namespace {

int run(int argc, char** argv) {
  prepare_process();
  try {
    Program program;
    if (argc > 1 && std::string_view(argv[1]) == "__complete") {
      try {
        return put(program.complete({argv + 2, argv + argc}));
      } catch (const std::exception&) {
        return static_cast<int>(Exit::bad_input);  // a shell that completes wants names or nothing
      }
    }
    return program.run(argc, argv);
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

// The program `mlsysim`.

#include <mlsysim/cli/detail/run_program.hpp>

#include <mlsysim/plugin/host.hpp>

/// Exported, so that a plugin which calls it is noticed: leaving is no answer.
extern "C" __attribute__((visibility("default"))) void _exit(int status) {
  mlsysim::plugin::end_process(status);
}

int main(int argc, char** argv) { return mlsysim::cli::run_program(argc, argv); }

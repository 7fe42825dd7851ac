// The program `mlsysim`.

#include <mlsysim/cli/detail/run_program.hpp>

int main(int argc, char** argv) { return mlsysim::cli::run_program(argc, argv); }

#pragma once
/// The whole command-line program as one function, for `main` and `python -m mlsysim`.
///
/// Exit codes: 0 success, 1 bad input, 2 infeasible, 3 failed assertion, 130 interrupted.
/// Example: `mlsysim walls` lists the 22 walls and returns 0. `mlsysim zoo show Nothing` explains the error,
/// returns 1.

namespace mlsysim::cli {

/// Reads the words, writes the answer to the standard streams. @return the exit code
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace mlsysim::cli

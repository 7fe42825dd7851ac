#pragma once
/// The whole program as one function, for `main` and for `python -m mlsysim`.

namespace mlsysim::cli {

/// Reads the words, writes the answer to the standard streams. @return the exit code
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace mlsysim::cli

#pragma once
/// Running a program in front of the user.

#include "cli/child_process.hpp"

namespace mlsysim::cli {

/// Runs a program to its end and shows what it prints, on either stream, on our standard error. It is a group
/// of processes of its own: Ctrl-C and SIGTERM reach it once, through us.
[[nodiscard]] Ended run_shown(std::vector<std::string> words);

}  // namespace mlsysim::cli

#pragma once
/// Running a program to its end, without a shell.

#include <sys/types.h>
#include <string>
#include <vector>

namespace mlsysim::cli {

/// How a program ended, and what it printed.
struct Ended {
  int status = 0;   ///< exit code; 127 where there is none of that name
  int signal = 0;   ///< that ended it
  std::string out;  ///< of standard output
  std::string err;  ///< of standard error
};

/// Runs a program to its end.
[[nodiscard]] Ended run_child(std::vector<std::string> words);
/// Waits for the end of a process and says how it ended, without what it printed.
[[nodiscard]] Ended ended_of(pid_t child);

}  // namespace mlsysim::cli

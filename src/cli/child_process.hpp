#pragma once
/// Running a program to its end, without a shell.

#include <string>
#include <vector>

namespace mlsysim::cli {

/// How a program ended, and what it printed.
struct Ended {
  int status = 0;   ///< exit code; 127 where there is none of that name
  int signal = 0;   ///< that ended it
  std::string out;  ///< of standard output
  std::string err;  ///< of standard error, or with `out` where both were asked for together
};

/// Where standard error of a child goes: into Ended::err (`apart`), or to our standard error (`shown`).
enum class Errors : std::uint8_t { apart, shown };

/// Runs a program to its end. `shown`: what it prints on standard error goes to ours.
[[nodiscard]] Ended run_child(std::vector<std::string> words, Errors errors = Errors::apart);

/// Runs a program to its end and shows what it prints, on either stream, on our standard error. It is a group
/// of processes of its own: Ctrl-C and SIGTERM reach it once, through us.
[[nodiscard]] Ended run_shown(std::vector<std::string> words);

}  // namespace mlsysim::cli

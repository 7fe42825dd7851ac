// The commands of the program as one function for a page: words go in, what the program would print comes
// out.

#include "cli/program.hpp"

namespace {

std::string words, payload, diagnostics;

}  // namespace

// The process around the commands, which src/cli/process.cpp is elsewhere: a page has no terminal.
namespace mlsysim::cli {

Colour colour_of_stdout() { return Colour::off; }
std::size_t width_of_stdout() { return RenderOptions{}.width; }
std::size_t columns_of_stdout() { return 0; }
int put(const Answer& answer) {
  payload = answer.payload;
  diagnostics = printable(answer.diagnostics);
  return static_cast<int>(answer.exit);
}

}  // namespace mlsysim::cli

extern "C" {

/// Room for the words of a command line, each ended by a zero.
[[clang::export_name("words")]] char* mlsysim_words(std::size_t bytes) {
  words.assign(bytes, '\0');
  return words.data();
}
/// Runs them. @return the exit code
[[clang::export_name("run")]] int mlsysim_run() {
  std::vector<std::string> each;
  for (std::size_t at = 0, end; at < words.size(); at = end + 1) {
    end = words.find('\0', at);
    each.push_back(words.substr(at, end - at));
  }
  payload.clear();
  diagnostics.clear();
  try {
    return mlsysim::cli::Program(std::move(each)).run();
  } catch (const std::exception& error) {
    return mlsysim::cli::put({"", mlsysim::cli::error_text(error), mlsysim::cli::Exit::bad_input});
  }
}
[[clang::export_name("payload")]] const char* mlsysim_payload() { return payload.data(); }
[[clang::export_name("payload_size")]] std::size_t mlsysim_payload_size() { return payload.size(); }
[[clang::export_name("diagnostics")]] const char* mlsysim_diagnostics() { return diagnostics.data(); }
[[clang::export_name("diagnostics_size")]] std::size_t mlsysim_diagnostics_size() {
  return diagnostics.size();
}
}

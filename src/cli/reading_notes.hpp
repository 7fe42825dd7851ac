#pragma once
/// Notes of the model files that a command read, in the order of reading.

#include <string>
#include <vector>

namespace mlsysim::cli {

/// Collects the notes of files from here on, and drops earlier ones.
void collect_reading_notes();
/// The collected notes, each once.
[[nodiscard]] const std::vector<std::string>& reading_notes();
/// The same as lines for standard error.
[[nodiscard]] std::string reading_notes_text();

}  // namespace mlsysim::cli

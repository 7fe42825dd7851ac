#pragma once
/// What was finished of a run that was stopped, for the run that goes on with it.

#include <mlsysim/ops/regression/results.hpp>

namespace mlsysim {

/// What results hang on beside the program: the text of the matrix, the figures of the zoo, the commit, the
/// version. A state of another key is not gone on with.
[[nodiscard]] std::string state_key(const CiMatrix& matrix, const Zoo& zoo, const std::string& commit);
/// The finished cells as a text with its length and checksum.
[[nodiscard]] std::string state_text(const CiRun& run, const std::string& key);
/// @param file for messages. @throws InputError for what is no state or a damaged one, and for a state of
/// another key
[[nodiscard]] KnownCells read_state(const std::string& text, const std::string& file, const std::string& key);

}  // namespace mlsysim

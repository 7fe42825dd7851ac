#pragma once
/// Stores the finished cells of an interrupted run, so that a later run can resume.

#include <mlsysim/ops/regression/results.hpp>

namespace mlsysim {

/// Key of all that results depend on: version, matrix text, zoo and commit. A run does not resume from a
/// state with another key.
[[nodiscard]] std::string state_key(const CiMatrix& matrix, const Zoo& zoo, const std::string& commit);
/// The finished cells as a text with its length and checksum.
[[nodiscard]] std::string state_text(const CiRun& run, const std::string& key);
/// @param file for messages. @throws InputError for what is no state or a damaged one, and for a state of
/// another key
[[nodiscard]] KnownCells read_state(const std::string& text, const std::string& file, const std::string& key);

}  // namespace mlsysim

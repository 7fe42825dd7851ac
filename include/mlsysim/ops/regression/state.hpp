#pragma once
/// State file of an interrupted matrix run: the finished cells as JSON with length and checksum.
///
///   key = version, hash of the matrix text, digest of the zoo, commit
///
/// A run resumes only from a state with its own key. A damaged state is refused.
/// Example: a state that was written at commit abc is refused at commit abd, because the key differs.

#include <mlsysim/ops/regression/results.hpp>

namespace mlsysim {

/// Key of everything that results depend on.
[[nodiscard]] std::string state_key(const CiMatrix& matrix, const Zoo& zoo, const std::string& commit);
/// The finished cells as a text with its length and checksum.
[[nodiscard]] std::string state_text(const CiRun& run, const std::string& key);
/// @param file for messages. @throws InputError for a text that is no state, a damaged one, and another key
[[nodiscard]] KnownCells read_state(const std::string& text, const std::string& file, const std::string& key);

}  // namespace mlsysim

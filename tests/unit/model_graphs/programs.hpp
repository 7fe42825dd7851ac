#pragma once
#include <mlsysim/model_graphs/model_path.hpp>
#include <mlsysim/units/error.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace mlsysim::test {

inline const std::filesystem::path kPrograms =
    std::filesystem::path(MLSYSIM_SOURCE_DIR) / "tests/data/programs";

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The error that reading gives; fails the test where there is none.
template <class Read> InputError refusal(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error;
  }
  throw std::logic_error("nothing was refused");
}

}  // namespace mlsysim::test

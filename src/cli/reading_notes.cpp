#include "reading_notes.hpp"

#include <mlsysim/zoo/detail/model_reader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace mlsysim::cli {
namespace {

std::vector<std::string> collected;
std::mutex guard;

void take(const std::string&, const std::vector<std::string>& notes) {
  const std::lock_guard lock(guard);
  for (const auto& note : notes)
    if (std::find(collected.begin(), collected.end(), note) == collected.end()) collected.push_back(note);
}

}  // namespace

void collect_reading_notes() {
  const std::lock_guard lock(guard);
  collected.clear();
  set_model_notes(take);
}

const std::vector<std::string>& reading_notes() { return collected; }

std::string reading_notes_text() {
  std::string out;
  for (const auto& note : collected) out += fmt::format("mlsysim: note: {}\n", note);
  return out;
}

}  // namespace mlsysim::cli

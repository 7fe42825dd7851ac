#pragma once
/// Remembers from one run to the next whether a library ended the process that ran it.

#include <filesystem>
#include <string>
#include <string_view>

namespace mlsysim::plugin::detail {

/// The page of one library, as it is now: a changed file has a page of its own.
///
/// A page is a file in the user's cache, so that a handler of signals can write it. Where there is no place
/// for it, as in secure mode, nothing is remembered.
class NotebookPage {
 public:
  explicit NotebookPage(const std::filesystem::path& library);

  /// It was opened and registered without harm.
  [[nodiscard]] bool harmless() const { return text_ == kHarmless; }
  /// How it ended a process, in words; empty where it did not.
  [[nodiscard]] std::string ended() const;
  void note_harmless() const { write(kHarmless); }
  void note_ended(std::string_view how) const;

  /// Where a handler of signals writes kEnded and a reason; empty where there is no place.
  [[nodiscard]] const std::string& file() const { return file_; }
  static constexpr std::string_view kHarmless = "harmless\n", kEnded = "ended: ";

 private:
  void write(std::string_view text) const;
  std::string file_, text_;
};

/// Says what of a plugin this thread runs, while it lives: a plugin can end the process, and nothing else
/// could tell.
class Running {
 public:
  Running(const char* library, const char* page, const char* slot) noexcept : before_(now) {
    now = {library, page, slot};
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { now = before_; }

  struct What {
    const char *library = nullptr, *page = nullptr, *slot = nullptr;
  };
  static thread_local constinit What now;

 private:
  What before_;
};

}  // namespace mlsysim::plugin::detail

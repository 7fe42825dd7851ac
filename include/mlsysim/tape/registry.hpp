#pragma once
/// A registry of laws by id. It is a plain object, so tests and plugins make their own.
///
/// Example: with Roofline and RidgePoint registered, `find("Rooflin")` is null and `at("Rooflin")` throws
/// "there is no law 'Rooflin'" and suggests 'Roofline'.

#include <mlsysim/tape/law_entry.hpp>

#include <deque>
#include <string_view>

namespace mlsysim {

/// Laws by id, in order of addition. Reading is thread-safe; adding is not.
class LawRegistry {
 public:
  /// Adds an entry. @throws InputError if the id is empty or taken
  const LawEntry& add(LawEntry entry);
  /// The entry of this id, or null.
  [[nodiscard]] const LawEntry* find(std::string_view id) const;
  /// The entry of this id. @throws LookupError naming near misses
  [[nodiscard]] const LawEntry& at(std::string_view id) const;
  /// All entries; references stay valid while the registry lives.
  [[nodiscard]] const std::deque<LawEntry>& entries() const { return entries_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::deque<LawEntry> entries_;
};

}  // namespace mlsysim

#pragma once
/// A configuration as its reader sees it: fields by any of their spellings, with the defaults of its class,
/// and a record of what was read.

#include "json.hpp"
#include "keys.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// One section of a configuration: the whole file, its text part, or the part of a tower.
class Config {
 public:
  /// @param path of the section in the file: "" or "text_config."
  Config(const Json& section, std::string file, std::string path, std::string type,
         std::vector<std::string>& notes);

  /// A number above 0 or, `or_zero`, a number that is none. Null counts as absent, as for the classes.
  [[nodiscard]] std::optional<double> count(std::string_view field) const;
  /// The number as `count` reads it, or `otherwise` where it is absent.
  [[nodiscard]] double count_or(std::string_view field, double otherwise) const;
  /// @throws InputError where neither the file nor its class states it
  [[nodiscard]] double needed(std::string_view field) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view field) const;
  [[nodiscard]] std::string text(std::string_view field) const;
  /// The member of this very key, marked as read; null where it is absent or null.
  [[nodiscard]] const Json* at(std::string_view key) const;
  [[nodiscard]] const Json* of_field(std::string_view field, std::string_view* key = nullptr) const;
  /// A list with one member for each of `layers` layers, or more where a draft follows. @throws otherwise
  [[nodiscard]] const Json* list(std::string_view key, double layers) const;
  [[nodiscard]] bool has(std::string_view key) const;

  [[nodiscard]] const std::string& type() const { return type_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const Family* family() const { return family_; }
  [[nodiscard]] bool trait(Trait t) const { return family_ != nullptr && family_->has(t); }
  void note(std::string text) const;
  [[noreturn]] void refuse_key(std::string_view key, std::string message, const Json& found,
                               std::string expected) const;
  /// Notes the keys that nobody read and that may say something about the structure.
  void note_unread() const;
  /// Refuses keys that speak of layers which neither a plain decoder nor BERT has.
  void refuse_other_layers() const;
  /// Marks keys as understood.
  void understood(std::initializer_list<std::string_view> keys) const;

 private:
  const Json& section_;
  std::string file_, path_, type_;
  const Family* family_;
  std::vector<std::string>* notes_;
  mutable std::set<std::string, std::less<>> read_;
};

/// A whole number of reasonable size. @throws InputError
[[nodiscard]] double checked_count(const Json& value, const std::string& file, const std::string& key);

}  // namespace mlsysim::detail

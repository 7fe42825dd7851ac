#pragma once
/// Parses YAML text under the strict rules of the zoo's files, for files that hold no entries, such as plans.
///
/// Duplicate keys, anchors, tags, several documents, YAML 1.1 booleans and binary, empty or huge files are
/// refused. Every value has its line and column. Files of other programs follow the rules of these programs.
/// Example: "a: 1" and "a: 2" on two lines of plan.yaml give the error "plan.yaml:2:1: the key 'a' is given
/// twice".

#include <mlsysim/units/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

struct YamlPair;

/// One value of a document.
struct YamlValue {
  enum class Kind : std::uint8_t { null, scalar, sequence, map };
  /// Whether a scalar stood in quotes, and is therefore a text whatever it looks like.
  enum class Quotes : std::uint8_t { none, some };

  Kind kind = Kind::null;
  Quotes quotes = Quotes::none;
  std::string text;              ///< of a scalar, as written
  std::vector<YamlValue> items;  ///< of a sequence
  std::vector<YamlPair> pairs;   ///< of a map, in order
  Location where;

  /// The value of a key of this map, or null.
  [[nodiscard]] const YamlValue* find(std::string_view key) const;
  /// "the text 'x'", "a list", "a map", "nothing"
  [[nodiscard]] std::string describe() const;
};

/// An entry of a map.
struct YamlPair {
  YamlValue key, value;
};

/// Whether a text is a date of the calendar, YYYY-MM-DD.
[[nodiscard]] bool valid_date(std::string_view text);

/// The rules of a file. Files of other programs may hold anchors, merged maps (`<<`), tags, and the booleans
/// of YAML 1.1 as texts. Files of this library may not.
enum class YamlForm : std::uint8_t { own, foreign };

/// A text that was read, and messages that point into it.
class YamlDocument {
 public:
  /// @throws InputError for a file that cannot be read, ErrorList with every fault of the text
  [[nodiscard]] static YamlDocument read(const std::filesystem::path& file);
  /// `name` stands for the text in messages. @throws InputError, ErrorList
  [[nodiscard]] static YamlDocument parse(std::string text, std::string name, YamlForm form = YamlForm::own);

  [[nodiscard]] const YamlValue& root() const { return root_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  /// The facts with the place of a value, and its line with a caret below.
  [[nodiscard]] ErrorFacts placed(ErrorFacts facts, const YamlValue& at) const;

 private:
  YamlDocument() = default;
  std::string file_, bytes_;
  YamlValue root_;
};

/// Problems of a file that are shown. Longer lists are not read, and finding a line takes time that grows
/// with the file.
inline constexpr std::size_t kMostProblems = 50;

/// Throws problems as one ErrorList, the first kMostProblems of them; does nothing where there are none.
void raise_problems(const std::string& what, std::span<const ErrorFacts> problems);

}  // namespace mlsysim

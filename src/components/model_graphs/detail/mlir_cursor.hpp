#pragma once
/// A place in MLIR text: tokens, brackets, types. Nothing is copied.

#include "mlir.hpp"

namespace mlsysim::detail {

class MlirCursor {
 public:
  MlirCursor(std::string_view text, const std::string& file) : text_(text), file_(&file) {}

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] std::size_t offset() const { return at_; }
  void rewind(std::size_t to) { at_ = to; }
  void skip(std::size_t n) { at_ = std::min(at_ + n, text_.size()); }
  /// @throws InputError at the end
  [[nodiscard]] char peek() const;
  [[nodiscard]] char peek_or(char otherwise) const { return at_end() ? otherwise : text_[at_]; }
  [[nodiscard]] bool starts(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// Skips blanks, then takes. @throws InputError for another character
  void expect(char c);
  /// Skips blanks, line ends and comments. @returns whether a line ended
  bool skip_blank();
  void skip_spaces();
  void skip_line();
  [[nodiscard]] bool begins_word() const;
  /// The next character after blanks.
  [[nodiscard]] char after_blank();
  /// Whether a new line goes on with the statement before it.
  [[nodiscard]] bool continues() const;

  [[nodiscard]] std::string_view word();
  /// "%name", without "#index"
  [[nodiscard]] std::string_view value_name();
  /// "@name" or "@\"name\"", without the sign
  std::string_view symbol();
  /// A text in quotes, without them
  std::string_view quoted();
  [[nodiscard]] double number();
  /// From an opening bracket to the one that closes it, texts skipped.
  void skip_brackets();
  /// A value up to the end of its line, brackets whole.
  void skip_value();
  void skip_type();
  void read_type(MlirType& into, int depth);

  [[noreturn]] void fail(std::string what, std::string expected) const;

 private:
  void read_tensor(MlirType& into, std::string_view inside);

  std::string_view text_;
  const std::string* file_;
  std::size_t at_ = 0;
};

}  // namespace mlsysim::detail

#pragma once
/// Strict CSV reader (RFC 4180): a header of unique names, records of equal length, and a place for every
/// value.
///
/// Quotes, doubled quotes and line breaks inside quotes are read. Empty lines, NUL bytes, and quotes inside
/// bare values are refused. LF and CRLF end a record, and the last record may end without one.
/// Example: the text "model,ms" with the record "llama,11.1": `number(0, 1)` is 11.1, from line 2, column 7.

#include <mlsysim/units/error.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// A CSV file that was read.
class CsvTable {
 public:
  /// @throws InputError with file, line and column
  [[nodiscard]] static CsvTable read(const std::filesystem::path& file);
  /// `name` stands for the text in messages. @throws InputError with line and column
  [[nodiscard]] static CsvTable parse(std::string text, std::string name);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return columns_.empty() ? 0 : cells_.size() / columns_.size(); }
  /// Adds a column that translates another one: a word of `words` becomes its entry there. Any other word
  /// becomes `otherwise`, or stays as it is without one. The words of several columns are joined by spaces.
  /// Its values have the places of the first column's.
  /// @pre no column has this name, and there are columns `from`, of which several come with `otherwise`
  void derive(std::string name, std::span<const std::size_t> from, std::map<std::string, std::string> words,
              std::optional<std::string> otherwise);
  /// Adds columns of another table: those of the one record there whose values in the columns `there` are a
  /// record's values in the columns `here`, or nothing where there is none. Values have the places of the
  /// first column of `here`. @throws InputError where two records there suit, or a column has a name that is
  /// taken
  void join(CsvTable other, std::span<const std::size_t> here, std::span<const std::size_t> there,
            std::span<const std::size_t> taken);
  /// Position of a column. @throws LookupError with near misses
  [[nodiscard]] std::size_t column(std::string_view name, const Location& asked_at = {}) const;
  /// The text of a value; empty where the source states nothing.
  [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const {
    return cells_[row * columns_.size() + column].text;
  }
  /// The number of a value that is not empty. @throws InputError naming file, line and column when it is no
  /// number
  [[nodiscard]] double number(std::size_t row, std::size_t column) const;
  /// Line and column of a value.
  [[nodiscard]] Location where(std::size_t row, std::size_t column) const;

 private:
  struct Cell {
    std::string_view
        text;  // into `bytes_`, where doubled quotes are reduced in place, `derived_` or `joined_`
    int line = 0, column = 0;
  };
  friend class CsvReader;
  std::string file_;
  std::unique_ptr<std::string> bytes_;  // at one address while tables move
  std::vector<std::string> columns_;
  std::vector<Cell> cells_;
  struct Words {
    std::map<std::string, std::string> words;
    std::optional<std::string> otherwise;
  };
  std::vector<std::unique_ptr<const Words>> derived_;
  std::vector<std::unique_ptr<const CsvTable>> joined_;
};

}  // namespace mlsysim

#pragma once
/// Arithmetic over the columns of a table: how the mapping of a row to an input is written as data.

#include <mlsysim/validation/csv.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// An expression such as `micro_batch * n_gpus / (tensor_parallel * pipeline_parallel)`.
///
/// Names are columns. `or and == != < <= > >= + - * /`, unary minus, parentheses, `min max ceil floor round log2` and
/// `given(column)`, which is 1 where the value is not empty. Truth is 1 and 0.
class ColumnExpression {
 public:
  /// @param where of the expression's first character, for messages
  /// @throws InputError with the column of the fault, LookupError for a column that there is not
  [[nodiscard]] static ColumnExpression parse(std::string_view text, const CsvTable& table, const Location& where = {});

  /// The column itself, whatever its name.
  [[nodiscard]] static ColumnExpression of_column(const CsvTable& table, std::size_t column);

  /// The value for a row; absent where a column that it needs is empty.
  /// @throws InputError for a value that is no number, or a result that is not finite
  [[nodiscard]] std::optional<double> at(const CsvTable& table, std::size_t row) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Columns that it reads, in order of their first use.
  [[nodiscard]] std::vector<std::size_t> columns() const;

 private:
  enum class Code : std::uint8_t {
    number, column, given, negate, ceil, floor, round, log2, add, subtract, multiply, divide, min, max, equal, differ,
    less, at_most, more, at_least, both, either
  };
  struct Step {
    Code code = Code::number;
    double number = 0;
    std::size_t column = 0;
  };
  friend class ExpressionParser;
  std::string text_;
  Location where_;
  std::vector<Step> steps_;  // postfix
};

}  // namespace mlsysim

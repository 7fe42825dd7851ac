#pragma once
/// Arithmetic expressions over the columns of a CSV table, which map a row to an input of a prediction.
///
/// Names are columns. `given(column)` is 1 where the value is not empty, else 0. A row with an empty value
/// that the expression needs has no result.
/// Example: for the row tp 8, pp 2: "tp / pp / 2" is 2, and "tp >= 8 and pp < 2" is 0.

#include <mlsysim/files/csv.hpp>
#include <mlsysim/resolver_api/expression.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// An expression such as `micro_batch * n_gpus / (tensor_parallel * pipeline_parallel)`.
class ColumnExpression {
 public:
  /// @param where of the expression's first character, for messages
  /// @throws as Expression::parse
  [[nodiscard]] static ColumnExpression parse(std::string_view text, const CsvTable& table,
                                              const Location& where = {});

  /// The column itself, whatever its name.
  [[nodiscard]] static ColumnExpression of_column(const CsvTable& table, std::size_t column);

  /// The value for a row; absent where a column that it needs is empty.
  /// @throws InputError for a value that is no number, or a result that is not finite
  [[nodiscard]] std::optional<double> at(const CsvTable& table, std::size_t row) const;
  [[nodiscard]] const std::string& text() const { return expression_.text(); }
  /// Indices of the columns that it reads, ascending.
  [[nodiscard]] std::vector<std::size_t> columns() const;

 private:
  ColumnExpression(Expression expression, std::size_t columns)
      : expression_(std::move(expression)), columns_(columns) {}
  Expression expression_;
  std::size_t columns_;  // of the table
};

}  // namespace mlsysim

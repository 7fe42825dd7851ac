#pragma once
/// Expressions over the columns of a table: how the mapping of a row to an input is written as data.

#include <mlsysim/files/csv.hpp>
#include <mlsysim/resolver_api/expression.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {

/// An expression such as `micro_batch * n_gpus / (tensor_parallel * pipeline_parallel)`. Names are columns;
/// `given(column)` is 1 where the value is not empty.
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
  /// Columns that it reads, ascending.
  [[nodiscard]] std::vector<std::size_t> columns() const;

 private:
  ColumnExpression(Expression expression, std::size_t columns)
      : expression_(std::move(expression)), columns_(columns) {}
  Expression expression_;
  std::size_t columns_;  // of the table
};

}  // namespace mlsysim

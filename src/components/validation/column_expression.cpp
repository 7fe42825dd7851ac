#include <mlsysim/validation/column_expression.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {

ColumnExpression ColumnExpression::parse(std::string_view text, const CsvTable& table,
                                         const Location& where) {
  return {Expression::parse(text, {.inputs = {}, .results = {}, .columns = table.columns()}, where),
          table.columns().size()};
}

ColumnExpression ColumnExpression::of_column(const CsvTable& table, std::size_t column) {
  return {Expression::of_slot(column, table.columns()[column]), table.columns().size()};
}

std::optional<double> ColumnExpression::at(const CsvTable& table, std::size_t row) const {
  std::vector<double> slots(2 * columns_);
  for (const auto slot : expression_.slots()) {
    const std::size_t column = slot % columns_;
    const bool empty = table.text(row, column).empty();
    if (slot < columns_ && empty) return std::nullopt;
    slots[slot] = slot < columns_ ? table.number(row, column) : empty ? 0 : 1;
  }
  const double x = expression_(std::span<const double>(slots));
  if (std::isfinite(x)) return x;
  throw InputError({.id = "mlsysim.validation.011",
                    .message = fmt::format("'{}' is not finite in this row", text()),
                    .key = text(),
                    .found = fmt::format("{}", x),
                    .expected = "a finite number",
                    .hint = "leave the row out, or correct the expression",
                    .where = table.where(row, 0)});
}

std::vector<std::size_t> ColumnExpression::columns() const {
  std::vector<std::size_t> out;
  for (const auto slot : expression_.slots()) out.push_back(slot % columns_);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace mlsysim

#pragma once
/// A table of values with units, rendered as text, Markdown, CSV or JSON.
///
/// Cells hold base units. CSV and JSON convert to the unit of the column. Text picks a unit that suits the
/// size.
/// Example: the cell 3.35 TB/s in a column "bandwidth" with the unit GB/s is "3.35 TB/s" in text, and 3350
/// under the head "bandwidth [GB/s]" in CSV.

#include <mlsysim/reflect/value.hpp>
#include <mlsysim/report/render_options.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <string>
#include <vector>

namespace mlsysim {

/// A table with its columns and rows.
struct Table {
  struct Column {
    std::string name;
    std::string unit{};  ///< of the numbers in JSON and CSV; empty for counts, fractions and texts
    std::string meaning{};
  };
  struct Cell {
    Value value{};  ///< absent: an empty cell
    Exponents exps{};

    Cell() = default;
    Cell(Value v, Exponents e = {}) : value(std::move(v)), exps(e) {}     // NOLINT: values pass the border
    Cell(std::string text) : value(std::move(text)) {}                    // NOLINT
    Cell(std::string_view text) : value(std::string(text)) {}             // NOLINT
    Cell(const char* text) : value(std::string(text)) {}                  // NOLINT
    Cell(double number) : value(number) {}                                // NOLINT
    Cell(const AnyQuantity& q) : value(q.base()), exps(q.exponents()) {}  // NOLINT
    template <class D> Cell(const Quantity<D, double>& q) : value(q.base()), exps(D::exps) {}  // NOLINT
  };

  std::string schema;  ///< stable name of the JSON form: "mlsysim/table@1"
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string footer;  ///< one line below the text form; may be empty
};

/// The table in the format of the options.
///
/// Text: columns padded, numbers to the right. Markdown: a pipe table with the texts of that form. CSV
/// (RFC 4180): header "name [unit]", numbers exact. JSON: {schema, title, columns, rows}.
/// @throws UnitError, DimensionError when a column's unit does not suit its cells
[[nodiscard]] std::string render(const Table& table, const RenderOptions& options);

}  // namespace mlsysim

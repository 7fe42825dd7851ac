#pragma once
// Points of a space as lines of text.

#include "search_files.hpp"

#include <string>
#include <vector>

namespace mlsysim::cli {

enum class RowFormat : std::uint8_t { csv, lines };

/// Writes points as lines of a file of rows, CSV or JSON.
class RowText {
 public:
  RowText(const Space& space, const Question& question, RowFormat format);

  /// First line of CSV; how every line of JSON begins.
  [[nodiscard]] const std::string& header() const { return header_; }
  [[nodiscard]] std::string_view format_name() const { return format_ == RowFormat::csv ? "csv" : "jsonl"; }
  void append(const RowBlock& block, std::string& to) const;

 private:
  [[nodiscard]] std::string cell(const std::string& text) const;
  [[nodiscard]] std::string label(std::size_t axis, std::size_t row) const;

  const Space& space_;
  const Question& question_;
  RowFormat format_;
  std::vector<std::string> names_;                ///< of the columns, as cells
  std::vector<std::vector<std::string>> labels_;  ///< of the rows of short axes, as cells
  std::vector<double> scales_;
  std::string header_;
};

}  // namespace mlsysim::cli

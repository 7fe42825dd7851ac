#pragma once
/// The report of a scenario: one page that a reader can keep, with everything behind the answer.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/plot/picture.hpp>
#include <mlsysim/resolver_api/notes.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// A table of which a reader may choose the rows with one value of a column.
struct ChoiceTable {
  Table table;
  std::string by;      ///< the column
  std::string behind;  ///< a column whose text is read on demand, behind the column before it; may be empty
};

/// A part of a report: words, tables, pictures, and texts that are read on demand.
struct ReportPart {
  std::string heading;
  std::vector<std::string> words{};
  std::vector<Table> tables{};
  std::vector<ChoiceTable> choices{};
  std::vector<Picture> pictures{};
  struct Detail {
    std::string summary, text;  ///< one line, and what is behind it as plain text
    std::string html{};         ///< the same for a page; without it the text is shown there
  };
  std::vector<Detail> details{};
};

struct ReportPage {
  std::string title;
  std::string answer;  ///< one sentence
  std::vector<ReportPart> parts;
};

/// The answer in one sentence, what limits it, what would change it, pictures, every number with its
/// derivation, every assumption with its source, the difference against another scenario, and the nearest
/// measured rows with their errors. A picture that the scenario does not have is named with the reason.
/// @param other   may be null
/// @param further assumptions made while names were turned into the scenario
/// @throws as SystemEvaluator::evaluate
[[nodiscard]] ReportPage report_page(const Scenario& scenario, const Scenario* other = nullptr,
                                     std::span<const Assumption> further = {});

/// A page that needs nothing from elsewhere and runs nothing: its own style, pictures inline, derivations
/// behind a click, with MathML. Every text is escaped once.
[[nodiscard]] std::string to_html(const ReportPage& page);
/// The page in Markdown, with pictures as characters and derivations in full.
[[nodiscard]] std::string to_markdown(const ReportPage& page);
/// The same for a terminal: tables aligned and no wider than `columns` (0: `options.width`, as words and
/// pictures are), pictures as characters, derivations where it is verbose.
[[nodiscard]] std::string to_text(const ReportPage& page, const RenderOptions& options,
                                  std::size_t columns = 0);

/// A measured row that is like a scenario.
struct NearRow {
  std::string table, row;
  double distance = 0;  ///< sum of |log2| of the ratios of the numbers that both have
  double measured = 0, predicted = 0;
  std::string unit;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};
/// The measured rows of the same model on the same device, nearest first; of other models on the device where
/// the model has none. Empty where nothing was measured on the device.
[[nodiscard]] std::vector<NearRow> nearest_rows(const Scenario& scenario, const Zoo& zoo,
                                                std::size_t most = 6);

}  // namespace mlsysim

#pragma once
/// Report of one scenario: answer, limits, pictures, derivations, assumptions and the nearest measured rows.
///
///   distance = sum of |log2(row / asked)|    over the numbers that the row and the scenario both have
///   error    = predicted / measured - 1
///
/// Compared numbers: batch_size, concurrency, seq_len, accelerators, tp_size, output_tokens, pp_size. The
/// page renders as HTML without scripts or external files, as Markdown, and as text.
/// Example: a row with batch 16 and 2048 tokens, asked for batch 4 and 1024 tokens, has the distance 2 + 1 =
/// 3.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/plot/picture.hpp>
#include <mlsysim/resolver_api/notes.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// A table with a menu: a reader chooses the rows with one value of a column.
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
    std::string summary, text;  ///< one line, and the plain text that it opens
    std::string html{};         ///< the text as HTML; if empty, a page shows `text`
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

/// The page as one HTML file with its own style, inline pictures and derivations behind a click, in MathML.
[[nodiscard]] std::string to_html(const ReportPage& page);
/// The page in Markdown, with pictures as characters and derivations in full.
[[nodiscard]] std::string to_markdown(const ReportPage& page);
/// The page for a terminal: tables aligned and no wider than `columns` (0: `options.width`, as words and
/// pictures are), pictures as characters, derivations only if verbose.
[[nodiscard]] std::string to_text(const ReportPage& page, const RenderOptions& options,
                                  std::size_t columns = 0);

/// A measured row that is like a scenario.
struct NearRow {
  std::string table, row;
  double distance = 0;  ///< from the scenario; 0: all compared numbers agree
  double measured = 0, predicted = 0;
  std::string unit;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};
/// The measured rows of the same model on the same device, nearest first; of other models on the device where
/// the model has none. Empty where nothing was measured on the device.
[[nodiscard]] std::vector<NearRow> nearest_rows(const Scenario& scenario, const Zoo& zoo,
                                                std::size_t most = 6);

}  // namespace mlsysim

#pragma once
/// The process around a command: streams, signals, colors.

#include "commands.hpp"

#include <mlsysim/report/table.hpp>
#include <mlsysim/resolver_api/search.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace mlsysim {
struct Explanation;
struct ReportPage;
}  // namespace mlsysim

namespace mlsysim::cli {

/// A closed reader is noticed by the write, and Ctrl-C ends the process at once, with a line and 130.
void prepare_process();
/// While it lives, the first Ctrl-C asks the command to end with what it has. A second ends the process.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  /// Whether that was asked.
  [[nodiscard]] static const CancelToken& token();
};
/// Prints the out-of-memory error without allocating memory.
void say_no_memory() noexcept;

/// On for a terminal, unless NO_COLOR is set to something or TERM is "dumb".
[[nodiscard]] Colour colour_of_stdout();
/// Columns of the terminal within [60, 120]; 96 where there is none.
[[nodiscard]] std::size_t width_of_stdout();
/// All columns of the terminal, for tables; 0 where there is none.
[[nodiscard]] std::size_t columns_of_stdout();

/// Puts paths of the user behind those of MLSYSIM_ZOO_PATH. @throws InputError for a path that does not exist
void add_zoo_paths(const std::vector<std::string>& paths);

/// Text for a terminal: control characters and those that turn the direction of words, which may come from an
/// untrusted file, are shown as \x1b, \u202e and the like. With colors on, those of the answer's own colors
/// stay.
[[nodiscard]] std::string printable(std::string_view text, Colour colours = Colour::off);

/// Target of -o: a format, or a file whose ending names the format.
struct Target {
  std::string form, file;
};
[[nodiscard]] Target target_of(const std::string& output);
/// Prints a page to a file, as PDF: by Chromium, or by weasyprint, which draws no MathML.
/// @param plain the page without MathML @throws SolverError where nothing here prints
void print_html(const std::string& html, const std::string& plain, const std::string& file);

/// The derivation of a number as LaTeX.
[[nodiscard]] std::string latex_of(const Explanation& explanation, Verbosity verbosity);

/// Puts what records of compilers say behind the pictures of a page. @param before records to compare them
/// with
/// @throws InputError for files that are no records
void add_records(ReportPage& page, const std::vector<std::string>& records,
                 const std::vector<std::string>& before);

/// A table below its verdict: "FITS. 16 requests of 2048 tokens fit". Other formats than text have the table
/// alone.
[[nodiscard]] std::string verdict_first(bool fits, std::string_view summary, const Table& table,
                                        const RenderOptions& options);

/// "mlsysim: error: ..." with what to do.
[[nodiscard]] std::string error_text(const std::exception& error);

/// From now on what anybody else prints goes to stderr, so that plugins do not write into the answer.
void keep_answer_apart();
/// Where answers go.
[[nodiscard]] int answer_stream();

/// Writes an answer: payload to stdout, diagnostics to stderr; gives the exit code of the process. A reader
/// that has gone is no error; a full disk is.
[[nodiscard]] int put(const Answer& answer);

}  // namespace mlsysim::cli

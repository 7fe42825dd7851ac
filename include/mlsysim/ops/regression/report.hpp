#pragma once
/// Report of a matrix run: differences from the baseline and broken budgets, in text, Markdown, JSON, CSV,
/// JUnit or HTML.
///
/// Exit code, first match:
///   1  a number got worse, is gone or has another dimension, or a budget is broken
///   3  a plugin failed, or damaged records were refused
///   4  another cell failed, or the run was stopped
///   0  otherwise
/// Example: a run in which one cell failed, without a baseline and without broken budgets, has the exit code
/// 4.

#include <mlsysim/ops/regression/differences.hpp>
#include <mlsysim/report/render_options.hpp>

namespace mlsysim {

/// A run, its budgets, and its differences from the baseline.
struct CiReport {
  std::string commit, matrix;
  CiRun run;
  bool compared = false;  ///< there was a baseline
  std::vector<Difference> differences;
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t count(CellStatus status) const;
  [[nodiscard]] std::size_t count(Verdict verdict) const;
  /// The exit code of the program.
  [[nodiscard]] int exit_code() const;
};

/// Forms of a report beside those of tables.
enum class CiForm : std::uint8_t { text, markdown, json, csv, junit, html, gitlab };
template <> inline constexpr auto names_of<CiForm> = ChoiceNames{"form of reports"};
/// JUnit has a case for each cell; gitlab is the code-quality form of its merge requests.
[[nodiscard]] std::string render(const CiReport& report, CiForm form, const RenderOptions& options = {});

/// Text at the start of every report of a form, by which the program recognizes its own files. A gitlab
/// report without a finding is only "[]\n".
[[nodiscard]] std::string_view mark_of(CiForm form);

/// How failures are written into the log of a CI job.
enum class Annotations : std::uint8_t { none, plain, github };
template <> inline constexpr auto names_of<Annotations> = ChoiceNames{"annotations"};
/// A line for each failing difference, broken budget and failed cell: "::error file=...::..." or "error:
/// ...".
[[nodiscard]] std::string annotations(const CiReport& report, Annotations form);

/// "+3.1 % itl; 2.7 % of it from hardware.memory.bandwidth 3350 GB/s -> 3015 GB/s; 41 kUSD a year".
[[nodiscard]] std::string in_words(const Difference& difference);

}  // namespace mlsysim

#pragma once
/// Reports the run of a matrix, in forms for people and for systems.

#include <mlsysim/ops/regression/differences.hpp>
#include <mlsysim/report/render_options.hpp>

namespace mlsysim {

/// A run, held to its budgets and to what was accepted.
struct CiReport {
  std::string commit, matrix;
  CiRun run;
  bool compared = false;  ///< there was a baseline
  std::vector<Difference> differences;
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t count(CellStatus status) const;
  [[nodiscard]] std::size_t count(Verdict verdict) const;
  /// 0 fine; 1 a number got worse, or a budget is broken; 3 a plugin failed, or damaged records were refused;
  /// 4 inconclusive: other cells failed, or the run was stopped.
  [[nodiscard]] int exit_code() const;
};

/// Forms of a report beside those of tables.
enum class CiForm : std::uint8_t { text, markdown, json, csv, junit, html, gitlab };
template <> inline constexpr auto names_of<CiForm> = ChoiceNames{"form of reports"};
/// JUnit has a case for each cell; gitlab is the code-quality form of its merge requests.
[[nodiscard]] std::string render(const CiReport& report, CiForm form, const RenderOptions& options = {});

/// Text in the head of every such report, by which one is known for a file of this program. A report of
/// gitlab without a finding is "[]\n" alone.
[[nodiscard]] std::string_view mark_of(CiForm form);

/// How what fails is written into the log of a job.
enum class Annotations : std::uint8_t { none, plain, github };
template <> inline constexpr auto names_of<Annotations> = ChoiceNames{"annotations"};
/// A line for each difference that fails and each broken budget: "::error file=...::..." or "error: ...".
[[nodiscard]] std::string annotations(const CiReport& report, Annotations form);

/// "+3.1 % itl; 2.7 % of it from hardware.memory.bandwidth 3350 GB/s -> 3015 GB/s; 41 kUSD a year".
[[nodiscard]] std::string in_words(const Difference& difference);

}  // namespace mlsysim

#pragma once
/// Baseline of accepted results, and the differences of a run from it with their causes.
///
///   change   = after / before - 1
///   per_year = accelerators * device_hour * 8766 h * change     for a time
///   per_year = accelerators * device_hour * 8766 h * (before / after - 1)   for a rate
///
/// The part of each changed parameter is its Shapley value between the accepted and the new parameters, with
/// today's equations. The remainder is the part of "equations". Parts add up to after - before.
/// Example: ITL 10 ms before and 10.31 ms after, 100 devices at 2 USD/h: change +3.1 %, 54,349 USD a year.

#include <mlsysim/ops/regression/results.hpp>

namespace mlsysim {

/// An accepted cell.
struct AcceptedCell {
  CellStatus status = CellStatus::ok;
  std::vector<CellNumber> numbers;
  std::map<std::string, double, std::less<>> figures;  ///< the parameters behind the numbers, base units
};
/// The cells of a baseline, by name.
using Accepted = std::map<std::string, AcceptedCell, std::less<>>;

/// A run as a baseline: a sorted text for reviews. A parameter that all cells of a model, device, precision
/// or pipeline share is written once, so that a changed constant is a changed line.
[[nodiscard]] std::string baseline_text(const CiRun& run);
/// @throws InputError, ErrorList
[[nodiscard]] Accepted read_baseline(const std::filesystem::path& file);
/// Parses the text of a baseline. @param name for messages
[[nodiscard]] Accepted parse_baseline(std::string text, std::string name);

/// How a number compares with the accepted one.
enum class Verdict : std::uint8_t { same, better, worse, fresh, gone, incomparable };
template <>
inline constexpr auto names_of<Verdict> =
    ChoiceNames{"verdict", "same", "better", "worse", "new", "gone", "incomparable"};

/// A changed parameter, and its part of a difference.
struct Cause {
  std::string input;  ///< "equations" for the remainder: the law itself has changed
  std::string from, to;
  double part = 0;  ///< base unit of the metric
};

/// One number that differs from the accepted one.
struct Difference {
  std::string cell, metric, unit;  ///< metric "status" where the status differs
  Verdict verdict = Verdict::same;
  std::optional<double> before, after;  ///< base units
  Exponents exps{};
  std::string status_before, status_after;  ///< of a status
  std::string reason;
  std::vector<Cause> causes;        ///< largest first; parts add up to after - before
  bool exact = true;                ///< every order of changes was averaged, not a sample of orders
  std::optional<Money<>> per_year;  ///< extra cost on the fleet of the matrix

  /// Relative change; absent where a side is missing or `before` is zero.
  [[nodiscard]] std::optional<double> change() const;
  /// Worse, gone and incomparable fail a run.
  [[nodiscard]] bool bad() const {
    return verdict == Verdict::worse || verdict == Verdict::gone || verdict == Verdict::incomparable;
  }
};

/// Whether a cell has a number that differs from the accepted one.
[[nodiscard]] bool differs(const CiMatrix& matrix, const CellResult& cell, const Accepted& accepted);
/// Every number that differs, in the order of the cells.
[[nodiscard]] std::vector<Difference> differences(const CiMatrix& matrix, const CiRun& run,
                                                  const Accepted& accepted);

}  // namespace mlsysim

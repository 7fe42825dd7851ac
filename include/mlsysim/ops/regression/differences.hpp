#pragma once
/// Accepted results, and how a run differs from them.

#include <mlsysim/ops/regression/results.hpp>

namespace mlsysim {

/// An accepted cell.
struct AcceptedCell {
  CellStatus status = CellStatus::ok;
  std::vector<CellNumber> numbers;
  std::map<std::string, double, std::less<>> figures;  ///< what the numbers rested on, base units
};
/// The cells of a baseline, by name.
using Accepted = std::map<std::string, AcceptedCell, std::less<>>;

/// A run as a baseline: a text for reviews, sorted, with each figure once where it is the same for all cells
/// of a model, a device, a precision or a pipeline. A changed constant is a changed line.
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

/// A changed figure, and its exact part of a difference.
struct Cause {
  std::string input;  ///< "equations" for what no figure explains: the law itself is another
  std::string from, to;
  double part = 0;  ///< base unit of the metric
};

/// One number that is not what was accepted.
struct Difference {
  std::string cell, metric, unit;  ///< metric "status" where the status differs
  Verdict verdict = Verdict::same;
  std::optional<double> before, after;  ///< base units
  Exponents exps{};
  std::string status_before, status_after;  ///< of a status
  std::string reason;
  std::vector<Cause> causes;        ///< largest first; parts add up to after - before
  bool exact = true;                ///< every order of changes was averaged, not a sample of orders
  std::optional<Money<>> per_year;  ///< what it costs more on the fleet of the matrix

  /// after / before - 1; absent where a side is missing or zero.
  [[nodiscard]] std::optional<double> change() const;
  /// Worse, gone and incomparable fail a run.
  [[nodiscard]] bool bad() const {
    return verdict == Verdict::worse || verdict == Verdict::gone || verdict == Verdict::incomparable;
  }
};

/// Whether a cell has a number that differs, so that its parts are asked for.
[[nodiscard]] bool differs(const CiMatrix& matrix, const CellResult& cell, const Accepted& accepted);
/// Every number that differs, in the order of the cells. What a changed figure did is its Shapley value
/// (`compare`), between today's equations at the accepted figures and at the new ones; what remains is due to
/// the equations.
[[nodiscard]] std::vector<Difference> differences(const CiMatrix& matrix, const CiRun& run,
                                                  const Accepted& accepted);

}  // namespace mlsysim

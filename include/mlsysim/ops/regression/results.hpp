#pragma once
/// Predicts the cells of a matrix.

#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/ops/regression/matrix.hpp>
#include <mlsysim/pipeline/breaks.hpp>
#include <mlsysim/resolver_api/search.hpp>

#include <functional>
#include <memory>

namespace mlsysim {

struct Subject;

/// How a cell ended.
enum class CellStatus : std::uint8_t { ok, infeasible, failed };
template <> inline constexpr auto names_of<CellStatus> = ChoiceNames{"status of cells"};

/// One number of a cell.
struct CellNumber {
  std::string name;
  double value = 0;  ///< base unit of `exps`
  Exponents exps{};
  std::string unit;  ///< in which it is shown and written
};

/// The numbers of one cell, or the reason why it has none.
struct CellResult {
  MatrixCell cell;
  CellStatus status = CellStatus::ok;
  std::string reason;               ///< where it is not ok
  std::vector<CellNumber> numbers;  ///< watched metrics that the cell has
  std::shared_ptr<const Subject>
      subject;  ///< as a law, with the point at which it was asked; null where it failed or was known
  std::vector<std::string> results{};  ///< names of the results of a cell that was known
  BreakReason why{};                   ///< where it is not ok
  bool refused = false;                ///< its records are damaged, and `CiHow::damage` refuses them
};
/// Cells that an earlier run finished, by name.
using KnownCells = std::map<std::string, CellResult, std::less<>>;

/// A budget, and what a cell has of it.
struct HeldBudget {
  std::string cell, text;
  double value = 0, limit = 0;  ///< base units
  Exponents exps{};
  std::string number{};  ///< what is held to it: "itl", or an expression
};

/// How a matrix is run.
struct CiHow {
  unsigned threads = 1;  ///< results do not depend on it
  const CancelToken* cancel = nullptr;
  Damage damage = Damage::counted;  ///< of the records of a compiler
  KnownCells known{};  ///< are not predicted again, unless a budget is asked of them or `again` says so
  std::function<bool(const CellResult&)>
      again{};  ///< whether what is known does not do, as for an attribution
};

/// A whole run.
struct CiRun {
  std::vector<CellResult> cells;  ///< in the order of the matrix
  std::vector<HeldBudget> broken;
  std::vector<HeldBudget> budgets;  ///< all that were asked, kept or not
  bool complete = true;  ///< false: it was stopped, and the cells that were not reached are missing
};

/// Predicts every cell. A cell that fails does not keep the others from being predicted.
/// @throws ErrorList, before any cell is predicted, for budgets and metrics that no cell has, and for budgets
/// of
///         another dimension
[[nodiscard]] CiRun run_matrix(const CiMatrix& matrix, const Zoo& zoo, const CiHow& how = {});

}  // namespace mlsysim

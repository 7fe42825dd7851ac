#pragma once
/// Predicts every cell of a regression matrix and checks the budgets.
///
/// A cell ends as ok, infeasible or failed. A failed cell does not stop the others. Results do not depend on
/// the number of threads. Known cells of an earlier run are not predicted again.
/// Example: models Llama3_8B and Llama3_70B on H100 and H200, with the budget `itl <= 4 ms for
/// model=~"Llama3_7.*"`. Two cells break it, first Llama3_70B/H100/bf16/serve, with the limit 0.004 in base
/// units (s).

#include <mlsysim/ops/graph_breaks/ingest.hpp>
#include <mlsysim/ops/regression/matrix.hpp>
#include <mlsysim/pipeline/breaks.hpp>

#include <functional>
#include <memory>

namespace mlsysim {

class CancelToken;
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
      subject;                         ///< the cell as a law with its point; null for failed and known cells
  std::vector<std::string> results{};  ///< names of the results of a cell that was known
  BreakReason why{};                   ///< where it is not ok
  bool refused = false;                ///< its records are damaged, and `CiHow::damage` refuses them
};
/// Cells that an earlier run finished, by name.
using KnownCells = std::map<std::string, CellResult, std::less<>>;

/// A budget, and the value of one cell.
struct HeldBudget {
  std::string cell, text;
  double value = 0, limit = 0;  ///< base units
  Exponents exps{};
  std::string number{};  ///< the limited number: "itl", or an expression
};

/// How a matrix is run.
struct CiHow {
  unsigned threads = 1;  ///< results do not depend on it
  const CancelToken* cancel = nullptr;
  Damage damage = Damage::counted;  ///< of the records of a compiler
  KnownCells known{};  ///< not predicted again, unless a budget applies to them or `again` requests it
  std::function<bool(const CellResult&)>
      again{};  ///< whether a known cell must be predicted again, as for an attribution
};

/// A whole run.
struct CiRun {
  std::vector<CellResult> cells;  ///< in the order of the matrix
  std::vector<HeldBudget> broken;
  std::vector<HeldBudget> budgets;  ///< all budgets, met or broken
  bool complete = true;  ///< false: it was stopped, and the cells that were not reached are missing
};

/// Predicts every cell.
/// @throws ErrorList, before any cell is predicted, for budgets and metrics that no cell has, and for budgets
/// whose limit has another dimension than the number
[[nodiscard]] CiRun run_matrix(const CiMatrix& matrix, const Zoo& zoo, const CiHow& how = {});

}  // namespace mlsysim

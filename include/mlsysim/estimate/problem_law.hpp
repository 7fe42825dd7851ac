#pragma once
/// Records the evaluation of a problem as a law: numbered inputs, numbered results and one tape.
///
/// Sweeps, gradients, bounds and inversions run on the tape. The categories of the problem stay fixed.
/// Inputs have the names of the problem's table, and of numbers in its layers ("workload.stacks[0].hidden").
///
/// Example: `MovingProblem(p).evaluate(problem_leaves(p))` returns the numbers of `evaluate(p)`, in the order
/// of the law's results.

#include <mlsysim/estimate/evaluate.hpp>
#include <mlsysim/tape/law_entry.hpp>

#include <memory>
#include <string>
#include <vector>

namespace mlsysim {

/// The tape of a problem as a law. Inputs are the numbers of the problem's table, then those of its layers.
/// Results are the numbers of the estimate's table.
struct ProblemLaw : LawEntry {
  std::vector<std::uint16_t> reported;  ///< results that are computed, rather than empty
  std::vector<bool> matters;            ///< per input, whether a reported result depends on it

  /// Per input, whether a result depends on it.
  [[nodiscard]] std::vector<bool> inputs_of(std::size_t result) const;
};

/// Records the tape of a problem: some hundred microseconds, so callers keep it.
[[nodiscard]] std::shared_ptr<const ProblemLaw> record_problem_law(const AnyProblem& problem);

/// A key for the tape of a problem, as bytes: the question, all categories of its table, the records of a
/// convolutional network or program, and which layers of a stack are alike.
[[nodiscard]] std::string problem_key(const AnyProblem& problem);

/// The numbers of a problem, in the order of its law's inputs.
[[nodiscard]] std::vector<double> problem_leaves(const AnyProblem& problem);

/// A problem whose numbers are replaced and whose categories stay.
class MovingProblem {
 public:
  explicit MovingProblem(AnyProblem problem);

  [[nodiscard]] const AnyProblem& problem() const { return base_; }
  /// Evaluates the problem with other numbers. @param leaves in the order of `problem_leaves`
  /// @return the numbers of the estimate, in the order of the law's results
  [[nodiscard]] std::vector<double> evaluate(std::span<const double> leaves) const;

 private:
  AnyProblem base_;
  std::vector<double> layers_;  ///< numbers that layers state, at the end of the leaves
};

}  // namespace mlsysim

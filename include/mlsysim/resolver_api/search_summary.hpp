#pragma once
/// Summary of one search: counts, best candidate, binding constraint and exactness.
///
/// Only a Search can make one, so an optimizer cannot report more candidates than it tried.
/// Example: 5 devices, cheapest with at least 300 TFLOP/s: 2 feasible, 2 infeasible, 1 skipped, best "Large".
/// The binding constraint is "peak", and "peak at least 65 TFLOP/s instead of 300 TFLOP/s admits 'Small'".

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/resolver_api/outcome.hpp>
#include <mlsysim/resolver_api/score.hpp>
#include <mlsysim/units/any_quantity.hpp>

#include <string>
#include <vector>

namespace mlsysim {

/// How certain it is that the answer is the best of its space.
enum class Exactness : std::uint8_t { enumerated, proven, heuristic };
template <> inline constexpr auto names_of<Exactness> = ChoiceNames{"exactness"};

namespace detail {
class Tally;
}

/// Only a Search makes a SearchSummary: call search.minimize, search.maximize or search.pareto and keep its
/// summary.
struct only_a_Search_makes_a_SearchSummary {};

/// Objective, best candidate, counts, the constraint that binds, and exactness of one search.
class SearchSummary {
 public:
  /// Objective of the best candidate, in the unit that the score had; 0 without a feasible one.
  [[nodiscard]] AnyQuantity objective() const;
  /// Name of the best candidate; empty without a feasible one.
  [[nodiscard]] const std::string& best() const { return best_; }
  [[nodiscard]] double total_searched() const { return total_; }
  [[nodiscard]] double feasible() const { return feasible_; }
  [[nodiscard]] double infeasible() const { return infeasible_; }
  [[nodiscard]] double skipped() const { return skipped_; }
  /// The constraint whose relaxation would admit a better candidate (or any); empty where none binds.
  [[nodiscard]] const std::string& binding_constraint() const { return binding_; }
  /// The change that relaxes the binding constraint, and the candidate that it admits: "peak at least 250
  /// TFLOP/s instead of 300 TFLOP/s admits 'A30'".
  [[nodiscard]] const std::string& relaxation() const { return relaxation_; }
  [[nodiscard]] Exactness exactness() const { return exactness_; }
  /// True when a cancel token stopped the search early.
  [[nodiscard]] bool cancelled() const { return cancelled_; }

  struct Skipped {
    std::string reason;
    double count;
  };
  /// Candidates that could not be judged, by reason, in order of first appearance.
  [[nodiscard]] const std::vector<Skipped>& skip_reasons() const { return reasons_; }

  /// One line: "58 candidates: 12 feasible, 40 infeasible, 6 skipped (no unit_cost: 6)", then the best
  /// candidate, the binding constraint and the exactness.
  [[nodiscard]] std::string text() const;
  /// Why no candidate is feasible, as an answer.
  [[nodiscard]] Infeasible why_infeasible() const;

  template <class S = SearchSummary> static constexpr auto fields() {
    return rows(field(&S::objective_value_, "objective_value", "",
                      "objective of the best candidate, in objective_unit"),
                field(&S::objective_unit_, "objective_unit", "", "canonical base unit of the objective"),
                field(&S::best_, "best", "", "name of the best candidate"),
                field(&S::total_, "total_searched", "", "candidates that were looked at").counted(),
                field(&S::feasible_, "feasible", "", "candidates that meet every constraint").counted(),
                field(&S::infeasible_, "infeasible", "", "candidates that miss a constraint").counted(),
                field(&S::skipped_, "skipped", "", "candidates that could not be judged").counted(),
                field(&S::binding_, "binding_constraint", "", "constraint whose relaxation would help"),
                field(&S::exactness_, "exactness", "", "enumerated, proven or heuristic"));
  }

 private:
  friend class Search;
  friend class detail::Tally;
  template <class> friend struct detail::Blank;
  SearchSummary(only_a_Search_makes_a_SearchSummary = {}) {}  // NOLINT(google-explicit-constructor)

  double objective_value_ = 0;
  Exponents exps_{};
  std::string objective_unit_, best_, binding_, relaxation_;
  double total_ = 0, feasible_ = 0, infeasible_ = 0, skipped_ = 0;
  Exactness exactness_ = Exactness::enumerated;
  bool cancelled_ = false;
  std::vector<Skipped> reasons_;
};

}  // namespace mlsysim

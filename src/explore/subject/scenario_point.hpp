#pragma once
// Where the inputs of a scenario's subject are when a figure behind them moves.

#include <mlsysim/explore/subject/subject.hpp>

#include <memory>
#include <vector>

namespace mlsysim::detail {

/// The point of a scenario's subject, again for scenarios that differ in figures of what they point to. Where
/// these have the same law, nothing but the numbers is settled again.
class ScenarioPoint {
 public:
  /// @throws what `subject_of` throws
  explicit ScenarioPoint(const Scenario& scenario);
  ~ScenarioPoint();

  [[nodiscard]] const Subject& base() const { return base_; }
  /// `subject_of(moved).point`. @throws what `subject_of` throws
  [[nodiscard]] std::vector<double> at(const Scenario& moved) const;

 private:
  struct Known;  // what decides whether the subject has the same inputs
  Subject base_;
  std::unique_ptr<const Known> known_;  ///< none where no law describes the scenario
};

}  // namespace mlsysim::detail

#pragma once
/// A scenario prepared for evaluation: categories and numbers, every gap filled and noted.

#include <mlsysim/answer/scenario.hpp>
#include <mlsysim/engine/evaluator.hpp>

namespace mlsysim {

/// What `scenario_numbers` computes a scorecard from.
struct PreparedScenario {
  ScenarioShape shape;
  ScenarioInputs<> inputs;
  std::string_view region;  ///< grid that is charged; empty where nothing is
};

/// Settles names, categories, gaps and warnings, once, in double. @throws InputError, DomainError
[[nodiscard]] PreparedScenario prepare(const ResolvedScenario& scenario, Notes& notes);

/// The part of it that is charged: prices, grid and facility, for a pass that other numbers describe.
[[nodiscard]] PreparedScenario prepare_macro_alone(const ResolvedScenario& scenario, Notes& notes);

}  // namespace mlsysim

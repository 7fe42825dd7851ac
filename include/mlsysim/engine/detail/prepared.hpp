#pragma once
/// A scenario prepared for evaluation: categories and numbers, every gap filled and noted.

#include <mlsysim/answer/scenario.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/resolve/resolver.hpp>

#include <optional>

namespace mlsysim {

/// What `scenario_numbers` computes a scorecard from.
struct PreparedScenario {
  ScenarioShape shape;
  ScenarioInputs<> inputs;
  std::string_view region;  ///< grid that is charged; empty where nothing is
};

/// Settles names, categories, gaps and warnings, once, in double. @throws InputError, DomainError
[[nodiscard]] PreparedScenario prepare(const ResolvedScenario& scenario, Notes& notes);

/// The same of a resolver whose numbers are those of a scenario: of one served model, of one step of
/// training, of one device. Nothing is charged. Empty for every other resolver.
/// @param inputs a live struct of the resolver @throws what its `solve` throws
[[nodiscard]] std::optional<PreparedScenario> prepare(const Resolver& resolver, const void* inputs,
                                                      Notes& notes);

/// The part of it that is charged: prices, grid and facility, for a pass that other numbers describe.
[[nodiscard]] PreparedScenario prepare_macro_alone(const ResolvedScenario& scenario, Notes& notes);

}  // namespace mlsysim

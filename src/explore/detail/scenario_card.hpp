#pragma once
// What a derivation knows of a scenario that is answered by the scorecard itself: its books over every scalar, its textbook
// core, and the numbers that code without a law hands in.

#include "scenario_numbers.hpp"

#include <mlsysim/catalogue/core/distributed.hpp>
#include <mlsysim/catalogue/core/serving.hpp>
#include <mlsysim/scalars/traced.hpp>

#include <optional>

namespace mlsysim::detail {

struct ScorecardState {
  ScenarioState books;                              ///< run, facility and power only
  std::optional<TextbookServingViews<>> serving;
  std::optional<TextbookStepViews<>> step;
  double load = 0;                                  ///< share of the maximum load that cost and energy count with
  std::vector<std::uint16_t> positions;             ///< in ScenarioResults, of each result that it knows
};

void scenario_traced(const void* self, const Traced* in, Traced* out);
/// @param card numbers of the scorecard, one for each position
/// @param out  the same with what they hang on
void scorecard_traced(const ScorecardState& state, const double* card, Traced* out);

}  // namespace mlsysim::detail

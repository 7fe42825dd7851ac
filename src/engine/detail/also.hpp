#pragma once
/// Further resolvers beside a scorecard: the field `also` of a scenario.

#include <mlsysim/engine/requests.hpp>
#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/resolver_api/notes.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace mlsysim::detail {

/// One resolver of the list, with the inputs that stand behind its name.
struct AlsoCall {
  std::string_view resolver;
  std::vector<std::pair<std::string_view, std::string_view>> inputs;
};

/// The calls of a list such as "EconomicsModel, my_power/PassEnergy(idle_share=0.3, window=2 s)".
/// @throws InputError for a bracket that is not closed, or an input without '='
[[nodiscard]] std::vector<AlsoCall> calls_in(std::string_view text);

/// One resolver of Scenario::also: its results are a level of their own.
///
/// Inputs that the call does not give are the machine, the workload, and what the scenario has under their
/// names. What a resolver cannot say does not cost the others their answers, so an error is a skipped level
/// with the reason.
/// @throws LookupError with near misses for a name that is none, and errors of the inputs that the call gives
[[nodiscard]] EvaluationLevel ask_also(const AlsoCall& call, const ResolvedScenario& r, NoteBook& book);

}  // namespace mlsysim::detail

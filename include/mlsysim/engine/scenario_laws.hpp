#pragma once
/// The tapes of scenarios, kept, and what their numbers are called.

#include <mlsysim/answer/scenario_law.hpp>
#include <mlsysim/tape/derivation.hpp>

#include <span>
#include <string>
#include <string_view>

namespace mlsysim {

/// The law of a shape, recorded when it is first asked for; the last few shapes are kept and shared.
/// Thread-safe.
[[nodiscard]] std::shared_ptr<const ScenarioLaw> scenario_law(const ScenarioShape& s);

/// What users call an input of the law: numbers of the request go by the names that the table of Scenario
/// gives them ("run.batch_size" is batch_size, "plan.overlap" of a training step overlap_efficiency), the
/// others by their paths.
[[nodiscard]] std::string_view input_name(std::string_view path, ScenarioKind kind);

/// `derive_result` under the names that users know.
[[nodiscard]] Derivation derive_scenario(const ScenarioLaw& law, ScenarioKind kind,
                                         std::span<const double> in, std::size_t result,
                                         std::span<const std::string> open = {});

}  // namespace mlsysim

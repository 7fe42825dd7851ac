#pragma once
/// The tapes of scenarios, kept.

#include <mlsysim/answer/scenario_law.hpp>

namespace mlsysim {

/// The law of a shape, recorded when it is first asked for; the last few shapes are kept and shared. Thread-safe.
[[nodiscard]] std::shared_ptr<const ScenarioLaw> scenario_law(const ScenarioShape& s);

}  // namespace mlsysim

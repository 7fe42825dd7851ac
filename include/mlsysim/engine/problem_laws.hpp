#pragma once
/// The tapes of problems, kept.

#include <mlsysim/estimate/problem_law.hpp>

namespace mlsysim {

/// The law of a problem, recorded when it is first asked for; the last few are kept by their categories and
/// shared. Thread-safe.
[[nodiscard]] std::shared_ptr<const ProblemLaw> problem_law(const AnyProblem& problem);

}  // namespace mlsysim

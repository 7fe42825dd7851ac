#pragma once
/// Cache of recorded laws: the tape of a problem, recorded at most once for each set of categories.
///
/// The key is the categories of the problem. The 64 laws that were used last are kept. Thread-safe.
/// Example: Llama3_70B on 8 H100 with batch size 16 and with 32 share one law, since batch size is an input.

#include <mlsysim/estimate/problem_law.hpp>

namespace mlsysim {

/// The law of a problem, recorded when it is first asked for.
[[nodiscard]] std::shared_ptr<const ProblemLaw> problem_law(const AnyProblem& problem);

}  // namespace mlsysim

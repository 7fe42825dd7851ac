#include "evaluate_any.hpp"

namespace mlsysim {

static_assert(problem_is_complete<ServingProblem<>>());
static_assert(problem_is_complete<TrainingProblem<>>());
static_assert(problem_is_complete<InferenceProblem<>>());

ServingEstimate<> evaluate_decoding(const ServingProblem<>& p, double requests) {
  auto out = detail::steady_serving(p, &requests);
  out.feasibility = detail::feasibility(out.memory, 1.0);
  out.macro = detail::macro_of(p, out.utilization, &out.token_throughput);
  return out;
}

template ServingEstimate<double> evaluate(const ServingProblem<double>&);
template TrainingEstimate<double> evaluate(const TrainingProblem<double>&);
template InferenceEstimate<double> evaluate(const InferenceProblem<double>&);

}  // namespace mlsysim

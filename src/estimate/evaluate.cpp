#include "evaluate_any.hpp"

namespace mlsysim {

static_assert(problem_is_complete<ServingProblem<>>());
static_assert(problem_is_complete<TrainingProblem<>>());
static_assert(problem_is_complete<InferenceProblem<>>());

template ServingEstimate<double> evaluate(const ServingProblem<double>&);
template TrainingEstimate<double> evaluate(const TrainingProblem<double>&);
template InferenceEstimate<double> evaluate(const InferenceProblem<double>&);

}  // namespace mlsysim

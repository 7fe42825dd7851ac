#include "scenario_numbers.hpp"

namespace mlsysim {

template ServingViews<double> serving_views(const ScenarioShape&, const ScenarioInputs<double>&);
template TrainingViews<double> training_views(const ScenarioShape&, const ScenarioInputs<double>&);
template InferenceViews<double> inference_views(const ScenarioShape&, const ScenarioInputs<double>&);
template ScenarioResults<double> scenario_numbers(const ScenarioShape&, const ScenarioInputs<double>&);

}  // namespace mlsysim

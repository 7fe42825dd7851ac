#include "detail/planned.hpp"

#include <mlsysim/engine/detail/launch_writer.hpp>
#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/estimate/evaluate.hpp>

#include <algorithm>

namespace mlsysim::detail {
namespace {

/// Bytes of a weight of a served scenario, on average; none where it is not served.
DataPerParam<> weight_of(const Scenario& scenario) {
  Notes quiet;
  const auto problem = settle(ResolvedScenario(scenario, quiet), quiet);
  const auto* served = std::get_if<ServingProblem<>>(&problem);
  return served != nullptr ? served->mean_weight_bytes : DataPerParam<>();
}

}  // namespace

Scenario with_requests(const Scenario& scenario) {
  if (!scenario.arrival_rate || scenario.workload == nullptr) return scenario;
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  const auto problem = settle(r, quiet);
  const auto* served = std::get_if<ServingProblem<>>(&problem);
  if (served == nullptr) return scenario;
  Scenario out = scenario;
  out.arrival_rate.reset();
  out.load = Load::concurrency;
  out.batch_size = std::max(1.0, admitted_requests(evaluate(*served).steady.running_requests)) * r.replicas();
  return out;
}

bool holds_narrow(const Workload& model) {
  return std::any_of(model.formats.begin(), model.formats.end(), [](const StoredFormat& f) {
    return bytes_per_element(f.precision) < 2 && f.tensors != TensorGroup::cache &&
           f.tensors != TensorGroup::index_keys && f.tensors != TensorGroup::state;
  });
}

bool repository_holds(const Scenario& scenario) {
  const Workload& model = *scenario.workload;
  const bool narrow = holds_narrow(model);
  if (const auto wanted = scenario.weight_format) {
    const auto name = name_of(*wanted);
    if (wanted == WeightFormat::as_stored) return true;
    if (wanted == WeightFormat::bf16 || wanted == WeightFormat::fp16 || wanted == WeightFormat::fp32)
      return !narrow;
    return std::any_of(model.formats.begin(), model.formats.end(), [&](const StoredFormat& f) {
      return name.find(name_of(f.precision)) != std::string_view::npos;  // "nvfp4" has values of fp4
    });
  }
  if (!scenario.precision) return true;
  if (!narrow) return bytes_per_element(*scenario.precision) >= 2;
  Scenario open = scenario;
  open.precision.reset();
  return weight_of(scenario) == weight_of(open);
}

}  // namespace mlsysim::detail

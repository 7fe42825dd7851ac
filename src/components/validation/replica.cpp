#include "detail/serving_row.hpp"

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/timing/fill.hpp>

namespace mlsysim::detail {
namespace {

/// The fewest devices of a node, a power of two, whose memory the weights fill at most to the half.
double fewest_devices(const ServingRow& row, const PredictionContext& context) {
  Notes quiet;
  const auto& in = row.in;
  const double bytes =
      in.weight_bits ? *in.weight_bits / 8 : bytes_per_element(in.precision.value_or(Precision::bf16));
  const double weights = parameter_count(*in.workload).base() * bytes;
  const double half =
      needed_figure("memory.capacity", *in.hardware, context.constants->conventions(), quiet) / 2;
  const double most = row.node != nullptr ? row.node->accelerators_per_node : 1;
  double tp = 1;
  while (tp < most && weights > tp * half) tp *= 2;
  return tp;
}

}  // namespace

Replica::Replica(const ServingRow& row, const PredictionContext& context) : inputs_(row.in) {
  Notes quiet;
  const Constants& constants = *context.constants;
  inputs_.hardware = &constants.device(*inputs_.hardware);
  if (inputs_.engine != nullptr) inputs_.engine = &constants.engine(*inputs_.engine);
  if (row.fewest_devices) inputs_.tp_size = fewest_devices(row, context);
  inputs_.seq_len = seq_len_or_default(inputs_.seq_len, *inputs_.workload, inputs_.output_tokens, quiet);
  inputs_.prefill_replicas = row.prefill_replicas;
  inputs_.conventions = &constants.conventions();
  inputs_.fidelity = fidelity_model_of(context.comparison).fidelity();
  if (row.node != nullptr) inputs_.fleet = &fleet_.emplace(*row.node, nullptr, devices(), context).fleet;
  // Yardsticks know no host, and neither do runs without an engine.
  if (context.comparison == Yardstick::operators && inputs_.engine != nullptr) engine_ = *inputs_.engine;
  passes_ = pass_times(inputs_, engine_, quiet);
  passes_.fidelity_model = &fidelity_model_of(context.comparison);
}

InFlightBatchingModel::Result Replica::steady(const InFlightBatchingModel::Inputs& in) const {
  Notes quiet;
  return in_flight(in, engine_, passes_, quiet);
}

Time<> Replica::step(Time<> device) const {
  return with_host(engine_times(engine_), device, requests() / inputs_.ep_size);
}

}  // namespace mlsysim::detail

#include "detail/serving_case.hpp"

#include <mlsysim/price/fill.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// The tensor-parallel degree, of up to a node where the case leaves it open.
double degree(const ServingCase& c, const PredictionContext& context) {
  if (c.tp_size >= 1) return c.tp_size;
  Notes quiet;
  const double bytes = c.weight_bits ? *c.weight_bits / 8 : bytes_per_element(c.precision);
  const double weights = parameter_count(*c.workload).base() * bytes;
  const double half =
      needed_figure("memory.capacity", *c.hardware, context.constants->conventions(), quiet) / 2;
  const double most = c.node != nullptr ? c.node->accelerators_per_node : 1;
  double tp = 1;
  while (tp < most && weights > tp * half) tp *= 2;
  return tp;
}

}  // namespace

Replica::Replica(const ServingCase& c, const PredictionContext& context) {
  inputs_.workload = c.workload;
  inputs_.hardware = &context.constants->device(*c.hardware);
  inputs_.seq_len = std::max(1.0, c.prompt);
  inputs_.output_tokens = std::max(1.0, c.output_tokens.value_or(1));
  inputs_.num_requests = c.requests;
  inputs_.equal_lengths = c.equal_lengths > 0.5;
  inputs_.engine = c.engine != nullptr ? &context.constants->engine(*c.engine) : nullptr;
  inputs_.prefill_chunk_tokens = c.prefill_chunk;
  inputs_.page_tokens = 1;
  inputs_.kv_share = c.kv_share;
  inputs_.precision = c.precision;
  inputs_.kv_precision = c.kv_precision;
  inputs_.weight_bits = c.weight_bits;
  inputs_.tp_size = degree(c, context);
  inputs_.pp_size = c.pp_size;
  inputs_.ep_size = c.ep_size;
  inputs_.prefill_replicas = c.prefill_replicas;
  inputs_.prefill_tp_size = c.prefill_tp_size;
  inputs_.prefill_ep_size = c.prefill_ep_size;
  inputs_.conventions = &context.constants->conventions();
  if (c.node != nullptr) {
    node_ = *c.node;
    node_.accelerator = inputs_.hardware;
    fleet_.node = &node_;
    fleet_.count = std::ceil(devices() / node_.accelerators_per_node);
    inputs_.fleet = &fleet_;
  }
  Notes quiet;
  const bool operators = context.comparison == Yardstick::operators;
  inputs_.fidelity = pricing_of(context.comparison).fidelity();
  // Yardsticks know no host, and neither do runs without an engine.
  if (operators && inputs_.engine != nullptr) engine_ = *inputs_.engine;
  passes_ = std::make_unique<PassTimes>(pass_times(inputs_, engine_.prefill_issue, quiet));
  passes_->use(pricing_of(context.comparison));
}

InFlightBatchingModel::Result Replica::steady(const InFlightBatchingModel::Inputs& in) const {
  Notes quiet;
  return in_flight(in, engine_, *passes_, quiet);
}

Time<> Replica::step(Time<> device, double requests) const {
  return with_host(engine_, device, requests / inputs_.ep_size);
}

}  // namespace mlsysim::detail

#include "detail/serving_case.hpp"

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// All work over peak rate or all traffic over peak bandwidth, on the operators and with the memory of the resolver.
class RooflinePasses final : public PassTimes {
 public:
  RooflinePasses(const InFlightBatchingModel::Inputs& in, Notes& notes)
      : views_(serving_views(in, notes)), memory_(pass_times(in, Fidelity::operator_level, {}, notes)) {}
  ReplicaPass prefill(double prompts, double new_tokens, double context) const override {
    return run(views_.prefill, views_.prefill_device, prompts, new_tokens, context);
  }
  ReplicaPass decode(double requests, double context, double new_tokens) const override {
    return run(views_.decode, views_.decode_device, requests, new_tokens, context);
  }
  double capacity(double tokens, double kv_share) const override { return memory_->capacity(tokens, kv_share); }
  Data<> cache(double tokens) const override { return memory_->cache(tokens); }

 private:
  [[nodiscard]] ReplicaPass run(const ModelView<>& model, const Device<>& device, double sequences, double new_tokens,
                                double context) const {
    Plan<> plan = views_.plan;
    plan.batch = sequences;
    plan.new_tokens = new_tokens;
    plan.context = context;
    OpList<> ops;
    lower(model.structure, model.shape, model.layers, plan, ops);
    return {roofline_of(ops, device, [](const Op<>& op) { return op.pass == Pass::forward; }) * plan.pp};
  }

  ServingViews<> views_;
  std::unique_ptr<PassTimes> memory_;
};

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
  inputs_.tp_size = c.tp_size;
  inputs_.pp_size = c.pp_size;
  inputs_.ep_size = c.ep_size;
  inputs_.conventions = &context.constants->conventions();
  if (c.node != nullptr) {
    node_ = *c.node;
    node_.accelerator = inputs_.hardware;
    fleet_.node = &node_;
    fleet_.count = std::ceil(c.devices() / node_.accelerators_per_node);
    inputs_.fleet = &fleet_;
  }
  Notes quiet;
  const bool operators = context.comparison == Yardstick::operators;
  inputs_.fidelity = context.comparison == Yardstick::textbook ? Fidelity::textbook : Fidelity::operator_level;
  // Yardsticks know no host, and neither do runs without an engine.
  if (operators && inputs_.engine != nullptr) engine_ = *inputs_.engine;
  if (context.comparison == Yardstick::roofline) passes_ = std::make_unique<RooflinePasses>(inputs_, quiet);
  else passes_ = pass_times(inputs_, *inputs_.fidelity, engine_.prefill_issue, quiet);
}

InFlightBatchingModel::Result Replica::steady(const InFlightBatchingModel::Inputs& in) const {
  Notes quiet;
  return in_flight(in, engine_, *passes_, quiet);
}

Time<> Replica::step(Time<> device, double requests) const { return with_host(engine_, device, requests / inputs_.ep_size); }

}  // namespace mlsysim::detail

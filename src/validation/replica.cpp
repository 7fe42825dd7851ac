#include "detail/serving_case.hpp"

#include <mlsysim/physics/textbook.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {

Replica::Replica(const ServingCase& c, const PredictionContext& context)
    : case_(c), context_(context), hardware_(&context.constants->device(*c.hardware)) {
  ServingModel::Inputs in;
  in.workload = c.workload;
  in.hardware = hardware_;
  in.precision = c.precision;
  in.kv_precision = c.kv_precision;
  in.tp_size = c.tp_size;
  in.pp_size = c.pp_size;
  in.ep_size = c.ep_size;
  in.batch_size = std::max(1.0, std::round(c.batch_size));
  in.seq_len = std::max(1.0, std::round(c.prompt));
  in.conventions = &context.constants->conventions();
  if (c.node != nullptr) {
    node_ = *c.node;
    node_.accelerator = hardware_;
    fleet_.node = &node_;
    fleet_.count = std::ceil(c.devices() / node_.accelerators_per_node);
    in.fleet = &fleet_;
  }
  Notes quiet;
  if (context.comparison == Yardstick::textbook) textbook_ = prepare_textbook_serving(in, quiet);
  // The views also count the weights and the cache, which every comparison needs.
  views_ = prepare_serving(in, quiet);
  if (c.weight_bits) {
    const double scale = *c.weight_bits / 8.0 / bytes_per_element(c.precision);
    views_.plan.weight_bytes = *c.weight_bits / 8.0 * unit::B / unit::param;
    textbook_.weights = textbook_.weights * scale;
  }
}

Replica::Pass Replica::run(Phase phase, double batch, double new_tokens, double tokens) const {
  const bool first = phase == Phase::prefill;
  const Device<>& device = first ? views_.prefill_device : views_.decode_device;
  const ModelView<>& model = first ? views_.prefill : views_.decode;
  Plan<> plan = views_.plan;
  plan.batch = batch;
  plan.new_tokens = new_tokens;
  plan.context = tokens;
  OpList<> ops;
  if (context_.comparison == Yardstick::operators) {
    const auto pass = pass_time(model, plan, device, views_.links, ops);
    return {pass.total, pass.cost};
  }
  if (context_.comparison == Yardstick::roofline) {
    lower(model.structure, model.shape, model.layers, plan, ops);
    return {roofline_of(ops, device, [](const Op<>& op) { return op.pass == mlsysim::Pass::forward; }) * case_.pp_size};
  }
  TextbookServingViews<> v = textbook_;
  v.batch = batch;
  v.prompt = v.chunk = new_tokens;
  v.cached = 0;
  v.chunks = 1;
  v.kv_cache = kv_cache_bytes(*case_.workload, tokens, std::ceil(batch), case_.kv_precision.value_or(case_.precision));
  const auto answer = textbook_serving_core(v);
  return {first ? answer.ttft : answer.itl};
}

Replica::Pass Replica::prefill(double batch, double prompt) const { return run(Phase::prefill, batch, prompt, prompt); }
Replica::Pass Replica::decode(double batch, double context) const { return run(Phase::decode, batch, 1, context); }

Time<> Replica::prompt_share() const {
  const double together = std::max(1.0, std::floor(case_.prefill_chunk / case_.prompt));
  return prefill(together * case_.ep_size, case_.prompt).time / (together * case_.ep_size);
}

double Replica::capacity(double tokens) const {
  Plan<> plan = views_.plan;
  plan.new_tokens = 1;
  plan.context = tokens;
  plan.batch = case_.ep_size;
  OpList<> ops;
  const auto& model = views_.decode;
  const auto range = lower(model.structure, model.shape, model.layers, plan, ops);
  const auto totals = totals_of(ops, range.forward_end);
  const auto memory = memory_of(model.structure, plan, views_.decode_device, demand_of(model.structure, model.shape, plan, totals));
  const Data<> rest = memory.capacity - (memory.total - memory.kv_cache);
  if (rest <= Data<>() || memory.kv_cache <= Data<>()) return 0;
  return case_.ep_size * std::floor(case_.kv_share * rest / memory.kv_cache);
}

double Replica::busy(const Pass& pass) {
  const Time<> kernels = pass.cost.compute_bound + pass.cost.memory_bound;
  return pass.time.base() > 0 ? std::min(1.0, kernels / pass.time) : 1.0;
}

}  // namespace mlsysim::detail

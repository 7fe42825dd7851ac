#include <mlsysim/engine/prepared.hpp>

#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/engine/requests.hpp>

namespace mlsysim {
namespace {

void serve(const ResolvedScenario& r, PreparedScenario& out, Notes& notes) {
  const Scenario& s = r.asked();
  const auto v = prepare_serving(detail::serve_request(r), notes);
  auto& shape = out.shape;
  auto& in = out.inputs;
  shape.kind = ScenarioKind::serving;
  shape.pricing = v.pricing;
  shape.prefill = v.prefill.structure;
  shape.decode = v.decode.structure;
  shape.layers = v.prefill.layers;
  shape.generates = v.generates;
  shape.chunks = v.chunks;
  shape.drafts = v.drafts;
  in.shape = v.prefill.shape;
  in.totals = v.prefill.totals;
  in.device = v.prefill_device;
  in.links = v.links;
  in.plan = v.plan;
  in.run.prefill_chunk_tokens = v.chunk;
  if (!v.drafts) return;
  shape.draft = v.draft.structure;
  in.draft = {v.draft.shape, v.draft.totals, v.draft_plan.tp};
  in.run.draft_acceptance_rate = s.draft_acceptance_rate;
  in.run.draft_tokens = v.drafted;
}

void train(const ResolvedScenario& r, PreparedScenario& out, Notes& notes) {
  const Scenario& s = r.asked();
  const auto v = prepare_training(detail::train_request(r), notes);
  auto& shape = out.shape;
  auto& in = out.inputs;
  shape.kind = ScenarioKind::training;
  shape.pricing = v.pricing;
  shape.prefill = v.model.structure;
  shape.layers = v.model.layers;
  shape.division = v.division;
  shape.sharded = s.shard_size.has_value();
  in.shape = v.model.shape;
  in.totals = v.model.totals;
  in.device = v.device;
  in.links = v.links;
  in.plan = v.plan;
  in.run.microbatch_size = v.microbatch_size;
  in.run.microbatch_count = v.microbatch_count;
  in.run.gradient_accumulation_steps = v.accumulation_steps;
  in.run.congestion_factor = s.congestion_factor;
  in.run.straggler_factor = s.straggler_factor;
  if (v.division == Microbatches::sized) in.limits.given_count = s.microbatch_count.value_or(0);
  if (const auto& tokens = s.workload->training.tokens) {
    shape.has_tokens = v.sequences;
    in.limits.training_tokens = tokens->base();
  }
}

void infer(const ResolvedScenario& r, PreparedScenario& out, Notes& notes) {
  const auto v = prepare_inference(detail::infer_request(r), notes);
  out.shape.kind = ScenarioKind::inference;
  out.shape.pricing = v.pricing;
  out.shape.prefill = v.model.structure;
  out.shape.layers = v.model.layers;
  out.inputs.shape = v.model.shape;
  out.inputs.totals = v.model.totals;
  out.inputs.device = v.device;
  out.inputs.links = v.links;
  out.inputs.plan = v.plan;
}

/// The numbers of the request itself.
void set_run(const ResolvedScenario& r, RunNumbers<>& run) {
  const Scenario& s = r.asked();
  run.batch_size = s.batch_size;
  run.seq_len = r.seq_len();
  run.output_tokens = s.output_tokens.value_or(0);
  run.cached_prefix_len = s.cached_prefix_len;
  run.accelerators = r.accelerators();
  run.tp_size = r.tp_size();
  run.pp_size = s.pp_size;
  run.ep_size = s.ep_size;
  run.cp_size = s.cp_size;
  run.v_stages = s.v_stages;
  run.duration_days = s.duration_days;
  run.infrastructure_multiplier = s.infrastructure_multiplier;
}

/// What `plan_fits` holds the numbers to.
void set_limits(const ResolvedScenario& r, PreparedScenario& out) {
  const Scenario& s = r.asked();
  out.shape.sequences = s.workload->architecture != Architecture::cnn;
  out.shape.has_layers = s.workload->shape.layers.has_value() && *s.workload->shape.layers > 0;
  out.shape.has_heads = s.workload->shape.heads.has_value() && *s.workload->shape.heads > 0;
  const bool counts_follow = s.fleet == nullptr && !s.accelerators_per_node;
  out.inputs.limits.per_node = counts_follow && s.node_count ? *s.node_count : r.fleet().node->accelerators_per_node;
  out.shape.part_of_node = counts_follow && !s.node_count;
}

/// Prices, grid and facility.
void set_macro(const ResolvedScenario& r, PreparedScenario& out, Notes& notes) {
  const Scenario& s = r.asked();
  out.shape.has_power = r.hardware().power.tdp.has_value();
  out.shape.has_price = s.unit_cost.has_value() || r.hardware().unit_cost.has_value();
  if (!out.shape.has_power) {
    notes.warn([&] { return "no TDP is known for " + r.hardware().name + ", so cost and carbon cannot be computed"; });
    return;
  }
  const auto m = prepare_macro({.fleet = &r.fleet(), .duration_days = s.duration_days, .kwh_price = s.kwh_price,
                                .datacenter = s.datacenter, .grid = s.grid, .unit_cost = s.unit_cost,
                                .infrastructure_multiplier = s.infrastructure_multiplier, .conventions = s.conventions},
                               notes);
  out.region = m.region;
  out.inputs.facility = m.views.facility;
  out.inputs.run.kwh_price = m.views.energy_price;
  out.inputs.run.unit_cost = m.views.unit_cost;
  out.inputs.device.tdp = m.views.tdp;
  out.inputs.device.idle_fraction = m.views.idle_fraction;
}

}  // namespace

PreparedScenario prepare(const ResolvedScenario& r, Notes& notes) {
  PreparedScenario out;
  switch (r.mode()) {
    case Mode::serve: serve(r, out, notes); break;
    case Mode::train: train(r, out, notes); break;
    case Mode::infer: infer(r, out, notes); break;
  }
  set_run(r, out.inputs.run);
  set_limits(r, out);
  set_macro(r, out, notes);
  return out;
}

PreparedScenario prepare_macro_alone(const ResolvedScenario& r, Notes& notes) {
  PreparedScenario out;
  set_macro(r, out, notes);
  return out;
}

}  // namespace mlsysim

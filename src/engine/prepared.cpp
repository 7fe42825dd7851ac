#include <mlsysim/engine/detail/prepared.hpp>

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/detail/prepare.hpp>
#include <mlsysim/catalogue/models/reliability.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/price/detail/failure.hpp>
#include <mlsysim/price/figures.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>

namespace mlsysim {
namespace {

// What a question is answered from: categories and numbers of its views.

/// Where the numbers of a model's layers come from.
void take_stack(const std::shared_ptr<const StackView<>>& stack, const Stack*& stated, std::size_t& place) {
  if (!stack) return;
  stated = stack->stated;
  place = stack->place;
}

void take(const ServingViews<>& v, PreparedScenario& out) {
  auto& shape = out.shape;
  auto& in = out.inputs;
  shape.kind = ScenarioKind::serving;
  shape.pricing = v.pricing;
  shape.prefill = v.prefill.structure;
  shape.decode = v.decode.structure;
  shape.layers = v.prefill.layers;
  shape.generates = v.generates;
  shape.chunks = v.chunks;
  shape.budgeted = v.budgeted;
  shape.divided = v.divided;
  shape.issues = v.issues;
  shape.prompts = v.prompts;
  in.limits.prompt_issue = v.prompt_issue;
  in.limits.graph_batch = v.graph_batch;
  shape.drafts = v.drafts;
  shape.apart = v.apart;
  in.stack = v.prefill.stack;
  take_stack(in.stack, shape.stack, shape.place);
  in.totals = v.prefill.totals;
  in.device = v.prefill_device;
  in.decode_device = v.decode_device;
  in.network_bandwidth = v.transfer;
  in.links = v.links;
  shape.links = v.links.form;
  in.plan = v.plan;
  auto& run = in.run;
  run.batch_size = v.batch;
  run.accelerators = v.accelerators;
  run.tp_size = v.plan.tp;
  run.pp_size = v.plan.pp;
  run.ep_size = v.plan.ep;
  run.seq_len = v.prompt;
  run.output_tokens = v.output;
  run.cached_prefix_len = v.cached;
  run.prefill_chunk_tokens = v.chunk;
  if (!v.drafts) return;
  shape.draft = v.draft.structure;
  in.draft = {v.draft.totals, v.draft_plan.tp};
  in.draft_stack = v.draft.stack;
  take_stack(in.draft_stack, shape.draft_stack, shape.draft_place);
  run.draft_acceptance_rate = v.acceptance;
  run.draft_tokens = v.drafted;
  shape.kept = v.kept;
  run.draft_acceptance_decay = v.acceptance_decay;
  run.acceptance_length = v.acceptance_length;
}

/// What one pass or step over one device and model has.
template <class Views> void take_model(ScenarioKind kind, const Views& v, PreparedScenario& out) {
  auto& shape = out.shape;
  auto& in = out.inputs;
  shape.kind = kind;
  shape.pricing = v.pricing;
  shape.prefill = v.model.structure;
  shape.layers = v.model.layers;
  shape.sequences = v.sequences;
  in.stack = v.model.stack;
  take_stack(in.stack, shape.stack, shape.place);
  in.totals = v.model.totals;
  in.device = in.decode_device = v.device;
  in.links = v.links;
  shape.links = v.links.form;
  in.plan = v.plan;
  in.run.batch_size = v.batch;
  in.run.accelerators = v.accelerators;
  in.run.seq_len = v.seq_len;
}

void take(const TrainingViews<>& v, PreparedScenario& out) {
  take_model(ScenarioKind::training, v, out);
  out.shape.division = v.division;
  out.shape.spills = v.spills;
  auto& run = out.inputs.run;
  run.tp_size = v.plan.tp;
  run.pp_size = v.plan.pp;
  run.ep_size = v.plan.ep;
  out.shape.folded = v.plan.folded;
  run.expert_tp_size = v.plan.expert_tp;
  run.cp_size = v.plan.cp;
  run.v_stages = v.plan.virtual_stages;
  run.microbatch_size = v.microbatch_size;
  run.microbatch_count = v.microbatch_count;
  run.gradient_accumulation_steps = v.accumulation_steps;
  run.congestion_factor = v.plan.congestion;
  run.straggler_factor = v.plan.straggler;
}

void take(const InferenceViews<>& v, PreparedScenario& out) { take_model(ScenarioKind::inference, v, out); }

/// Failures as ReliabilityModel counts them where nothing is given but the fleet.
void set_failures(const ResolvedScenario& r, PreparedScenario& out, Notes& notes) {
  const Node& node = *r.fleet().node;
  const ReliabilityModel::Inputs usual;
  auto& f = out.inputs.failures;
  const auto parts = node_parts(out.shape.pricing->fidelity(), node, {}, Figures(standard_zoo(), notes));
  f.node_mtbf = NodeMtbf::solve<double>(parts.rates).mtbf;
  f.devices_per_node = node.accelerators_per_node;
  f.checkpoint_time = usual.checkpoint_time;
  f.recovery_time = usual.recovery_time;
  for (const FieldInfo& row : describe<ReliabilityModel::Inputs>()) {
    if (row.name == "checkpoint_time") notes.assume(row.name, f.checkpoint_time, row.default_source);
    if (row.name == "recovery_time") notes.assume(row.name, f.recovery_time, row.default_source);
  }
  out.shape.fails = true;
}

void train(const ResolvedScenario& r, PreparedScenario& out, Notes& notes) {
  const Scenario& s = r.asked();
  const auto v = prepare_training(detail::train_request(r), notes);
  take(v, out);
  out.shape.sharded = s.shard_size.has_value();
  if (v.division == Microbatches::sized) out.inputs.limits.given_count = s.microbatch_count.value_or(0);
  if (const auto& tokens = s.workload->training.tokens) {
    out.shape.has_tokens = v.sequences;
    out.inputs.limits.training_tokens = tokens->base();
  }
  set_failures(r, out, notes);
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
  out.shape.sequences = !is_listed(s.workload->architecture);
  out.shape.has_layers = s.workload->layers().value_or(0) > 0;
  out.shape.has_heads = s.workload->heads().value_or(0) > 0;
  const bool counts_follow = s.fleet == nullptr && !s.accelerators_per_node;
  out.inputs.limits.per_node =
      counts_follow && s.node_count ? *s.node_count : r.fleet().node->accelerators_per_node;
  out.shape.part_of_node = counts_follow && !s.node_count;
}

/// Power of what stands beside the devices, as servers of their kind have it, for what is not given.
/// Formulas from totals count the devices alone, as the Python package does.
void set_power_beside(const ResolvedScenario& r, PreparedScenario& out, Notes& notes) {
  const Scenario& s = r.asked();
  const HardwareNode& device = r.hardware();
  const Node& node = *r.fleet().node;
  auto& f = out.inputs.facility;
  if (out.shape.pricing != nullptr && !out.shape.pricing->lists_operators()) return;
  Notes quiet;
  const Figures figures(standard_zoo(), quiet);
  const bool rack = device.part != nullptr;  // its power is that of all that it holds
  if (!s.host_power && !rack && device.category == "cloud") {
    const double share = figures.number("catalogue.power.host_share");
    f.host_power = share * *device.power.tdp;
    notes.assume("host_power", f.host_power, "a share of the TDP of devices in servers, latif2024node");
  } else if (!s.host_power) {
    notes.assume("host_power", Power<>(),
                 rack ? "part of the power of a rack" : "no server is known: host_power gives it");
  }
  if (s.network_power) return;
  f.node_devices = node.accelerators_per_node;
  const double parts = rack && device.memory.capacity && device.part->memory.capacity
                           ? std::round(*device.memory.capacity / *device.part->memory.capacity)
                           : 1.0;
  f.node_ports = node.nics_per_node.value_or(node.accelerators_per_node * parts);
  f.switch_ports = figures.number("catalogue.topology.switch_ports");
  f.port_power = figures.figure<dim::power>("catalogue.power.switch_port");
  notes.assume("network_power", switch_power(f, r.accelerators()),
               "switches between nodes: ports of all tiers at 27 W, nvidia-qm97xx-manual");
}

/// Prices, grid and facility.
void set_macro(const ResolvedScenario& r, PreparedScenario& out, Notes& notes) {
  const Scenario& s = r.asked();
  out.shape.has_power = r.hardware().power.tdp.has_value();
  out.shape.has_price = s.unit_cost.has_value() || r.hardware().unit_cost.has_value();
  if (!out.shape.has_power) {
    notes.warn(
        [&] {
          return "no TDP is known for " + r.hardware().name + ", so cost and carbon cannot be computed";
        },
        BreakReason::missing_field);
    return;
  }
  const auto m = prepare_macro({.fleet = &r.fleet(),
                                .duration_days = s.duration_days,
                                .kwh_price = s.kwh_price,
                                .datacenter = s.datacenter,
                                .grid = s.grid,
                                .unit_cost = s.unit_cost,
                                .infrastructure_multiplier = s.infrastructure_multiplier,
                                .host_power = s.host_power.value_or(Power<>()),
                                .network_power = s.network_power.value_or(Power<>()),
                                .conventions = s.conventions},
                               notes);
  out.region = m.region;
  out.inputs.facility = m.views.facility;
  set_power_beside(r, out, notes);
  out.inputs.run.kwh_price = m.views.energy_price;
  out.inputs.run.unit_cost = m.views.unit_cost;
  out.inputs.device.power.tdp = m.views.tdp;
  out.inputs.device.conventions.idle_fraction = m.views.idle_fraction;
}

}  // namespace

PreparedScenario prepare(const ResolvedScenario& r, Notes& notes) {
  PreparedScenario out;
  switch (r.mode()) {
    case Mode::serve:
      take(prepare_serving(detail::serve_request(r), notes), out);
      break;
    case Mode::train:
      train(r, out, notes);
      break;
    case Mode::infer:
      take(prepare_inference(detail::infer_request(r), notes), out);
      break;
  }
  set_run(r, out.inputs.run);
  set_limits(r, out);
  set_macro(r, out, notes);
  return out;
}

std::optional<PreparedScenario> prepare(const Resolver& resolver, const void* inputs, Notes& notes) {
  const auto is = [&]<class R>() { return resolver.type_tag() == &detail::type_tag_v<R>; };
  PreparedScenario out;
  out.shape.has_power = out.shape.has_price = false;
  if (is.operator()<ServingModel>()) {
    take(prepare_serving(*static_cast<const ServingModel::Inputs*>(inputs), notes), out);
  } else if (is.operator()<DistributedModel>()) {
    take(prepare_training(*static_cast<const DistributedModel::Inputs*>(inputs), notes), out);
  } else if (is.operator()<SingleNodeModel>()) {
    const auto& in = *static_cast<const SingleNodeModel::Inputs*>(inputs);
    if (in.is_training)
      take(prepare_step(in, notes), out);
    else
      take(prepare_inference(in, notes), out);
  } else {
    return std::nullopt;
  }
  return out;
}

PreparedScenario prepare_macro_alone(const ResolvedScenario& r, Notes& notes) {
  PreparedScenario out;
  set_macro(r, out, notes);
  return out;
}

}  // namespace mlsysim

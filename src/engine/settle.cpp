#include <mlsysim/engine/detail/settle.hpp>

#include <mlsysim/engine/requests.hpp>
#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/detail/lengths.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/resolvers/models/reliability.hpp>
#include <mlsysim/specs/traffic_law.hpp>
#include <mlsysim/timing/detail/failure.hpp>
#include <mlsysim/timing/figures.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {
namespace {

/// Failures as ReliabilityModel counts them where nothing is given but the fleet.
void set_failures(const ResolvedScenario& r, TrainingProblem<>& out, Notes& notes) {
  const Node& node = *r.fleet().node;
  const ReliabilityModel::Inputs usual;
  auto& f = out.failures;
  const auto parts = node_parts(out.fidelity_model->fidelity(), node, {}, Figures(standard_zoo(), notes));
  f.node_mtbf = NodeMtbf::solve<double>(parts.rates).mtbf;
  f.devices_per_node = node.accelerators_per_node;
  f.checkpoint_time = usual.checkpoint_time;
  f.recovery_time = usual.recovery_time;
  for (const FieldInfo& row : describe<ReliabilityModel::Inputs>()) {
    if (row.name == "checkpoint_time") notes.assume(row.name, f.checkpoint_time, row.default_source);
    if (row.name == "recovery_time") notes.assume(row.name, f.recovery_time, row.default_source);
  }
  out.fails = true;
}

TrainingProblem<> settle_training(const ResolvedScenario& r, Notes& notes) {
  auto out = settle(detail::train_request(r), notes);
  if (const auto tokens = r.asked().tokens_of_run()) {
    out.has_tokens = out.sequences;
    out.training_tokens = tokens->base();
    if (out.has_tokens && !r.asked().training_tokens)
      notes.assume("training_tokens", *tokens, "as many as the model was trained on");
  }
  set_failures(r, out, notes);
  return out;
}

/// Prompts on workers of their own, with the degrees that are given.
void set_workers(const ResolvedScenario& r, ServingProblem<>& out, Notes& notes) {
  const Scenario& s = r.asked();
  auto& pool = out.prefill;
  pool.apart = true;
  pool.workers = *s.prefill_replicas;
  pool.tp = s.prefill_tp_size.value_or(0);
  pool.ep = s.prefill_ep_size.value_or(0);
  pool.decode_replicas = r.replicas();
  pool.counted = s.decode_replicas || !(s.accelerators || s.fleet != nullptr || s.node_count);
  pool.all = pool.counted && !(s.accelerators || s.fleet != nullptr || s.node_count);
  out.accelerators = r.accelerators();
  detail::check_workers(*s.workload, out, notes);
  const InFlightBatchingModel::Inputs usual;
  out.network_bandwidth = s.network_bandwidth.value_or(usual.network_bandwidth);
  if (!s.prefill_tp_size)
    notes.assume("prefill_tp_size", out.worker_plan().tp, "that of the decode replicas");
  if (!s.network_bandwidth)
    notes.assume("network_bandwidth", usual.network_bandwidth,
                 "convention of MLSys-im; the cache of each prompt moves over it, beside its other prompts");
  notes.remark(
      "measured steps of replicas with prefill workers are slower than predicted, as those of the same "
      "engines without such workers are: mlsysim validate inference/hopper_disaggregated_tpot");
}

/// The cache by the rule of the engine. Its pool has pages, and its share leaves room for what fragments.
void set_cache(const Scenario& s, const HardwareNode& hardware, const ServingEngine& engine,
               ServingProblem<>& out, Notes& notes) {
  const auto cache = cache_settings(
      {.fraction = s.memory_fraction, .bytes = s.kv_cache_memory, .pass_tokens = s.prefill_chunk_tokens},
      engine, hardware, out.plan, out.model, notes);
  out.kv_share = cache.share;
  out.cache_rule = cache.rule;
  if (!cache.rule.known) {
    if (s.memory_fraction) notes.remark("no effect where no rule of the engine is known: memory_fraction");
    if (s.kv_cache_memory) notes.remark("no effect where no rule of the engine is known: kv_cache_memory");
    return;
  }
  if (s.memory_fraction && s.kv_cache_memory)
    notes.remark("no effect beside kv_cache_memory: memory_fraction");
  out.device.conventions.memory_fragmentation = out.decode_device.conventions.memory_fragmentation = 0;
  notes.assume("memory_fragmentation", 0.0, "the share of the engine leaves room for it");
}

/// Lengths of requests that differ have an effect in steady state alone.
void set_lengths(const Scenario& s, ServingProblem<>& out, Notes& notes) {
  const auto stated = detail::stated_lengths(s);
  if (out.load != Load::burst) {
    out.prompt_lengths = detail::length_spread(stated.prompts, notes);
    out.answer_lengths = detail::length_spread(stated.answers, notes);
    return;
  }
  for (const auto* lengths : {&stated.prompts, &stated.answers})
    if (lengths->cv || lengths->law)
      notes.remark([&] {
        return fmt::format("no effect on a burst, whose requests all have the same lengths: {}",
                           lengths->cv ? lengths->cv_name : lengths->law_name);
      });
}

/// Replicas under their load. In steady state the engine has host time, and its cache a share of the memory.
ServingProblem<> settle_serving(const ResolvedScenario& r, Notes& notes) {
  auto out = settle(detail::serve_request(r), notes, r.replicas());
  out.load = r.load();
  set_lengths(r.asked(), out, notes);
  if (out.load == Load::burst) {
    if (r.asked().memory_fraction) notes.remark("no effect on a burst: memory_fraction");
    if (r.asked().kv_cache_memory) notes.remark("no effect on a burst: kv_cache_memory");
    detail::warn_of_uneven_ranks(share_batch(out.batch_size, r.replicas()).sequences, r.asked().ep_size,
                                 notes);
    return out;
  }
  const Scenario& s = r.asked();
  if (out.load == Load::rate && s.batch_size > 1)
    notes.remark("no effect at a rate, which says how many requests run: batch_size");
  const Figures figures(standard_zoo(), notes);
  if (!out.has_token_budget) {  // formulas from totals divide a burst at a budget that is given alone
    out.prefill_chunk_tokens = figures.number("catalogue.serving.chunk_tokens");
    out.chunks = std::ceil((out.seq_len - out.cached_prefix_len) / out.prefill_chunk_tokens);
    out.chunked_prefill = true;
  }
  if (s.arrival_rate) out.arrival_rate = *s.arrival_rate;
  const auto engine = engine_or_usual(s.engine, r.hardware(), *out.fidelity_model, notes);
  out.engine = engine_times(engine);
  set_cache(s, r.hardware(), engine, out, notes);
  if (r.has_workers()) set_workers(r, out, notes);
  out.page_tokens = InFlightBatchingModel::Inputs{}.page_tokens;
  notes.assume("page_tokens", out.page_tokens, "pages of vLLM, kwon2023vllm");
  return out;
}

/// Limits that `plan_fits` checks: devices per node, and whether the model states layers and heads.
PlanLimits<> limits_of(const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  const bool counts_follow = s.fleet == nullptr && !s.accelerators_per_node;
  return {.per_node = r.has_workers()                 ? 1.0
                      : counts_follow && s.node_count ? *s.node_count
                                                      : r.fleet().node->accelerators_per_node,
          .has_layers = s.workload->layers().value_or(0) > 0,
          .has_heads = s.workload->heads().value_or(0) > 0,
          .part_of_node = counts_follow && !s.node_count};
}

/// Power of hosts and switches beside the devices, as servers of their kind have it, where it is not given.
/// Formulas from totals count the devices alone, as the Python package does.
void set_power_beside(const ResolvedScenario& r, Facility<>& f, Notes& notes) {
  const Scenario& s = r.asked();
  const HardwareNode& device = r.hardware();
  const Node& node = *r.fleet().node;
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

/// The rent of one device, or none where nobody knows it.
std::optional<MoneyRate<>> rent_of(const ResolvedScenario& r, Payment payment, Notes& notes) {
  const Scenario& s = r.asked();
  if (s.rent) return s.rent;
  const Node& node = *r.fleet().node;
  const Figures figures(standard_zoo(), notes);
  std::optional<MoneyRate<>> rent;
  if (!node.rental.empty())
    rent = figures.figure<dim::money_rate>(node.rental) / node.accelerators_per_node;
  else if (!r.hardware().rental.empty())
    rent = figures.figure<dim::money_rate>(r.hardware().rental);
  if (rent && payment == Payment::reserved) rent = *rent * (1 - figures.number("market.reserved_discount"));
  return rent;
}

/// Prices, grid and facility. @param counts_servers whether hosts and switches beside the devices count
/// @param stated_idle whether an idle draw that the device states counts
MacroProblem<> charges(const ResolvedScenario& r, bool counts_servers, bool stated_idle, MacroLoad<>& load,
                       Notes& notes) {
  const Scenario& s = r.asked();
  MacroProblem<> out;
  out.duration_days = s.duration_days;
  out.infrastructure_multiplier = s.infrastructure_multiplier;
  const Payment payment =
      s.payment.value_or(s.rent || !r.fleet().node->rental.empty() ? Payment::rented : Payment::bought);
  if (!s.payment)
    notes.assume("payment", payment,
                 s.rent                       ? TextRef("rent is given")
                 : payment == Payment::rented ? TextRef("a cloud instance is rented")
                                              : TextRef("devices are bought and written off"));
  const bool rented = payment != Payment::bought;
  const auto rent = rented ? rent_of(r, payment, notes) : std::nullopt;
  out.has_price = rented ? rent.has_value() : s.unit_cost.has_value() || r.hardware().unit_cost.has_value();
  if (rented && !rent)
    notes.warn(
        [&] {
          return fmt::format("no rent is known for {}: rent gives one, e.g. rent 3.2 USD/h",
                             r.hardware().name);
        },
        BreakReason::missing_field);
  if (!r.hardware().power.tdp) {
    notes.warn(
        [&] {
          return "no TDP is known for " + r.hardware().name + ", so cost and carbon cannot be computed";
        },
        BreakReason::missing_field);
    return out;
  }
  const auto m = settle(EconomicsModel::Inputs{.fleet = &r.fleet(),
                                               .duration_days = s.duration_days,
                                               .kwh_price = s.kwh_price,
                                               .datacenter = s.datacenter,
                                               .grid = s.grid,
                                               .unit_cost = rented ? Money<>() : s.unit_cost,
                                               .infrastructure_multiplier = s.infrastructure_multiplier,
                                               .host_power = s.host_power.value_or(Power<>()),
                                               .network_power = s.network_power.value_or(Power<>()),
                                               .conventions = s.conventions},
                        notes, std::nullopt, stated_idle);
  out = m.problem;
  if (rented) {
    out.rented = true;
    out.has_price = rent.has_value();
    out.rent = rent.value_or(MoneyRate<>());
  }
  load = m.load;
  if (counts_servers) set_power_beside(r, out.facility, notes);
  return out;
}

}  // namespace

AnyProblem settle(const ResolvedScenario& r, Notes& notes) {
  const auto complete = [&](auto problem) -> AnyProblem {
    problem.limits = limits_of(r);
    MacroLoad<> load;
    const bool by_operators = problem.fidelity_model->lists_operators();
    problem.macro = charges(r, by_operators, by_operators, load, notes);
    if (problem.macro.has_power) problem.device.power.tdp = load.tdp;
    return problem;
  };
  if (const HardwareNode& rack = r.hardware(); rack.part != nullptr)
    notes.warn([&rack] {
      return fmt::format(
          "{} is taken as one device with the memory and the arithmetic of {:g} {}: named as a text, it is "
          "as "
          "many devices",
          rack.name, rack.accelerator_count, rack.part->name);
    });
  switch (r.mode()) {
    case Mode::serve:
      return complete(settle_serving(r, notes));
    case Mode::train:
      return complete(settle_training(r, notes));
    case Mode::infer:
      break;
  }
  return complete(settle_inference(detail::infer_request(r), notes, r.accelerators()));
}

std::optional<AnyProblem> settle(const Resolver& resolver, const void* inputs, Notes& notes) {
  const auto is = [&]<class R>() { return resolver.type_tag() == &detail::type_tag_v<R>; };
  if (is.operator()<ServingModel>()) return settle(*static_cast<const ServingModel::Inputs*>(inputs), notes);
  if (is.operator()<DistributedModel>())
    return settle(*static_cast<const DistributedModel::Inputs*>(inputs), notes);
  if (!is.operator()<SingleNodeModel>()) return std::nullopt;
  const auto& in = *static_cast<const SingleNodeModel::Inputs*>(inputs);
  if (in.is_training) return settle_step(in, notes);
  auto out = settle_inference(in, notes);
  out.macro.has_power = in.hardware->power.tdp.has_value();  // a batch has an energy then
  return out;
}

MacroProblem<> settle_macro(const ResolvedScenario& r, bool stated_idle, MacroLoad<>& load, Notes& notes) {
  return charges(r, true, stated_idle, load, notes);
}

}  // namespace mlsysim

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/requests.hpp>

#include <mlsysim/reflect/range.hpp>
#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/specs/detail/divisor.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

[[noreturn]] void refuse(std::string message, std::string key, std::string found, std::string expected,
                         std::string hint) {
  throw InputError({.id = "mlsysim.engine.010",
                    .message = std::move(message),
                    .key = std::move(key),
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)});
}

/// Devices, nodes and devices per node from whichever two are known, and the node.
struct Counts {
  double devices, nodes, per_node;
  Node node;
};

/// Whole nodes in which a device ships, which pools share as they come.
Counts pool_counts(const Scenario& s, double devices, Notes& notes) {
  Notes quiet;
  const double per_node = shipped_node(*s.hardware, 65536, quiet).accelerators_per_node,
               nodes = std::ceil(devices / per_node);
  return {devices, nodes, per_node, shipped_node(*s.hardware, nodes * per_node, notes)};
}

Counts counts_of(const Scenario& s, Notes& notes) {
  const double one = 1;
  double devices = s.accelerators.value_or(0), nodes = s.node_count.value_or(0),
         per_node = s.accelerators_per_node.value_or(0);
  if (nodes > 0 && per_node == 0 && devices == 0)
    refuse("node_count alone does not say how many devices there are", "node_count",
           fmt::format("node_count {}", nodes), "accelerators_per_node or accelerators beside it",
           "add accelerators_per_node");
  if (devices == 0) devices = nodes > 0 ? nodes * per_node : per_node > 0 ? per_node : one;
  Node node;
  if (per_node == 0 && nodes == 0) {
    node = shipped_node(*s.hardware, devices, notes);
    per_node = node.accelerators_per_node;
  } else {
    if (per_node == 0) per_node = devices / nodes;
    node.name = s.hardware->name + " node";
    node.accelerator = s.hardware;
    node.accelerators_per_node = per_node;
  }
  if (nodes == 0) nodes = devices / per_node;
  if (std::floor(nodes) != nodes || std::floor(per_node) != per_node || nodes * per_node != devices)
    refuse("the counts of devices contradict each other", "accelerators",
           fmt::format("{} accelerators, {} nodes, {} per node", devices, nodes, per_node),
           "accelerators = node_count x accelerators_per_node, all whole", "give two of the three");
  return {devices, nodes, per_node, std::move(node)};
}

/// Refuses a model of which only totals are known on several devices, where one does not hold it: nothing
/// says how it is divided.
void refuse_undivided(const Scenario& s, const HardwareNode& device, double devices) {
  const Workload& w = *s.workload;
  if (w.architecture != Architecture::opaque || !w.parameters || devices <= 1) return;
  Notes quiet;
  const Precision precision = precision_or_default(s.precision, device, quiet);
  const Data<> weights = *w.parameters * (bytes_per_element(precision) * (unit::B / unit::param));
  if (s.mode.value_or(Mode::infer) != Mode::infer || weights <= memory_level(device, weights).capacity)
    return;
  refuse(
      fmt::format("nothing says how '{}' is divided over devices: it states no layers", w.name), "workload",
      fmt::format("a model without layers, of {}, on {} devices", pretty(AnyQuantity(weights), 3), devices),
      "layers with their width, heads, feed-forward width and experts",
      "give a file of the model with its layers (config.json or YAML), or name an open model of its size");
}

/// Refuses pools where there are none.
void check_pools(const Scenario& s, Mode mode, Load load) {
  const auto refuse_pools = [](std::string message, std::string key, std::string found, std::string expected,
                               std::string hint) {
    throw InputError({.id = "mlsysim.engine.061",
                      .message = std::move(message),
                      .key = std::move(key),
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = std::move(hint)});
  };
  const std::pair<std::string_view, bool> of_pools[] = {
      {"prefill_tp_size", s.prefill_tp_size.has_value()},
      {"prefill_ep_size", s.prefill_ep_size.has_value()},
      {"decode_replicas", s.decode_replicas.has_value()},
      {"network_bandwidth", s.network_bandwidth.has_value()}};
  if (!s.prefill_replicas) {
    for (const auto& [name, given] : of_pools)
      if (given)
        refuse_pools(fmt::format("{} has no effect without prefill workers", name), std::string(name),
                     fmt::format("{} and no prefill_replicas", name), "prefill_replicas beside it",
                     "add prefill_replicas, or leave it out");
    return;
  }
  if (mode != Mode::serve)
    refuse_pools("prefill workers need a model that is served", "prefill_replicas",
                 fmt::format("mode {}", name_of(mode)), "mode serve", "leave prefill_replicas out, or serve");
  if (load == Load::burst)
    refuse_pools("a burst has no prefill workers of its own", "prefill_replicas", "load burst",
                 "load concurrency or rate", "use concurrency or arrival_rate");
}

/// Devices that serve one replica where nobody says how many: those of a node; of a torus, or of nodes that
/// one inner network joins, as many as eight.
double devices_of_replica(const Fleet& fleet) {
  constexpr double usual = 8;
  const Node& node = *fleet.node;
  const double own = node.accelerators_per_node, all = fleet.total_accelerators();
  const double most = !node.levels.empty()                           ? std::min(own, usual)
                      : node.domain_accelerators.value_or(own) > own ? std::max(own, usual)
                                                                     : own;
  return detail::divisor_at_most(std::min(most, all), all);
}

/// Whether tensor parallelism of a degree divides the attention heads, where they are known.
bool divides_heads(const Workload& w, double tp) { return std::fmod(w.heads().value_or(tp), tp) == 0; }

/// Whether the engine of a scenario gives each device whole layers where nobody states a degree.
bool holds_whole_layers(const Scenario& s) {
  const bool* own = s.engine == nullptr ? nullptr : stated(*s.engine, &ServingEngine::whole_layers);
  return own != nullptr && *own && s.pp_size == 1;
}

}  // namespace

ResolvedScenario::ResolvedScenario(const Scenario& scenario, Notes& notes)
    : asked_(scenario), mode_(Mode::infer) {
  check_ranges(describe<Scenario>(), &asked_);
  if (asked_.workload == nullptr)
    refuse("a scenario needs a workload", "workload", "none", "a model", "name a model of the zoo");
  if (asked_.hardware == nullptr && asked_.fleet == nullptr)
    refuse("a scenario needs devices", "hardware", "none", "a device or a fleet",
           "name hardware or a cluster of the zoo");
  if (asked_.fleet != nullptr && (asked_.accelerators || asked_.node_count || asked_.accelerators_per_node) &&
      asked_.accelerators.value_or(asked_.fleet->total_accelerators()) != asked_.fleet->total_accelerators())
    refuse("a fleet has its own number of devices", "accelerators",
           fmt::format("{}", asked_.accelerators.value_or(0)),
           fmt::format("{} as in {}", asked_.fleet->total_accelerators(), asked_.fleet->name),
           "leave the counts out, or name the hardware instead of the fleet");
  settle_mode(notes);
  settle_load(notes);
  check_pools(asked_, mode_, load_);
  settle_machine(notes);
  settle_degrees(notes);
}

Mode usual_mode(const Workload& w) {
  const bool generates = w.generates_tokens() && (w.has_shape() || w.inference.per == WorkUnit::token);
  return generates ? Mode::serve : Mode::infer;
}

/// Settles the mode: as asked, else serve where the model generates tokens, else infer.
void ResolvedScenario::settle_mode(Notes& notes) {
  const Workload& w = *asked_.workload;
  const bool generates = usual_mode(w) == Mode::serve;
  mode_ = asked_.mode.value_or(usual_mode(w));
  if (!asked_.mode)
    notes.assume("mode", mode_, generates ? TextRef("the model generates tokens") : TextRef("one batch"));
  if (mode_ == Mode::serve && w.architecture == Architecture::encoder) {
    mode_ = Mode::infer;
    notes.warn([&] {
      return fmt::format("'{}' is an encoder: serving it is one pass over the batch, and no token follows",
                         w.name);
    });
  }
  if (mode_ == Mode::serve && !generates)
    refuse(fmt::format("'{}' does not generate tokens and cannot be served token by token", w.name), "mode",
           "serve", "a decoder, or mode infer or train", "use --mode infer");
}

/// How requests reach the model, and how long its sequences are.
void ResolvedScenario::settle_load(Notes& notes) {
  const Workload& w = *asked_.workload;
  if (mode_ == Mode::serve) {
    Notes quiet;
    const bool rated = asked_.arrival_rate.has_value();
    // Formulas from totals know one batch, as the Python package does.
    const Load usual = rated                                                             ? Load::rate
                       : fidelity_model_for(asked_.fidelity, w, quiet).lists_operators() ? Load::concurrency
                                                                                         : Load::burst;
    load_ = asked_.load.value_or(usual);
    if (rated != (load_ == Load::rate))
      refuse(
          rated ? "requests arrive at a rate, or so many are there" : "a load of arrivals needs their rate",
          "arrival_rate", rated ? fmt::format("arrival_rate and load {}", name_of(load_)) : "load rate alone",
          "load rate with arrival_rate, or concurrency or burst with batch_size",
          rated ? "leave one of the two out" : "add arrival_rate");
    if (!asked_.load)
      notes.assume("load", load_,
                   load_ == Load::rate          ? TextRef("arrival_rate is given")
                   : load_ == Load::concurrency ? TextRef("batch_size requests are kept in flight")
                                                : TextRef("textbook fidelity: a static batch"));
    if (load_ != Load::burst && !asked_.output_tokens) {
      asked_.output_tokens = UsualRequest::answer;
      notes.assume("output_tokens", *asked_.output_tokens, "128, convention of MLSys-im");
    }
  }
  const bool sequences = !is_listed(w.architecture) && w.architecture != Architecture::recommendation &&
                         w.architecture != Architecture::diffusion;
  if (asked_.seq_len && !sequences)
    notes.remark([&] { return fmt::format("no effect on '{}', which takes no sequences: seq_len", w.name); });
  seq_len_ = seq_len_or_default(asked_.seq_len, w,
                                mode_ == Mode::serve ? asked_.output_tokens.value_or(0) : 0, notes);
}

/// The fleet with what the scenario says of its links, or the one that its counts make.
void ResolvedScenario::settle_machine(Notes& notes) {
  std::optional<double> used;  // by pools that a device is named for
  if (asked_.fleet != nullptr) {
    fleet_ = asked_.fleet;
    if (asked_.intra_node_bw || asked_.fabric_bandwidth || asked_.nics_per_node || asked_.grid != nullptr ||
        asked_.datacenter != nullptr) {
      node_ = std::make_shared<Node>(*fleet_->node);
      if (asked_.intra_node_bw) node_->intra_node_bandwidth = asked_.intra_node_bw;
      if (asked_.nics_per_node) node_->nics_per_node = asked_.nics_per_node;
      own_fleet_ = std::make_shared<Fleet>(*fleet_);
      own_fleet_->node = node_.get();
      if (asked_.fabric_bandwidth) {
        fabric_ = fleet_->fabric != nullptr ? std::make_shared<NetworkFabric>(*fleet_->fabric)
                                            : std::make_shared<NetworkFabric>();
        fabric_->bandwidth = asked_.fabric_bandwidth;
        own_fleet_->fabric = fabric_.get();
      }
      fleet_ = own_fleet_.get();
    }
  } else {
    if (has_workers() && !asked_.node_count && !asked_.accelerators_per_node) {
      const double tp = asked_.tp_size.value_or(1),
                   both = worker_devices(tp) +
                          asked_.decode_replicas.value_or(1) * tp * asked_.pp_size * asked_.ep_size;
      if (!asked_.accelerators)
        notes.assume("accelerators", both, "those of the prefill workers and of the decode replicas");
      used = asked_.accelerators.value_or(both);
    }
    Counts counts = used ? pool_counts(asked_, *used, notes) : counts_of(asked_, notes);
    node_ = std::make_shared<Node>(std::move(counts.node));
    if (asked_.intra_node_bw) node_->intra_node_bandwidth = asked_.intra_node_bw;
    if (asked_.nics_per_node) node_->nics_per_node = asked_.nics_per_node;
    own_fleet_ = std::make_shared<Fleet>();
    own_fleet_->name =
        devices_name(*asked_.hardware, counts.devices,
                     asked_.node_count ? std::optional(counts.per_node) : asked_.accelerators_per_node);
    own_fleet_->node = node_.get();
    own_fleet_->count = counts.nodes;
    if (asked_.fabric_bandwidth) {
      fabric_ = std::make_shared<NetworkFabric>();
      fabric_->name = "fabric of the scenario";
      fabric_->bandwidth = asked_.fabric_bandwidth;
      own_fleet_->fabric = fabric_.get();
    }
    fleet_ = own_fleet_.get();
  }
  if (fleet_->node == nullptr || fleet_->node->accelerator == nullptr)
    refuse(fmt::format("fleet '{}' has no accelerator", fleet_->name), "fleet", "no node",
           "a node with an accelerator", "");
  accelerators_ = used.value_or(fleet_->total_accelerators());
  if (accelerators() > kMostCount)
    refuse("there are more devices than can be counted", "accelerators",
           fmt::format("{} devices", accelerators()), fmt::format("at most {:g}", kMostCount),
           "give fewer nodes, or fewer devices per node");
}

double ResolvedScenario::worker_devices(double tp) const {
  return asked_.prefill_replicas.value_or(0) * asked_.prefill_tp_size.value_or(tp) * asked_.pp_size *
         asked_.prefill_ep_size.value_or(asked_.ep_size);
}

/// The degree of the replicas that generate tokens, and how many of them the prefill workers leave.
void ResolvedScenario::settle_pools(Notes& notes) {
  const double others = asked_.pp_size * asked_.ep_size;
  const auto used = [&](double tp) {
    return worker_devices(tp) + asked_.decode_replicas.value_or(1) * tp * others;
  };
  tp_size_ = asked_.tp_size.value_or(1);
  if (!asked_.tp_size && (asked_.accelerators || asked_.fleet != nullptr)) {
    const double node = fleet_->node->accelerators_per_node;
    for (double tp = 2; tp <= node; ++tp)  // the largest part of a node of which all fit
      if (std::fmod(node, tp) == 0 && divides_heads(*asked_.workload, tp) && used(tp) <= accelerators() &&
          std::fmod(accelerators() - worker_devices(tp), tp * others) == 0)
        tp_size_ = tp;
    notes.assume("tp_size", tp_size_, "the largest part of a node that the devices allow");
  }
  const double rest = accelerators() - worker_devices(tp_size_), each = tp_size_ * others;
  replicas_ = asked_.decode_replicas.value_or(rest / each);
  if (rest >= each * replicas_ && replicas_ >= 1 && std::floor(replicas_) == replicas_) return;
  throw DomainError({.id = "mlsysim.engine.062",
                     .message = "prefill workers and decode replicas do not fit the devices",
                     .key = "prefill_replicas, decode_replicas",
                     .found = fmt::format(
                         "{:g} prefill workers on {:g} devices, {} of {:g} devices, {:g} accelerators",
                         *asked_.prefill_replicas, worker_devices(tp_size_),
                         asked_.decode_replicas ? fmt::format("{:g} decode replicas", *asked_.decode_replicas)
                                                : "decode replicas",
                         each, accelerators()),
                     .expected = "devices for all prefill workers and for whole decode replicas",
                     .hint = "leave accelerators out, which counts them, or change a degree",
                     .reason = BreakReason::infeasible_constraint});
}

/// The degree of a replica that serves, where nobody states one: devices of a node divide each layer, or hold
/// whole layers.
void ResolvedScenario::settle_replica(Notes& notes) {
  const double others = asked_.pp_size * asked_.ep_size;
  double all = std::max(1.0, devices_of_replica(*fleet_) / others);
  if (std::floor(all) != all) all = 1;
  if (holds_whole_layers(asked_)) {
    tp_size_ = 1;
    asked_.pp_size = detail::divisor_at_most(std::min(all, asked_.workload->layers().value_or(1)), all);
    if (all > 1)
      notes.assume("pp_size", asked_.pp_size, "the engine spreads layers over the devices of a node");
    return;
  }
  tp_size_ = all;
  while (tp_size_ > 1 && !divides_heads(*asked_.workload, tp_size_))
    tp_size_ = detail::divisor_at_most(tp_size_ - 1, all);
  if (all > 1)
    notes.assume("tp_size", tp_size_,
                 tp_size_ == all ? TextRef("all devices of a node serve one replica")
                                 : TextRef("the largest part of a node that divides the attention heads"));
}

/// Devices of a replica, and how many replicas there are.
void ResolvedScenario::settle_degrees(Notes& notes) {
  refuse_undivided(asked_, hardware(), accelerators());
  if (has_workers()) return settle_pools(notes);
  if (asked_.tp_size) {
    tp_size_ = *asked_.tp_size;
  } else if (mode_ == Mode::serve) {
    settle_replica(notes);
  }
  // How experts are folded is checked where the step is laid out.
  const double folds = mode_ == Mode::train ? asked_.expert_tp_size.value_or(tp_size_) / tp_size_ : 1.0;
  const double replica = tp_size_ * asked_.pp_size * asked_.ep_size * folds;
  if (mode_ != Mode::infer && folds == 1 &&
      (replica > accelerators() || std::fmod(accelerators(), replica) != 0))
    throw DomainError({.id = "mlsysim.engine.011",
                       .message = "the parallel degrees do not fit the devices",
                       .key = "tp_size, pp_size, ep_size",
                       .found = fmt::format("tp {} x pp {} x ep {} on {} accelerators", tp_size_,
                                            asked_.pp_size, asked_.ep_size, accelerators()),
                       .expected = "a product that divides the accelerators",
                       .hint = "lower a degree or add devices",
                       .reason = BreakReason::infeasible_constraint});
  replicas_ = accelerators() / (mode_ == Mode::infer   ? 1.0
                                : mode_ == Mode::train ? replica * asked_.cp_size
                                                       : replica);
  if (asked_.intra_node_bw && accelerators() == 1)
    notes.remark("no effect on a single device: intra_node_bw");
  if (asked_.fabric_bandwidth && fleet_->count == 1)
    notes.remark("no effect inside one node: fabric_bandwidth");
  if (asked_.nics_per_node && fleet_->count == 1) notes.remark("no effect inside one node: nics_per_node");
  // A rate without a number of adapters is multiplied by the devices of a node, which few machines have.
  if (const Node& node = *fleet_->node;
      asked_.fabric_bandwidth && fleet_->count > 1 && !node.nics_per_node && node.accelerators_per_node > 1)
    notes.warn(
        fmt::format("fabric_bandwidth is taken for each of {:g} adapters of a node, one for each device: say "
                    "nics_per_node",
                    node.accelerators_per_node));
  if ((asked_.power_cap || asked_.clock_limit != 1) && detail::is_whole_pass(*this))
    notes.remark("no effect on a pass of which no operators are known: power_cap, clock_limit");
  if (asked_.execution && detail::is_whole_pass(*this))
    notes.remark("no effect on a pass of which no operators are known: execution");
  // The views of a training plan warn of it.
  if (mode_ != Mode::train &&
      (load_ == Load::burst || (load_ == Load::concurrency && asked_.batch_size < replicas_)))
    warn_of_uneven_batch(asked_.batch_size, replicas_, notes);
}

namespace detail {

SingleNodeModel::Inputs infer_request(const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  SingleNodeModel::Inputs in;
  in.workload = s.workload;
  in.hardware = &r.hardware();
  in.batch_size = r.asked().batch_size;
  in.seq_len = r.seq_len();
  in.precision = s.precision;
  in.weight_format = s.weight_format;
  in.efficiency = s.efficiency;
  in.power_cap = s.power_cap;
  in.clock_limit = s.clock_limit;
  in.engine = s.engine;
  in.execution = s.execution;
  in.fidelity = s.fidelity;
  in.conventions = s.conventions;
  return in;
}

bool is_whole_pass(const ResolvedScenario& r) {
  const auto kind = r.asked().workload->architecture;
  if (r.mode() != Mode::infer ||
      (kind != Architecture::diffusion && kind != Architecture::ssm && kind != Architecture::recommendation))
    return false;
  // A model of these architectures without a shape has no operator list.
  return !r.asked().workload->has_shape();
}

InferencePassModel::Inputs pass_request(const ResolvedScenario& r) {
  auto in = fields_of<InferencePassModel::Inputs>(infer_request(r));
  in.batch_size = r.share().sequences;  // it knows one device
  return in;
}

MemoryBreakdown<> pass_memory(const ResolvedScenario& r, const InferencePassModel::Result& a) {
  MemoryBreakdown<> m;
  m.weights = a.weights + a.tables;
  m.kv_cache = a.state;
  m.activations = a.activations;
  m.total = a.memory_footprint;
  m.capacity = memory_level(r.hardware(), m.total).capacity;
  return m;
}

ServingModel::Inputs serve_request(const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  auto in = fields_of<ServingModel::Inputs>(s);
  in.hardware = &r.hardware();
  in.fleet = &r.fleet();
  in.seq_len = r.seq_len();
  in.tp_size = r.tp_size();
  in.network_bandwidth = ServingModel::Inputs{}.network_bandwidth;  // of pools, which are not asked of it
  if (r.load() == Load::burst) return in;
  Notes quiet;
  if (in.engine == nullptr && fidelity_model_for(s.fidelity, *s.workload, quiet).prices_engines())
    in.engine = &usual_engine(r.hardware());
  return in;
}

DistributedModel::Inputs train_request(const ResolvedScenario& r) {
  auto in = fields_of<DistributedModel::Inputs>(r.asked());
  in.fleet = &r.fleet();
  in.seq_len = r.seq_len();
  in.tp_size = r.tp_size();
  return in;
}

Precision precision_of(const ResolvedScenario& r) {
  const Scenario& s = r.asked();
  Notes quiet;
  if (r.mode() != Mode::serve) return precision_or_default(s.precision, r.hardware(), quiet);
  return served_format(*s.workload, {s.precision, s.weight_format, s.weight_bits}, r.hardware(), nullptr,
                       quiet)
      .precision;
}

Memory memory_needed(const ResolvedScenario& r) {
  Notes quiet;
  if (is_whole_pass(r)) {
    const auto m = pass_memory(r, InferencePassModel{}.solve(pass_request(r)));
    return {m.total, m.capacity};
  }
  return std::visit(
      [](const auto& problem) -> Memory {
        const auto n = evaluate(problem);
        const auto& m = fullest_device(n);
        return {m.total, m.capacity};
      },
      settle(r, quiet));
}

}  // namespace detail
}  // namespace mlsysim

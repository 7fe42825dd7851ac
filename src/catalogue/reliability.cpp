#include "detail/figures.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/checkpoint.hpp>
#include <mlsysim/catalogue/models/reliability.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/physics/resilience.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

/// Parts of a node and how often each fails.
NodeMtbf::Inputs<double> parts_of(const ReliabilityModel::Inputs& in, Fidelity fidelity, Notes& notes) {
  const Node& node = *in.fleet->node;
  const bool textbook = fidelity == Fidelity::textbook;
  const auto mtbf = [&](const std::optional<Time<>>& given, std::string_view name) {
    return given ? *given : detail::figure<dim::time>(name, notes);
  };
  NodeMtbf::Inputs<double> p;
  p.accelerators = node.accelerators_per_node;
  p.accelerator_mtbf = mtbf(in.accelerator_mtbf, textbook ? "Gpu" : "Gpu_Llama3");
  p.nics = node.nics_per_node.value_or(textbook ? 1.0 : node.accelerators_per_node);
  p.nic_mtbf = mtbf(in.nic_mtbf, textbook ? "Nic" : "Nic_Llama3");
  p.psu_mtbf = mtbf(in.psu_mtbf, "Psu");
  if (!node.nics_per_node)
    notes.assume("nics_per_node", p.nics,
                 textbook ? "convention of MLSys-im" : "one adapter for each device");
  if (textbook) {
    p.psus = node.psus_per_node.value_or(2.0);
    if (!node.psus_per_node) notes.assume("psus_per_node", p.psus, "convention of MLSys-im");
    return p;
  }
  // What the observed run lost to everything else: switches, cables, hosts, power and software.
  const auto any = 1.0 / detail::figure<dim::time>("GpuAnyCause_Llama3", notes);
  const auto own = 1.0 / detail::figure<dim::time>("Gpu_Llama3", notes) +
                   1.0 / detail::figure<dim::time>("Nic_Llama3", notes);
  p.psus =
      in.psu_mtbf ? node.psus_per_node.value_or(2.0) : 0.0;  // counted with the rest unless told otherwise
  p.other_rate = max(any - own, Frequency<>()) * p.accelerators;
  return p;
}

double coverage_of(double nodes, Time<> mtbf, Time<> repair, double spares) {
  return SpareCoverage::solve<double>({nodes, mtbf, repair, spares}).coverage;
}

}  // namespace

ReliabilityModel::Result ReliabilityModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  const bool textbook = r.fidelity == Fidelity::textbook;
  if (textbook) detail::warn_of_unpriced(in, {"spare_nodes"}, notes);
  const auto parts = parts_of(in, r.fidelity, notes);
  r.node_mtbf = NodeMtbf::solve<double>(parts).mtbf;
  r.fleet_mtbf = ClusterMtbf::solve<double>({r.node_mtbf, in.fleet->count}).mtbf;
  r.accelerator_share = parts.accelerators / parts.accelerator_mtbf * r.node_mtbf;
  r.network_share = parts.nics / parts.nic_mtbf * r.node_mtbf;
  if (!textbook) {
    const auto cables = 1.0 / detail::figure<dim::time>("Network_Llama3", notes) * parts.accelerators;
    r.network_share += min(cables, parts.other_rate) * r.node_mtbf;
  }
  r.other_share = std::max(0.0, 1.0 - r.accelerator_share - r.network_share);
  const auto failures = FailureProbability::solve<double>({in.job_duration, r.fleet_mtbf});
  r.failure_probability = failures.probability;
  r.expected_failures = failures.expected;
  const double per_hour =
      detail::number(textbook ? "SilentDataCorruption" : "SilentDataCorruption_Llama3", notes);
  r.silent_corruptions = per_hour * in.fleet->total_accelerators() * in.job_duration.in(unit::h);

  const Time<> repair =
      in.repair_time ? *in.repair_time : detail::figure<dim::time>("Recovery.node_recovery", notes);
  r.nodes_in_repair = SpareCoverage::solve<double>({in.fleet->count, r.node_mtbf, repair, 0.0}).in_repair;
  while (r.spares_for_99 < 4096 && coverage_of(in.fleet->count, r.node_mtbf, repair, r.spares_for_99) < 0.99)
    r.spares_for_99 += 1;
  // The spare of this failure must not be among those that earlier failures took.
  r.spares_for_99 += 1;
  Time<> restart = in.recovery_time;
  if (in.spare_nodes && !textbook) {
    r.spare_coverage =
        *in.spare_nodes > 0 ? coverage_of(in.fleet->count, r.node_mtbf, repair, *in.spare_nodes - 1) : 0.0;
    restart += repair * (1.0 - *r.spare_coverage);
  } else {
    notes.assume("spare_nodes", "always ready", "no spare policy was given");
  }

  r.optimal_checkpoint_interval =
      textbook ? YoungInterval::solve<double>({in.checkpoint_time, r.fleet_mtbf}).interval
               : DalyInterval::solve<double>({in.checkpoint_time, r.fleet_mtbf}).interval;
  // Free checkpoints are written all the time: a second of work between two of them stands for none.
  const Time<> interval = in.checkpoint_interval.value_or(max(r.optimal_checkpoint_interval, 1.0 * unit::s));
  r.goodput_ratio =
      textbook
          ? FirstOrderGoodput::solve<double>({interval, in.checkpoint_time, restart, r.fleet_mtbf, 0.0})
                .goodput
          : CheckpointGoodput::solve<double>({interval, in.checkpoint_time, restart, r.fleet_mtbf}).goodput;
  r.checkpoint_share = std::min(1.0, in.checkpoint_time / interval);
  r.lost_work_share = textbook ? 0.0 : std::min(1.0, 0.5 * (interval / r.fleet_mtbf));
  r.restart_share = std::min(1.0, restart / r.fleet_mtbf);
  if (in.checkpoint_time > 2.0 * r.fleet_mtbf)
    notes.warn("a checkpoint takes longer than two mean times between failures: hardly any work survives");
  return r;
}

CheckpointModel::Result CheckpointModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  const bool textbook = r.fidelity == Fidelity::textbook;
  if (textbook) detail::warn_of_unpriced(in, {"precision", "asynchronous"}, notes);
  const bool adam = in.optimizer == OptimizerKind::adam || in.optimizer == OptimizerKind::adamw;
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  const Params<> params = textbook_totals(*in.workload, notes).params;
  if (textbook) {
    r.checkpoint_size =
        params * detail::figure<dim::data_per_param>(
                     adam ? "catalogue.checkpoint.adam_bytes" : "catalogue.checkpoint.sgd_bytes", notes);
  } else {
    const Storage s = training_storage(precision, in.optimizer);
    // A master copy makes the narrow weights redundant; without one the weights are the state.
    const double master = s.weight_bytes < 4 && s.state_bytes >= 4 ? 0.0 : s.weight_bytes;
    r.checkpoint_size = params * ((s.state_bytes + master) * unit::B / unit::param);
  }
  const double nodes = in.fleet != nullptr ? in.fleet->count : 1.0;
  r.writers = in.writers.value_or(textbook ? 1.0 : nodes);
  if (!in.writers) notes.assume("writers", r.writers, textbook ? "one writer" : "one writer per node");
  Bandwidth<> each;
  if (in.writer_bandwidth)
    each = *in.writer_bandwidth;
  else if (in.hardware->storage.bandwidth)
    each = *in.hardware->storage.bandwidth;
  else
    each = detail::figure<dim::bandwidth>("catalogue.checkpoint.storage_fallback", notes);
  const Bandwidth<> limit = in.shared_limit
                                ? *in.shared_limit
                                : detail::figure<dim::bandwidth>("catalogue.checkpoint.shared_limit", notes);
  Time<> snapshot;
  if (!textbook && in.asynchronous) {
    const Conventions& c = conventions_or_standard(in.conventions);
    const Bandwidth<> host = in.hardware->host_link.bandwidth.value_or(c.host_bandwidth);
    if (!in.hardware->host_link.bandwidth)
      notes.assume("host_bandwidth", c.host_bandwidth, "zoo/defaults.yaml");
    snapshot = r.checkpoint_size / (host * (in.fleet != nullptr ? in.fleet->total_accelerators() : 1.0));
  }
  const auto cost = CheckpointCost::solve<double>({.size = r.checkpoint_size,
                                                   .writers = r.writers,
                                                   .writer_bandwidth = each,
                                                   .shared_limit = limit,
                                                   .snapshot = snapshot,
                                                   .interval = in.checkpoint_interval,
                                                   .asynchronous = !textbook && in.asynchronous ? 1.0 : 0.0});
  r.write_time = cost.write_time;
  r.stall = cost.stall;
  r.mfu_penalty = cost.overhead;
  r.write_bandwidth = min(each * r.writers, limit);
  const Time<> minute = detail::figure<dim::time>("catalogue.checkpoint.bottleneck_time", notes);
  r.bandwidth_for_60_s = r.checkpoint_size / minute;
  r.storage_bottleneck = r.write_time > minute;
  if (in.fleet_mtbf)
    r.optimal_checkpoint_interval = textbook
                                        ? YoungInterval::solve<double>({r.stall, *in.fleet_mtbf}).interval
                                        : DalyInterval::solve<double>({r.stall, *in.fleet_mtbf}).interval;
  if (in.asynchronous && r.write_time > in.checkpoint_interval)
    notes.warn(
        "a checkpoint is not finished when the next one is due: the interval is too short for the storage");
  return r;
}

}  // namespace mlsysim

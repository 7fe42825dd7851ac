#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/checkpoint.hpp>
#include <mlsysim/resolvers/models/reliability.hpp>
#include <mlsysim/timing/detail/failure.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/fill.hpp>

#include <algorithm>

namespace mlsysim {
namespace {

double coverage_of(double nodes, Time<> mtbf, Time<> repair, double spares) {
  return SpareCoverage::solve<double>({nodes, mtbf, repair, spares}).coverage;
}

/// Spares that are enough for 99 % of the failures.
double spares_for_99(double nodes, Time<> mtbf, Time<> repair) {
  double spares = 0;
  while (spares < 4096 && coverage_of(nodes, mtbf, repair, spares) < 0.99) spares += 1;
  // The spare of this failure must not be among those that earlier failures took.
  return spares + 1;
}

/// Bytes of a checkpoint per parameter, and its number of writers where the request states none.
struct CheckpointParts {
  DataPerParam<> bytes;
  double writers;
  std::string_view why;
};

CheckpointParts textbook_checkpoint(const CheckpointModel::Inputs& in, const Figures& figures) {
  const bool adam = in.optimizer == OptimizerKind::adam || in.optimizer == OptimizerKind::adamw;
  return {figures.figure<dim::data_per_param>(adam ? "catalogue.checkpoint.adam_bytes"
                                                   : "catalogue.checkpoint.sgd_bytes"),
          1, "one writer"};
}

/// A master copy makes the narrow weights redundant. Without one the weights are part of the state.
CheckpointParts operator_checkpoint(const CheckpointModel::Inputs& in, Precision precision) {
  const Storage s = training_storage(precision, in.optimizer);
  const double master = s.weight_bytes < 4 && s.state_bytes >= 4 ? 0.0 : s.weight_bytes;
  return {(s.matrix_state_bytes + master) * unit::B / unit::param,  // most weights are matrices of blocks
          in.fleet != nullptr ? in.fleet->count : 1.0, "one writer per node"};
}

}  // namespace

ReliabilityModel::Result ReliabilityModel::solve(const Inputs& asked, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(asked, fidelity, {"spare_nodes"}, notes);
  const Figures figures = detail::zoo_figures(notes);
  const auto parts =
      node_parts(fidelity, *in.fleet->node, {in.accelerator_mtbf, in.nic_mtbf, in.psu_mtbf}, figures);
  if (parts.rates.psus == 0)
    detail::warn_of_idle(in, {"psu_mtbf"}, "where power supplies are redundant", notes);
  Result r;
  r.fidelity = fidelity;
  r.node_mtbf = NodeMtbf::solve<double>(parts.rates).mtbf;
  r.fleet_mtbf = ClusterMtbf::solve<double>({r.node_mtbf, in.fleet->count}).mtbf;
  r.accelerator_share = parts.rates.accelerators / parts.rates.accelerator_mtbf * r.node_mtbf;
  r.network_share = (parts.rates.nics / parts.rates.nic_mtbf + parts.cables) * r.node_mtbf;
  r.other_share = std::max(0.0, 1.0 - r.accelerator_share - r.network_share);
  const auto failures = FailureProbability::solve<double>({in.job_duration, r.fleet_mtbf});
  r.failure_probability = failures.probability;
  r.expected_failures = failures.expected;
  r.silent_corruptions = figures.number(fidelity == Fidelity::textbook ? "SilentDataCorruption"
                                                                       : "SilentDataCorruption_Llama3") *
                         in.fleet->total_accelerators() * in.job_duration.in(unit::h);

  const Time<> repair =
      in.repair_time ? *in.repair_time : figures.figure<dim::time>("Recovery.node_recovery");
  r.nodes_in_repair = SpareCoverage::solve<double>({in.fleet->count, r.node_mtbf, repair, 0.0}).in_repair;
  r.spares_for_99 = spares_for_99(in.fleet->count, r.node_mtbf, repair);
  Time<> restart = in.recovery_time;
  if (in.spare_nodes) {
    r.spare_coverage =
        *in.spare_nodes > 0 ? coverage_of(in.fleet->count, r.node_mtbf, repair, *in.spare_nodes - 1) : 0.0;
    restart += repair * (1.0 - *r.spare_coverage);
  } else {
    notes.assume("spare_nodes", "always ready", "no spare policy was given");
  }

  r.optimal_checkpoint_interval = checkpoint_interval(fidelity, in.checkpoint_time, r.fleet_mtbf);
  const Time<> interval = in.checkpoint_interval ? *in.checkpoint_interval
                                                 : usual_interval(fidelity, in.checkpoint_time, r.fleet_mtbf);
  r.checkpoint_interval = interval;
  const auto useful = useful_time(fidelity, JobTimes<>{interval, in.checkpoint_time, restart, r.fleet_mtbf});
  r.goodput_ratio = useful.share;
  r.lost_work_share = useful.lost_work;
  r.checkpoint_share = std::min(1.0, in.checkpoint_time / interval);
  r.restart_share = std::min(1.0, restart / r.fleet_mtbf);
  if (in.checkpoint_time > 2.0 * r.fleet_mtbf)
    notes.remark("a checkpoint takes longer than two mean times between failures: hardly any work survives");
  return r;
}

CheckpointModel::Result CheckpointModel::solve(const Inputs& asked, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(asked, fidelity, {"precision", "asynchronous"}, notes);
  const Figures figures = detail::zoo_figures(notes);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  Result r;
  r.fidelity = fidelity;
  const Params<> params = totals_of(*in.workload, notes).params;
  const auto parts =
      fidelity == Fidelity::textbook ? textbook_checkpoint(in, figures) : operator_checkpoint(in, precision);
  r.checkpoint_size = params * parts.bytes;
  r.writers = in.writers.value_or(parts.writers);
  if (!in.writers) notes.assume("writers", parts.writers, parts.why);
  Bandwidth<> each;
  if (in.writer_bandwidth)
    each = *in.writer_bandwidth;
  else if (in.hardware->storage.bandwidth)
    each = *in.hardware->storage.bandwidth;
  else
    each = figures.figure<dim::bandwidth>("catalogue.checkpoint.storage_fallback");
  const Bandwidth<> limit = in.shared_limit
                                ? *in.shared_limit
                                : figures.figure<dim::bandwidth>("catalogue.checkpoint.shared_limit");
  Time<> snapshot;
  if (in.asynchronous) {
    const Conventions& c = conventions_or_standard(in.conventions);
    const auto host = needed<Bandwidth<>>("host_link.bandwidth", *in.hardware, c, notes);
    snapshot = r.checkpoint_size / (host * (in.fleet != nullptr ? in.fleet->total_accelerators() : 1.0));
  }
  const auto cost = CheckpointCost::solve<double>({.size = r.checkpoint_size,
                                                   .writers = r.writers,
                                                   .writer_bandwidth = each,
                                                   .shared_limit = limit,
                                                   .snapshot = snapshot,
                                                   .interval = in.checkpoint_interval,
                                                   .asynchronous = in.asynchronous ? 1.0 : 0.0});
  r.write_time = cost.write_time;
  r.stall = cost.stall;
  r.mfu_penalty = cost.overhead;
  r.write_bandwidth = min(each * r.writers, limit);
  const Time<> minute = figures.figure<dim::time>("catalogue.checkpoint.bottleneck_time");
  r.bandwidth_for_60_s = r.checkpoint_size / minute;
  r.storage_bottleneck = r.write_time > minute;
  if (in.fleet_mtbf) r.optimal_checkpoint_interval = checkpoint_interval(fidelity, r.stall, *in.fleet_mtbf);
  if (in.asynchronous && r.write_time > in.checkpoint_interval)
    notes.warn(
        "a checkpoint is not finished when the next one is due: the interval is too short for the storage");
  return r;
}

}  // namespace mlsysim

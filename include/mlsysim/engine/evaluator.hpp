#pragma once
/// SystemEvaluator computes the scorecard of a scenario. ResolvedScenario first settles mode, fleet and
/// degrees.
///
///   replicas = accelerators / (tp * pp * ep)      serving; training: also / cp
///
/// Where training folds experts, expert_tp_size / tp divides too. A single pass (mode infer) has one replica
/// on each device. Prefill workers are taken off the devices first.
/// Example: Llama3_8B on 16 H100 with tp_size 8 is served by 2 replicas.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/estimate/replicas.hpp>

#include <memory>

namespace mlsysim {

/// The mode of a model where nobody asks for one: serve where it generates tokens by steps that are
/// predicted, else infer.
[[nodiscard]] Mode usual_mode(const Workload& workload);

/// A scenario with its gaps filled: the fleet it runs on, the mode, the degrees.
///
/// Owns the node, fabric and fleet that exist for this scenario only. Keep it as long as results point to its
/// fleet.
class ResolvedScenario {
 public:
  /// @throws InputError, DomainError for contradictory counts or missing parts
  ResolvedScenario(const Scenario& scenario, Notes& notes);

  [[nodiscard]] const Scenario& asked() const { return asked_; }
  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] const Fleet& fleet() const { return *fleet_; }
  [[nodiscard]] const HardwareNode& hardware() const { return *fleet_->node->accelerator; }
  [[nodiscard]] double accelerators() const { return accelerators_; }
  [[nodiscard]] double tp_size() const { return tp_size_; }
  [[nodiscard]] double seq_len() const { return seq_len_; }
  /// How requests reach a served model; a burst in the other modes.
  [[nodiscard]] Load load() const { return load_; }
  /// Whether separate prefill workers process the prompts.
  [[nodiscard]] bool has_workers() const { return asked_.prefill_replicas.has_value(); }
  /// Copies of the model that generate, infer or train.
  [[nodiscard]] double replicas() const { return replicas_; }
  /// Share of the batch that each replica gets.
  [[nodiscard]] BatchShare<> share() const { return share_batch(asked_.batch_size, replicas_); }

 private:
  void settle_mode(Notes& notes);
  void settle_load(Notes& notes);
  void settle_machine(Notes& notes);
  void settle_replica(Notes& notes);
  void settle_degrees(Notes& notes);
  void settle_pools(Notes& notes);
  /// Devices of all prefill workers.
  [[nodiscard]] double worker_devices(double tp) const;

  Scenario asked_;
  Mode mode_;
  Load load_ = Load::burst;
  std::shared_ptr<Node> node_;
  std::shared_ptr<NetworkFabric> fabric_;
  std::shared_ptr<Fleet> own_fleet_;
  const Fleet* fleet_ = nullptr;
  double tp_size_ = 1, seq_len_ = 1, replicas_ = 1, accelerators_ = 1;
};

struct SystemEvaluator {
  /// Feasibility (memory), performance (time, throughput, bottleneck) and macro (cost, energy, carbon) of a
  /// scenario, and a level for each resolver of `also`: its inputs are the workload, the machine, and numbers
  /// of the scenario that have their names. One that fails or lacks an input is a skipped level that says
  /// why.
  /// @throws InputError, DomainError for a contradictory scenario, LookupError for an unknown name in
  /// `also`
  [[nodiscard]] static SystemEvaluation evaluate(const Scenario& scenario);
};

}  // namespace mlsysim

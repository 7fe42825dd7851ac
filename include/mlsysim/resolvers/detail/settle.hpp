#pragma once
/// Turns the inputs of a resolver into a problem for the estimators of `estimate/`.
///
/// Names are looked up, gaps are filled with noted defaults, and the degrees are checked against model and
/// fleet. This happens once, in double. The estimate then runs over any scalar.
/// Example: BERT takes 512 tokens. Without `seq_len`, `settle_inference` sets 512 and notes the assumption.

#include <mlsysim/estimate/evaluate.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>

namespace mlsysim {

/// The problem of `replicas` copies of a served model, whose batch is that of all of them.
/// @throws InputError for a workload that does not generate tokens
[[nodiscard]] ServingProblem<> settle(const ServingModel::Inputs& in, Notes& notes, double replicas = 1);
namespace detail {
/// Warns where the ranks that share the sequences of a pass have unequal numbers of them.
void warn_of_uneven_ranks(double sequences, double ranks, Notes& notes);
/// Checks the degrees of prefill workers against what the model has. @throws DomainError
void check_workers(const Workload& workload, const ServingProblem<>& problem, Notes& notes);
}  // namespace detail
/// The problem of a training step of a fleet. @throws DomainError when the degrees do not fit the fleet
[[nodiscard]] TrainingProblem<> settle(const DistributedModel::Inputs& in, Notes& notes);
/// Warns of micro-batches that do not divide the batch, and notes a number of micro-batches that was not
/// given.
void warn_of_microbatches(const DistributedModel::Inputs& in, const TrainingProblem<>& problem,
                          const TrainingEstimate<>& estimate, Notes& notes);
/// The problem of a training step of devices in one node, each with a batch of its own.
[[nodiscard]] TrainingProblem<> settle_step(const SingleNodeModel::Inputs& in, Notes& notes);
/// The problem of one batch that `devices` devices share.
[[nodiscard]] InferenceProblem<> settle_inference(const SingleNodeModel::Inputs& in, Notes& notes,
                                                  double devices = 1);

/// Running cost and emissions of a fleet at a load.
struct SettledMacro {
  MacroProblem<> problem;
  MacroLoad<> load;
  bool has_embodied = true;  ///< else the emissions of making the devices are not known
};
/// Grid, facility and prices of a request. @throws InputError for a device without TDP
/// @param embodied emissions of making one device, instead of the zoo's
/// @param stated_idle an idle draw that the device states counts, as at operator fidelity; else its share is
/// the usual one
[[nodiscard]] SettledMacro settle(const EconomicsModel::Inputs& in, Notes& notes,
                                  std::optional<Carbon<>> embodied = std::nullopt, bool stated_idle = false);

}  // namespace mlsysim

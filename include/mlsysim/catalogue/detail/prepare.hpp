#pragma once
/// From a resolver's inputs to the views that its numbers are computed from: names, gaps, categories and
/// warnings are settled here, once, in double.

#include <mlsysim/answer/inference.hpp>
#include <mlsysim/answer/macro.hpp>
#include <mlsysim/answer/serving.hpp>
#include <mlsysim/answer/training.hpp>
#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/economics.hpp>
#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/models/single_node.hpp>

namespace mlsysim {

/// Views of one serving replica. @throws InputError for a workload that does not generate tokens
[[nodiscard]] ServingViews<> prepare_serving(const ServingModel::Inputs& in, Notes& notes);
/// Views of a training step of a fleet. @throws DomainError when the degrees do not fit the fleet
[[nodiscard]] TrainingViews<> prepare_training(const DistributedModel::Inputs& in, Notes& notes);
/// Warns of micro-batches that do not divide the batch, and notes a number of micro-batches that was not
/// given.
void warn_of_microbatches(const DistributedModel::Inputs& in, const TrainingViews<>& views,
                          const TrainingNumbers<>& numbers, Notes& notes);
/// Views of a training step of devices in one node, each with a batch of its own.
[[nodiscard]] TrainingViews<> prepare_step(const SingleNodeModel::Inputs& in, Notes& notes);
/// Views of one batch on one device.
[[nodiscard]] InferenceViews<> prepare_inference(const SingleNodeModel::Inputs& in, Notes& notes);

/// The inputs of running cost and emissions, and which of them are not known.
struct PreparedMacro {
  MacroViews<> views;
  std::string_view region;   ///< grid that is charged; a text of the zoo or of the caller
  bool has_price = true;     ///< else capital cost and maintenance are not known
  bool has_embodied = true;  ///< else the emissions of making the devices are not known
};
/// Grid, facility and prices of a request. @throws InputError for a device without TDP
/// @param embodied emissions of making one device, instead of the zoo's
[[nodiscard]] PreparedMacro prepare_macro(const EconomicsModel::Inputs& in, Notes& notes,
                                          std::optional<Carbon<>> embodied = std::nullopt);

}  // namespace mlsysim

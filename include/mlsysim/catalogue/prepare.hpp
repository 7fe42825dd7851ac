#pragma once
/// From a resolver's inputs to the views that its numbers are computed from: names, gaps, categories and warnings are
/// settled here, once, in double.

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
/// Views of one batch on one device.
[[nodiscard]] InferenceViews<> prepare_inference(const SingleNodeModel::Inputs& in, Notes& notes);
/// Facility, grid and prices of a fleet over a period. @throws InputError for a device without TDP
[[nodiscard]] MacroViews<> prepare_macro(const EconomicsModel::Inputs& in, Notes& notes);

}  // namespace mlsysim

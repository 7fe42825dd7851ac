#pragma once
/// From a resolver's inputs to the views that its core runs on.
///
/// Kept apart from the resolvers so that derivations, derivatives and sweeps start from the same views.

#include <mlsysim/catalogue/core/distributed.hpp>
#include <mlsysim/catalogue/core/serving.hpp>
#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/models/single_node.hpp>
#include <mlsysim/price/views.hpp>

namespace mlsysim {

/// Views of a serving request at operator fidelity. @throws InputError for a workload that does not generate tokens
[[nodiscard]] ServingViews<> prepare_serving(const ServingModel::Inputs& in, Notes& notes);
/// Views of a serving request at textbook fidelity.
[[nodiscard]] TextbookServingViews<> prepare_textbook_serving(const ServingModel::Inputs& in, Notes& notes);

/// One pass or step of the operator list: model, plan, device and network.
template <class T = double>
struct PassViews {
  ModelView<T> model;
  Plan<T> plan;
  Device<T> device;
  Links<T> links;
};
/// Views of one batch on one device at operator fidelity.
[[nodiscard]] PassViews<> prepare_single_node(const SingleNodeModel::Inputs& in, Notes& notes);
/// Views of a training step of a fleet at operator fidelity. @throws DomainError when the degrees do not fit the fleet
[[nodiscard]] PassViews<> prepare_distributed(const DistributedModel::Inputs& in, Notes& notes);
/// The same at textbook fidelity.
[[nodiscard]] TextbookStepViews<> prepare_textbook_distributed(const DistributedModel::Inputs& in, Notes& notes);

/// The same views over another scalar.
template <class T>
[[nodiscard]] ModelView<T> lift_view(const ModelView<>& v) {
  return {v.structure, lift<T>(v.shape), v.layers};
}
template <class T>
[[nodiscard]] PassViews<T> lift_view(const PassViews<>& v) {
  return {lift_view<T>(v.model), lift<T>(v.plan), lift<T>(v.device), lift<T>(v.links)};
}
template <class T>
[[nodiscard]] ServingViews<T> lift_view(const ServingViews<>& v) {
  return {lift_view<T>(v.prefill), lift_view<T>(v.decode), lift<T>(v.prefill_device), lift<T>(v.decode_device),
          lift<T>(v.links), lift<T>(v.plan), T{v.prompt}, T{v.cached}, T{v.chunk}, v.chunks, T{v.decode_context},
          T{v.final_context}, v.apart};
}
template <class T>
[[nodiscard]] TextbookServingViews<T> lift_view(const TextbookServingViews<>& v) {
  return {v.active_params, v.weights, v.kv_cache, v.peak, v.bandwidth, v.capacity, v.dispatch, v.layer_overhead,
          T{v.efficiency}, T{v.devices}, T{v.batch}, T{v.layers}, T{v.width}, T{v.prompt}, T{v.cached}, T{v.chunk},
          v.chunks};
}

template <class T>
[[nodiscard]] TextbookStepViews<T> lift_view(const TextbookStepViews<>& v) {
  return {v.work, v.weights, v.gradients, v.activation, v.peak, v.bandwidth, v.dispatch, v.layer_overhead,
          T{v.efficiency}, T{v.activation_share}, T{v.layers}, T{v.moe_layers}, T{v.top_k}, T{v.tp}, T{v.pp}, T{v.dp},
          T{v.ep}, T{v.microbatches}, T{v.virtual_stages}, T{v.local_batch}, T{v.overlap}, T{v.congestion},
          T{v.straggler}, lift<T>(v.links)};
}

}  // namespace mlsysim

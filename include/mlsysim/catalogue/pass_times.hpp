#pragma once
/// Passes of one replica as a service to the models of steady states: what a batch of prompts or a decode step takes.

#include <mlsysim/catalogue/core/serving.hpp>
#include <mlsysim/catalogue/models/in_flight_batching.hpp>

#include <cmath>
#include <memory>

namespace mlsysim {

/// A priced pass; costs are known at operator fidelity only.
struct ReplicaPass {
  Time<> time;
  PassCost<> cost{};
};

/// Passes of one replica of tp x pp x ep devices. Requests and prompts are those of the whole replica.
class PassTimes {
 public:
  PassTimes() = default;
  PassTimes(const PassTimes&) = delete;
  PassTimes& operator=(const PassTimes&) = delete;
  virtual ~PassTimes() = default;

  /// `new_tokens` of each of `prompts`, which then hold `context` tokens.
  [[nodiscard]] virtual ReplicaPass prefill(double prompts, double new_tokens, double context) const = 0;
  /// One step of `requests` that hold `context` tokens, `new_tokens` of them in this pass (speculation checks several).
  [[nodiscard]] virtual ReplicaPass decode(double requests, double context, double new_tokens = 1) const = 0;
  /// Requests of `tokens` that fit beside the weights when the cache may take `kv_share` of what is left; 0 where the
  /// weights alone do not fit.
  [[nodiscard]] virtual double capacity(double tokens, double kv_share) const = 0;
  /// Cache of one request of `tokens`.
  [[nodiscard]] virtual Data<> cache(double tokens) const = 0;
};

/// Host time of a pass over `requests`.
[[nodiscard]] inline Time<> host_time(const ServingEngine& e, double requests) { return e.host_step + e.host_request * requests; }
/// A pass that takes this long on the device: the host works before it, or beside it (soft maximum).
[[nodiscard]] inline Time<> with_host(const ServingEngine& e, Time<> device, double requests) {
  const Time<> host = host_time(e, requests);
  return e.beside ? Time<>::from_base(std::hypot(device.base(), host.base())) : device + host;
}
/// The engine, `generic` of zoo/engines.yaml where none is given, each of its figures noted; textbook has no host.
[[nodiscard]] ServingEngine engine_or_generic(const ServingEngine* engine, Fidelity fidelity, Notes& notes);

/// The passes of a request at its fidelity.
/// @param prefill_issue replaces the issue time of prompts' passes
[[nodiscard]] std::unique_ptr<PassTimes> pass_times(const InFlightBatchingModel::Inputs& in, Fidelity fidelity,
                                                    std::optional<Time<>> prefill_issue, Notes& notes);
/// The steady state on top of given passes; `InFlightBatchingModel` is this with its own.
[[nodiscard]] InFlightBatchingModel::Result in_flight(const InFlightBatchingModel::Inputs& in, const ServingEngine& engine,
                                                      const PassTimes& passes, Notes& notes);

/// Operators of the prefill and decode views, for whoever sums them differently.
[[nodiscard]] ServingViews<> serving_views(const InFlightBatchingModel::Inputs& in, Notes& notes);

}  // namespace mlsysim

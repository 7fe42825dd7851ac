#pragma once
/// Passes of one replica as a service to the models of steady states: what a batch of prompts or a decode
/// step takes.

#include <mlsysim/answer/serving.hpp>
#include <mlsysim/catalogue/models/in_flight_batching.hpp>

#include <cmath>

namespace mlsysim {

/// Passes of one replica of tp x pp x ep devices. Requests and prompts are those of one micro-batch.
class PassTimes {
 public:
  explicit PassTimes(const ServingViews<>& views) : views_(views) {}

  [[nodiscard]] const ServingViews<>& views() const { return views_; }
  /// `new_tokens` of each of `prompts`, which then hold `context` tokens.
  [[nodiscard]] PassEstimate<> prefill(double prompts, double new_tokens, double context) const;
  /// One step of `requests` that hold `context` tokens, `new_tokens` of them in this pass (speculation checks
  /// several).
  [[nodiscard]] PassEstimate<> decode(double requests, double context, double new_tokens = 1) const;
  /// Requests of `tokens` that fit beside the weights when the cache may take `kv_share` of what is left; 0
  /// where the weights alone do not fit.
  [[nodiscard]] double capacity(double tokens, double kv_share) const;
  /// Cache of one request of `tokens`.
  [[nodiscard]] Data<> cache(double tokens) const;

 private:
  [[nodiscard]] Plan<> plan(double sequences, double new_tokens, double context) const;

  ServingViews<> views_;
};

/// Host time of a pass over `requests`.
[[nodiscard]] inline Time<> host_time(const ServingEngine& e, double requests) {
  return e.host_step + e.host_request * requests;
}
/// A pass that takes this long on the device: the host works before it, or beside it (soft maximum).
[[nodiscard]] inline Time<> with_host(const ServingEngine& e, Time<> device, double requests) {
  const Time<> host = host_time(e, requests);
  return e.beside ? Time<>::from_base(std::hypot(device.base(), host.base())) : device + host;
}
/// The engine, `generic` of zoo/engines.yaml where none is given, each of its figures noted; none where the
/// pricing has none.
[[nodiscard]] ServingEngine engine_or_generic(const ServingEngine* engine, const Pricing& pricing,
                                              Notes& notes);

/// The passes of a request.
/// @param prefill_issue replaces the issue time of prompts' passes
[[nodiscard]] PassTimes pass_times(const InFlightBatchingModel::Inputs& in,
                                   std::optional<Time<>> prefill_issue, Notes& notes);
/// The steady state on top of given passes; `InFlightBatchingModel` is this with its own. The seq_len of `in`
/// is given.
[[nodiscard]] InFlightBatchingModel::Result in_flight(const InFlightBatchingModel::Inputs& in,
                                                      const ServingEngine& engine, const PassTimes& passes,
                                                      Notes& notes);

}  // namespace mlsysim

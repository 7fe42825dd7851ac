#pragma once
/// Turns a request for in-flight batching into passes, an engine and a steady-state problem.
///
/// `pass_times` describes the passes of a replica, `settle` adds arrivals and slots, and `in_flight`
/// evaluates them. A caller that tries several loads on one replica reuses the passes.
/// Example: without an engine, an H100 runs the runtime "generic", and each of its parameters is noted.

#include <mlsysim/estimate/in_flight.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/specs/device_class.hpp>

#include <utility>

namespace mlsysim {

/// The runtime that the class of the device states, or that of the nearest class that states one.
/// @param use the entry of the class: `serve`, `diffuse`
[[nodiscard]] const ServingEngine& usual_engine(const HardwareNode& hardware,
                                                std::string UsualRuntimes::*use = &UsualRuntimes::serve);
/// The given engine, or `usual_engine` with each of its parameters noted. Empty at a fidelity without
/// engines.
[[nodiscard]] ServingEngine engine_or_usual(const ServingEngine* engine, const HardwareNode& hardware,
                                            const FidelityModel& fidelity_model, Notes& notes);
/// Copies from an engine the values that affect a steady state, such as host time per step.
[[nodiscard]] EngineTimes<> engine_times(const ServingEngine& engine);

/// How the cache takes the memory of a device: by the rule of its engine, or a share of what is left.
struct CacheSettings {
  double share = 1;
  CacheRule<> rule{};
};
/// Settings of the cache that a question states.
struct StatedCache {
  std::optional<double> kv_share{};  ///< of what is left, whatever the engine
  std::optional<double> fraction{};  ///< that the engine takes, in its own sense
  std::optional<Data<>> bytes{};     ///< of the cache itself; the fraction has no say then
  std::optional<double> pass_tokens{};
};
[[nodiscard]] CacheSettings cache_settings(const StatedCache& stated, const ServingEngine& engine,
                                           const HardwareNode& hardware, const Plan<>& plan,
                                           const ModelView<>& model, Notes& notes);

/// The passes of a request.
/// @param engine names the kernels and the host times of passes with prompts
[[nodiscard]] ReplicaPasses<> pass_times(const InFlightBatchingModel::Inputs& in, const ServingEngine& engine,
                                         Notes& notes);
/// The passes of a draft model beside those of its target, and the bytes of the draft's weights on all ranks.
[[nodiscard]] std::pair<ReplicaPasses<>, Data<>> draft_pass_times(const InFlightBatchingModel::Inputs& in,
                                                                  const ServingEngine& engine,
                                                                  const ReplicaPasses<>& passes);
/// The problem on top of given passes. `in.seq_len` must be set. @throws InputError, DomainError
[[nodiscard]] InFlightProblem<> settle(const InFlightBatchingModel::Inputs& in, const ServingEngine& engine,
                                       ReplicaPasses<> passes, Notes& notes);
/// The steady state on top of given passes, with its warnings. `InFlightBatchingModel` makes its own passes.
[[nodiscard]] InFlightBatchingModel::Result in_flight(const InFlightBatchingModel::Inputs& in,
                                                      const ServingEngine& engine,
                                                      const ReplicaPasses<>& passes, Notes& notes);

}  // namespace mlsysim

#pragma once
/// From a request of in-flight batching to its problem: the passes of a replica, the engine, the steady
/// state.

#include <mlsysim/estimate/in_flight.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/specs/device_class.hpp>

#include <utility>

namespace mlsysim {

/// The runtime where none is named: what the class of the device, or the class that it is like, states.
[[nodiscard]] const ServingEngine& usual_engine(const HardwareNode& hardware,
                                                std::string UsualRuntimes::*use = &UsualRuntimes::serve);
/// The engine, `usual_engine` where none is given, each of its figures noted; none where the
/// fidelity_model has none.
[[nodiscard]] ServingEngine engine_or_usual(const ServingEngine* engine, const HardwareNode& hardware,
                                            const FidelityModel& fidelity_model, Notes& notes);
/// Copies from an engine the values that affect a steady state, such as host time per step.
[[nodiscard]] EngineTimes<> engine_times(const ServingEngine& engine);

/// The passes of a request.
/// @param engine names kernels, and host times of prompts' passes
[[nodiscard]] ReplicaPasses<> pass_times(const InFlightBatchingModel::Inputs& in, const ServingEngine& engine,
                                         Notes& notes);
/// The passes of the request's draft, which is a model of its own, beside those of the model; and the weights
/// of all its ranks. A served scenario takes the same.
[[nodiscard]] std::pair<ReplicaPasses<>, Data<>> draft_pass_times(const InFlightBatchingModel::Inputs& in,
                                                                  const ServingEngine& engine,
                                                                  const ReplicaPasses<>& passes);
/// The problem on top of given passes. The seq_len of `in` is given. @throws InputError, DomainError
[[nodiscard]] InFlightProblem<> settle(const InFlightBatchingModel::Inputs& in, const ServingEngine& engine,
                                       ReplicaPasses<> passes, Notes& notes);
/// The steady state on top of given passes, with what there is to say of it; `InFlightBatchingModel` is this
/// with its own.
[[nodiscard]] InFlightBatchingModel::Result in_flight(const InFlightBatchingModel::Inputs& in,
                                                      const ServingEngine& engine,
                                                      const ReplicaPasses<>& passes, Notes& notes);

}  // namespace mlsysim

#pragma once
/// How engines reserve memory. Internal to the room.

#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/specs/serving_engine.hpp>

namespace mlsysim::detail {

/// Memory demand on one device, and the degrees that an engine's memory rule reads.
struct EngineDemand {
  Data<> total;  ///< of the device
  Data<> weights, state, reserve;
  Data<> cache;  ///< keys and values of the requests that were asked for
  double requests = 1, context = 1;
  double ranks = 1, tensor_parallel = 1;
  bool latent = false;  ///< multi-head latent attention
  EngineShares shares;
};
/// @param activations of the largest pass
[[nodiscard]] EngineMemory engine_memory(const EngineMemoryRule& rule, const EngineDemand& demand,
                                         Data<> activations);

}  // namespace mlsysim::detail

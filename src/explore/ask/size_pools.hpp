#pragma once
// Pools of workers for prompts and of replicas that generate tokens, as plans of a size.

#include <mlsysim/estimate/serving.hpp>
#include <mlsysim/explore/ask/size.hpp>

#include <span>
#include <vector>

namespace mlsysim::detail {

/// A replica of some degrees that may be a worker or generate tokens.
struct PoolMember {
  Degrees degrees;
  ServingProblem<> problem;
};

/// The fewest devices of each pair of pools that may take fewer than `most`, best first, without scenarios
/// and costs. A pair needs replicas that keep the limits on the time between tokens, which hold a part of the
/// arrivals each, and workers that keep those on the first token: both are found by halving, since all times
/// fall with their number. Pairs that take more devices even where prompts never wait are left out, which is
/// the proof.
/// @param factor as if all times were so many times as long
/// @param together devices that are bought together
struct SizedPools {
  std::vector<SizedPlan> plans;
  std::size_t pairs = 0;  ///< of degrees, all of which the proof covers
};
[[nodiscard]] SizedPools sized_pools(const SizeQuestion& question, std::span<const PoolMember> members,
                                     double most, double together, double factor = 1);

/// The fewest devices of pools with these degrees; infinite where none meet the limits.
[[nodiscard]] double pool_devices(const SizeQuestion& question, const PoolMember& prefill,
                                  const PoolMember& decode, double together, double factor);

}  // namespace mlsysim::detail

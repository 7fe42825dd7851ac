#pragma once
// Pools of workers for prompts and of replicas that generate tokens, as plans of a size.

#include <mlsysim/sizing/size.hpp>

#include <span>
#include <vector>

namespace mlsysim::detail {

class Machines;

/// The fewest devices of each pair of pools that may take fewer than `most`, best first. A pair needs
/// replicas that keep the limits on the time between tokens, which hold a part of the arrivals each, and
/// workers that keep those on the first token: both are found by halving, since all times fall with their
/// number. Pairs that take more devices even where prompts never wait are left out, which is the proof.
/// @param degrees of a replica that may be a worker or generate tokens
/// @param factor as if all times were so many times as long
struct SizedPools {
  std::vector<SizedPlan> plans;
  std::size_t pairs = 0;  ///< of degrees, all of which the proof covers
};
[[nodiscard]] SizedPools sized_pools(const SizeQuestion& question, Machines& machines,
                                     std::span<const Degrees> degrees, double most, double factor = 1);

/// The fewest devices of pools with these degrees; infinite where none meet the limits.
[[nodiscard]] double pool_devices(const SizeQuestion& question, Machines& machines, const Degrees& prefill,
                                  const Degrees& decode, double factor);

}  // namespace mlsysim::detail

#include <mlsysim/estimate/detail/bottleneck.hpp>

#include <array>

namespace mlsysim {
namespace {

Bottleneck longest(Time<> compute, Time<> memory, Time<> network, Time<> overhead) {
  const Time<> worst = max(max(compute, memory), max(network, overhead));
  if (worst == compute) return Bottleneck::compute;
  if (worst == memory) return Bottleneck::memory;
  return worst == network ? Bottleneck::network : Bottleneck::overhead;
}

bool fits(const MemoryBreakdown<>& m) { return m.total <= m.capacity; }

}  // namespace

Bottleneck prefill_limit(const ServingEstimate<>& n) {
  return longest(n.prefill_compute, n.prefill_memory, n.prefill_network, n.prefill_overhead);
}
Bottleneck decode_limit(const ServingEstimate<>& n) {
  return longest(n.decode_compute, n.decode_memory, n.decode_network, n.decode_overhead);
}
Bottleneck step_limit(const TrainingEstimate<>& n) {
  if (!fits(n.memory)) return Bottleneck::capacity;
  return longest(n.latency_compute, n.latency_memory, n.exposed_communication_latency,
                 max(n.latency_overhead, n.pipeline_bubble_latency));
}
Bottleneck inference_limit(const InferenceEstimate<>& n) {
  if (!fits(n.memory)) return Bottleneck::capacity;
  return longest(n.latency_compute, n.latency_memory, n.latency_network, n.latency_overhead);
}

std::span<const TimePart> parts_of_time(std::string_view metric) {
  using Four = std::array<TimePart, 4>;
  static constexpr Four first_token{{{"prefill_compute", "arithmetic"},
                                     {"prefill_memory", "memory"},
                                     {"prefill_network", "collectives"},
                                     {"prefill_overhead", "launches and dispatch"}}};
  static constexpr Four token{{{"decode_compute", "arithmetic"},
                               {"decode_memory", "memory"},
                               {"decode_network", "collectives"},
                               {"decode_overhead", "launches and dispatch"}}};
  static constexpr Four step{{{"latency_compute", "arithmetic"},
                              {"latency_memory", "memory"},
                              {"exposed_communication_latency", "collectives that nothing hides"},
                              {"latency_overhead", "launches and dispatch"}}};
  static constexpr Four pass{{{"latency_compute", "arithmetic"},
                              {"latency_memory", "memory"},
                              {"latency_network", "collectives"},
                              {"latency_overhead", "launches and dispatch"}}};
  if (metric == "ttft") return first_token;
  if (metric == "itl") return token;
  if (metric == "step_latency") return step;
  if (metric == "latency") return pass;
  return {};
}

}  // namespace mlsysim

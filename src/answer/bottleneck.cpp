#include <mlsysim/answer/bottleneck.hpp>

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

}  // namespace mlsysim

#include <mlsysim/estimate/detail/bottleneck.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>

namespace mlsysim {
namespace {

struct LimitedTime {
  Bottleneck limit;
  Time<> time;
};

/// The limit of the longest time; of equal ones the first.
Bottleneck longest(std::initializer_list<LimitedTime> parts) {
  return std::max_element(parts.begin(), parts.end(),
                          [](const LimitedTime& a, const LimitedTime& b) { return a.time < b.time; })
      ->limit;
}

bool fits(const MemoryBreakdown<>& m) { return m.total <= m.capacity; }

}  // namespace

Bottleneck prefill_limit(const ServingEstimate<>& n) {
  return longest({{Bottleneck::compute, n.prefill_compute},
                  {Bottleneck::memory, n.prefill_memory},
                  {Bottleneck::network, n.prefill_network},
                  {Bottleneck::overhead, n.prefill_overhead}});
}
Bottleneck decode_limit(const ServingEstimate<>& n) {
  return longest({{Bottleneck::compute, n.decode_compute},
                  {Bottleneck::memory, n.decode_memory},
                  {Bottleneck::network, n.decode_network},
                  {Bottleneck::overhead, n.decode_overhead},
                  {Bottleneck::prompts, n.steady.decode_prompts}});
}
Bottleneck step_limit(const TrainingEstimate<>& n) {
  if (!fits(n.memory)) return Bottleneck::capacity;
  return longest({{Bottleneck::compute, n.latency_compute},
                  {Bottleneck::memory, n.latency_memory},
                  {Bottleneck::network, n.exposed_communication_latency},
                  {Bottleneck::overhead, n.latency_overhead},
                  {Bottleneck::bubble, n.pipeline_bubble_latency}});
}
Bottleneck inference_limit(const InferenceEstimate<>& n) {
  if (!fits(n.memory)) return Bottleneck::capacity;
  return longest({{Bottleneck::compute, n.latency_compute},
                  {Bottleneck::memory, n.latency_memory},
                  {Bottleneck::network, n.latency_network},
                  {Bottleneck::overhead, n.latency_overhead}});
}

std::string_view limit_words(Bottleneck limit) {
  switch (limit) {
    case Bottleneck::compute:
      return "arithmetic";
    case Bottleneck::memory:
      return "memory bandwidth";
    case Bottleneck::network:
      return "communication";
    case Bottleneck::overhead:
      return "launches and dispatch";
    case Bottleneck::prompts:
      return "prompts of other requests";
    case Bottleneck::bubble:
      return "the pipeline bubble";
    case Bottleneck::capacity:
      break;
  }
  return "memory capacity";
}

std::span<const TimePart> parts_of_time(std::string_view metric) {
  using Four = std::array<TimePart, 4>;
  using Five = std::array<TimePart, 5>;
  static constexpr Four first_token{{{"prefill_compute", "arithmetic"},
                                     {"prefill_memory", "memory"},
                                     {"prefill_network", "collectives"},
                                     {"prefill_overhead", "launches and dispatch"}}};
  static constexpr Five token{{{"decode_compute", "arithmetic"},
                               {"decode_memory", "memory"},
                               {"decode_network", "collectives"},
                               {"decode_overhead", "launches and dispatch"},
                               {"decode_prompts", "prompts of other requests"}}};
  static constexpr Five step{{{"latency_compute", "arithmetic"},
                              {"latency_memory", "memory"},
                              {"exposed_communication_latency", "collectives that nothing hides"},
                              {"latency_overhead", "launches and dispatch"},
                              {"pipeline_bubble_latency", "pipeline bubble"}}};
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

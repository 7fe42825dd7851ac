#include <mlsysim/reflect/detail/aliases.hpp>

#include <array>
#include <utility>

namespace mlsysim {

std::string_view canonical_name(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 18> aliases{
      {{"tpot", "itl"},                                                     // MLPerf, vLLM
       {"inter_token_latency", "itl"},                                      // vLLM
       {"e2e_latency", "request_latency"},                                  // vLLM
       {"token_throughput_per_accelerator", "throughput_per_accelerator"},  // of resolvers
       {"runtime", "engine"},
       {"concurrency", "batch_size"},  // of a load of the same name, as the next one
       {"burst", "batch_size"},
       {"rate", "arrival_rate"},
       {"step_latency_total", "step_latency"},  // MLSys-im, as the next ones
       {"comm_overhead", "communication_latency"},
       {"fleet_throughput", "effective_throughput"},
       {"pipeline_bubble", "pipeline_bubble_latency"},
       {"data_parallel", "dp_communication_latency"},  // parts of the communication by their parallelism
       {"tensor_parallel", "tp_communication_latency"},
       {"expert_parallel", "ep_communication_latency"},
       {"context_parallel", "cp_communication_latency"},
       {"pipeline_parallel", "pp_communication_latency"},
       {"host_transfer", "host_transfer_latency"}}};
  for (const auto& [alias, canonical] : aliases)
    if (alias == name) return canonical;
  return {};
}

}  // namespace mlsysim

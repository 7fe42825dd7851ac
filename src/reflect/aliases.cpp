#include <mlsysim/reflect/detail/aliases.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace mlsysim {

namespace {

// The first one of a name is the one that help shows.
constexpr auto kAliases = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"tpot", "itl"},                                                     // MLPerf, vLLM
     {"inter_token_latency", "itl"},                                      // vLLM
     {"e2e_latency", "request_latency"},                                  // vLLM
     {"token_throughput_per_accelerator", "throughput_per_accelerator"},  // of resolvers
     {"runtime", "engine"},
     {"concurrency", "batch_size"},  // of a load of the same name, as the next one
     {"burst", "batch_size"},
     {"rate", "arrival_rate"},
     {"request_rate", "arrival_rate"},
     {"qps", "arrival_rate"},
     {"gpus", "accelerators"},  // engines, launchers and benchmarks, as the next ones
     {"num_gpus", "accelerators"},
     {"num_devices", "accelerators"},
     {"devices", "accelerators"},
     {"tp", "tp_size"},
     {"tensor_parallel_size", "tp_size"},
     {"pp", "pp_size"},
     {"pipeline_parallel_size", "pp_size"},
     {"virtual_stages", "v_stages"},
     {"ep", "ep_size"},
     {"attention_dp_size", "ep_size"},  // data-parallel attention has a rank for each part of the experts
     {"cp", "cp_size"},
     {"prefill_workers", "prefill_replicas"},  // Dynamo and AIConfigurator, as the next one
     {"decode_workers", "decode_replicas"},
     {"batch", "batch_size"},
     {"users", "batch_size"},
     {"max_num_seqs", "batch_size"},  // vLLM, as the next one
     {"quantization", "weight_format"},
     {"isl", "seq_len"},
     {"input_len", "seq_len"},
     {"input_tokens", "seq_len"},
     {"prompt_tokens", "seq_len"},
     {"osl", "output_tokens"},
     {"output_len", "output_tokens"},
     {"tokens", "training_tokens"},
     {"dtype", "precision"},
     {"sustained_share", "clock_limit"},  // of a site: what its power and cooling leave of the clock
     {"kv_cache_dtype", "kv_precision"},
     {"intra_node_bandwidth", "intra_node_bw"},
     {"inter_node_bandwidth", "fabric_bandwidth"},
     {"dispatch_mode", "expert_copies"},  // DeepEP
     {"expert_imbalance", "rank_imbalance"},
     {"decode_pass", "decode_step_time"},  // earlier names, as the next ones
     {"prompt_pass", "mixed_step_time"},
     {"memory_missing", "memory_shortfall"},
     {"resolvers", "also"},
     {"request_trace", "traffic_file"},  // an option that is no field, as the next one
     {"include_infeasible", "anything"},
     {"step_latency_total", "step_latency"},  // MLSys-im, as the next ones
     {"comm_overhead", "communication_latency"},
     {"fleet_throughput", "effective_throughput"},
     {"pipeline_bubble", "pipeline_bubble_latency"},
     {"data_parallel", "dp_communication_latency"},  // parts of the communication by their parallelism
     {"tensor_parallel", "tp_communication_latency"},
     {"expert_parallel", "ep_communication_latency"},
     {"context_parallel", "cp_communication_latency"},
     {"pipeline_parallel", "pp_communication_latency"},
     {"host_transfer", "host_transfer_latency"}});

}  // namespace

std::string_view canonical_name(std::string_view name) {
  for (const auto& [alias, canonical] : kAliases)
    if (alias == name) return canonical;
  return {};
}

std::string_view second_name(std::string_view canonical) {
  for (const auto& [alias, name] : kAliases)
    if (name == canonical) return alias;
  return {};
}

bool shows_second(std::string_view canonical) {
  constexpr auto second =
      std::to_array<std::string_view>({"intra_node_bw", "fabric_bandwidth", "expert_copies", "rank_imbalance",
                                       "v_stages", "training_tokens", "also"});
  return std::find(second.begin(), second.end(), canonical) != second.end();
}

}  // namespace mlsysim

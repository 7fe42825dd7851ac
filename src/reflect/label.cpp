#include <mlsysim/reflect/label.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mlsysim {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

constexpr Row kLabels[] = {
    // Results.
    {"ttft", "first token (TTFT)"},
    {"itl", "per token (ITL)"},
    {"p99_itl", "per token (ITL), 99 %"},
    {"p50_ttft", "first token (TTFT), median"},
    {"p90_ttft", "first token (TTFT), 90 %"},
    {"p95_ttft", "first token (TTFT), 95 %"},
    {"p99_ttft", "first token (TTFT), 99 %"},
    {"p99_request_latency", "whole request, 99 %"},
    {"ttft_ingress", "server"},
    {"ttft_queue", "queueing"},
    {"ttft_dispatch", "host"},
    {"ttft_prefill", "prefill"},
    {"ttft_egress", "delivery"},
    {"request_latency", "whole request"},
    {"token_throughput", "tokens/s"},
    {"throughput_per_accelerator", "output tokens/s per device"},
    {"token_throughput_per_accelerator", "output tokens/s per device"},
    {"request_throughput", "requests/s"},
    {"running_requests", "requests that decode together"},
    {"max_active_requests", "requests that fit in memory"},
    {"waiting_requests", "requests that wait"},
    {"capacity", "highest request rate"},
    {"overload", "requests beyond capacity"},
    {"prefill_bottleneck", "limit of prefill"},
    {"bottleneck", "limit"},
    {"prefill_mfu", "prefill MFU"},
    {"mfu", "MFU"},
    {"hfu", "HFU"},
    {"kv_cache_size", "KV cache"},
    {"replicas", "replicas"},
    {"latency", "batch time"},
    {"latency_compute", "compute time"},
    {"latency_memory", "memory time"},
    {"latency_overhead", "launches and dispatch"},
    {"throughput", "samples/s"},
    {"arithmetic_intensity", "arithmetic intensity"},
    {"evaluations", "runs of the network"},
    {"step_latency", "step time"},
    {"communication_latency", "communication"},
    {"exposed_communication_latency", "communication that nothing hides"},
    {"prefill_compute", "first token: compute"},
    {"prefill_memory", "first token: memory bandwidth"},
    {"prefill_network", "first token: communication"},
    {"prefill_overhead", "first token: launches"},
    {"decode_compute", "per token: compute"},
    {"decode_memory", "per token: memory bandwidth"},
    {"decode_network", "per token: communication"},
    {"decode_overhead", "per token: launches"},
    {"decode_prompts", "per token: prompts of others"},
    {"pipeline_bubble_latency", "pipeline bubble"},
    {"host_transfer_latency", "host transfers"},
    {"effective_throughput", "samples/s"},
    {"scaling_efficiency", "scaling efficiency"},
    {"dp_size", "data-parallel replicas"},
    {"microbatch_count", "micro-batches"},
    {"training_time", "whole run"},
    {"training_tokens", "tokens of the run"},
    {"fleet_mtbf", "mean time between failures"},
    {"goodput_ratio", "goodput"},
    {"memory_used", "memory used"},
    {"memory_capacity", "memory capacity"},
    {"memory_utilization", "memory share"},
    {"memory_shortfall", "memory shortfall"},
    {"host_memory_used", "host memory used"},
    {"host_memory_capacity", "host memory"},
    {"tco", "total cost"},
    {"capex", "hardware"},
    {"energy_cost", "power"},
    {"maintenance", "maintenance"},
    {"run_cost", "whole run"},
    {"run_energy", "energy of the run"},
    {"energy", "energy"},
    {"carbon_footprint", "carbon"},
    {"operational_carbon", "carbon of the electricity"},
    {"embodied_carbon", "carbon of manufacturing"},
    {"energy_per_batch", "energy per batch"},
    {"water", "water"},
    {"pue", "PUE"},
    {"region", "grid"},
    {"cost_per_token", "cost per token"},
    {"energy_per_token", "energy per token"},
    {"carbon_per_token", "carbon per token"},
    // Parts of the memory.
    {"weights", "weights"},
    {"kv_cache", "KV cache"},
    {"activations", "activations"},
    {"reserve", "reserved"},
    {"fragmentation", "fragmentation"},
    {"gradients", "gradients"},
    {"optimizer_states", "optimizer states"},
    {"communication_buffers", "communication buffers"},
    // Inputs.
    {"accelerators", "devices"},
    {"accelerators_per_node", "devices per node"},
    {"node_count", "nodes"},
    {"batch_size", "batch size"},
    {"seq_len", "input tokens"},
    {"output_tokens", "output tokens"},
    {"seq_len_cv", "deviation of input tokens over their mean"},
    {"seq_len_law", "distribution of input tokens"},
    {"output_tokens_cv", "deviation of output tokens over their mean"},
    {"output_tokens_law", "distribution of output tokens"},
    {"cached_prefix_len", "cached prefix tokens"},
    {"arrival_rate", "request rate"},
    {"engine", "serving engine"},
    {"execution", "eager or graphs"},
    {"draft_acceptance_rate", "accepted share of draft tokens"},
    {"nics_per_node", "network cards per node"},
    {"power_cap", "power limit per device"},
    {"weight_bits", "bits per weight"},
    {"rent", "rent per device and hour"},
    {"payment", "bought or rented"},
    {"infrastructure_multiplier", "price of everything around a device"},
    {"offload_weights", "weights in host memory"},
    {"offload_experts", "experts in host memory"},
    {"optimizer", "optimizer"},
    {"recomputation", "activation checkpointing"},
    {"lora_rank", "LoRA rank"},
    {"duration_days", "days of operation"},
    {"host_power", "power of a host"},
    {"network_power", "power of the network"},
    {"tp_size", "tensor parallelism"},
    {"pp_size", "pipeline parallelism"},
    {"ep_size", "expert parallelism"},
    {"cp_size", "context parallelism"},
    {"prefill_replicas", "prefill workers"},
    {"prefill_tp_size", "tensor parallelism of prefill workers"},
    {"prefill_ep_size", "expert parallelism of prefill workers"},
    {"decode_replicas", "decode replicas"},
    {"network_bandwidth", "bandwidth from prefill to decode"},
    {"expert_tp_size", "tensor parallelism of experts"},
    {"v_stages", "virtual pipeline stages"},
    {"zero_stage", "ZeRO stage"},
    {"gradient_accumulation_steps", "gradient accumulation"},
    {"prefill_chunk_tokens", "prefill chunk"},
    {"chunked_prefill", "chunked prefill"},
    {"weight_format", "weight format"},
    {"kv_precision", "KV cache format"},
    {"efficiency", "efficiency"},
    {"precision", "number format"},
    {"mode", "mode"},
    {"load", "load"},
    {"grid", "grid"},
    {"kwh_price", "electricity price"},
    {"unit_cost", "device price"},
    {"intra_node_bw", "bandwidth inside a node"},
    {"fabric_bandwidth", "bandwidth between nodes"},
    {"page_tokens", "tokens of a cache page"},
    {"kv_share", "memory share of weights and cache"},
    {"trainable_fraction", "trained share of the weights"},
    {"tp_overlap", "tensor-parallel overlap"},
    {"overlap_efficiency", "communication overlap"},
    {"overlap_slowdown", "slowdown under overlap"},
    {"straggler_factor", "slowest-device factor"},
    {"routing_spread", "expert imbalance"},
    {"hardware.memory.bandwidth", "memory bandwidth"},
    {"hardware.memory.capacity", "memory capacity"},
    {"hardware.power.tdp", "TDP"},
    {"hardware.dispatch_overhead", "dispatch time"},
    {"hardware.host_link.bandwidth", "host link bandwidth"},
    {"hardware.compute.dense.fp64", "fp64 compute"},
    {"hardware.compute.dense.fp32", "fp32 compute"},
    {"hardware.compute.dense.tf32", "tf32 compute"},
    {"hardware.compute.dense.bf16", "bf16 compute"},
    {"hardware.compute.dense.fp16", "fp16 and bf16 compute"},
    {"hardware.compute.dense.fp8", "fp8 compute"},
    {"hardware.compute.dense.fp6", "fp6 compute"},
    {"hardware.compute.dense.fp4", "fp4 compute"},
    {"hardware.compute.dense.int8", "int8 compute"},
    {"hardware.compute.dense.int4", "int4 compute"},
    {"hardware.compute.vector", "vector compute"},
    {"hardware.compute.units", "compute units (SMs)"},
    {"hardware.compute.matrix_rows", "rows of a matrix instruction"},
    {"hardware.compute.cache_ratio", "cache bandwidth ratio"},
    {"hardware.efficiency.memory", "achieved memory bandwidth"},
    {"hardware.efficiency.matrix", "achieved compute, large products"},
    {"hardware.efficiency.matrix_narrow", "achieved compute, narrow formats"},
    {"hardware.efficiency.vector", "achieved vector compute"},
    {"hardware.efficiency.attention", "achieved compute, attention"},
    {"hardware.efficiency.attention_backward", "achieved compute, attention backward"},
    {"hardware.efficiency.attention_stream", "achieved bandwidth, attention"},
    {"hardware.efficiency.product_stream", "achieved bandwidth, matrix products"},
    {"hardware.efficiency.product_stream_narrow", "achieved bandwidth, narrow formats"},
    {"hardware.efficiency.burst", "clock boost of a cold device"},
    {"hardware.efficiency.burst_time", "time of the clock boost"},
    {"hardware.experts.share", "achieved compute, grouped experts"},
    {"hardware.experts.stream", "achieved bandwidth, grouped experts"},
    {"hardware.experts.launch", "launch time of grouped experts"},
    {"hardware.experts.tile", "tile of grouped experts"},
    {"hardware.experts.tuned.share", "achieved compute, tuned experts"},
    {"hardware.experts.tuned.stream", "achieved bandwidth, tuned experts"},
    {"hardware.experts.tuned.launch", "launch time of tuned experts"},
    {"hardware.experts.tuned.tile", "tile of tuned experts"},
    {"hardware.kernels.launch", "kernel launch time"},
    {"hardware.kernels.issue", "host time per kernel"},
    {"links.level1.bandwidth", "link bandwidth inside a node"},
    {"links.level1.share", "achieved link bandwidth inside a node"},
    {"links.level1.peers", "devices per node link"},
    {"links.level2.bandwidth", "link bandwidth between nodes"},
    {"links.level2.share", "achieved link bandwidth between nodes"},
    {"links.level2.latency", "latency between nodes"},
    {"plan.weight_bytes", "bytes per weight"},
    {"plan.activation_bytes", "bytes per activation"},
    {"plan.kv_bytes", "bytes per KV cache element"},
    {"plan.gradient_bytes", "bytes per gradient"},
    {"plan.state_bytes", "bytes of optimizer state"},
    {"plan.dispatch_bytes", "bytes per dispatched element"},
    {"plan.dp", "data parallelism"},
    {"plan.cp", "context parallelism"},
    {"engine.host_step", "host time per engine step"},
    {"engine.host_request", "host time per request and step"},
    {"engine.sampling", "sampling time per request and step"},
    {"engine.request_time", "server time per request"},
    {"engine.lookahead", "steps scheduled ahead"},
    {"conventions.memory_reserve", "reserved memory"},
    {"conventions.memory_fragmentation", "memory fragmentation"},
    {"conventions.idle_fraction", "idle power share"},
    {"facility.pue", "PUE"},
    {"facility.wue", "WUE"},
    {"facility.carbon_intensity", "carbon intensity of the grid"},
    {"facility.embodied_carbon", "manufacturing carbon"},
};

constexpr Row kGroups[] = {
    {"hardware.kernels.", "kernel time"},
    {"hardware.tiles.", "kernel tile"},
    {"hardware.efficiency.", "efficiency"},
    {"hardware.experts.", "expert kernels"},
    {"hardware.draw.", "power draw"},
    {"hardware.compute.", "compute"},
    {"hardware.collectives.", "collectives"},
    {"links.level1.", "link inside a node"},
    {"links.level2.", "link between nodes"},
    {"links.", "links"},
    {"engine.", "engine"},
    {"conventions.", "convention"},
    {"facility.", "facility"},
    {"failures.", "failures"},
    {"workload.stacks", "layers"},
    {"workload.", "model"},
    {"plan.", "plan"},
};

const Row* find_row(std::string_view key) {
  const auto at =
      std::find_if(std::begin(kLabels), std::end(kLabels), [&](const Row& r) { return r.first == key; });
  return at == std::end(kLabels) ? nullptr : at;
}

}  // namespace

std::string short_label(std::string_view key) {
  auto label = label_of(key);
  const auto open = label.rfind('('), close = label.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return label;
  const auto name = label.substr(open + 1, close - open - 1);
  const bool percentile = key.size() > 4 && key[0] == 'p' && key[3] == '_' && has_label(key.substr(4));
  return percentile ? fmt::format("{} {}", key.substr(0, 3), name) : name;  // "p99 TTFT"
}

bool has_label(std::string_view key) { return find_row(key) != nullptr; }

std::string label_of(std::string_view key) {
  if (const auto* row = find_row(key)) return std::string(row->second);
  if (key.find_first_of(" (,") != std::string_view::npos)
    return std::string(key);  // words already, or a call
  auto dot = key.rfind('.');
  // A size of the model belongs to the part before it: "layers: dense width".
  if (key.starts_with("workload.") && dot > std::string_view("workload").size())
    dot = std::max(key.rfind('.', dot - 1), std::string_view("workload").size());
  const auto last = dot == std::string_view::npos ? key : key.substr(dot + 1);
  const auto group = std::find_if(std::begin(kGroups), std::end(kGroups),
                                  [&](const Row& g) { return key.starts_with(g.first); });
  if (group == std::end(kGroups))
    if (const auto* row = find_row(last)) return std::string(row->second);  // "memory.kv_cache"
  std::string words(last);
  for (auto& c : words)
    if (c == '_' || c == '.') c = ' ';
  return group == std::end(kGroups) ? words : std::string(group->second) + ": " + words;
}

}  // namespace mlsysim

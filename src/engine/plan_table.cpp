#include "detail/plan_table.hpp"

#include <algorithm>
#include <array>

namespace mlsysim::detail {
namespace {

constexpr auto kPlaces = std::to_array<PlanPlace>({
    {"name", ""},
    {"mode", ""},
    {"fidelity", ""},
    {"also", ""},
    {"workload", "workload"},
    {"batch_size", "workload"},
    {"seq_len", "workload"},
    {"output_tokens", "workload", kServe},
    {"cached_prefix_len", "workload", kServe},
    {"prefill_chunk_tokens", "workload", kServe},
    {"draft_model", "workload", kServe},
    {"draft_acceptance_rate", "workload", kServe, true, true},
    {"draft_tokens", "workload", kServe, true, true},
    {"hardware", "hardware"},
    {"accelerators", "hardware"},
    {"node_count", "hardware"},
    {"accelerators_per_node", "hardware"},
    {"intra_node_bw", "hardware", kTogether},
    {"fabric_bandwidth", "hardware", kTogether},
    {"congestion_factor", "hardware", kTrain},
    {"straggler_factor", "hardware", kTrain},
    {"precision", "hardware"},
    {"kv_precision", "hardware", kServe},
    {"efficiency", "hardware"},
    {"unit_cost", "hardware"},
    {"infrastructure_multiplier", "hardware"},
    {"tp_size", "parallelism", kTogether},
    {"pp_size", "parallelism", kTogether},
    {"ep_size", "parallelism", kTogether},
    {"expert_tp_size", "parallelism", kTrain},
    {"cp_size", "parallelism", kTrain},
    {"schedule", "parallelism", kTrain},
    {"v_stages", "parallelism", kTrain},
    {"microbatch_size", "parallelism", kTrain},
    {"microbatch_count", "parallelism", kTrain},
    {"gradient_accumulation_steps", "parallelism", kTrain},
    {"zero_stage", "parallelism", kTrain},
    {"shard_size", "parallelism", kTrain},
    {"backward_prefetch", "parallelism", kTrain},
    {"recomputation", "parallelism", kTrain},
    {"recomputed_share", "parallelism", kTrain},
    {"optimizer", "parallelism", kTrain},
    {"trainable_fraction", "parallelism", kTrain},
    {"gradient_precision", "parallelism", kTrain},
    {"sequence_parallel", "parallelism", kTrain},
    {"attention_kernel", "parallelism", kTrain},
    {"kernel_fusion", "parallelism", kTrain},
    {"dropout", "parallelism", kTrain},
    {"overlap_efficiency", "parallelism", kTrain},
    {"overlap_slowdown", "parallelism", kTrain},
    {"tp_overlap", "parallelism", kTrain},
    {"offload_weights", "parallelism", kTrain},
    {"offload_activations", "parallelism", kTrain},
    {"offload_states", "parallelism", kTrain},
    {"grid", "ops"},
    {"datacenter", "ops"},
    {"duration_days", "ops"},
    {"kwh_price", "ops"},
    // Plans name a fleet as their hardware, and take the defaults of the zoo.
    {"fleet", "", kAlways, false},
    {"conventions", "", kAlways, false},
});

consteval bool lists_every_field() {
  bool all = kPlaces.size() == decltype(Scenario::fields())::size;
  for_each_field<Scenario>([&](const auto& row) {
    all = all && std::any_of(kPlaces.begin(), kPlaces.end(),
                             [&](const PlanPlace& p) { return p.field == row.name; });
  });
  return all;
}
static_assert(lists_every_field(), "every field of Scenario has a place in plan files");

}  // namespace

std::span<const PlanPlace> plan_places() { return kPlaces; }

const PlanPlace& plan_place(std::string_view field) {
  return *std::find_if(kPlaces.begin(), kPlaces.end(), [&](const PlanPlace& p) { return p.field == field; });
}

}  // namespace mlsysim::detail

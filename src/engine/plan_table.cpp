#include "detail/plan_table.hpp"

#include <algorithm>
#include <array>

namespace mlsysim::detail {
namespace {

/// The fields with a place of their own. All others shape a training step and stand below `parallelism`,
/// after the degrees.
constexpr auto kStated = std::to_array<PlanPlace>({
    {"name", ""},
    {"mode", ""},
    {"fidelity", ""},
    {"also", ""},
    {"workload", "workload"},
    {"batch_size", "workload"},
    {"load", "workload", kServe},
    {"arrival_rate", "workload", kServe},
    {"seq_len", "workload"},
    {"output_tokens", "workload", kServe},
    {"seq_len_cv", "workload", kServe},
    {"seq_len_law", "workload", kServe},
    {"output_tokens_cv", "workload", kServe},
    {"output_tokens_law", "workload", kServe},
    {"training_tokens", "workload", kTrain},
    {"cached_prefix_len", "workload", kServe},
    {"prefill_chunk_tokens", "workload", kServe},
    {"chunked_prefill", "workload", kServe},
    {"engine", "workload"},
    {"towers", "workload", kServe},
    {"draft_model", "workload", kServe},
    {"draft_acceptance_rate", "workload", kServe, true, true},
    {"draft_tokens", "workload", kServe, true, true},
    {"draft_acceptance_decay", "workload", kServe, true, true},
    {"acceptance_length", "workload", kServe, true, true},
    {"hardware", "hardware"},
    {"accelerators", "hardware"},
    {"node_count", "hardware"},
    {"accelerators_per_node", "hardware"},
    {"intra_node_bw", "hardware", kTogether},
    {"fabric_bandwidth", "hardware", kTogether},
    {"nics_per_node", "hardware", kTogether},
    {"congestion_factor", "hardware", kTrain},
    {"straggler_factor", "hardware", kTrain},
    {"power_cap", "hardware"},
    {"clock_limit", "hardware"},
    {"precision", "hardware"},
    {"weight_format", "hardware"},
    {"weight_bits", "hardware", kServe},
    {"kv_precision", "hardware", kServe},
    {"memory_fraction", "hardware", kServe},
    {"kv_cache_memory", "hardware", kServe},
    {"efficiency", "hardware"},
    {"execution", "hardware"},
    {"unit_cost", "hardware"},
    {"rent", "hardware"},
    {"payment", "hardware"},
    {"infrastructure_multiplier", "hardware"},
    {"tp_size", "parallelism", kTogether},
    {"pp_size", "parallelism", kTogether},
    {"ep_size", "parallelism", kTogether},
    {"prefill_replicas", "parallelism", kServe},
    {"prefill_tp_size", "parallelism", kServe},
    {"prefill_ep_size", "parallelism", kServe},
    {"decode_replicas", "parallelism", kServe},
    {"network_bandwidth", "parallelism", kServe},
    {"collective_algorithm", "parallelism", kTogether},
    {"dispatch_precision", "parallelism", kTogether},
    {"expert_copies", "parallelism", kTogether},
    {"expert_overlap", "parallelism", kTogether},
    {"rank_imbalance", "parallelism", kTogether},
    {"offload_weights", "parallelism", kTogether},
    {"offload_experts", "parallelism", kServe},
    {"host_memory", "parallelism", kTogether},
    {"host_memory_bandwidth", "parallelism", kTogether},
    {"grid", "ops"},
    {"datacenter", "ops"},
    {"duration_days", "ops"},
    {"kwh_price", "ops"},
    {"host_power", "ops"},
    {"network_power", "ops"},
    // Plans name a fleet as their hardware, and take the defaults of the zoo.
    {"fleet", "", kAlways, false},
    {"conventions", "", kAlways, false},
});

consteval auto all_places() {
  std::array<PlanPlace, decltype(Scenario::fields())::size> out{};
  std::size_t n = 0;
  const auto stated = [](std::string_view name) {
    return std::any_of(kStated.begin(), kStated.end(), [&](const PlanPlace& p) { return p.field == name; });
  };
  const auto add_others = [&] {
    for_each_field<Scenario>([&](const auto& row) {
      if (!stated(row.name)) out[n++] = {row.name, "parallelism", kTrain};
    });
  };
  for (const PlanPlace& p : kStated) {
    if (p.section == "ops" && out[n - 1].section == "parallelism") add_others();
    out[n++] = p;
  }
  return out;
}

consteval bool states_fields_alone() {
  return std::all_of(kStated.begin(), kStated.end(), [](const PlanPlace& p) {
    bool known = false;
    for_each_field<Scenario>([&](const auto& row) { known = known || row.name == p.field; });
    return known;
  });
}
static_assert(states_fields_alone(), "a place in plan files is stated of no field of Scenario");

constexpr auto kStageScopes = all_places();

}  // namespace

std::span<const PlanPlace> plan_places() { return kStageScopes; }

const PlanPlace& plan_place(std::string_view field) {
  return *std::find_if(kStageScopes.begin(), kStageScopes.end(),
                       [&](const PlanPlace& p) { return p.field == field; });
}

}  // namespace mlsysim::detail

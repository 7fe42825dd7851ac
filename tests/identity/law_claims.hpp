#pragma once
// What each law promises about itself, as data. A law without its rows here fails the identity tests.

#include <array>
#include <string_view>

namespace identity {

/// How one output answers to the inputs: "+x" never falls, "-x" never rises, "~x" depends on x without a
/// trend. An input that is not named must not matter at all.
struct Trend {
  std::string_view law, output, inputs;
};

inline constexpr auto kTrends = std::to_array<Trend>({
    {"Roofline", "time", "+work +traffic -peak -bandwidth"},
    {"Roofline", "compute", "+work -peak"},
    {"Roofline", "memory", "+traffic -bandwidth"},
    {"RidgePoint", "intensity", "+peak -bandwidth"},
    {"AttainableRate", "rate", "+peak +bandwidth +arithmetic_intensity"},
    {"SoftRoofline", "time", "+work +traffic -peak -bandwidth"},
    {"SoftRoofline", "compute", "+work -peak"},
    {"SoftRoofline", "memory", "+traffic -bandwidth"},

    {"MatmulWork", "work", "+m +n +k +count"},
    {"MatmulWork", "traffic", "+m +n +k +count +a_bytes +b_bytes +c_bytes"},
    {"TileWave", "tiles", "+m +n +count -tile_m -tile_n"},
    {"TileWave", "waves", "+m +n +count -tile_m -tile_n -units"},
    {"TileWave", "efficiency", "~m ~n ~count ~tile_m ~tile_n ~units"},
    {"MatmulTime", "time",
     "+m +n +k +count +a_bytes +b_bytes +c_bytes ~tile_m ~tile_n ~units -peak -bandwidth +launch"},
    {"MatmulTime", "compute", "+m +n +k +count ~tile_m ~tile_n ~units -peak"},
    {"MatmulTime", "memory", "+m +n +k +count +a_bytes +b_bytes +c_bytes -bandwidth"},
    {"MatmulTime", "tile_efficiency", "~m ~n ~count ~tile_m ~tile_n ~units"},

    {"AttentionWork", "pairs", "+new_tokens +past_tokens -causal"},
    {"AttentionWork", "work", "+batch +heads +qk_dim +v_dim +new_tokens +past_tokens -causal"},
    {"AttentionWork", "qo_traffic", "+batch +heads +qk_dim +v_dim +new_tokens +io_bytes"},
    {"AttentionWork", "kv_traffic", "+batch +kv_heads +qk_dim +v_dim +new_tokens +past_tokens +kv_bytes"},
    {"WindowedAttentionPairs", "pairs", "+new_tokens +past_tokens +window"},
    {"WindowedAttentionPairs", "keys", "+new_tokens +past_tokens +window"},

    {"KvBytesPerToken", "kv_per_token", "+layers +kv_heads +head_dim +element_bytes"},
    {"KvCache", "kv_cache_size", "+layers +kv_heads +head_dim +element_bytes +seq_len +batch_size"},
    {"MlaKvCache", "kv_per_token", "+layers +kv_lora_rank +rope_head_dim +element_bytes"},
    {"MlaKvCache", "kv_cache_size",
     "+layers +kv_lora_rank +rope_head_dim +element_bytes +seq_len +batch_size"},
    {"PagedKv", "pages", "+seq_len -page_tokens"},
    {"PagedKv", "reserved", "+kv_per_token +seq_len +batch_size ~page_tokens"},
    {"PagedKv", "waste", "~seq_len ~page_tokens"},

    {"PointToPoint", "time", "+message -bandwidth +alpha"},
    {"PointToPoint", "startup", "+alpha"},
    {"PointToPoint", "transfer", "+message -bandwidth"},
    {"RingAllGather", "time", "+message +ranks -bandwidth +alpha"},
    {"RingAllGather", "startup", "+ranks +alpha"},
    {"RingAllGather", "transfer", "+message +ranks -bandwidth"},
    {"RingReduceScatter", "time", "+message +ranks -bandwidth +alpha"},
    {"RingReduceScatter", "startup", "+ranks +alpha"},
    {"RingReduceScatter", "transfer", "+message +ranks -bandwidth"},
    {"RingAllReduce", "time", "+message +ranks -bandwidth +alpha"},
    {"RingAllReduce", "startup", "+ranks +alpha"},
    {"RingAllReduce", "transfer", "+message +ranks -bandwidth"},
    {"TreeAllReduce", "time", "+message +ranks -bandwidth +alpha"},
    {"TreeAllReduce", "startup", "+ranks +alpha"},
    {"TreeAllReduce", "transfer", "+message +ranks -bandwidth"},
    {"DoubleBinaryTreeAllReduce", "time",
     "+message +ranks -bandwidth +alpha +latency_factor +bandwidth_factor"},
    {"DoubleBinaryTreeAllReduce", "startup", "+ranks +alpha +latency_factor"},
    {"DoubleBinaryTreeAllReduce", "transfer", "+message +ranks -bandwidth +bandwidth_factor"},
    {"AllToAll", "time", "+message +ranks -bandwidth +alpha"},
    {"AllToAll", "startup", "+ranks +alpha"},
    {"AllToAll", "transfer", "+message +ranks -bandwidth"},
    {"HierarchicalAllReduce", "time",
     "+message ~ranks_per_node +nodes -bandwidth_intra -bandwidth_inter +alpha_intra +alpha_inter"},
    {"HierarchicalAllReduce", "intra", "+message +ranks_per_node -bandwidth_intra +alpha_intra"},
    {"HierarchicalAllReduce", "inter", "+message -ranks_per_node +nodes -bandwidth_inter +alpha_inter"},
    {"BusBandwidth", "algorithm", "+message -time"},
    {"BusBandwidth", "bus", "+message +ranks +passes -time"},

    {"BubbleOverhead", "bubble_overhead", "+pp_size -microbatch_count -v_stages"},
    {"BubbleFraction", "bubble_fraction", "+pp_size -microbatch_count -v_stages"},

    {"TransformerActivations", "none",
     "+seq_len +batch_size +hidden +heads +element_bytes -tp_size -sequence_parallel"},
    {"TransformerActivations", "selective",
     "+seq_len +batch_size +hidden +element_bytes -tp_size -sequence_parallel"},
    {"TransformerActivations", "full",
     "+seq_len +batch_size +hidden +element_bytes -tp_size -sequence_parallel"},
    {"TrainingStateBytes", "weights", "+params +weight_bytes -dp_size -zero_stage"},
    {"TrainingStateBytes", "gradients", "+params +gradient_bytes -dp_size -zero_stage"},
    {"TrainingStateBytes", "optimizer_states", "+params +optimizer_bytes -dp_size -zero_stage"},
    {"TrainingStateBytes", "total",
     "+params +weight_bytes +gradient_bytes +optimizer_bytes -dp_size -zero_stage"},
    {"MixedPrecisionAdam", "weights", "+params"},
    {"MixedPrecisionAdam", "gradients", "+params"},
    {"MixedPrecisionAdam", "optimizer_states", "+params"},
    {"MixedPrecisionAdam", "total", "+params"},

    {"TrainingWork", "work", "+params +tokens"},
    {"DecodeWork", "work", "+params +tokens"},
    {"ChinchillaOptimal", "params", "+work -tokens_per_param"},
    {"ChinchillaOptimal", "tokens", "+work +tokens_per_param"},
    {"TrainingTime", "time", "+work -devices -peak -mfu"},
    {"ModelFlopsUtilisation", "mfu", "+work -devices -peak -time"},
    {"HardwareFlopsUtilisation", "hfu", "+work +recomputed -devices -peak -time"},

    {"ExpectedAcceptedTokens", "expected_tokens", "+draft_acceptance_rate +draft_tokens"},
    {"SpeculativeTokenTime", "expected_tokens", "+draft_acceptance_rate +draft_tokens"},
    {"SpeculativeTokenTime", "itl", "+draft_time +verify_time -draft_acceptance_rate ~draft_tokens"},

    {"EnergyProportional", "power", "+tdp +utilization +idle_fraction"},
    {"EnergyProportional", "energy", "+tdp +utilization +time +idle_fraction"},
    {"EnergyPerOperation", "energy", "+work +traffic +energy_per_work +energy_per_data +static_power +time"},
    {"EnergyPerOperation", "compute_energy", "+work +energy_per_work"},
    {"EnergyPerOperation", "memory_energy", "+traffic +energy_per_data"},
    {"EnergyPerOperation", "static_energy", "+static_power +time"},

    {"FacilityEnergy", "facility_energy", "+energy +pue"},
    {"OperationalCarbon", "operational", "+facility_energy +carbon_intensity"},
    {"EmbodiedCarbon", "embodied", "+device_carbon +devices +used_time -lifetime"},
    {"CarbonFootprint", "operational", "+energy +pue +carbon_intensity"},
    {"CarbonFootprint", "embodied", "+device_carbon +devices +used_time -lifetime"},
    {"CarbonFootprint", "carbon_footprint",
     "+energy +pue +carbon_intensity +device_carbon +devices +used_time -lifetime"},
    {"WaterUse", "water", "+energy +wue"},

    {"CapitalCost", "purchase", "+unit_cost +devices +infrastructure"},
    {"CapitalCost", "capital", "+unit_cost +devices +used_time -lifetime +infrastructure"},
    {"EnergyCost", "energy_cost", "+facility_energy +energy_price"},
    {"MaintenanceCost", "maintenance", "+purchase +used_time +annual_maintenance"},
    {"TotalCost", "capital", "+unit_cost +devices +used_time -lifetime +infrastructure"},
    {"TotalCost", "energy_cost", "+facility_energy +energy_price"},
    {"TotalCost", "maintenance", "+unit_cost +devices +used_time +infrastructure +annual_maintenance"},
    {"TotalCost", "tco",
     "+unit_cost +devices +used_time -lifetime +facility_energy +energy_price +infrastructure "
     "+annual_maintenance"},
    {"CostPerToken", "cost_per_token", "+cost_rate -token_throughput -utilization"},

    {"ClusterMtbf", "mtbf", "+part_mtbf -parts"},
    {"FailureProbability", "expected", "+time -mtbf"},
    {"FailureProbability", "probability", "+time -mtbf"},
    {"YoungInterval", "interval", "+checkpoint_time +mtbf"},
    {"CheckpointGoodput", "goodput", "~interval -checkpoint_time -restart_time +mtbf"},

    {"TextbookPass", "latency",
     "+work +weights +batch_size -efficiency +activation_share +layers +passes -peak -bandwidth +layer_overhead "
     "+dispatch"},
    {"TextbookPass", "latency_compute", "+work +batch_size -efficiency -peak"},
    {"TextbookPass", "latency_memory", "+weights +batch_size +activation_share -bandwidth"},
    {"TextbookPass", "latency_overhead", "+layers +passes +layer_overhead +dispatch"},
    {"TextbookPass", "traffic", "+weights +batch_size +activation_share"},
    {"TextbookPrefillWork", "work", "+params +layers +width +new_tokens +context +batch_size"},
    {"TextbookDecode", "itl", "+weights +kv_cache -bandwidth +layer_overhead +layers"},
});

/// A law with a constant that carries a unit: it does not scale with that base dimension, and this is the
/// constant.
struct HasConstant {
  std::string_view law, base, constant;
};

inline constexpr auto kConstants = std::to_array<HasConstant>({
    {"MatmulWork", "work", "2 FLOP per multiply-add"},
    {"MatmulTime", "work", "2 FLOP per multiply-add"},
    {"AttentionWork", "work", "2 FLOP per multiply-add"},
    {"KvBytesPerToken", "token", "a count of tokens becomes tokens"},
    {"MlaKvCache", "token", "a count of tokens becomes tokens"},
    {"PagedKv", "token", "a count of tokens becomes tokens"},
    {"MixedPrecisionAdam", "data", "2 and 12 B/param"},
    {"MixedPrecisionAdam", "param", "2 and 12 B/param"},
    {"TrainingWork", "work", "6 FLOP/param/token"},
    {"TrainingWork", "param", "6 FLOP/param/token"},
    {"TrainingWork", "token", "6 FLOP/param/token"},
    {"TextbookPrefillWork", "work", "2 FLOP per multiply-add"},
    {"TextbookPrefillWork", "param", "2 FLOP/param/token, 4 FLOP for each score"},
    {"DecodeWork", "work", "2 FLOP/param/token"},
    {"DecodeWork", "param", "2 FLOP/param/token"},
    {"DecodeWork", "token", "2 FLOP/param/token"},
    {"ChinchillaOptimal", "work", "6 FLOP/param/token"},
    {"ChinchillaOptimal", "param", "6 FLOP/param/token"},
    {"ChinchillaOptimal", "token", "6 FLOP/param/token"},
    {"MaintenanceCost", "time", "a share per year of 365 days"},
    {"TotalCost", "time", "a share per year of 365 days"},
});

}  // namespace identity

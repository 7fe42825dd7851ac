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

/// Outputs that are differences: they may be negative.
struct Signed {
  std::string_view law, output;
};
inline constexpr auto kSigned = std::to_array<Signed>({{"CompilePayback", "saved"}});

inline constexpr auto kTrends = std::to_array<Trend>({
    {"Roofline", "time", "+work +traffic -peak -bandwidth"},
    {"Roofline", "compute", "+work -peak"},
    {"Roofline", "memory", "+traffic -bandwidth"},
    {"RidgePoint", "intensity", "+peak -bandwidth"},
    {"AttainableRate", "rate", "+peak +bandwidth +arithmetic_intensity"},
    {"SoftRoofline", "time", "+work +traffic -peak -bandwidth"},
    {"SoftRoofline", "compute", "+work -peak"},
    {"SoftRoofline", "memory", "+traffic -bandwidth"},
    {"SmallKernelTime", "time",
     "+read +written ~row ~l2_cache ~rows ~units +floor ~start +switched -share -cached -bandwidth -clock"},
    {"SmallKernelTime", "memory", "+read +written ~row ~l2_cache ~rows ~units -share -cached -bandwidth"},
    {"ConvolutionTime", "time",
     "+m ~n ~k ~groups ~tile_m ~tile_n ~group_n ~depth_step ~units +floor +wave +split +split_depth -rate "
     "+traffic -bandwidth -clock"},
    {"ConvolutionTime", "compute",
     "+m ~n ~k ~groups ~tile_m ~tile_n ~group_n ~depth_step ~units +wave +split +split_depth -rate -clock"},
    {"ConvolutionTime", "memory", "+traffic -bandwidth"},
    {"RecurrenceTime", "time",
     "+launches +rows +chunks +blocks -units +work +aside +in_order +states -peak -bandwidth +launch +row "
     "+step"},
    {"RecurrenceTime", "compute", "+rows +chunks +blocks -units +work -peak +row +step"},
    {"RecurrenceTime", "memory", "+aside +in_order +states -bandwidth"},
    {"RecurrenceTime", "overhead", "+launches +launch"},

    {"MatmulWork", "work", "+m +n +k +count"},
    {"MatmulWork", "traffic", "+m +n +k +count +a_bytes +b_bytes +c_bytes"},
    {"TileWave", "tiles", "+m +n +count -tile_m -tile_n"},
    {"TileWave", "waves", "+m +n +count -tile_m -tile_n -units"},
    {"TileWave", "efficiency", "~m ~n ~count ~tile_m ~tile_n ~units"},
    {"BurstRate", "rate", "-work +peak +burst +burst_time"},
    {"MatmulTime", "time",
     "+m +n +k +count +traffic ~tile_m ~tile_n ~units +split_depth -peak -bandwidth +launch +wave +split"},
    {"MatmulTime", "compute", "+m +n +k +count ~tile_m ~tile_n ~units +split_depth -peak +wave +split"},
    {"MatmulTime", "memory", "+traffic -bandwidth"},
    {"MatmulTime", "tile_efficiency", "~m ~n ~count ~tile_m ~tile_n ~units"},

    {"AttentionWork", "pairs", "+new_tokens +past_tokens -causal"},
    {"AttentionWork", "work", "+batch +heads +qk_dim +v_dim +new_tokens +past_tokens -causal"},
    {"AttentionWork", "qo_traffic", "+batch +heads +qk_dim +v_dim +new_tokens +io_bytes"},
    {"AttentionWork", "kv_traffic", "+batch +kv_heads +qk_dim +v_dim +new_tokens +past_tokens +kv_bytes"},
    {"WindowedAttentionPairs", "pairs", "+new_tokens +past_tokens +window"},
    {"WindowedAttentionPairs", "keys", "+new_tokens +past_tokens +window"},
    {"ChunkedAttentionPairs", "pairs", "+new_tokens ~past_tokens ~chunk"},
    {"ChunkedAttentionPairs", "keys", "+new_tokens ~past_tokens ~chunk"},

    // One query takes whole steps, of several the mean one ends within its last: two may be done sooner than
    // one.
    {"AttentionTime", "time",
     "+copies ~group ~new_tokens +keys +reach +no_split_kv +pair_work +pair_softmax +traffic ~tile "
     "~block_tile ~units "
     "-peak -bandwidth +launch "
     "+block +block_rows +least_step +split"},
    {"AttentionTime", "compute",
     "+copies ~group ~new_tokens +keys +reach +no_split_kv +pair_work +pair_softmax ~tile ~block_tile ~units "
     "-peak +block "
     "+block_rows +least_step +split"},
    {"AttentionTime", "memory", "+traffic -bandwidth"},

    {"EagerStep", "latency", "+kernels +dispatch +device +syncs +sync"},
    {"EagerStep", "host", "+kernels +dispatch"},
    {"CompiledStep", "latency",
     "+breaks +kernels +graph_launches +launch +guard +resume +between +dispatch +device +boundary "
     "-bandwidth "
     "+sync_share +sync +tensors +tensor"},
    {"CompiledStep", "host",
     "+breaks +kernels +graph_launches +launch +guard +resume +between +dispatch +tensors +tensor"},
    {"CompiledStep", "device", "+breaks +launch +guard +resume +device +boundary -bandwidth +sync_share"},
    {"CompileTime", "compile_time",
     "+calls +lowered +graphs +convolutions ~cached +process +graph +trace +lower +convolution +warm_graph"},
    {"CompilePayback", "saved", "+eager -compiled -compile_time -recompiles"},
    {"CompilePayback", "pays", "+eager -compiled -compile_time -recompiles"},
    {"CompilePayback", "steps", "~eager ~compiled ~compile_time ~recompiles"},

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

    {"ProtocolRing", "time",
     "+message ~ranks ~passes -bandwidth +launch +hop +sync -low_latency_share -share -copy_ratio"},
    {"SwitchAllReduce", "time", "+message ~ranks -bandwidth +start -share"},
    {"DirectAllReduce", "time",
     "+message +ranks -bandwidth +start +hop +second -share ~message_rows +one_shot_rows"},
    {"ProtocolAllToAll", "time",
     "+message ~ranks -bandwidth +launch +hop +sync -pair_share -share -copy_ratio"},

    {"FlightLimitedRate", "rate", "+bandwidth ~in_flight ~latency"},
    {"LeveledRing", "time", "+message +ranks +passes +start +round -narrowest"},
    {"LeveledTree", "time", "+message +inner +nodes +start +climb -link -way +bandwidth_factor"},
    {"LeveledSwitch", "time", "+message ~inner ~nodes +crossings +start +climb -link -way"},
    {"TorusAllToAll", "time", "+message +ranks -ways -bandwidth"},

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
    {"DecayingAcceptance", "expected_tokens", "+draft_acceptance_rate +draft_acceptance_decay +draft_tokens"},
    {"SpeculativeTokenTime", "expected_tokens", "+draft_acceptance_rate +draft_tokens"},
    {"SpeculativeTokenTime", "itl", "+draft_time +verify_time -draft_acceptance_rate ~draft_tokens"},

    {"EnergyProportional", "power", "+tdp +utilization +idle_fraction"},
    {"EnergyProportional", "energy", "+tdp +utilization +time +idle_fraction"},
    {"ClosPower", "power", "+ports -radix +port_power"},
    {"ClosPower", "tiers", "+ports -radix"},
    {"EnergyPerOperation", "energy", "+work +traffic +energy_per_work +energy_per_data +static_power +time"},
    {"EnergyPerOperation", "compute_energy", "+work +energy_per_work"},
    {"EnergyPerOperation", "memory_energy", "+traffic +energy_per_data"},
    {"EnergyPerOperation", "static_energy", "+static_power +time"},
    {"CappedClock", "clock",
     "~clocked ~fixed -work_load -traffic_load -tdp +power_cap +clock_limit -idle_fraction -memory_share "
     "+knee"},
    {"CappedClock", "slowed",
     "+clocked +fixed +work_load +traffic_load +tdp -power_cap -clock_limit +idle_fraction +memory_share "
     "+knee"},
    {"CappedClock", "load",
     "+clocked +fixed +work_load +traffic_load -tdp +power_cap +clock_limit -idle_fraction +memory_share "
     "+knee"},
    {"OperatorLoad", "loaded",
     "+work +traffic -peak -bandwidth +work_draw +traffic_draw +resident +resident_draw"},

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
     "+work +weights +batch_size -efficiency +activation_share +layers +passes -peak -bandwidth "
     "+layer_overhead "
     "+dispatch +gathered"},
    {"TextbookPass", "latency_compute", "+work +batch_size -efficiency -peak"},
    {"TextbookPass", "latency_memory", "+weights +batch_size +activation_share +gathered -bandwidth"},
    {"TextbookPass", "latency_overhead", "+layers +passes +layer_overhead +dispatch"},
    {"TextbookPass", "traffic", "+weights +batch_size +activation_share +gathered"},
    {"TextbookPrefillWork", "work", "+params +layers +width +new_tokens +context +batch_size"},
    {"TextbookDecode", "itl", "+weights +kv_cache -bandwidth +layer_overhead +layers"},

    // Where an input goes in twice and ranges over it are wide, it is declared without its trend.
    {"ErlangC", "wait_probability", "-servers +load"},
    {"QueueWait", "wait_probability", "~servers +utilization"},
    {"QueueWait", "wait_mean", "~servers +utilization +service_time +arrival_cv +service_cv"},
    {"QueueWait", "wait_given", "-servers +utilization +service_time +arrival_cv +service_cv"},
    {"QueueWait", "queue_length", "~servers +utilization +arrival_cv +service_cv"},
    {"WaitQuantile", "wait", "+wait_probability +wait_given +quantile"},
    {"InFlightStep", "itl", "+decode_step_time +added +prompts_per_step"},
    {"PassUnderWay", "around", "~step ~fixed +prompt ~load ~mean_pass +variation"},
    {"InFlightFirstToken", "ttft", "+around +own_pass +prompt +crowd +busy +late"},
    {"PromptQueue", "wait", "+pass_time ~together +share"},
    {"TokenTimeSpread", "deviation",
     "+itl -decode_step_time +by_requests -prompts_per_step -steps -running +variation"},
    {"TokenTimeQuantile", "time", "~mean ~deviation +z"},
    {"BurstFirstToken", "ttft", "+prompt +requests +together"},
    {"ResponseTail", "exceed", "-time +wait_probability +wait_given +service_time ~service_cv"},

    {"ChinchillaLoss", "loss",
     "-params -tokens +irreducible +params_coefficient +tokens_coefficient -params_exponent "
     "-tokens_exponent"},
    {"ChinchillaLoss", "params_loss", "-params +params_coefficient -params_exponent"},
    {"ChinchillaLoss", "tokens_loss", "-tokens +tokens_coefficient -tokens_exponent"},
    {"ChinchillaAllocation", "params",
     "+work +params_coefficient -tokens_coefficient ~params_exponent ~tokens_exponent"},
    {"ChinchillaAllocation", "tokens",
     "+work -params_coefficient +tokens_coefficient ~params_exponent ~tokens_exponent"},
    {"LifetimeWork", "work", "+params +tokens +served_tokens"},

    {"PagedTokens", "mean", "~scale +max_tokens"},
    {"PagedTokens", "held", "+scale ~page_tokens +max_tokens"},
    {"BatchedDecodeRate", "token_throughput", "+batch_size -weights -kv_per_request +bandwidth"},
    {"BatchedDecodeRate", "itl", "+batch_size +weights +kv_per_request -bandwidth"},
    {"WeightStreamLayer", "time",
     "+layer_weights -bandwidth +work_per_sample +batch_size -peak -efficiency +dispatch"},
    {"WeightStreamLayer", "injection", "+layer_weights -bandwidth"},
    {"WeightStreamLayer", "compute", "+work_per_sample +batch_size -peak -efficiency +dispatch"},
    {"WeightStreamLayer", "balance_batch", "+layer_weights -bandwidth -work_per_sample +peak +efficiency"},

    {"ClosBisection", "bisection", "+bandwidth +nodes -oversubscription"},
    {"TorusBisection", "bisection", "+bandwidth +nodes +dimensions +rows_cut"},
    {"TorusBisection", "hops", "+nodes ~dimensions"},
    {"DragonflyBisection", "bisection", "+bandwidth +nodes"},
    {"DragonflyBisection", "groups", "+nodes"},
    {"CachedSupply", "supply", "+cache_bandwidth +remote_bandwidth +host_bandwidth ~hit_ratio"},
    {"InputStall", "prepare", "+batch_size +sample_size -worker_rate -workers"},
    {"InputStall", "elapsed", "+batch_size +sample_size -worker_rate -workers +step -overlap"},
    {"InputStall", "utilization", "-batch_size -sample_size +worker_rate +workers +step +overlap"},
    {"CompressedWeights", "weights", "+params +bits -sparsity +index_bits +scale_bits -group"},
    {"ExpertLoad", "touched", "~experts +top_k +tokens"},
    {"ExpertLoad", "imbalance", "~experts -top_k -tokens"},
    {"TouchedExperts", "share", "-experts +top_k +tokens -spread"},
    {"DistinctParts", "visited", "~experts +top_k ~groups ~limited_groups ~parts"},
    {"FullestRank", "imbalance", "+experts -top_k -tokens +ranks"},

    {"NodeMtbf", "mtbf", "-accelerators +accelerator_mtbf -nics +nic_mtbf -psus +psu_mtbf -other_rate"},
    {"DalyInterval", "interval", "~checkpoint_time ~mtbf"},
    {"FirstOrderGoodput", "goodput", "~interval -checkpoint_time -restart_time +mtbf -lost_share"},
    {"SpareCoverage", "in_repair", "+nodes -node_mtbf +repair_time"},
    {"SpareCoverage", "coverage", "~nodes ~node_mtbf ~repair_time +spares"},
    {"CheckpointCost", "write_time", "+size -writers -writer_bandwidth -shared_limit"},
    {"CheckpointCost", "stall", "+size -writers -writer_bandwidth -shared_limit +snapshot -asynchronous"},
    {"CheckpointCost", "overhead",
     "+size -writers -writer_bandwidth -shared_limit +snapshot -asynchronous -interval"},

    {"RequiredRates", "required_flops", "+work -time -efficiency"},
    {"RequiredRates", "required_bw", "+traffic -time -memory_share"},
    {"RequiredRates", "balance", "+work -traffic -efficiency +memory_share"},
    {"DataParallelRoofline", "time", "+params +tokens +element_bytes +devices -peak -efficiency -bandwidth"},
    {"DataParallelRoofline", "compute", "+params +tokens -peak -efficiency"},
    {"DataParallelRoofline", "network", "+params +element_bytes +devices -bandwidth"},
    {"DataParallelRoofline", "ridge_tokens", "+element_bytes +devices +peak +efficiency -bandwidth"},
    {"GaussianPrivacy", "mu", "+sampling_rate +steps -noise_multiplier"},
});

/// A law with a constant that carries a unit: it does not scale with that base dimension, and this is the
/// constant.
struct HasConstant {
  std::string_view law, base, constant;
};

inline constexpr auto kConstants = std::to_array<HasConstant>({
    {"MatmulWork", "work", "2 FLOP per multiply-add"},
    {"MatmulTime", "work", "2 FLOP per multiply-add"},
    {"ConvolutionTime", "work", "2 FLOP per multiply-add"},
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
    {"ChinchillaLoss", "param", "a fitted power of the number of parameters"},
    {"ChinchillaLoss", "token", "a fitted power of the number of tokens"},
    {"ChinchillaAllocation", "work", "6 FLOP/param/token, and fitted powers"},
    {"ChinchillaAllocation", "param", "6 FLOP/param/token, and fitted powers"},
    {"ChinchillaAllocation", "token", "6 FLOP/param/token, and fitted powers"},
    {"LifetimeWork", "work", "2 and 6 FLOP/param/token"},
    {"LifetimeWork", "param", "2 and 6 FLOP/param/token"},
    {"LifetimeWork", "token", "2 and 6 FLOP/param/token"},
    {"BatchedDecodeRate", "token", "one token per request and step"},
    {"CompressedWeights", "data", "1/8 B per bit and parameter"},
    {"CompressedWeights", "param", "1/8 B per bit and parameter"},
    {"DataParallelRoofline", "work", "6 FLOP/param/token"},
    {"DataParallelRoofline", "param", "6 FLOP/param/token, one gradient per parameter"},
    {"DataParallelRoofline", "token", "6 FLOP/param/token"},
});

}  // namespace identity

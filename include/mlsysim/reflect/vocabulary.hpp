#pragma once
/// The vocabulary: every name that results and inputs share, written once with its type, unit and meaning.
///
/// A result field links to an input with its key. A value that two resolvers share gets a key here, with the
/// range that nearly all of them admit. A value of one struct uses `field(&S::x, "x", "unit", "meaning")`.
/// Users may open the namespace `mlsysim::key` in their own headers to add keys.
/// Example: `key::itl` is "itl", a time shown in ms, "inter-token latency".

#include <mlsysim/fwd.hpp>
#include <mlsysim/reflect/key.hpp>

#include <string>

namespace mlsysim::key {

// Objects
inline constexpr Key<const HardwareNode*> hardware{"hardware", "", "one accelerator or processor"};
inline constexpr Key<const Workload*> workload{"workload", "", "the model that is trained or served"};
inline constexpr Key<const Node*> node{"node", "", "a host with its accelerators"};
inline constexpr Key<const NetworkFabric*> fabric{"fabric", "", "the network between nodes"};
inline constexpr Key<const Fleet*> fleet{"fleet", "", "nodes joined by a fabric"};
inline constexpr Key<const GridProfile*> grid{"grid", "", "the electricity that feeds the fleet"};
inline constexpr Key<const Datacenter*> datacenter{"datacenter", "", "the facility that houses the fleet"};
inline constexpr Key<const ServingEngine*> engine{"engine", "",
                                                  "software that serves: scheduling and host time"};
inline constexpr Key<const Zoo*> zoo{"zoo", "", "all loaded hardware, workloads and systems"};
inline constexpr Key<const HardwareNode*> decode_hardware{"decode_hardware", "",
                                                          "separate accelerator that decodes"};
inline constexpr Key<const Workload*> draft_model{"draft_model", "", "small model that proposes tokens"};

// How the work is done
inline constexpr Key<Fidelity> fidelity{"fidelity", "",
                                        "textbook (totals) or operator (each operator priced)"};
inline constexpr Key<Precision> precision{"precision", "", "number format of weights and matrix arithmetic"};
inline constexpr Key<Precision> kv_precision{"kv_precision", "", "number format of the KV cache"};
inline constexpr Key<WeightFormat> weight_format{"weight_format", "",
                                                 "how weights are stored, apart from the arithmetic"};
inline constexpr Key<OptimizerKind> optimizer{"optimizer", "", "optimizer whose states are held"};
inline constexpr Key<Recomputation> recomputation{"recomputation", "",
                                                  "activations recomputed in the backward pass"};
inline constexpr Key<MoneyRate<>> rent{"rent", "USD/h", "rent of one device, host and electricity included"};
inline constexpr Key<RequestRate<>> arrival_rate{"arrival_rate", "request/s",
                                                 "requests that arrive, Poisson"};
inline constexpr auto batch_size =
    Key<double>{"batch_size", "", "sequences or samples processed together (global)"}.at_least(1).counted();
inline constexpr auto seq_len = Key<double>{"seq_len", "", "tokens per sequence"}.at_least(1).counted();
inline constexpr Key<double> input_tokens{"input_tokens", "", "prompt tokens per request"};
inline constexpr Key<double> output_tokens{"output_tokens", "", "generated tokens per request"};
inline constexpr auto cached_prefix_len =
    Key<double>{"cached_prefix_len", "", "prompt tokens whose KV is already cached"}.non_negative();
inline constexpr Key<double> prefill_chunk_tokens{"prefill_chunk_tokens", "",
                                                  "prompt tokens per prefill chunk"};
inline constexpr auto draft_acceptance_rate =
    Key<double>{"draft_acceptance_rate", "", "probability that a drafted token is kept"}.within(0, 1);
inline constexpr auto draft_tokens =
    Key<double>{"draft_tokens", "", "tokens drafted per verification"}.within(0, 1024).counted();
inline constexpr auto efficiency =
    Key<double>{"efficiency", "", "share of peak arithmetic rate that is sustained"}.within(1e-9, 1);
inline constexpr auto tp_size = Key<double>{"tp_size", "", "tensor-parallel degree"}.at_least(1).counted();
inline constexpr auto pp_size = Key<double>{"pp_size", "", "pipeline-parallel degree"}.at_least(1).counted();
inline constexpr auto dp_size = Key<double>{"dp_size", "", "data-parallel degree"}.at_least(1).counted();
inline constexpr auto expert_tp_size =
    Key<double>{"expert_tp_size", "", "devices that share one routed expert"}.at_least(1).counted();
inline constexpr auto ep_size = Key<double>{"ep_size", "", "expert-parallel degree"}.at_least(1).counted();
inline constexpr auto cp_size = Key<double>{"cp_size", "", "context-parallel degree"}.at_least(1).counted();
inline constexpr auto v_stages =
    Key<double>{"v_stages", "", "virtual pipeline stages per device (interleaving)"}.at_least(1).counted();
inline constexpr auto microbatch_count =
    Key<double>{"microbatch_count", "", "micro-batches per pipeline and step"}.at_least(1).counted();
inline constexpr Key<double> gradient_accumulation_steps{
    "gradient_accumulation_steps", "", "passes whose gradients are summed before one update"};
inline constexpr auto zero_stage =
    Key<double>{"zero_stage", "", "ZeRO sharding over data parallelism: 0, 1, 2 or 3"}.within(0, 3).counted();
inline constexpr Key<bool> sequence_parallel{"sequence_parallel", "",
                                             "activations outside matrices split over TP"};
inline constexpr Key<bool> is_training{"is_training", "", "a training step instead of inference"};
inline constexpr auto duration_days =
    Key<double>{"duration_days", "", "days of operation (24 h each)"}.positive();

inline constexpr auto microbatch_size =
    Key<double>{"microbatch_size", "", "sequences of one micro-batch, of each expert-parallel rank"}
        .at_least(1)
        .counted();
inline constexpr auto tp_overlap =
    Key<double>{"tp_overlap", "", "share of the tensor-parallel traffic beside its products"}.within(0, 1);
inline constexpr Key<Precision> baseline_precision{"baseline_precision", "", "format before compression"};
inline constexpr auto mean_request_tokens =
    Key<double>{"mean_request_tokens", "", "mean tokens of a request"}.at_least(1);
inline constexpr auto service_latency =
    Key<Time<>>{"service_latency", "ms", "mean time of one service, without waiting"}.positive();

// Failures and checkpoints
inline constexpr auto fleet_mtbf =
    Key<Time<>>{"fleet_mtbf", "h", "mean time between failures of the fleet"}.positive();
inline constexpr auto checkpoint_interval =
    Key<Time<>>{"checkpoint_interval", "h", "work between two checkpoints"}.positive();

// Requirements
inline constexpr auto target_latency =
    Key<Time<>>{"target_latency", "ms", "latency that must be met"}.positive();
inline constexpr Key<ComputeRate<>> min_rate{"min_rate", "TFLOP/s", "least peak arithmetic rate"};

// Figures of a device or a law
inline constexpr auto work = Key<Work<>>{"work", "GFLOP", "arithmetic work"}.non_negative();
inline constexpr auto traffic = Key<Data<>>{"traffic", "GB", "bytes moved to or from memory"}.non_negative();
inline constexpr auto peak = Key<ComputeRate<>>{"peak", "TFLOP/s", "peak arithmetic rate"}.positive();
inline constexpr auto bandwidth = Key<Bandwidth<>>{"bandwidth", "GB/s", "one-way transfer rate"}.positive();
inline constexpr auto alpha = Key<Time<>>{"alpha", "us", "start-up latency of one message"}.non_negative();
inline constexpr auto message =
    Key<Data<>>{"message", "MB", "payload per rank of a collective"}.non_negative();
inline constexpr auto ranks = Key<double>{"ranks", "", "participants of a collective"}.at_least(1).counted();
inline constexpr auto weights = Key<Data<>>{"weights", "GB", "model weights"}.non_negative();
inline constexpr Key<Data<>> capacity{"capacity", "GB", "memory capacity"};
inline constexpr Key<Bandwidth<>> hbm{"hbm", "GB/s", "bandwidth of device memory"};
inline constexpr Key<Bandwidth<>> host{"host", "GB/s", "bandwidth of the host link, one way"};
inline constexpr Key<Data<>> spill{"spill", "GB", "bytes that do not fit in device memory"};
inline constexpr Key<Time<>> time{"time", "ms", "elapsed time"};
inline constexpr Key<Energy<>> energy{"energy", "J", "electrical energy"};
inline constexpr Key<Power<>> power{"power", "W", "electrical power"};

// Shapes of operators and models
inline constexpr auto layers = Key<double>{"layers", "", "transformer blocks"}.non_negative().counted();
inline constexpr auto hidden =
    Key<double>{"hidden", "", "width of the residual stream"}.non_negative().counted();
inline constexpr auto heads = Key<double>{"heads", "", "query heads"}.non_negative().counted();
inline constexpr auto kv_heads = Key<double>{"kv_heads", "", "key and value heads"}.non_negative().counted();
inline constexpr auto head_dim = Key<double>{"head_dim", "", "width of one head"}.non_negative().counted();
inline constexpr auto devices =
    Key<double>{"devices", "", "accelerators that work together"}.non_negative().counted();
inline constexpr auto params = Key<Params<>>{"params", "Gparam", "parameters that take part"}.non_negative();
inline constexpr auto tokens = Key<Tokens<>>{"tokens", "Gtoken", "tokens processed"}.non_negative();
inline constexpr auto element_bytes =
    Key<Data<>>{"element_bytes", "B", "storage of one element"}.non_negative();
inline constexpr auto kv_per_token =
    Key<DataPerToken<>>{"kv_per_token", "kB/token", "KV cache of one token, all layers"}.non_negative();
inline constexpr auto launch = Key<Time<>>{"launch", "us", "time to start one kernel"}.non_negative();

// Energy, carbon, water, money of a facility
inline constexpr auto utilization = Key<double>{"utilization", "", "share of the maximum load"}.within(0, 1);
inline constexpr auto pue = Key<double>{"pue", "", "facility energy over IT energy"}.at_least(1);
inline constexpr auto wue = Key<WaterIntensity<>>{"wue", "L/kWh", "water per IT energy"}.non_negative();
inline constexpr auto carbon_intensity =
    Key<CarbonIntensity<>>{"carbon_intensity", "gCO2e/kWh", "greenhouse gases per energy"}.non_negative();
inline constexpr auto facility_energy =
    Key<Energy<>>{"facility_energy", "kWh", "energy drawn by the whole facility"}.non_negative();
inline constexpr auto energy_price =
    Key<MoneyPerEnergy<>>{"energy_price", "USD/kWh", "price of electricity"}.non_negative();
inline constexpr auto used_time = Key<Time<>>{"used_time", "d", "time in use"}.non_negative();
inline constexpr auto lifetime =
    Key<Time<>>{"lifetime", "yr", "service life over which a purchase is spread"}.positive();
inline constexpr Key<MoneyPerToken<>> cost_per_token{"cost_per_token", "USD/Mtoken", "cost of one token"};

// Results: one device
inline constexpr Key<bool> feasible{"feasible", "", "fits in memory and meets every hard limit"};
inline constexpr Key<Time<>> latency{"latency", "ms", "time of one batch or step"};
inline constexpr Key<Time<>> latency_compute{"latency_compute", "ms",
                                             "part of the latency that arithmetic needs"};
inline constexpr Key<Time<>> latency_memory{"latency_memory", "ms",
                                            "part of the latency that memory traffic needs"};
inline constexpr Key<Time<>> latency_overhead{"latency_overhead", "ms", "launch and dispatch time"};
inline constexpr Key<Time<>> latency_communication{"latency_communication", "ms", "exposed collective time"};
inline constexpr Key<SampleRate<>> throughput{"throughput", "sample/s", "samples or sequences per second"};
inline constexpr Key<TokenRate<>> token_throughput{"token_throughput", "token/s", "tokens per second"};
inline constexpr Key<Bottleneck> bottleneck{"bottleneck", "", "what limits the time"};
inline constexpr Key<Intensity<>> arithmetic_intensity{"arithmetic_intensity", "FLOP/B",
                                                       "work per byte moved"};
inline constexpr Key<Data<>> memory_footprint{"memory_footprint", "GB", "bytes resident per device"};
inline constexpr Key<double> memory_utilization{"memory_utilization", "", "footprint over capacity"};
inline constexpr Key<ComputeRate<>> peak_flops_actual{"peak_flops_actual", "TFLOP/s",
                                                      "arithmetic rate that is sustained"};
inline constexpr Key<Bandwidth<>> peak_bw_actual{"peak_bw_actual", "GB/s",
                                                 "memory bandwidth that is sustained"};
inline constexpr auto mfu = Key<double>{"mfu", "", "model FLOPs utilization"}.within(0, 1);
inline constexpr Key<double> hfu{"hfu", "", "hardware FLOPs utilization (recomputation counted)"};

// Results: serving
inline constexpr Key<Time<>> ttft{"ttft", "ms", "time to first token"};
inline constexpr Key<Time<>> itl{"itl", "ms", "inter-token latency"};
inline constexpr Key<Data<>> kv_cache_size{"kv_cache_size", "GB", "KV cache of the whole batch"};
inline constexpr Key<Data<>> model_weights_size{"model_weights_size", "GB", "weights of the whole model"};
inline constexpr Key<Data<>> total_memory_required{"total_memory_required", "GB",
                                                   "memory that serving needs"};

// Results: fleet
inline constexpr Key<Time<>> step_latency{"step_latency", "ms", "time of one optimizer step"};
inline constexpr Key<Time<>> communication_latency{"communication_latency", "ms",
                                                   "collectives and host transfers before overlap"};
inline constexpr Key<double> scaling_efficiency{"scaling_efficiency", "", "compute time over step time"};
inline constexpr Key<double> bubble_fraction{"bubble_fraction", "", "idle share of the pipeline"};

// Results: macro
inline constexpr Key<Money<>> tco{"tco", "USD", "total cost of ownership over the period"};
inline constexpr Key<Carbon<>> carbon_footprint{"carbon_footprint", "kgCO2e",
                                                "greenhouse gases, operational and embodied"};

// Catalogue: requests
inline constexpr Key<const Conventions*> conventions{"conventions", "", "defaults that fill gaps"};
inline constexpr Key<Bandwidth<>> network_bandwidth{"network_bandwidth", "GB/s",
                                                    "link from prefill to decode devices"};
inline constexpr auto congestion_factor =
    Key<double>{"congestion_factor", "", "collective time over its uncontended time"}.at_least(1);
inline constexpr auto straggler_factor =
    Key<double>{"straggler_factor", "", "step time over that without a slow device"}.at_least(1);
inline constexpr auto trainable_fraction =
    Key<double>{"trainable_fraction", "", "share of the weights that is trained"}.within(0, 1);
inline constexpr Key<double> overlap_efficiency{"overlap_efficiency", "",
                                                "share of the gradient traffic that is hidden"};
inline constexpr Key<MoneyPerEnergy<>> kwh_price{"kwh_price", "USD/kWh", "price of electricity"};
inline constexpr auto amortization_years =
    Key<double>{"amortization_years", "", "years of straight-line depreciation"}.positive();
inline constexpr Key<double> infrastructure_multiplier{"infrastructure_multiplier", "",
                                                       "capital of everything over that of the devices"};

// Catalogue: results
inline constexpr Key<double> prompt_cache_hit_ratio{"prompt_cache_hit_ratio", "",
                                                    "share of the prompt that was cached"};
inline constexpr Key<double> prefill_chunks{"prefill_chunks", "", "chunks of the prefill"};
inline constexpr Key<Time<>> prefill_chunk_time{"prefill_chunk_time", "ms", "longest chunk of the prefill"};
inline constexpr Key<Time<>> decode_stall_bound{"decode_stall_bound", "ms",
                                                "longest wait of a decode step for a chunk"};
inline constexpr Key<Time<>> request_latency{"request_latency", "ms", "from request to last token"};
inline constexpr auto accelerators = Key<double>{"accelerators", "", "devices in use"}.at_least(1).counted();
inline constexpr Key<Time<>> dp_communication_latency{"dp_communication_latency", "ms",
                                                      "gradient exchange before overlap"};
inline constexpr Key<Time<>> tp_communication_latency{"tp_communication_latency", "ms",
                                                      "collectives of tensor parallelism"};
inline constexpr Key<Time<>> ep_communication_latency{"ep_communication_latency", "ms",
                                                      "expert dispatch and combine"};
inline constexpr Key<Time<>> pipeline_bubble_latency{"pipeline_bubble_latency", "ms",
                                                     "idle time of the pipeline"};
inline constexpr Key<SampleRate<>> effective_throughput{"effective_throughput", "sample/s",
                                                        "sequences or samples per second of the fleet"};
inline constexpr Key<Energy<>> it_energy{"it_energy", "kWh", "energy of the IT equipment"};
inline constexpr Key<Energy<>> total_energy{"total_energy", "kWh", "energy of the facility"};
inline constexpr Key<Carbon<>> operational_carbon{"operational_carbon", "kgCO2e",
                                                  "greenhouse gases of the electricity"};
inline constexpr Key<Carbon<>> embodied_carbon{"embodied_carbon", "kgCO2e",
                                               "manufacturing gases that fall to the period"};
inline constexpr Key<Water<>> water_usage{"water_usage", "L", "water used on site"};
inline constexpr Key<std::string> region_name{"region_name", "", "grid that was charged"};
inline constexpr Key<Money<>> capex{"capex", "USD", "capital cost that falls to the period"};
inline constexpr Key<Money<>> opex_energy{"opex_energy", "USD", "cost of the electricity"};
inline constexpr Key<Money<>> opex_maintenance{"opex_maintenance", "USD", "cost of maintenance"};
inline constexpr Key<Money<>> total_opex{"total_opex", "USD", "energy and maintenance"};

}  // namespace mlsysim::key

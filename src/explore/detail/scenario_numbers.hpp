#pragma once
// The numbers that a scenario is computed from and those that come out, over any scalar.

#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/units/unit.hpp>

#include <atomic>
#include <cstdint>
#include <vector>

namespace mlsysim::detail {

/// Numbers of Scenario. Units, meanings and ranges are those of its table, by name.
template <class T = double>
struct RunNumbers {
  T batch_size{1.0}, seq_len{1.0}, output_tokens{0.0}, cached_prefix_len{0.0}, accelerators{1.0};
  T tp_size{1.0}, pp_size{1.0}, ep_size{1.0}, cp_size{1.0}, v_stages{1.0};
  T microbatch_size{1.0}, microbatch_count{1.0}, gradient_accumulation_steps{1.0};
  T duration_days{30.0}, infrastructure_multiplier{1.0};
  MoneyPerEnergy<T> kwh_price;
  Money<T> unit_cost;

  static constexpr auto fields() {
    using R = RunNumbers;
    return rows(field(&R::batch_size, key::batch_size), field(&R::seq_len, key::seq_len),
                field(&R::output_tokens, key::output_tokens), field(&R::cached_prefix_len, key::cached_prefix_len),
                field(&R::accelerators, key::accelerators), field(&R::tp_size, key::tp_size),
                field(&R::pp_size, key::pp_size), field(&R::ep_size, key::ep_size), field(&R::cp_size, key::cp_size),
                field(&R::v_stages, key::v_stages), field(&R::microbatch_size, "microbatch_size", "", ""),
                field(&R::microbatch_count, key::microbatch_count),
                field(&R::gradient_accumulation_steps, key::gradient_accumulation_steps),
                field(&R::duration_days, key::duration_days),
                field(&R::infrastructure_multiplier, key::infrastructure_multiplier),
                field(&R::kwh_price, key::kwh_price), field(&R::unit_cost, "unit_cost", "USD", "price of one device"));
  }
};

/// Figures of the facility and the books.
template <class T = double>
struct FacilityNumbers {
  T pue{1.0}, maintenance_share{0.0};
  WaterIntensity<T> wue;
  CarbonIntensity<T> carbon_intensity;
  Carbon<T> embodied_carbon;
  Time<T> lifetime;

  static constexpr auto fields() {
    using F = FacilityNumbers;
    return rows(field(&F::pue, "pue", "", "facility energy over IT energy").at_least(1),
                field(&F::maintenance_share, "maintenance_share", "", "share of the purchase per year").within(0, 1),
                field(&F::wue, "wue", "L/kWh", "water over IT energy").non_negative(),
                field(&F::carbon_intensity, "carbon_intensity", "gCO2e/kWh", "of the grid").non_negative(),
                field(&F::embodied_carbon, "embodied_carbon", "kgCO2e", "emissions of making one device").non_negative(),
                field(&F::lifetime, "lifetime", "yr", "years over which purchases are written off").positive());
  }
};

/// All of them. A flat array of `T` in memory: members are reached by position.
template <class T = double>
struct ScenarioInputs {
  RunNumbers<T> run;
  Device<T> device;
  Links<T> links;
  FacilityNumbers<T> facility;
  Shape<T> shape;
  Plan<T> plan;

  static constexpr auto fields() {
    using S = ScenarioInputs;
    return rows(field(&S::run, "run", "", ""), field(&S::device, "device", "", ""), field(&S::links, "links", "", ""),
                field(&S::facility, "facility", "", ""), field(&S::shape, "shape", "", ""), field(&S::plan, "plan", "", ""));
  }
};

/// Results of every mode; names and units are those of the scorecard.
template <class T = double>
struct ScenarioResults {
  Data<T> memory_used, memory_capacity, memory_missing;
  T memory_utilization{0.0}, plan_fits{1.0};
  // serving
  Time<T> ttft, itl, request_latency;
  TokenRate<T> token_throughput, throughput_per_accelerator;
  T prefill_mfu{0.0}, mfu{0.0}, replicas{1.0};
  Time<T> prefill_compute, prefill_memory, prefill_network, prefill_overhead;
  Time<T> decode_compute, decode_memory, decode_network, decode_overhead;
  // training
  Time<T> step_latency, latency_compute, latency_memory, latency_network, latency_overhead, comm_overhead, host_transfer, pipeline_bubble;
  SampleRate<T> fleet_throughput;
  T hfu{0.0}, scaling_efficiency{0.0}, dp_size{1.0}, microbatch_count{1.0};
  Time<T> training_time;
  // inference
  Time<T> latency;
  SampleRate<T> throughput;
  Intensity<T> arithmetic_intensity;
  Energy<T> energy_per_batch;
  // all
  T utilization{0.0};
  Money<T> tco, capex, energy_cost, maintenance;
  Energy<T> energy;
  Carbon<T> carbon_footprint;
  Water<T> water;
  MoneyPerToken<T> cost_per_token;
  EnergyPerToken<T> energy_per_token;
  CarbonPerToken<T> carbon_per_token;

  static constexpr auto fields() {
    using R = ScenarioResults;
    return rows(
        field(&R::memory_used, "memory_used", "GB", "memory of the fullest device"),
        field(&R::memory_capacity, "memory_capacity", "GB", "memory of one device"),
        field(&R::memory_missing, "memory_missing", "GB", "bytes that do not fit"),
        field(&R::memory_utilization, "memory_utilization", "", "used over capacity"),
        field(&R::plan_fits, "plan_fits", "", "1 where the plan is one: nodes are full, degrees divide devices and model, accumulation steps the batch, a part of the prompt is computed"),
        field(&R::ttft, "ttft", "ms", "time to first token"), field(&R::itl, "itl", "ms", "inter-token latency"),
        field(&R::request_latency, "request_latency", "ms", "from request to last token"),
        field(&R::token_throughput, "token_throughput", "token/s", "tokens of all devices"),
        field(&R::throughput_per_accelerator, "throughput_per_accelerator", "token/s", "generated tokens of one device"),
        field(&R::prefill_mfu, "prefill_mfu", "", "model FLOPs utilisation of the prefill"),
        field(&R::mfu, "mfu", "", "model FLOPs utilisation"), field(&R::replicas, "replicas", "", "copies of the model"),
        field(&R::prefill_compute, "prefill_compute", "ms", "compute-bound kernels of the last prefill chunk's stage"),
        field(&R::prefill_memory, "prefill_memory", "ms", "memory-bound kernels"),
        field(&R::prefill_network, "prefill_network", "ms", "collectives"),
        field(&R::prefill_overhead, "prefill_overhead", "ms", "launches and dispatch"),
        field(&R::decode_compute, "decode_compute", "ms", "compute-bound kernels of a decoding stage"),
        field(&R::decode_memory, "decode_memory", "ms", "memory-bound kernels"),
        field(&R::decode_network, "decode_network", "ms", "collectives"),
        field(&R::decode_overhead, "decode_overhead", "ms", "launches and dispatch"),
        field(&R::step_latency, "step_latency", "ms", "time of one optimizer step"),
        field(&R::latency_compute, "latency_compute", "ms", "arithmetic"),
        field(&R::latency_memory, "latency_memory", "ms", "memory-bound part"),
        field(&R::latency_network, "latency_network", "ms", "collectives that nothing hides"),
        field(&R::latency_overhead, "latency_overhead", "ms", "launches and dispatch"),
        field(&R::comm_overhead, "comm_overhead", "ms", "collectives and host transfers before overlap"),
        field(&R::host_transfer, "host_transfer", "ms", "of comm_overhead, what crosses the link to host memory"),
        field(&R::pipeline_bubble, "pipeline_bubble", "ms", "idle time of the pipeline"),
        field(&R::fleet_throughput, "fleet_throughput", "sample/s", "sequences or samples per second"),
        field(&R::hfu, "hfu", "", "hardware FLOPs utilisation"),
        field(&R::scaling_efficiency, "scaling_efficiency", "", "kernel time over step time"),
        field(&R::dp_size, "dp_size", "", "data-parallel replicas"),
        field(&R::microbatch_count, "microbatch_count", "", "micro-batches per replica and step"),
        field(&R::training_time, "training_time", "d", "time for the published number of tokens"),
        field(&R::latency, "latency", "ms", "time of one batch"),
        field(&R::throughput, "throughput", "sample/s", "samples of all devices"),
        field(&R::arithmetic_intensity, "arithmetic_intensity", "FLOP/B", "work per byte moved"),
        field(&R::energy_per_batch, "energy_per_batch", "J", "energy of one batch on one device"),
        field(&R::utilization, "utilization", "", "share of the time in which kernels run"),
        field(&R::tco, "tco", "USD", "total cost of the period"), field(&R::capex, "capex", "USD", "capital cost of the period"),
        field(&R::energy_cost, "energy_cost", "USD", "electricity"), field(&R::maintenance, "maintenance", "USD", "maintenance"),
        field(&R::energy, "energy", "kWh", "energy of the facility"),
        field(&R::carbon_footprint, "carbon_footprint", "tCO2e", "operational and embodied"),
        field(&R::water, "water", "L", "water used on site"),
        field(&R::cost_per_token, "cost_per_token", "USD/Mtoken", "all costs over all tokens, always busy"),
        field(&R::energy_per_token, "energy_per_token", "J/token", "energy of the facility over all tokens"),
        field(&R::carbon_per_token, "carbon_per_token", "gCO2e/Mtoken", "greenhouse gases over all tokens"));
  }
};

inline constexpr std::size_t kScenarioInputs = sizeof(ScenarioInputs<>) / sizeof(double);
inline constexpr std::size_t kScenarioResults = sizeof(ScenarioResults<>) / sizeof(double);

/// What stays fixed while the numbers vary.
struct ScenarioState {
  /// Of this state alone, for as long as the program runs: what was remembered of another must not be taken for this.
  std::uint64_t id = next_id();
  Mode mode = Mode::infer;
  Structure prefill, decode;            ///< serving: the two phases; else `prefill` is the pass
  std::span<const ConvLayer> layers;
  bool generates = false;               ///< the number of output tokens is given
  int chunks = 1;
  double chunk = 0;
  bool undivided = false;               ///< training: nothing was said about micro-batches
  bool sized = false;                   ///< training: the size of a micro-batch is given, not their number
  bool sequences = true;                ///< the workload has a token axis
  bool has_power = true;                ///< TDP is known, so energy and cost are
  bool has_price = true;                ///< the price of a device is known
  double training_tokens = 0;           ///< published number; 0 where there is none
  /// What eval refuses, see `plan_fits`: a model without layers, heads or experts has no limit for them.
  bool has_layers = false, has_heads = false;
  double per_node = 1;                  ///< devices come in this many, or in the number of nodes that was given
  bool part_of_node = false;            ///< fewer devices than a node holds share one
  double given_count = 0;               ///< training: number of micro-batches that was given beside their size
  ScenarioInputs<> base;
  std::vector<std::uint16_t> inputs;    ///< position in ScenarioInputs of each input of the entry
  std::vector<std::uint16_t> results;   ///< position in ScenarioResults of each result

 private:
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
};

}  // namespace mlsysim::detail

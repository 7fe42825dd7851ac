#pragma once
/// Scenario: a workload, the devices that it runs on, and how it runs. It is the input of every evaluation.
///
/// Its table is the only list of inputs: plan files, command-line options and Python keywords are made from
/// it. Absent values take the default that their row names. Exactly one of `hardware` and `fleet` is given.
/// Example: Llama3_70B on H100 with 8 accelerators runs in mode serve, with tp_size 8 and 2,048 prompt
/// tokens.

#include <mlsysim/estimate/load.hpp>
#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/traffic_law.hpp>
#include <mlsysim/specs/workload.hpp>

#include <optional>
#include <string>

namespace mlsysim {

/// Use of the workload: one batch, a service, or optimizer steps.
enum class Mode : std::uint8_t { infer, serve, train };
template <> inline constexpr auto names_of<Mode> = ChoiceNames{"mode"};

/// How devices are paid: bought and written off, rented by the hour, or rented for a long term at the usual
/// discount.
enum class Payment : std::uint8_t { bought, rented, reserved };
template <> inline constexpr auto names_of<Payment> = ChoiceNames{"payment"};

namespace key {
inline constexpr Key<Payment> payment{"payment", "", "how devices are paid: bought, rented or reserved"};
inline constexpr Key<Mode> mode{"mode", "",
                                "infer (one batch), serve (prefill and decode) or train (optimizer steps)"};
inline constexpr Key<Load> load{"load", "",
                                "of a served model: concurrency (batch_size requests in flight), rate "
                                "(arrival_rate) or burst (batch_size at "
                                "once)"};
inline constexpr Key<double> memory_fraction{"memory_fraction", "",
                                             "memory that its engine takes, by its own rule"};
inline constexpr Key<Data<>> kv_cache_memory{"kv_cache_memory", "GB",
                                             "KV cache of a device, whatever its share"};
inline constexpr Key<double> node_count{"node_count", "", "nodes in use"};
inline constexpr Key<double> accelerators_per_node{"accelerators_per_node", "", "devices of one node"};
inline constexpr Key<Bandwidth<>> intra_node_bw{"intra_node_bw", "GB/s", "inside a node, one way per device"};
inline constexpr Key<Bandwidth<>> fabric_bandwidth{"fabric_bandwidth", "GB/s",
                                                   "between nodes, one way per port"};
}  // namespace key

/// One scenario. Counts beside `hardware` describe a fleet that exists for this scenario only.
struct Scenario {
  std::string name = "scenario";
  const Workload* workload = nullptr;
  const HardwareNode* hardware = nullptr;
  const Fleet* fleet = nullptr;
  std::optional<Mode> mode{};
  double batch_size = 1;
  std::optional<Load> load{};
  std::optional<RequestRate<>> arrival_rate{};
  std::optional<double> seq_len{};
  std::optional<double> output_tokens{};
  std::optional<double> seq_len_cv{}, output_tokens_cv{};
  std::optional<TrafficLaw> seq_len_law{}, output_tokens_law{};
  std::optional<Tokens<>> training_tokens{};
  std::optional<Precision> precision{}, kv_precision{};
  std::optional<WeightFormat> weight_format{};
  std::optional<double> weight_bits{};
  std::optional<double> efficiency{};
  std::optional<Power<>> power_cap{};
  double clock_limit = 1;
  std::optional<double> accelerators{}, node_count{}, accelerators_per_node{};
  std::optional<Bandwidth<>> intra_node_bw{}, fabric_bandwidth{};
  std::optional<double> nics_per_node{};
  std::optional<double> tp_size{};
  std::optional<double> expert_tp_size{};
  double pp_size = 1, ep_size = 1, cp_size = 1, v_stages = 1;
  std::optional<double> prefill_replicas{}, prefill_tp_size{}, prefill_ep_size{}, decode_replicas{};
  std::optional<Bandwidth<>> network_bandwidth{};
  CollectiveAlgorithm collective_algorithm = CollectiveAlgorithm::usual;
  std::optional<Precision> dispatch_precision{};
  std::optional<ExpertCopies> expert_copies{};
  ExpertOverlap expert_overlap = ExpertOverlap::none;
  std::optional<double> rank_imbalance{};
  Schedule schedule = Schedule::one_forward_one_backward;
  std::optional<double> microbatch_size{}, microbatch_count{};
  double gradient_accumulation_steps = 1;
  double zero_stage = 0;
  std::optional<double> shard_size{};
  std::optional<Recomputation> recomputation{};
  double recomputed_share = 1;
  OptimizerKind optimizer = OptimizerKind::adam;
  std::optional<Precision> gradient_precision{}, moment_precision{};
  std::optional<std::string> states{};
  bool sequence_parallel = true;
  AttentionKernel attention_kernel = AttentionKernel::fused;
  bool dropout = false, kernel_fusion = true, backward_prefetch = true;
  double trainable_fraction = 1;
  std::optional<double> lora_rank{};
  LoraModules lora_modules = LoraModules::all;
  bool fused_loss = false;
  std::optional<double> overlap_efficiency{}, overlap_slowdown{};
  double tp_overlap = 0;
  double offload_weights = 0, offload_activations = 0, offload_states = 0, offload_gradients = 0,
         offload_experts = 0;
  std::optional<Bandwidth<>> host_memory_bandwidth{};
  std::optional<Data<>> host_memory{};
  std::optional<double> memory_fraction{};
  std::optional<Data<>> kv_cache_memory{};
  std::optional<bool> towers{};
  double congestion_factor = 1, straggler_factor = 1;
  const Workload* draft_model = nullptr;
  double draft_acceptance_rate = 0.7;
  std::optional<double> draft_tokens{}, draft_acceptance_decay{}, acceptance_length{};
  double cached_prefix_len = 0;
  std::optional<double> prefill_chunk_tokens{};
  std::optional<bool> chunked_prefill{};
  const ServingEngine* engine = nullptr;
  std::optional<Execution> execution{};
  const GridProfile* grid = nullptr;
  const Datacenter* datacenter = nullptr;
  double duration_days = 30;
  std::optional<MoneyPerEnergy<>> kwh_price{};
  std::optional<Money<>> unit_cost{};
  std::optional<MoneyRate<>> rent{};
  std::optional<Payment> payment{};
  double infrastructure_multiplier = 1;
  std::optional<Power<>> host_power{}, network_power{};
  std::optional<Fidelity> fidelity{};
  const Conventions* conventions = nullptr;
  std::optional<std::string> also{};  ///< names with commas, of resolvers that ship or that plugins bring

  /// Tokens of the run that a training scenario is a part of: those stated, else those on which the model was
  /// trained. Fine-tuning of adapters or of a part of the weights has no usual number.
  [[nodiscard]] std::optional<Tokens<>> tokens_of_run() const {
    if (training_tokens) return training_tokens;
    return lora_rank || trainable_fraction < 1 ? std::nullopt : workload->training.tokens;
  }

  template <class S = Scenario> static constexpr auto fields() {
    return join(
        rows(field(&S::name, "name", "", "name of the scenario").defaulted("scenario"),
             field(&S::workload, key::workload), field(&S::hardware, key::hardware).defaulted("the fleet's"),
             field(&S::fleet, key::fleet).defaulted("made from hardware and counts"),
             field(&S::mode, key::mode).defaulted("serve for a language model that generates, else infer"),
             field(&S::batch_size, key::batch_size).defaulted("one"),
             field(&S::load, key::load)
                 .defaulted("concurrency, or rate where arrival_rate is given; burst at textbook fidelity"),
             field(&S::arrival_rate, key::arrival_rate).positive().defaulted("a closed loop of batch_size"),
             field(&S::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
             field(&S::output_tokens, key::output_tokens)
                 .at_least(1)
                 .counted()
                 .defaulted("128 in steady state; in a burst decode is priced at the prompt's context"),
             field(&S::training_tokens, "training_tokens", "Ttoken", "tokens of a run")
                 .positive()
                 .defaulted("the model's; none in fine-tuning"),
             field(&S::accelerators, key::accelerators).defaulted("one, or the whole fleet"),
             field(&S::node_count, key::node_count)
                 .at_least(1)
                 .counted()
                 .defaulted("accelerators / accelerators_per_node"),
             field(&S::accelerators_per_node, key::accelerators_per_node)
                 .at_least(1)
                 .counted()
                 .defaulted("up to 8 in one node"),
             field(&S::intra_node_bw, key::intra_node_bw).positive().defaulted("the device's link"),
             field(&S::fabric_bandwidth, key::fabric_bandwidth).positive().defaulted(kDefaults.view()),
             field(&S::nics_per_node, "nics_per_node", "", "adapters of a node, each at fabric_bandwidth")
                 .positive()
                 .defaulted("the node's, or one for each device"),
             field(&S::tp_size, key::tp_size).defaulted("all devices of the node (serve), 1 (train)"),
             field(&S::pp_size, key::pp_size).defaulted("no pipeline"),
             field(&S::ep_size, key::ep_size).defaulted("experts not spread")),
        length_rows<S>(), prefill_rows<S>(),
        rows(field(&S::decode_replicas, "decode_replicas", "",
                   "replicas that generate tokens, beside prefill workers")
                 .at_least(1)
                 .counted()
                 .defaulted("what the prefill workers leave of the accelerators, or one")),
        transfer_rows<S>(), serving_format_rows<S>(), power_rows<S>(), launch_rows<S>(),
        training_plan_rows<S>(), host_memory_rows<S>(), host_expert_rows<S>(),
        rows(field(&S::host_memory, "host_memory", "GB", "memory of the host of a node")
                 .positive()
                 .defaulted("the node's, else not held against anything"),
             field(&S::memory_fraction, key::memory_fraction).within(0.01, 1).defaulted("the engine's own"),
             field(&S::towers, "towers", "", "towers of images and sound lie in memory, too")
                 .defaulted("true"),
             field(&S::kv_cache_memory, key::kv_cache_memory).positive().defaulted("what its rule leaves")),
        training_step_rows<S>(),
        rows(field(&S::cached_prefix_len, key::cached_prefix_len)
                 .non_negative()
                 .counted()
                 .defaulted("nothing cached")),
        pass_rows<S>(), pass_engine_rows<S>(), speculation_rows<S>(),
        rows(field(&S::grid, key::grid).defaulted("the facility's or the fleet's, else US_Avg"),
             field(&S::datacenter, key::datacenter).defaulted("the fleet's, else none"),
             field(&S::duration_days, key::duration_days).defaulted("30 days"),
             field(&S::kwh_price, key::kwh_price)
                 .non_negative()
                 .defaulted("industrial price of the grid where the zoo has it, else zoo/defaults.yaml"),
             field(&S::unit_cost, "unit_cost", "USD", "price of one device")
                 .non_negative()
                 .defaulted("the device's own figure"),
             field(&S::rent, key::rent)
                 .non_negative()
                 .defaulted("price of the instance or of the market where the zoo has it"),
             field(&S::payment, key::payment)
                 .defaulted("rented where rent is given or a cloud instance is named"),
             field(&S::infrastructure_multiplier, key::infrastructure_multiplier)
                 .at_least(1)
                 .defaulted("the devices alone")),
        host_rows<S>("share of the TDP of devices in servers (zoo/catalogue.yaml); none at textbook fidelity",
                     "by the adapters of the node and the tiers of a network of 64-port switches "
                     "(zoo/catalogue.yaml); none at textbook fidelity"),
        rows(field(&S::also, "also", "", "resolvers for the scorecard, with commas").defaulted("none")),
        fidelity_rows<S>());
  }
};

// Made in src/engine/scenario_builder.cpp, once for all units.
extern template const TableInfo& field_table<Scenario>();

}  // namespace mlsysim

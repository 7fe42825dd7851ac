#pragma once
/// A whole scenario over any scalar: from about a hundred numbers to every number of the scorecard.
///
/// `ScenarioShape` holds the categories, which fix the operations; `ScenarioInputs` the numbers. The
/// scorecard is `scenario_numbers` on doubles; on the recording scalar it leaves the tape that sweeps,
/// bounds, slopes, inversions and derivations interpret. Tapes are kept by shape, because recording one costs
/// some hundred evaluations.

#include <mlsysim/answer/inference.hpp>
#include <mlsysim/answer/macro.hpp>
#include <mlsysim/answer/reliability.hpp>
#include <mlsysim/answer/serving.hpp>
#include <mlsysim/answer/training.hpp>

namespace mlsysim {

/// What is asked of a model.
enum class ScenarioKind : std::uint8_t { inference, serving, training };

/// Numbers of a request. Units, meanings and ranges are those of the scenario's table, by name.
template <class T = double> struct RunNumbers {
  T batch_size{1.0}, seq_len{1.0}, output_tokens{0.0}, cached_prefix_len{0.0}, prefill_chunk_tokens{1.0},
      accelerators{1.0};
  T tp_size{1.0}, pp_size{1.0}, ep_size{1.0}, expert_tp_size{1.0}, cp_size{1.0}, v_stages{1.0};
  T microbatch_size{1.0}, microbatch_count{1.0}, gradient_accumulation_steps{1.0};
  T congestion_factor{1.0}, straggler_factor{1.0};
  T draft_acceptance_rate{0.0}, draft_tokens{1.0}, draft_acceptance_decay{1.0}, acceptance_length{1.0};
  T duration_days{30.0}, infrastructure_multiplier{1.0};
  MoneyPerEnergy<T> kwh_price;
  Money<T> unit_cost;

  static constexpr auto fields() {
    using R = RunNumbers;
    return rows(field(&R::batch_size, key::batch_size), field(&R::seq_len, key::seq_len),
                field(&R::output_tokens, key::output_tokens),
                field(&R::cached_prefix_len, key::cached_prefix_len),
                field(&R::prefill_chunk_tokens, key::prefill_chunk_tokens),
                field(&R::accelerators, key::accelerators), field(&R::tp_size, key::tp_size),
                field(&R::pp_size, key::pp_size), field(&R::ep_size, key::ep_size),
                field(&R::expert_tp_size, key::expert_tp_size), field(&R::cp_size, key::cp_size),
                field(&R::v_stages, key::v_stages), field(&R::microbatch_size, "microbatch_size", "", ""),
                field(&R::microbatch_count, key::microbatch_count),
                field(&R::gradient_accumulation_steps, key::gradient_accumulation_steps),
                field(&R::congestion_factor, key::congestion_factor),
                field(&R::straggler_factor, key::straggler_factor),
                field(&R::draft_acceptance_rate, key::draft_acceptance_rate),
                field(&R::draft_tokens, key::draft_tokens),
                field(&R::draft_acceptance_decay, "draft_acceptance_decay", "", "").within(0.01, 1),
                field(&R::acceptance_length, "acceptance_length", "", "").within(1, 1025),
                field(&R::duration_days, key::duration_days),
                field(&R::infrastructure_multiplier, key::infrastructure_multiplier),
                field(&R::kwh_price, key::kwh_price),
                field(&R::unit_cost, "unit_cost", "USD", "price of one device"));
  }
};

/// A small model that proposes tokens.
template <class T = double> struct DraftNumbers {
  Totals<T> totals;
  T tp{1.0};  ///< devices that share each of its layers

  static constexpr auto fields() {
    using D = DraftNumbers;
    return rows(field(&D::totals, "totals", "", ""),
                field(&D::tp, "tp", "", "devices that share each layer of the draft model").at_least(1));
  }
};

/// What a plan is held to, and what is no number of the request.
template <class T = double> struct Limits {
  T per_node{1.0};         ///< devices come in this many, or in the number of nodes that was given
  T given_count{0.0};      ///< micro-batches that were given beside their size; 0: none
  T training_tokens{0.0};  ///< published number; 0: none
  Time<T> prompt_issue;    ///< host time of one kernel of a prompt, of the engine
  T graph_batch{0.0};      ///< requests of the largest step that the engine has captured

  static constexpr auto fields() {
    using L = Limits;
    return rows(field(&L::per_node, "per_node", "", "devices of a full node"),
                field(&L::given_count, "given_count", "", "micro-batches that were given"),
                field(&L::training_tokens, "training_tokens", "", "tokens that the model was trained on"),
                field(&L::prompt_issue, "prompt_issue", "us", "host time of one kernel of a prompt"),
                field(&L::graph_batch, "graph_batch", "", "requests of the largest captured step"));
  }
};

/// The numbers of a scenario but for those of its models' layers, of which every model has its own.
template <class T = double> struct ScenarioFigures {
  RunNumbers<T> run;
  Device<T> device;
  LinkNumbers<T> links;
  Facility<T> facility;
  Totals<T> totals;
  Plan<T> plan;
  DraftNumbers<T> draft;
  Limits<T> limits;
  FailureNumbers<T> failures;
  Device<T> decode_device;         ///< where prompts and tokens have devices of their own
  Bandwidth<T> network_bandwidth;  ///< over which the cache moves between them

  static constexpr auto fields() {
    using S = ScenarioFigures;
    return rows(field(&S::run, "run", "", ""), field(&S::device, "hardware", "", ""),
                field(&S::links, "links", "", ""), field(&S::facility, "facility", "", ""),
                field(&S::totals, "totals", "", ""), field(&S::plan, "plan", "", ""),
                field(&S::draft, "draft", "", ""), field(&S::limits, "limits", "", ""),
                field(&S::failures, "failures", "", ""), field(&S::decode_device, "decode_hardware", "", ""),
                field(&S::network_bandwidth, key::network_bandwidth));
  }
};

template <class T = double> struct ScenarioInputs : ScenarioFigures<T> {
  std::shared_ptr<const StackView<T>> stack, draft_stack;  ///< null where no layers are known
};

template <class T = double> struct FeasibilityNumbers {
  Data<T> memory_used, memory_capacity, memory_missing;
  T memory_utilization{0.0}, plan_fits{1.0};

  static constexpr auto fields() {
    using R = FeasibilityNumbers;
    return rows(field(&R::memory_used, "memory_used", "GB", "memory of the fullest device"),
                field(&R::memory_capacity, "memory_capacity", "GB", "memory of one device"),
                field(&R::memory_missing, "memory_missing", "GB", "bytes that do not fit"),
                field(&R::memory_utilization, "memory_utilization", "", "used over capacity"),
                field(&R::plan_fits, "plan_fits", "",
                      "1 where the plan is one: nodes are full, degrees divide devices and model, "
                      "accumulation steps the batch, a part of the prompt is computed"));
  }
};

/// Everything that is reported. Of the three questions one is answered; the others stay empty.
template <class T = double> struct ScenarioResults {
  FeasibilityNumbers<T> feasibility;
  ServingNumbers<T> serving;
  TrainingNumbers<T> training;
  InferenceNumbers<T> inference;
  MacroNumbers<T> macro;
  ReliabilityNumbers<T> reliability;
  Time<T> training_time;

  static constexpr auto fields() {
    using R = ScenarioResults;
    return rows(field(&R::feasibility, "feasibility", "", ""), field(&R::serving, "serving", "", ""),
                field(&R::training, "training", "", ""), field(&R::inference, "inference", "", ""),
                field(&R::macro, "macro", "", ""), field(&R::reliability, "reliability", "", ""),
                field(&R::training_time, "training_time", "d", "time for the published number of tokens"));
  }
};

/// What stays fixed while the numbers vary: it decides which operations there are.
struct ScenarioShape {
  ScenarioKind kind = ScenarioKind::inference;
  const Pricing* pricing = nullptr;
  Structure prefill, decode;  ///< serving: the two phases; else `prefill` is the pass
  Structure draft;
  Listed layers{};
  LinkForm links;
  const Stack* stack = nullptr;  ///< of the model, as it is stated; null where no layers are known
  std::size_t place = 0;         ///< among the stacks of the model
  const Stack* draft_stack = nullptr;
  std::size_t draft_place = 0;
  bool generates = false;  ///< the number of output tokens is given
  bool drafts = false;
  Acceptance kept = Acceptance::independent;
  double chunks = 1;      ///< of a prompt
  bool budgeted = false;  ///< passes of prompts have a budget of tokens
  bool divided = false;   ///< longer prompts are taken chunk by chunk
  bool issues = false;    ///< some passes are no captured graphs
  PromptLaunch prompts = PromptLaunch::graph;
  Microbatches division = Microbatches::by_default;
  bool sequences = true;    ///< the workload has a token axis
  bool has_power = true;    ///< TDP is known, so energy and cost are
  bool has_price = true;    ///< the price of a device is known
  bool fails = false;       ///< how often nodes fail is asked
  bool has_tokens = false;  ///< the number of tokens that the model was trained on is published
  /// What eval refuses, see `plan_fits`: a model without layers, heads or experts has no limit for them.
  bool has_layers = false, has_heads = false;
  bool part_of_node = false;  ///< fewer devices than a node holds share one
  bool folded = false;        ///< routed experts have their own share of the tensor-parallel devices
  bool sharded = false;       ///< ZeRO divides over a group that was named
  // What single resolvers know and no scenario asks for.
  bool apart = false;   ///< serving: tokens are generated on `decode_device`
  bool spills = false;  ///< training: what does not fit is fetched over the host link
};

/// The views that a question is answered from.
template <class T>
[[nodiscard]] ServingViews<T> serving_views(const ScenarioShape& s, const ScenarioInputs<T>& in);
template <class T>
[[nodiscard]] TrainingViews<T> training_views(const ScenarioShape& s, const ScenarioInputs<T>& in);
template <class T>
[[nodiscard]] InferenceViews<T> inference_views(const ScenarioShape& s, const ScenarioInputs<T>& in);

/// All numbers of a scorecard. Instantiated for double and for the recording scalar.
template <class T>
[[nodiscard]] ScenarioResults<T> scenario_numbers(const ScenarioShape& s, const ScenarioInputs<T>& in);
extern template ScenarioResults<double> scenario_numbers(const ScenarioShape&, const ScenarioInputs<double>&);

}  // namespace mlsysim

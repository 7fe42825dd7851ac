#pragma once
/// Steady-state latency, throughput and goodput of a replica with in-flight batching (walls 4, 5, 7).
///
///   itl = decode_step_time + min(prompts_per_step, 1) added      running = rate (output_tokens - 1) itl
///
/// added: time by which a prompt lengthens a step [s]. running: requests that decode, by Little's law.
/// Arrivals: `arrival_rate` (Poisson), `concurrency` (closed loop), or a full queue limited by the KV cache.
/// Assumed: context half-way through the answer, equal cost of chunks, requests shared evenly by expert
/// ranks. A request of many steps sees the mean step, so quantiles are those of the first token.
/// Example: prompts of 40 us a token, steps of 5 ms + 20 us a request. One request of 1000 tokens alone:
/// TTFT 40 ms, ITL 5.02 ms. At 8 requests/s with 100 output tokens and ITL 6 ms, 8 x 99 x 6 ms = 4.8 requests
/// decode.
/// @cite yu2022orca, section 4; kwon2023vllm; agrawal2024sarathi; zhong2024distserve, section 3;
/// leviathan2023speculative

#include <mlsysim/estimate/in_flight.hpp>
#include <mlsysim/estimate/reported.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/traffic_law.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// One replica whose requests join and leave a running batch.
///
/// Prompts share passes with decode steps or stop them, as the engine does. Equal requests in a closed loop
/// run in step: with mixed passes prompts follow one another, with separate passes all come at once in every
/// round. `prefill_replicas` puts prompts on workers of their own, which send the KV cache over
/// `network_bandwidth`. Their devices count. `draft_model` proposes tokens that one pass verifies. The model
/// itself as draft stands for its draft layers (MTP). `acceptance_length` without a draft model stands for
/// drafts without cost (n-grams).
struct InFlightBatchingModel : Model<InFlightBatchingModel> {
  static constexpr std::string_view id = "InFlightBatchingModel";
  static constexpr std::string_view about =
      "latency, throughput and goodput of a replica that batches in flight";
  static constexpr std::string_view law =
      "itl = decode_step_time + min(prompts_per_step, 1) added; running = rate steps itl";
  static constexpr std::string_view source = "yu2022orca";
  static constexpr std::array walls{4, 5, 7};
  static constexpr std::array fallacies{
      Fallacy{"The time between tokens is that of a decode step.",
              "Every answer is paid for with a prompt: with short answers most steps carry one."},
      Fallacy{"A benchmark with equal requests shows what users see.",
              "Equal requests run in step: their prompts queue behind each other in every round."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    std::optional<double> seq_len{};
    double output_tokens = UsualRequest::answer;
    std::optional<RequestRate<>> arrival_rate{};
    std::optional<double> concurrency{}, max_batch_size{}, num_requests{};
    bool equal_lengths = false;
    double balanced_replicas = 1, scheduler_steps = 1;
    std::optional<double> seq_len_cv{}, output_tokens_cv{};
    std::optional<TrafficLaw> seq_len_law{}, output_tokens_law{};
    const ServingEngine* engine = nullptr;
    double cached_prefix_len = 0;
    std::optional<double> prefill_chunk_tokens{};
    std::optional<Execution> execution{};
    double page_tokens = 16;
    std::optional<double> kv_share{};
    std::optional<Precision> precision{}, kv_precision{};
    std::optional<WeightFormat> weight_format{};
    std::optional<double> weight_bits{}, efficiency{};
    double tp_size = 1, pp_size = 1, ep_size = 1;
    CollectiveAlgorithm collective_algorithm = CollectiveAlgorithm::usual;
    std::optional<Precision> dispatch_precision{};
    std::optional<ExpertCopies> expert_copies{};
    ExpertOverlap expert_overlap = ExpertOverlap::none;
    std::optional<double> rank_imbalance{};
    const Workload* draft_model = nullptr;
    double draft_acceptance_rate = 0.7;
    std::optional<double> draft_tokens{}, draft_acceptance_decay{}, acceptance_length{};
    std::optional<double> prefill_replicas{}, prefill_tp_size{}, prefill_ep_size{};
    const HardwareNode* decode_hardware = nullptr;
    Bandwidth<> network_bandwidth = 100.0 * (unit::GB / unit::s);
    std::optional<Time<>> target_ttft{}, target_itl{};
    const Fleet* fleet = nullptr;
    std::optional<Power<>> power_cap{};
    double clock_limit = 1;
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
               field(&I::seq_len, "seq_len", "", "tokens of a prompt")
                   .at_least(1)
                   .defaulted("2048 tokens, or the longest that the model takes"),
               field(&I::output_tokens, key::output_tokens)
                   .at_least(1)
                   .defaulted("128, convention of MLSys-im"),
               field(&I::arrival_rate, key::arrival_rate).positive().defaulted("closed loop or queue"),
               field(&I::concurrency, "concurrency", "", "requests that clients keep in flight")
                   .at_least(1)
                   .defaulted("arrivals or queue"),
               field(&I::max_batch_size, "max_batch_size", "", "most requests that decode together")
                   .at_least(1)
                   .counted()
                   .defaulted("as many as fit"),
               field(&I::num_requests, "num_requests", "",
                     "requests of the whole run, all in flight at its start")
                   .at_least(1)
                   .defaulted("a run without end"),
               field(&I::equal_lengths, "equal_lengths", "", "all requests have the same lengths")
                   .defaulted("lengths vary enough to spread arrivals"),
               field(&I::balanced_replicas, "balanced_replicas", "",
                     "replicas to which a balancer deals the arrivals in turn")
                   .at_least(1)
                   .counted()
                   .defaulted("arrivals of a replica are random"),
               field(&I::scheduler_steps, "scheduler_steps", "",
                     "steps that the host schedules at once; prompts come between such blocks")
                   .at_least(1)
                   .counted()
                   .defaulted("1"),
               field(&I::cached_prefix_len, key::cached_prefix_len).defaulted("nothing cached")),
          length_rows<I>(), pass_rows<I>(), engine_rows<I>(), launch_rows<I>(),
          rows(field(&I::kv_share, "kv_share", "", "share of the free memory that the cache may take")
                   .within(0.01, 1)
                   .defaulted("the rule of the engine, else zoo/catalogue.yaml")),
          serving_format_rows<I>(), replica_rows<I>(), speculation_rows<I>(), prefill_rows<I>(),
          rows(field(&I::decode_hardware, key::decode_hardware).defaulted("the same devices")),
          transfer_rows<I>(),
          rows(field(&I::target_ttft, "target_ttft", "ms", "time to first token that a good request meets")
                   .positive()
                   .defaulted("no target"),
               field(&I::target_itl, "target_itl", "ms", "time between tokens that a good request meets")
                   .positive()
                   .defaulted("no target"),
               field(&I::fleet, key::fleet).defaulted("the machines in which the device ships")),
          power_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result : InFlightEstimate<> {
    using base_type = Reported<InFlightEstimate<>>;
    Fidelity fidelity{};

    static constexpr auto fields() {
      return join(inherited<Result>(base_type::fields()),
                  rows(field(&Result::fidelity, "fidelity", "", "fidelity of this result")));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

#pragma once
/// A replica that batches in flight, in steady state (walls 4, 5, 7).

#include <mlsysim/answer/first_token.hpp>
#include <mlsysim/catalogue/row_groups.hpp>
#include <mlsysim/lowering/memory_model.hpp>
#include <mlsysim/resolve/contract.hpp>
#include <mlsysim/spec/conventions.hpp>
#include <mlsysim/spec/serving_engine.hpp>
#include <mlsysim/spec/system.hpp>
#include <mlsysim/spec/workload.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Latency, throughput and goodput of one replica whose requests join and leave a running batch.
///
/// Three ways of arriving: `arrival_rate` (Poisson; the number in flight follows from Little's law),
/// `concurrency` (a closed loop: a new request for every finished one), or neither (everything is queued, the
/// cache decides how many run). Prompts share passes with decode steps or stop them, as the engine does. With
/// requests of equal lengths a closed loop runs in step: prompts follow each other pass by pass, so each
/// waits for the one before (mixed passes), or all come at once every round (separate passes).
/// `prefill_replicas` puts the prompts on workers of their own, of other degrees where they are given, which
/// send the cache over `network_bandwidth`; their devices count. `draft_model` proposes tokens that one pass
/// verifies; the model itself as its own draft stands for its draft layers (MTP), and a measured
/// `acceptance_length` without a draft model for drafts that cost nothing (n-grams). Assumed: answers of
/// `output_tokens`, context of a step half-way through the answer; a chunk costs an equal part of its prompt;
/// expert-parallel ranks share the requests; quantiles are those of the first token, a request of many steps
/// sees the mean step.
/// @cite yu2022orca, section 4; kwon2023vllm; agrawal2024sarathi; zhong2024distserve, section 3;
/// leviathan2023speculative
struct InFlightBatchingModel : Model<InFlightBatchingModel> {
  static constexpr std::string_view id = "InFlightBatchingModel";
  static constexpr std::string_view about =
      "latency, throughput and goodput of a replica that batches in flight";
  static constexpr std::string_view law =
      "itl = decode_pass + min(prompts_per_step, 1) added; running = rate steps itl";
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
    double output_tokens = 128;
    std::optional<RequestRate<>> arrival_rate{};
    std::optional<double> concurrency{}, max_batch_size{}, num_requests{};
    bool equal_lengths = false;
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

    static constexpr auto fields() {
      using I = Inputs;
      return join(
          rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
               field(&I::seq_len, "seq_len", "", "tokens of a prompt")
                   .at_least(1)
                   .defaulted("2048 tokens, or the longest that the model takes"),
               field(&I::output_tokens, key::output_tokens)
                   .at_least(1)
                   .defaulted("128, convention of MLSys-im"),
               field(&I::arrival_rate, "arrival_rate", "request/s", "requests that arrive, Poisson")
                   .positive()
                   .defaulted("closed loop or queue"),
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
               field(&I::cached_prefix_len, key::cached_prefix_len).defaulted("nothing cached")),
          pass_rows<I>(), engine_rows<I>(), launch_rows<I>(),
          rows(field(&I::kv_share, "kv_share", "", "share of the free memory that the cache may take")
                   .within(0.01, 1)
                   .defaulted("zoo/catalogue.yaml")),
          serving_format_rows<I>(), replica_rows<I>(), speculation_rows<I>(),
          rows(field(&I::prefill_replicas, "prefill_replicas", "", "workers that only process prompts")
                   .within(1, 65536)
                   .counted()
                   .defaulted("prompts run where tokens are generated"),
               field(&I::prefill_tp_size, "prefill_tp_size", "", "tensor-parallel degree of a prefill worker")
                   .at_least(1)
                   .counted()
                   .defaulted("tp_size"),
               field(&I::prefill_ep_size, "prefill_ep_size", "", "expert-parallel degree of a prefill worker")
                   .at_least(1)
                   .counted()
                   .defaulted("ep_size"),
               field(&I::decode_hardware, key::decode_hardware).defaulted("the same devices"),
               field(&I::network_bandwidth, key::network_bandwidth)
                   .positive()
                   .defaulted("100 GB/s, convention of MLSys-im"),
               field(&I::target_ttft, "target_ttft", "ms", "time to first token that a good request meets")
                   .positive()
                   .defaulted("no target"),
               field(&I::target_itl, "target_itl", "ms", "time between tokens that a good request meets")
                   .positive()
                   .defaulted("no target"),
               field(&I::fleet, key::fleet).defaulted("the machines in which the device ships")),
          power_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result {
    bool feasible = false, is_stable = false;
    double running_requests = 0, max_active_requests = 0;
    Time<> itl, p99_itl;
    std::optional<Time<>> ttft, p50_ttft, p99_ttft, request_latency, p99_request_latency;
    std::optional<Time<>> ttft_ingress, ttft_queue, ttft_dispatch, ttft_prefill, ttft_egress;
    std::optional<Time<>> p50_ttft_queue, p99_ttft_queue;
    TokenRate<> token_throughput, token_throughput_per_accelerator;
    RequestRate<> request_throughput, capacity, goodput;
    std::optional<double> slo_attainment;
    Time<> decode_pass, prompt_pass, host_time;
    double prompts_per_step = 0, prefill_share = 0, tokens_per_pass = 1;
    std::optional<double> matched_prefill_replicas;
    Time<> kv_transfer_time;
    Data<> kv_cache_size;
    double paged_internal_fragmentation = 0, utilization = 0, accelerators = 1;
    Fidelity fidelity{};

    static constexpr auto fields() {
      using R = Result;
      return join(
          rows(field(&R::feasible, "feasible", "", "at least one request fits beside the weights"),
               field(&R::is_stable, "is_stable", "", "the replica keeps up with the arrivals"),
               field(&R::running_requests, "running_requests", "", "requests that decode together, mean"),
               field(&R::max_active_requests, "max_active_requests", "", "requests whose pages fit"),
               field(&R::itl, "itl", "ms", "inter-token latency, mean"),
               field(&R::p99_itl, "p99_itl", "ms", "99 % of the tokens come no later"),
               field(&R::ttft, "ttft", "ms", "time to first token, mean of the run"),
               field(&R::p50_ttft, "p50_ttft", "ms",
                     "half of the first tokens come no later; none in step or in a queue"),
               field(&R::p99_ttft, "p99_ttft", "ms", "99 % of the first tokens come no later"),
               field(&R::request_latency, key::request_latency)),
          first_token_rows<R>(),
          rows(
              field(&R::p50_ttft_queue, "p50_ttft_queue", "ms",
                    "half of the requests wait no longer for others; the other terms are alike for all"),
              field(&R::p99_ttft_queue, "p99_ttft_queue", "ms",
                    "99 % of the requests wait no longer for others"),
              field(&R::p99_request_latency, "p99_request_latency", "ms",
                    "99 % of the requests take no longer"),
              field(&R::token_throughput, key::token_throughput),
              field(&R::token_throughput_per_accelerator, "token_throughput_per_accelerator", "token/s",
                    "generated tokens a second and device"),
              field(&R::request_throughput, "request_throughput", "request/s", "requests that are finished"),
              field(&R::capacity, "capacity", "request/s", "what a full replica finishes"),
              field(&R::goodput, "goodput", "request/s", "requests that meet both targets"),
              field(&R::slo_attainment, "slo_attainment", "", "share of the requests that meet both targets"),
              field(&R::decode_pass, "decode_pass", "ms", "a step without prompts, host included"),
              field(&R::prompt_pass, "prompt_pass", "ms", "a pass with prompts, host included"),
              field(&R::host_time, "host_time", "ms", "host work of one pass"),
              field(&R::prompts_per_step, "prompts_per_step", "",
                    "prompts that arrive during one step, and rank"),
              field(&R::prefill_share, "prefill_share", "", "share of the time of passes with prompts"),
              field(&R::tokens_per_pass, "tokens_per_pass", "", "tokens of a request that one pass yields"),
              field(&R::matched_prefill_replicas, "matched_prefill_replicas", "",
                    "prefill workers that keep this replica full"),
              field(&R::kv_transfer_time, "kv_transfer_time", "ms",
                    "move of a prompt's cache to the decoding devices"),
              field(&R::kv_cache_size, "kv_cache_size", "GB", "pages held by the running requests"),
              field(&R::paged_internal_fragmentation, "paged_internal_fragmentation", "",
                    "share of the held pages that is empty"),
              field(&R::utilization, "utilization", "", "share of the time in which kernels run"),
              field(&R::accelerators, key::accelerators),
              field(&R::fidelity, "fidelity", "", "fidelity of this result")));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  [[nodiscard]] Result solve(const Inputs& in) const {
    Notes quiet;
    return solve(in, quiet);
  }
};

}  // namespace mlsysim

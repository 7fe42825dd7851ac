#pragma once
/// Best batch size of a service under a P99 latency target (walls 5 and 7).
///
///   textbook: max batch      operator: max capacity      subject to p99_latency <= target_latency
///   capacity = num_replicas batch / service_latency
///
/// service_latency: TTFT plus all output tokens of a static batch (ServingModel).
/// Operator P99 includes filling the batch, (batch - 1) / arrival_rate. Textbook takes mean service plus P99
/// wait.
/// Limits: a replica runs one batch at a time. Batches must fit in memory.
/// Example: Llama-3.1-8B fp16, 8 H100 replicas, 50 requests/s of 256 + 256 tokens, target 5 s (textbook):
/// batch 256, the largest tried, P99 4.11 s. One replica cannot meet the target.
/// @cite deanbarroso2013tail; pope2023inference

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Tries every batch size up to `max_search_batch`. Past the knee a larger batch adds latency and no
/// capacity.
struct BatchingOptimizer : Optimizer<BatchingOptimizer> {
  static constexpr std::string_view id = "BatchingOptimizer";
  static constexpr std::string_view about = "best batch size under a latency target";
  static constexpr std::string_view law =
      "max batch (textbook) or capacity (operator) subject to p99_latency <= target_latency";
  static constexpr std::string_view source = "pope2023inference";
  static constexpr std::array walls{5, 7};
  static constexpr std::array fallacies{
      Fallacy{"The largest batch that meets the target is the best.",
              "Once arithmetic is busy a larger batch adds latency and no capacity."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    RequestRate<> arrival_rate;
    Time<> target_latency;
    std::optional<double> seq_len{};
    std::optional<double> output_tokens{};
    double num_replicas = 1, tp_size = 1, service_time_cv = 1;
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    double max_search_batch = 256;
    std::optional<double> prefill_chunk_tokens{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
               field(&I::arrival_rate, "arrival_rate", "request/s", "requests that arrive").positive(),
               field(&I::target_latency, key::target_latency),
               field(&I::seq_len, key::seq_len).defaulted("2048 tokens, or the longest that the model takes"),
               field(&I::output_tokens, key::output_tokens)
                   .at_least(1)
                   .counted()
                   .defaulted("as many as the prompt"),
               field(&I::num_replicas, "num_replicas", "", "replicas that share the line")
                   .within(1, 65536)
                   .counted()
                   .defaulted("one"),
               field(&I::tp_size, key::tp_size).defaulted("one device"),
               field(&I::service_time_cv, "service_time_cv", "",
                     "standard deviation over mean of the service time; textbook: 1")
                   .within(0, 100)
                   .defaulted("exponential service"),
               field(&I::precision, key::precision).defaulted("the device's default precision"),
               field(&I::efficiency, key::efficiency)
                   .defaulted("0.5 (textbook) or the device's share (operator)"),
               field(&I::max_search_batch, "max_search_batch", "", "largest batch to consider")
                   .within(1, 65536)
                   .counted()
                   .defaulted("256, convention of MLSys-im")),
          pass_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result {
    SearchSummary search;
    double best_batch_size = 0;
    TokenRate<> max_throughput;
    RequestRate<> capacity;
    Time<> p99_latency, service_latency;
    double queue_utilization = 0, slo_headroom_ratio = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(field(&R::search, "search", "", "what was tried"),
                  field(&R::best_batch_size, "best_batch_size", "", "requests of a batch"),
                  field(&R::max_throughput, "max_throughput", "token/s", "tokens that the arrivals ask for"),
                  field(&R::capacity, "capacity", "request/s", "requests that the replicas could serve"),
                  field(&R::p99_latency, "p99_latency", "ms", "99 % of the requests take no longer"),
                  field(&R::service_latency, key::service_latency),
                  field(&R::queue_utilization, "queue_utilization", "", "arrivals over capacity"),
                  field(&R::slo_headroom_ratio, "slo_headroom_ratio", "",
                        "P99 wait over five services, convention of MLSys-im"),
                  field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] std::optional<Result> solve(const Inputs& in, Search& search, Notes& notes) const;
};

}  // namespace mlsysim

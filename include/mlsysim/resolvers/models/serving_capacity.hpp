#pragma once
/// Fewest serving replicas that meet a request rate under P99 latency, TTFT and ITL targets (walls 4, 5, 7).
///
///   required_replicas = least n with estimated_p99_latency(n) <= target_p99_latency
///
/// Textbook: each replica is one server with service time 1 / capacity. P99 = base latency + P99 wait.
/// Operator: each replica batches in flight at rate / n (InFlightBatchingModel). One queue feeds all slots.
/// P99 is that of wait plus service, and P99 TTFT - TTFT comes on top.
/// Assumed: a request goes to any free slot, and answers vary by `service_time_cv`.
/// Example: 80 requests/s, replicas of 50.5 requests/s and 304 ms, target 2 s (textbook): 2 replicas, 79 %
/// busy, P99 = 304 + 203 = 507 ms.
/// @cite yu2022orca, section 4; kwon2023vllm; deanbarroso2013tail; gross2008queueing, section 3.3

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/choices.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/links.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// The limit that decides a capacity plan. With enough replicas: the limit that one fewer would break.
enum class CapacityLimit : std::uint8_t { none, memory, base_latency, queueing, first_token, token_time };
template <> inline constexpr auto names_of<CapacityLimit> = ChoiceNames{"capacity limit"};

/// Capacity plan of one model on one kind of replica.
struct ServingCapacityModel : Model<ServingCapacityModel> {
  static constexpr std::string_view id = "ServingCapacityModel";
  static constexpr std::string_view about = "replicas that a request rate needs under a latency target";
  static constexpr std::string_view law = "least replicas with estimated_p99_latency <= target_p99_latency";
  static constexpr std::string_view source = "deanbarroso2013tail";
  static constexpr std::array walls{4, 5, 7};
  static constexpr std::array fallacies{
      Fallacy{"Replicas are requests per second over requests per second of one.",
              "At that number the utilization is one and the wait has no bound."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    RequestRate<> arrival_rate;
    std::optional<Time<>> target_p99_latency{};
    std::optional<double> max_seq_len{};
    std::optional<double> mean_request_tokens{};
    double output_tokens = UsualRequest::answer, max_batch_size = 32, page_tokens = 16;
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    double tp_size = 1, max_replicas = 1024, pp_size = 1, ep_size = 1;
    CollectiveAlgorithm collective_algorithm = CollectiveAlgorithm::usual;
    std::optional<Precision> dispatch_precision{};
    std::optional<ExpertCopies> expert_copies{};
    ExpertOverlap expert_overlap = ExpertOverlap::none;
    std::optional<double> rank_imbalance{};
    std::optional<double> service_time_cv{};
    std::optional<Precision> kv_precision{};
    std::optional<WeightFormat> weight_format{};
    std::optional<double> weight_bits{};
    const ServingEngine* engine = nullptr;
    std::optional<double> prefill_chunk_tokens{};
    std::optional<Execution> execution{};
    std::optional<Time<>> target_p99_ttft{}, target_itl{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(
          rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
               field(&I::arrival_rate, key::arrival_rate).positive(),
               field(&I::target_p99_latency, "target_p99_latency", "ms",
                     "99 % of the requests must take no longer")
                   .positive()
                   .defaulted("no target"),
               field(&I::target_p99_ttft, "target_p99_ttft", "ms",
                     "99 % of the first tokens must come no later (operator)")
                   .positive()
                   .defaulted("no target"),
               field(&I::target_itl, "target_itl", "ms",
                     "mean time between tokens that must be kept (operator)")
                   .positive()
                   .defaulted("no target"),
               field(&I::max_seq_len, "max_seq_len", "", "longest request, prompt and answer")
                   .at_least(1)
                   .counted()
                   .defaulted("2048 tokens, or the longest that the model takes"),
               field(&I::mean_request_tokens, key::mean_request_tokens)
                   .defaulted("every request has the full length"),
               field(&I::output_tokens, key::output_tokens)
                   .at_least(1)
                   .counted()
                   .defaulted("128, convention of MLSys-im"),
               field(&I::max_batch_size, "max_batch_size", "", "most requests at a time and replica")
                   .at_least(1)
                   .counted()
                   .defaulted("32, convention of MLSys-im")),
          pass_rows<I>(), engine_rows<I>(), launch_rows<I>(), serving_format_rows<I>(), replica_rows<I>(),
          rows(field(&I::max_replicas, "max_replicas", "", "most replicas to consider")
                   .within(1, 65536)
                   .counted()
                   .defaulted("1024, convention of MLSys-im"),
               field(&I::service_time_cv, "service_time_cv", "",
                     "standard deviation over mean of the service time")
                   .within(0, 100)
                   .defaulted("0: requests alike (operator), 1 where a mean length is given (textbook)")),
          fidelity_rows<I>());
    }
  };
  struct Result {
    bool feasible = false;
    CapacityLimit limit = CapacityLimit::none;
    std::optional<double> required_replicas;
    RequestRate<> capacity, per_replica_capacity;
    std::optional<double> queue_utilization;
    std::optional<Time<>> estimated_p99_latency, queue_wait_p99;
    std::optional<Time<>> base_request_latency, ttft, itl, p99_ttft;  ///< absent where nothing fits
    double active_batch_size = 0, accelerators = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::feasible, "feasible", "", "some number of replicas meets the target"),
          field(&R::limit, "limit", "", "what stands in the way, or what one replica fewer would break"),
          field(&R::required_replicas, "required_replicas", "", "fewest replicas that meet the target"),
          field(&R::capacity, "capacity", "request/s", "what these replicas can do"),
          field(&R::per_replica_capacity, "per_replica_capacity", "request/s", "what one replica can do"),
          field(&R::queue_utilization, "queue_utilization", "", "arrivals over capacity"),
          field(&R::estimated_p99_latency, "estimated_p99_latency", "ms",
                "99 % of the requests take no longer"),
          field(&R::queue_wait_p99, "queue_wait_p99", "ms", "99 % of the requests wait no longer"),
          field(&R::base_request_latency, "base_request_latency", "ms", "a request without waiting"),
          field(&R::ttft, key::ttft),
          field(&R::p99_ttft, "p99_ttft", "ms",
                "99 % of the first tokens come no later, waits for a slot included; textbook: none"),
          field(&R::itl, key::itl),
          field(&R::active_batch_size, "active_batch_size", "", "most requests at a time and replica"),
          field(&R::accelerators, key::accelerators),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

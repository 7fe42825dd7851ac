#pragma once
/// Concurrency and throughput of a replica with a paged KV cache, against static allocation (wall 5).
///
///   requests = floor(free memory / (KV per token x held tokens))      rate = requests / itl
///
/// held tokens: max_seq_len for static allocation, the request rounded up to whole pages for paging. Lengths
/// are exponential with mean `mean_request_tokens`, capped at max_seq_len.
/// Textbook: ITL = (weights + KV read) / bandwidth. Operator: InFlightBatchingModel with that concurrency, so
/// prompts and host time of the engine count.
/// Example: Llama-3.1-8B fp16 on an H100, mean 2048 of at most 8192 tokens, pages of 16 (textbook): 259
/// requests and 10,138 token/s paged, 65 and 6,498 static.
/// @cite kwon2023vllm, sections 3 and 4; yu2022orca, section 4 (iteration-level scheduling)

#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/resolvers/row_groups.hpp>
#include <mlsysim/specs/conventions.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/specs/links.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/specs/workload.hpp>

namespace mlsysim {

/// Paged and static allocation side by side.
struct ContinuousBatchingModel : Model<ContinuousBatchingModel> {
  static constexpr std::string_view id = "ContinuousBatchingModel";
  static constexpr std::string_view about =
      "concurrency and throughput of continuous batching with a paged KV cache";
  static constexpr std::string_view law =
      "requests = floor(free memory / (KV per token * held tokens)); rate = requests / itl";
  static constexpr std::string_view source = "kwon2023vllm";
  static constexpr std::array walls{5};
  static constexpr std::array fallacies{
      Fallacy{"A larger batch is always faster.",
              "Once the caches outweigh the weights, every further request slows all others."},
      Fallacy{"Small pages waste nothing.",
              "Half a page per request is lost on average, and a request of average length still varies."}};
  static constexpr bool thread_safe = true;

  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double max_seq_len = 0;
    std::optional<double> mean_request_tokens{};
    std::optional<double> output_tokens{};
    double max_batch_size = 1, page_tokens = 16;
    std::optional<Precision> precision{};
    std::optional<double> efficiency{};
    double tp_size = 1, pp_size = 1, ep_size = 1;
    CollectiveAlgorithm collective_algorithm = CollectiveAlgorithm::usual;
    std::optional<Precision> dispatch_precision{};
    std::optional<ExpertCopies> expert_copies{};
    ExpertOverlap expert_overlap = ExpertOverlap::none;
    std::optional<double> rank_imbalance{};
    std::optional<Precision> kv_precision{};
    std::optional<WeightFormat> weight_format{};
    std::optional<double> weight_bits{};
    const ServingEngine* engine = nullptr;
    std::optional<double> prefill_chunk_tokens{};
    std::optional<Execution> execution{};
    std::optional<Fidelity> fidelity{};
    const Conventions* conventions = nullptr;

    template <class I = Inputs> static constexpr auto fields() {
      return join(rows(field(&I::workload, key::workload), field(&I::hardware, key::hardware),
                       field(&I::max_seq_len, "max_seq_len", "", "longest request, prompt and answer")
                           .at_least(1)
                           .counted(),
                       field(&I::mean_request_tokens, key::mean_request_tokens)
                           .defaulted("every request has the full length"),
                       field(&I::output_tokens, key::output_tokens)
                           .at_least(1)
                           .counted()
                           .defaulted("an eighth of the mean request (operator)"),
                       field(&I::max_batch_size, "max_batch_size", "", "most requests at a time")
                           .at_least(1)
                           .counted()
                           .defaulted("one request")),
                  pass_rows<I>(), engine_rows<I>(), launch_rows<I>(), serving_format_rows<I>(),
                  replica_rows<I>(), fidelity_rows<I>());
    }
  };
  struct Result {
    bool feasible = false;
    TokenRate<> token_throughput, static_token_throughput;
    double max_active_requests = 0, static_max_active_requests = 0, mean_request_tokens = 0;
    double paged_internal_fragmentation = 0, static_internal_fragmentation = 0;
    Data<> paged_kv_cache_size, static_kv_cache_size;
    std::optional<Time<>> ttft{}, itl{};  ///< absent where no request fits
    double speedup_vs_static = 1, prefill_share = 0;
    Fidelity fidelity{};

    template <class R = Result> static constexpr auto fields() {
      return rows(
          field(&R::feasible, "feasible", "", "at least one request fits beside the weights"),
          field(&R::token_throughput, key::token_throughput),
          field(&R::static_token_throughput, "static_token_throughput", "token/s",
                "the same with whole requests reserved"),
          field(&R::max_active_requests, "max_active_requests", "", "requests that decode together, paged"),
          field(&R::static_max_active_requests, "static_max_active_requests", "",
                "the same with whole requests reserved"),
          field(&R::mean_request_tokens, key::mean_request_tokens),
          field(&R::paged_internal_fragmentation, "paged_internal_fragmentation", "",
                "share of the held pages that is empty"),
          field(&R::static_internal_fragmentation, "static_internal_fragmentation", "",
                "share of the reserved room that is empty"),
          field(&R::paged_kv_cache_size, "paged_kv_cache_size", "GB", "cache of all requests, in pages"),
          field(&R::static_kv_cache_size, "static_kv_cache_size", "GB",
                "cache of all requests, reserved whole"),
          field(&R::ttft, key::ttft), field(&R::itl, key::itl),
          field(&R::speedup_vs_static, "speedup_vs_static", "", "paged over static throughput"),
          field(&R::prefill_share, "prefill_share", "",
                "share of the time of passes with prompts; textbook: 0"),
          field(&R::fidelity, "fidelity", "", "fidelity of this result"));
    }
  };
  [[nodiscard]] Result solve(const Inputs& in, Notes& notes) const;
  using Model::solve;
};

}  // namespace mlsysim

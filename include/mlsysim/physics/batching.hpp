#pragma once
/// Steady-state decoding of many requests: cache pages they hold, decode rate of a batch, weight streaming.
///
///   held             = page_tokens (1 - exp(-K s)) / (1 - exp(-s)),  s = page_tokens / scale
///   token_throughput = batch bandwidth / (weights + batch kv_per_request)
///   layer time       = max(layer_weights / bandwidth, work_per_sample batch / (peak efficiency) + dispatch)
///
/// held: mean tokens for which pages are reserved. K = ceil(max_tokens / page_tokens). scale: scale of the
/// exponential length [tokens]. weights, kv_per_request [B]. bandwidth [B/s]. peak [FLOP/s].
/// Limits: decoding is bound by memory alone. Weight streaming overlaps fully with arithmetic.
/// Example: batch 32, 16 GB of weights, 250 MB of cache each, 3.35 TB/s: 4467 token/s, ITL 7.16 ms.
/// Example: lengths of scale 500, cap 2048, pages of 16 tokens: mean length 491.7, held 499.6 tokens.
/// @cite kwon2023vllm, section 3
/// @cite pope2023inference, section 2

#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/reflect/law.hpp>
#include <mlsysim/units/unit.hpp>

namespace mlsysim {

/// Mean cache space that a request of random length holds in pages [tokens].
///
/// Lengths are exponential with the given scale, cut off at max_tokens. A request holds whole pages.
/// mean = scale (1 - exp(-max_tokens / scale)). Ranges: scale > 0; page_tokens, max_tokens >= 1, whole.
/// @cite kwon2023vllm, section 3 (pages); own sum over the pages of an exponential length
struct PagedTokens {
  static constexpr LawInfo info{"PagedTokens",
                                "held = page_tokens (1 - exp(-K s)) / (1 - exp(-s)), s = page_tokens / scale",
                                "kwon2023vllm", "section 3", "exponential lengths with a cap; whole pages"};
  template <class T> struct Inputs {
    T scale, page_tokens, max_tokens;
    static constexpr auto fields() {
      return rows(field(&Inputs::scale, "scale", "", "scale of the exponential length").positive(),
                  field(&Inputs::page_tokens, "page_tokens", "", "tokens of one page").at_least(1).counted(),
                  field(&Inputs::max_tokens, "max_tokens", "", "longest request").at_least(1).counted());
    }
  };
  template <class T> struct Result {
    T mean, held;
    static constexpr auto fields() {
      return rows(field(&Result::mean, "mean", "", "mean length of a request"),
                  field(&Result::held, "held", "", "mean tokens for which pages are held"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const T step = named("step", in.page_tokens / in.scale);
    const T pages = ceil_div(in.max_tokens, in.page_tokens);
    return {.mean = -(in.scale * detail::exp_minus_one<T>(-(in.max_tokens / in.scale))),
            .held = in.page_tokens *
                    (detail::exp_minus_one<T>(-(pages * step)) / detail::exp_minus_one<T>(-step))};
  }
};

/// Tokens per second of a batch that decodes, limited by memory [token/s].
///
/// Each step reads the weights once and the cache of every request. Ranges: batch_size >= 1; weights > 0;
/// kv_per_request >= 0; bandwidth > 0.
/// @cite pope2023inference, section 2
struct BatchedDecodeRate {
  static constexpr LawInfo info{
      "BatchedDecodeRate", "token_throughput = batch bandwidth / (weights + batch kv_per_request)",
      "pope2023inference", "section 2", "bound by memory; no arithmetic, no launches"};
  template <class T> struct Inputs {
    T batch_size;
    Data<T> weights, kv_per_request;
    Bandwidth<T> bandwidth;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::batch_size, key::batch_size), field(&Inputs::weights, key::weights).positive(),
          field(&Inputs::kv_per_request, "kv_per_request", "MB", "keys and values that one request reads")
              .non_negative(),
          field(&Inputs::bandwidth, key::bandwidth));
    }
  };
  template <class T> struct Result {
    TokenRate<T> token_throughput;
    Time<T> itl;
    static constexpr auto fields() {
      return rows(field(&Result::token_throughput, key::token_throughput), field(&Result::itl, key::itl));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    return {.token_throughput =
                (1.0 * unit::token) * in.bandwidth / (in.weights / in.batch_size + in.kv_per_request),
            .itl = (in.weights + in.kv_per_request * in.batch_size) / in.bandwidth};
  }
};

/// One layer of a device that streams its weights in while it computes [s].
///
/// The next layer arrives while this one runs. balance_batch is the batch at which both sides take equally
/// long, without dispatch. Example: 1 GB at 100 GB/s, 100 GFLOP a sample at 50 TFLOP/s: 10 ms, balance at 5.
/// Ranges: amounts > 0, rates > 0, efficiency in (0, 1].
/// @cite lie2022weightstreaming, weight streaming
struct WeightStreamLayer {
  static constexpr LawInfo info{
      "WeightStreamLayer",
      "time = max(layer_weights / bandwidth, work_per_sample batch / (peak efficiency) + dispatch)",
      "lie2022weightstreaming", "weight streaming", "injection and arithmetic overlap fully"};
  template <class T> struct Inputs {
    Data<T> layer_weights;
    Bandwidth<T> bandwidth;
    Work<T> work_per_sample;
    T batch_size;
    ComputeRate<T> peak;
    T efficiency;
    Time<T> dispatch;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::layer_weights, "layer_weights", "GB", "weights of one layer").positive(),
          field(&Inputs::bandwidth, key::bandwidth),
          field(&Inputs::work_per_sample, "work_per_sample", "GFLOP", "arithmetic of one layer and sequence")
              .positive(),
          field(&Inputs::batch_size, key::batch_size), field(&Inputs::peak, key::peak),
          field(&Inputs::efficiency, key::efficiency),
          field(&Inputs::dispatch, "dispatch", "us", "fixed time of a layer").non_negative());
    }
  };
  template <class T> struct Result {
    Time<T> time, injection, compute;
    T balance_batch;
    static constexpr auto fields() {
      return rows(field(&Result::time, "time", "ms", "time of one layer"),
                  field(&Result::injection, "injection", "ms", "time to bring the weights in"),
                  field(&Result::compute, "compute", "ms", "time of the arithmetic"),
                  field(&Result::balance_batch, "balance_batch", "", "batch at which both take as long"));
    }
  };
  template <class T = double> [[nodiscard]] static constexpr Result<T> solve(const Inputs<T>& in) {
    const auto rate = named("rate", in.peak * in.efficiency);
    const auto injection = in.layer_weights / in.bandwidth;
    const auto compute = in.work_per_sample * in.batch_size / rate + in.dispatch;
    return {.time = max(injection, compute),
            .injection = injection,
            .compute = compute,
            .balance_batch = injection * rate / in.work_per_sample};
  }
};

}  // namespace mlsysim

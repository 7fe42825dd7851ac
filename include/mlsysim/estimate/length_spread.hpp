#pragma once
/// Lengths of requests that differ: what they are at the percentiles of times, over their mean.
///
///     ttft (quantile)       = ttft + sqrt((quantile - ttft)^2 + (prefill(length) - prefill(mean length))^2)
///     p99_itl deviation^2  *= (1 + cv^2 of prompts) (1 + cv^2 of answers) in the part that prompts add
///     p99_request_latency   = request_latency + sqrt((p99_ttft - ttft)^2 + (answer (0.99) - answer)^2)
///     variance of arriving work = variance of arrivals + cv^2, over its mean
///     held by a request     = seq_len + (output_tokens (1 + cv^2) + 1) / 2
///
/// answer: time from the first token to the last [s]. cv: standard deviation over mean. Prompts, answers and
/// the line before a prompt are independent; differences keep their signs. Means of latency are those of mean
/// lengths, but for the wait behind random arrivals and for the cache: at a random moment long ones are
/// there.
///
/// Example: answers of 100 tokens, exponential: 99 % are below 461. At 20 ms per token and a TTFT of 0.2 s
/// (99 %: 0.5 s), the mean is 2.18 s, and 99 % of the requests are below 9.40 s.

#include <mlsysim/reflect/category.hpp>
#include <mlsysim/reflect/field.hpp>
#include <mlsysim/scalars/scalars.hpp>

#include <array>

namespace mlsysim {

/// Lengths of prompts or of answers. Factors of the mean, made from a law (specs/traffic_law.hpp).
template <class T = double> struct LengthSpread {
  T p50{1.0}, p90{1.0}, p95{1.0}, p99{1.0};
  T cv{0.0};
  bool differs = false;  ///< else all have the mean length

  static constexpr auto fields() {
    using L = LengthSpread;
    return rows(
        field(&L::p50, "p50", "", "length that half of the requests stay below, over the mean").fixed(),
        field(&L::p90, "p90", "", "length that 90 % stay below, over the mean").fixed(),
        field(&L::p95, "p95", "", "length that 95 % stay below, over the mean").fixed(),
        field(&L::p99, "p99", "", "length that 99 % stay below, over the mean").fixed(),
        field(&L::cv, "cv", "", "standard deviation of the lengths over their mean").fixed());
  }
  static constexpr auto categories() {
    return rows(category(&LengthSpread::differs, "differs", "lengths of requests differ"));
  }
  /// The mean length of those that are there at a random moment: a longer one is there for longer.
  [[nodiscard]] T met(const T& mean) const { return differs ? T(mean * squares()) : mean; }
  /// The mean of the squares over the square of the mean; lognormal lengths have it as mean of their
  /// inverses.
  [[nodiscard]] T squares() const { return 1.0 + cv * cv; }
  /// Lengths that 50, 90, 95 and 99 % of the requests stay below.
  [[nodiscard]] std::array<T, 4> factors() const { return {p50, p90, p95, p99}; }
};

}  // namespace mlsysim

#pragma once
/// Limits on the times of a served request, as people write them: 'p99 2 s' on the time to first token.
///
/// A limit names a time (ttft, itl or e2e), a statistic over requests (the mean, or a percentile that a law
/// gives) and a largest value. It becomes a condition on one number of the scorecard. Example: "p99 2 s" on
/// ttft is the condition "p99_ttft <= 2000 ms".

#include <mlsysim/units/unit.hpp>

#include <string>
#include <string_view>

namespace mlsysim {

/// A limit on a time of a request: "p99 2 s" on the first token, "30 ms" on the time between tokens.
struct ServiceLimit {
  std::string time;                ///< ttft, itl or e2e
  std::string statistic = "mean";  ///< mean, p50, p90, p95 or p99
  Time<> most;

  /// @param time ttft, itl or e2e @param text "2 s", "p99 2 s", "p99 <= 2 s"
  /// @throws InputError for a text that is no time, or a percentile that no law gives
  [[nodiscard]] static ServiceLimit parse(std::string_view time, std::string_view text);
  /// The number of the scorecard that it holds: "p99_ttft".
  [[nodiscard]] std::string_view result() const;
  /// "p99_ttft <= 2000 ms", as searches and `solve` take it.
  [[nodiscard]] std::string condition() const;
  /// "p99 ttft <= 2 s"
  [[nodiscard]] std::string text() const;
};

}  // namespace mlsysim

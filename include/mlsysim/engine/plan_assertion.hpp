#pragma once
/// Checks whether the metrics of a scorecard stay within bounds, both ends included.
///
///   passed = found >= min        passed = found <= max
///
/// A bound has the dimension of its metric. A bare number is read in its display unit, and noted.
/// Example: performance.itl is 11.69 ms: "max: 25 ms" passes, "max: 5 ms" fails.

#include <mlsysim/engine/scorecard.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// A bound on a metric of the scorecard.
struct PlanAssertion {
  std::string metric;              ///< "performance.ttft"
  std::string min_text, max_text;  ///< as written; empty where there is no such bound
  Location where;
};

/// How an assertion ended.
struct AssertionResult {
  enum class Bound : std::uint8_t { min, max };
  std::string metric;
  Bound bound = Bound::max;
  std::string limit;  ///< "50 ms"
  std::string found;  ///< "81.3 ms"
  bool passed = false;
  std::string note;  ///< how a bare number was read; empty otherwise
};

/// Compares bounds with the scorecard.
/// @throws LookupError for a metric that there is not, DimensionError for a bound in another dimension,
///         ErrorList with all of them where there are several
[[nodiscard]] std::vector<AssertionResult> check_assertions(std::span<const PlanAssertion> assertions,
                                                            const SystemEvaluation& evaluation);

}  // namespace mlsysim

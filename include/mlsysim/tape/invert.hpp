#pragma once
/// Solves a law for one input: the values at which a result equals a target or stays within a limit.
///
///     result(x) = target,  result(x) <= target  or  result(x) >= target,      low <= x <= high
///
/// A continuous domain is scanned at 256 points. Newton steps with exact derivatives, kept inside the
/// bracket, refine each sign change. Counts are tried one by one, or excluded by ranges. No solution and
/// several solutions are outcomes, not errors. Two roots between neighboring scan points can be missed.
/// `exhaustive` says whether ranges or a full count rule that out.
/// Example: Roofline, 10 TFLOP at 1000 TFLOP/s, 40 GB, time = 15 ms: bandwidth = 40 GB / 15 ms = 2.67 TB/s.

#include <mlsysim/tape/law_entry.hpp>
#include <mlsysim/tape/method.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mlsysim {

/// The condition on the result.
enum class Relation : std::uint8_t { equals, at_most, at_least };

/// A count exists only where result number `result` is `value`.
struct Required {
  std::size_t result = 0;
  double value = 1;
};

/// The question which value of input `free` makes `result` meet `target`. All other inputs stay as given.
struct InverseQuery {
  std::size_t free = 0;    ///< index of an input
  std::size_t result = 0;  ///< index of a result
  Relation relation = Relation::equals;
  double target = 0;                    ///< canonical base unit
  std::optional<double> low{}, high{};  ///< search domain in the base unit; by default the range of the field
  std::vector<Required> only{};         ///< counts: what holds at admissible counts
  int scan = 256;                       ///< points at which a continuous domain is evaluated
};

enum class InverseOutcome : std::uint8_t {
  unique,      ///< one solution: `solutions[0]`
  several,     ///< not monotone: all solutions that the scan found
  everywhere,  ///< the whole domain meets the target
  none,        ///< nothing in the domain meets it; see `reachable_low` and `reachable_high`
  undefined,   ///< the result is not a finite number anywhere in the domain
};

/// One solution.
///
/// For `equals`: a point, or a range where the result stays at the target. For `at_most` and `at_least`: a
/// range of the input within which the target is met.
struct Solution {
  double low = 0, high = 0;  ///< first and last input that meets the target
  double value = 0;          ///< result at `low`
  double residual =
      0;  ///< |value - target| / |target| for equals (absolute for a target of 0); 0 for limits met
  bool jump = false;  ///< `equals`: the result jumps over the target here and never takes its value
  std::optional<double> below{},
      above{};  ///< counts: the next ones on both sides, which do not meet the target
  std::optional<double> neighbour_low{}, neighbour_high{};  ///< the results there
};

struct Inversion {
  Method method = Method::exact;
  InverseOutcome outcome = InverseOutcome::none;
  std::vector<Solution> solutions;               ///< in increasing order
  double low = 0, high = 0;                      ///< domain that was searched
  double reachable_low = 0, reachable_high = 0;  ///< smallest and largest finite result that was seen
  bool exhaustive = false;  ///< every admissible count was tried, or ranges prove that none was missed
  long evaluations = 0;
};

/// Answers a question. The value of `in[query.free]` is ignored but for a default domain.
///
/// Without limits in the query or the field the domain is twelve decades around `in[free]`, or around 1 if
/// that is 0. The scan is logarithmic over more than two decades. Up to 4096 counts of a law are tried one by
/// one. Beyond that, ranges prove cells in which nothing changes and the rest is tried, up to a limit.
/// @throws InputError if an index or the number of inputs is wrong, or the domain is empty
[[nodiscard]] Inversion invert(const LawEntry& law, std::span<const double> in, const InverseQuery& query);

}  // namespace mlsysim

#pragma once
// A library that improves a point by slopes, behind an interface of our own: at most one file includes its
// header.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace mlsysim::detail {

/// Values and slopes at one point of the unit cube. Slopes are [constraints, variables].
struct SmoothValues {
  double objective = 0;
  std::vector<double> slope;
  std::vector<double> at_most, at_most_slope;  ///< met where <= 0
  std::vector<double> equal, equal_slope;      ///< met where 0
  bool stop = false;                           ///< set to end the optimization early
};
using SmoothProblem = std::function<const SmoothValues&(std::span<const double>)>;

/// Name and version of the library.
[[nodiscard]] std::string local_optimizer();
/// Calls `problem` at better and better points from `start`, at most `evaluations` times. The problem keeps
/// what it likes. Values that are no numbers must not come out of it.
void improve(const SmoothProblem& problem, std::vector<double> start, std::size_t at_most, std::size_t equal,
             std::size_t evaluations);

}  // namespace mlsysim::detail

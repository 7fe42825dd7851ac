#pragma once
/// Brief texts of questions: see src/report/brief_explore.cpp.

#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/ask/solve.hpp>
#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/explore/search/explore.hpp>

#include <string>

namespace mlsysim::detail {

[[nodiscard]] std::string brief_sensitivity(const SensitivityReport& r);
/// @param from,to ranges of the result, where they are known
[[nodiscard]] std::string brief_difference(const DifferenceReport& r, const NumberInterval* from,
                                           const NumberInterval* to);
/// The best point with what limits it; the heading of the line of counts ends it. @param a with a best point
[[nodiscard]] std::string brief_optimum(const ExploreAnswer& a);
/// Some plans of a front; the line of counts ends it likewise.
[[nodiscard]] std::string brief_front(const ExploreAnswer& a);
[[nodiscard]] std::string brief_solve(const SolveAnswer& a);
/// @param r empty where another process answers for all samples: then the text is empty too
[[nodiscard]] std::string brief_uncertainty(const UncertaintyReport& r);

}  // namespace mlsysim::detail

#pragma once
/// Whether a launch fits into the memory of its devices, before it is started.

#include <mlsysim/engine/scorecard.hpp>
#include <mlsysim/launch/launch.hpp>

#include <string>
#include <vector>

namespace mlsysim {

/// A part of the memory of one device.
struct FitItem {
  std::string part, what;
  Data<> bytes;
};

struct Fit {
  bool fits = false;
  std::string summary;  ///< one line: what fits, or what is missing
  double requests = 0;  ///< that an engine holds at once when all are the longest, on all its ranks
  double ranks = 1;     ///< data-parallel ranks of the launch, each with a cache of its own
  std::vector<FitItem> items;
  std::vector<Remedy> changes;  ///< where it does not fit: changes each of which makes it fit, smallest first
};

/// The memory of a scenario, by the memory model of its mode. @throws as SystemEvaluator::evaluate
[[nodiscard]] Fit fit_of(const Scenario& scenario);
/// The memory of a launch: of an engine that serves, by its own rules. It fits where the longest request
/// does.
/// @throws as Launch::build and memory_account
[[nodiscard]] Fit fit_of(const Launch& launch, const Zoo& zoo);

}  // namespace mlsysim

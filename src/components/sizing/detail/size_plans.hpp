#pragma once
// Plans of a size, of served models and of training runs.

#include "sizing/detail/size_units.hpp"

#include <mlsysim/resolver_api/outcome.hpp>
#include <mlsysim/sizing/size.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mlsysim::detail {

/// Degrees that are tried.
[[nodiscard]] std::vector<Degrees> degrees_of(const SizeQuestion& question, Machines& machines, bool trains);
[[nodiscard]] std::string words_of(const Degrees& degrees);
[[nodiscard]] bool trains(const SizeQuestion& question);
/// The scenario of a question before it has a plan.
[[nodiscard]] Scenario sized_scenario(const SizeQuestion& question);

/// The replicas of a plan that are bought together, with the requests that run on them; a training run as it
/// is. @param replicas receives how many they are, of a served model
[[nodiscard]] Scenario busy_replicas(const SizeQuestion& question, const SizedPlan& plan, double* replicas);

/// Fills an answer in from its plans, which it sorts.
void finish(const SizeQuestion& question, SizeAnswer& answer, std::vector<SizedPlan>& plans,
            Machines& machines);

/// The plan that misses the limits by the smallest factor, with the miss in words.
struct NearestPlan {
  static constexpr double kNone = 1e299;  ///< of a plan that no smaller limit makes possible
  double missing = 1e300;
  std::string words, plan, change;
  void take(double by, std::string what, const Degrees& degrees, std::string would_help);
};
[[nodiscard]] Infeasible nothing_fits(const NearestPlan& nearest, std::size_t plans);

/// ", zero 1, micro-batch 2, full recomputation"
[[nodiscard]] std::string words_of_training(const Scenario& scenario);
[[nodiscard]] Outcome<SizeAnswer> size_training(const SizeQuestion& question);

/// The replicas that are bought together, with these degrees. @throws Error for degrees with which there is
/// no plan
[[nodiscard]] ServedUnit served_unit(const SizeQuestion& question, Machines& machines,
                                     const Degrees& degrees);

/// The most that such replicas serve within the limits.
struct ServedMost {
  double rate = 0, devices = 0;  ///< requests a second, of so many devices
  /// Devices that serve a rate; infinite where the limits are not met.
  [[nodiscard]] double for_rate(RequestRate<> wanted) const;
};
[[nodiscard]] ServedMost served_most(const SizeQuestion& question, Machines& machines, const Degrees& degrees,
                                     double time_factor);
/// Devices that a plan needs, or `below` where it needs no fewer.
[[nodiscard]] double training_devices(const SizeQuestion& question, Machines& machines,
                                      const Degrees& degrees, double time_factor, double below);

}  // namespace mlsysim::detail

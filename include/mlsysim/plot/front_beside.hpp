#pragma once
/// Data drawn beside a front: the intervals of its points, and measurements of engines.

#include <mlsysim/engine/scenario.hpp>
#include <mlsysim/explore/search/explore.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace mlsysim {

/// The interval of a point in the first two objectives, base units.
struct FrontBand {
  std::array<double, 2> low{}, high{};
};
/// A measurement in the first two objectives, base units.
struct MeasuredPoint {
  std::string device, label;  ///< key of the zoo; engine and conditions
  std::array<double, 2> at{};
};
struct FrontBeside {
  int level = 0;  ///< percent of measurements that a band is to hold; 0: no bands
  std::vector<std::optional<FrontBand>> bands{};  ///< in the order of the front; none where nothing measures
  bool measured_asked = false;
  std::vector<MeasuredPoint> measured{};
};

/// Intervals of the points of a front, as `intervals` says them; for objectives that are results.
/// @param scenario what the space varies: its axes may replace the machine and the model
/// @throws InputError for a level that is not 50, 80 or 95
[[nodiscard]] std::vector<std::optional<FrontBand>> front_bands(const ExploreAnswer& answer,
                                                                const Space& space, const Scenario& scenario,
                                                                int level);

/// Measurements of engines in closed loops with the model of a scenario, on as many of the space's devices.
/// In a closed loop of B requests with m tokens each, which take a first token and then one every t,
/// throughput is B m / (first + (m - 1) t) [Little's law].
/// @return nothing where the objectives are others than times of serving, throughput, or throughput of a
/// device
[[nodiscard]] std::vector<MeasuredPoint> measured_points(const ExploreAnswer& answer, const Space& space,
                                                         const Scenario& scenario, const Zoo& zoo);

}  // namespace mlsysim

#pragma once
/// Data drawn beside a Pareto front: prediction intervals of its points, and measured runs of serving
/// engines.
///
///   throughput = B * m / (first + (m - 1) * t)        closed loop, Little's law
///
/// B: concurrent requests. m: output tokens of a request. first: time to first token [s]. t: time between
/// tokens [s]. Objectives that a front needs: ttft, itl, request_latency, token_throughput or
/// throughput_per_accelerator.
/// Example: B 16, m 512, first 1.29 s, t 11.1 ms: 16 * 512 / 6.96 s = 1,177 tokens/s.

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
  int level = 0;  ///< percent of measurements that a band should contain; 0: no bands
  std::vector<std::optional<FrontBand>> bands{};  ///< in the order of the front; none where nothing measures
  bool measured_asked = false;
  std::vector<MeasuredPoint> measured{};
};

/// Intervals of the points of a front, for objectives that are results.
/// @param scenario the base of the space. Its axes may replace the machine and the model
/// @throws InputError for a level that is not 50, 80 or 95
[[nodiscard]] std::vector<std::optional<FrontBand>> front_bands(const ExploreAnswer& answer,
                                                                const Space& space, const Scenario& scenario,
                                                                int level);

/// Measurements of engines in closed loops with the model of a scenario, on as many of the space's devices.
/// @return nothing for objectives that such a run does not measure
[[nodiscard]] std::vector<MeasuredPoint> measured_points(const ExploreAnswer& answer, const Space& space,
                                                         const Scenario& scenario, const Zoo& zoo);

}  // namespace mlsysim

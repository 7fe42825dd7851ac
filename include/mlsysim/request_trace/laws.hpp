#pragma once
/// Fits laws of traffic (specs/traffic_law.hpp) to what a file counts.
///
/// The distance is that of Kolmogorov and Smirnov to the counted shares.
/// Example: half at 1 and half at 3 have mean 2 and deviation 1. The uniform law with these is 0.268
/// to 3.732; at 2.5, where half is counted below, it has 0.644: a distance of 0.144.

#include <mlsysim/specs/traffic_law.hpp>

#include <span>
#include <string>
#include <vector>

namespace mlsysim {

/// The share of what was counted that lies below a value.
struct CountedShare {
  double value = 0, share = 0;
};

/// Every family with this mean and deviation, the closest first. Among equals, the family that is declared
/// first comes first. Families that cannot have these moments are left out; the exponential law keeps the
/// mean alone. A deviation of 0 gives the constant alone.
///
/// Moments rather than likelihood: models of queues and batches read mean and deviation.
[[nodiscard]] std::vector<FittedLaw> fit_laws(double mean, double deviation,
                                              std::span<const CountedShare> counted);

/// "lognormal, median 1020, deviation of the log 0.83"
[[nodiscard]] std::string law_text(const FittedLaw& law);

}  // namespace mlsysim

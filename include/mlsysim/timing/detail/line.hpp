#pragma once
/// Waiting line of equal servers in steady state: its mean wait, and quantiles of wait and response.
///
///     utilization    = load / servers
///     P(wait > t)    = wait_probability exp(-t / wait_given)
///     response_quantile solves P(wait + service > t) = 1 - quantile by bisection
///
/// load: arrivals per time of one service. wait_given: mean wait of those who wait [s].
/// First come, first served. No steady state above a utilization of 0.999999.
/// @cite allencunneen1990, section 5.4; gross2008queueing, section 3.3
///
/// Example: one server, load 0.8, exponential service of 10 ms, Poisson arrivals.
/// Mean wait 40 ms, P99 of the wait 219 ms, P99 of the response 230 ms.

#include <mlsysim/physics/queueing.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim {

/// A line in steady state, or the reason why there is none: `stable` is false.
struct Line {
  double utilization = 0;
  bool stable = false;
  QueueWait::Result<double> wait{};
};

/// Utilization above which the laws count a line as unstable.
inline constexpr double kFull = 0.999999;

/// `servers` equal servers; arrivals per time of one service are `load`.
[[nodiscard]] inline Line line_of(double load, double servers, Time<> service, double arrival_cv,
                                  double service_cv) {
  Line line{.utilization = load / servers};
  line.stable = line.utilization <= kFull;
  if (line.stable)
    line.wait = QueueWait::solve<double>({.servers = servers,
                                          .utilization = std::max(line.utilization, 1e-9),
                                          .service_time = service,
                                          .arrival_cv = arrival_cv,
                                          .service_cv = service_cv});
  return line;
}

/// Wait that this share of the arrivals does not exceed.
[[nodiscard]] inline Time<> wait_quantile(const Line& line, double quantile) {
  return WaitQuantile::solve<double>({line.wait.wait_probability, line.wait.wait_given, quantile}).wait;
}

/// Share of the arrivals whose wait and service together exceed `time`.
[[nodiscard]] inline double exceeding(const Line& line, Time<> service, double service_cv, Time<> time) {
  const Time<> given = max(line.wait.wait_given, service * 1e-9);  // without any variation no arrival waits
  return ResponseTail::solve<double>({time, line.wait.wait_probability, given, service, service_cv}).exceed;
}

/// Wait and service together that this share of the arrivals does not exceed; by bisection, to 1e-12 of the
/// answer.
[[nodiscard]] inline Time<> response_quantile(const Line& line, Time<> service, double service_cv,
                                              double quantile) {
  const double above = 1.0 - quantile;
  Time<> low, high = service + line.wait.wait_given;
  for (int i = 0; i < 200 && exceeding(line, service, service_cv, high) > above; ++i) {
    low = high;
    high = high * 2.0;
  }
  for (int i = 0; i < 200 && high - low > high * 1e-12; ++i) {
    const Time<> middle = (low + high) / 2.0;
    (exceeding(line, service, service_cv, middle) > above ? low : high) = middle;
  }
  return high;
}

}  // namespace mlsysim

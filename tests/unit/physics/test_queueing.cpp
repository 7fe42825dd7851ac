#include "support/catch.hpp"

#include <mlsysim/physics/queueing.hpp>
#include <mlsysim/tape/interval.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("Erlang's delay formula by hand", "[physics]") {
  const auto waits = [](double servers, double load) {
    return ErlangC::solve({.servers = servers, .load = load}).wait_probability;
  };
  // One server: the load. Two at load 1: 1/3. Three at load 2: (2^3/3! * 3) / (1 + 2 + 2 + 4) = 4/9. Two at
  // load 3/2: 9/14.
  CHECK_THAT(waits(1, 0.3), WithinRel(0.3, 1e-14));
  CHECK_THAT(waits(2, 1), WithinRel(1.0 / 3, 1e-14));
  CHECK_THAT(waits(3, 2), WithinRel(4.0 / 9, 1e-14));
  CHECK_THAT(waits(2, 1.5), WithinRel(9.0 / 14, 1e-14));
  CHECK(waits(2, 2) == 1);
  CHECK(waits(2, 5) == 1);
  CHECK(waits(4096, 1) < 1e-20);
}

TEST_CASE("waits of M/M/1, M/D/1 and M/M/2", "[physics]") {
  // M/M/1 at 1/2: wait = service rho / (1 - rho) = 10 ms, of those who wait 20 ms, rho^2 / (1 - rho) = 1/2 in
  // line
  QueueWait::Inputs<double> in{.servers = 1, .utilization = 0.5, .service_time = 10 * u::ms};
  auto r = QueueWait::solve(in);
  CHECK_THAT(r.wait_probability, WithinRel(0.5, 1e-14));
  CHECK_THAT(r.wait_mean.in(u::ms), WithinRel(10.0, 1e-14));
  CHECK_THAT(r.wait_given.in(u::ms), WithinRel(20.0, 1e-14));
  CHECK_THAT(r.queue_length, WithinRel(0.5, 1e-14));
  in.service_cv = 0;  // Pollaczek and Khinchine: half of it
  CHECK_THAT(QueueWait::solve(in).wait_mean.in(u::ms), WithinRel(5.0, 1e-14));
  in.service_cv = 1;
  in.arrival_cv = 2;  // (4 + 1) / 2
  r = QueueWait::solve(in);
  CHECK_THAT(r.wait_mean.in(u::ms), WithinRel(25.0, 1e-14));
  CHECK_THAT(r.queue_length, WithinRel(1.25, 1e-14));
  // M/M/2 at 1/2: C = 1/3, 10 ms / (2 * 1/2) = 10 ms of those who wait
  in = {.servers = 2, .utilization = 0.5, .service_time = 10 * u::ms};
  r = QueueWait::solve(in);
  CHECK_THAT(r.wait_given.in(u::ms), WithinRel(10.0, 1e-14));
  CHECK_THAT(r.wait_mean.in(u::ms), WithinRel(10.0 / 3, 1e-14));
  CHECK_THAT(r.queue_length, WithinRel(1.0 / 3, 1e-14));
  // Little's law: 75 % of 4 servers of 10 ms are 300 arrivals a second
  in = {.servers = 4, .utilization = 0.75, .service_time = 10 * u::ms};
  r = QueueWait::solve(in);
  CHECK_THAT(r.queue_length, WithinRel(300 * r.wait_mean.in(u::s), 1e-13));
}

TEST_CASE("quantiles of a wait that is exponential for those who wait", "[physics]") {
  const auto wait = [](double quantile) {
    return WaitQuantile::solve({.wait_probability = 0.5, .wait_given = 20 * u::ms, .quantile = quantile})
        .wait.in(u::ms);
  };
  CHECK_THAT(wait(0.95), WithinRel(20 * std::log(10.0), 1e-13));
  CHECK(wait(0.5) == 0);
  CHECK(wait(0.3) == 0);
}

TEST_CASE("tails of wait and service together", "[physics]") {
  ResponseTail::Inputs<double> in{
      .time = 20 * u::ms, .wait_probability = 0.5, .wait_given = 20 * u::ms, .service_time = 10 * u::ms};
  // M/M/1 at 1/2: the response is exponential with mean service / (1 - rho) = 20 ms
  CHECK_THAT(ResponseTail::solve(in).exceed, WithinRel(std::exp(-1.0), 1e-9));
  // Nobody waits: the service alone
  in.wait_probability = 0;
  CHECK_THAT(ResponseTail::solve(in).exceed, WithinRel(std::exp(-2.0), 1e-9));
  // All wait as long as they are served: 1 + t / s
  in.wait_probability = 1;
  in.wait_given = 10 * u::ms;
  CHECK_THAT(ResponseTail::solve(in).exceed, WithinRel(std::exp(-2.0) * 3, 1e-9));
  // Waits and services that are nearly alike: (w exp(-t/w) - s exp(-t/s)) / (w - s), where the sum is a
  // series
  in.wait_given = 10.005 * u::ms;
  in.time = 18 * u::ms;
  CHECK_THAT(ResponseTail::solve(in).exceed,
             WithinRel((10.005 * std::exp(-18 / 10.005) - 10 * std::exp(-1.8)) / 0.005, 1e-9));
  // ... and where it is not
  in.wait_given = 30 * u::ms;
  CHECK_THAT(ResponseTail::solve(in).exceed,
             WithinRel((30 * std::exp(-0.6) - 10 * std::exp(-1.8)) / 20, 1e-9));
  // A service of exactly 10 ms: certain before, then the wait of half of them
  in = {.time = 9 * u::ms,
        .wait_probability = 0.5,
        .wait_given = 20 * u::ms,
        .service_time = 10 * u::ms,
        .service_cv = 0};
  CHECK(ResponseTail::solve(in).exceed == 1);
  in.time = 30 * u::ms;
  CHECK_THAT(ResponseTail::solve(in).exceed, WithinRel(0.5 * std::exp(-1.0), 1e-9));
  // Half of the service fixed: 5 ms, and 5 ms on average beyond
  in.service_cv = 0.5;
  in.wait_probability = 0;
  in.time = 15 * u::ms;
  CHECK_THAT(ResponseTail::solve(in).exceed, WithinRel(std::exp(-2.0), 1e-9));
  // cv^2 = 3: shares p and 1 - p of exponentials whose means p m and (1 - p) n are equal, p = (1 + sqrt(1/2))
  // / 2
  in = {.time = 10 * u::ms,
        .wait_probability = 0,
        .wait_given = 20 * u::ms,
        .service_time = 10 * u::ms,
        .service_cv = std::sqrt(3.0)};
  const double p = 0.5 * (1 + std::sqrt(0.5));
  CHECK_THAT(ResponseTail::solve(in).exceed,
             WithinRel(p * std::exp(-2 * p) + (1 - p) * std::exp(-2 * (1 - p)), 1e-9));
  in.time = 20 * u::ms;
  CHECK_THAT(ResponseTail::solve(in).exceed,
             WithinRel(p * std::exp(-4 * p) + (1 - p) * std::exp(-4 * (1 - p)), 1e-9));
}

TEST_CASE("a probability over a range of times is none above 1", "[physics]") {
  // exp(-t / slow) is at most exp(-0.05) and 1 + t / slow share goes to 9, so their product alone says
  // nothing.
  const auto p =
      detail::two_exponentials_exceed<Interval>(Interval(0.5, 2), Interval(0.5, 2), Interval(0.1, 4));
  CHECK(p.high == 1.0);
  CHECK(p.low >= 0.0);
}

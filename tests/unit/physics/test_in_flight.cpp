#include "support/catch.hpp"

#include <mlsysim/physics/in_flight.hpp>
#include <mlsysim/units/error.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {

/// Inter-token latency [ms] with a decode step of 10 ms and a pass with prompts of 40 ms.
double itl(double prompts, double mixed, double host = 0, double beside = 0) {
  return InFlightStep::solve<double>({.decode = 10 * u::ms, .prompt = 40 * u::ms, .host = host * u::ms,
                                      .prompts_per_step = prompts, .mixed = mixed, .beside = beside}).itl.in(u::ms);
}

}  // namespace

TEST_CASE("a step in flight: prompts share passes or stop them", "[physics]") {
  CHECK_THAT(itl(0, 1), WithinRel(10.0, 1e-14));
  CHECK_THAT(itl(0.1, 1), WithinRel(0.9 * 10 + 0.1 * 40, 1e-14));
  CHECK_THAT(itl(0.1, 0), WithinRel(10 + 0.1 * 40, 1e-14));
  // One prompt and more in every step: the pass is given for as many as there are.
  CHECK_THAT(itl(1, 1), WithinRel(40.0, 1e-14));
  CHECK_THAT(itl(3, 1), WithinRel(40.0, 1e-14));
  CHECK_THAT(itl(3, 0), WithinRel(50.0, 1e-14));
}

TEST_CASE("a step in flight: the host works before the device or beside it", "[physics]") {
  CHECK_THAT(itl(0, 1, 2), WithinRel(12.0, 1e-14));
  CHECK_THAT(itl(0, 1, 2, 1), WithinRel(std::sqrt(104.0), 1e-14));
  CHECK_THAT(itl(0.1, 1, 2), WithinRel(0.9 * 12 + 0.1 * 42, 1e-14));
  // A host that is much slower than the device sets the pace.
  CHECK_THAT(itl(0, 1, 1000, 1), WithinRel(1000.0, 1e-4));
}

TEST_CASE("a step in flight: shares of passes and of time", "[physics]") {
  const auto mixed = InFlightStep::solve<double>({.decode = 10 * u::ms, .prompt = 40 * u::ms, .host = {}, .prompts_per_step = 0.2});
  CHECK_THAT(mixed.prompt_passes, WithinRel(0.2, 1e-14));
  CHECK_THAT(mixed.prompt_share, WithinRel(8.0 / 16.0, 1e-14));
  const auto apart = InFlightStep::solve<double>({.decode = 10 * u::ms, .prompt = 40 * u::ms, .host = {}, .prompts_per_step = 0.2, .mixed = 0});
  CHECK_THAT(apart.prompt_passes, WithinRel(1.0 / 6.0, 1e-14));  // six passes for five steps
  CHECK_THAT(apart.prompt_share, WithinRel(8.0 / 18.0, 1e-14));
}

TEST_CASE("a first token waits for the rest of a pass, long ones more often", "[physics]") {
  const auto first = [](double share, double rate, double busy, double ahead) {
    return InFlightFirstToken::solve<double>({.decode_pass = 10 * u::ms, .prompt_pass = 40 * u::ms, .prompt_passes = share,
                                              .rate = rate * (u::request / u::s), .busy = busy, .lookahead = ahead});
  };
  // Nine passes of 10 ms and one of 40 ms: an arrival at a random moment meets the long one in 40 of 130 ms.
  CHECK_THAT(first(0.1, 0, 1, 0).rest.in(u::ms), WithinRel(90.0 / 130 * 5 + 40.0 / 130 * 20, 1e-13));
  CHECK_THAT(first(0, 0, 1, 0).rest.in(u::ms), WithinRel(5.0, 1e-13));
  // An idle replica: the own pass alone; a token that is seen one step late.
  CHECK_THAT(first(0, 0, 0, 0).ttft.in(u::ms), WithinRel(40.0, 1e-13));
  CHECK_THAT(first(0, 0, 0, 1).ttft.in(u::ms), WithinRel(50.0, 1e-13));
  // 20 a second: 0.2 others arrive in the 10 ms around a random moment, and share the pass.
  CHECK_THAT(first(0, 20, 1, 0).crowd, WithinRel(0.2, 1e-13));
  CHECK_THAT(first(0, 20, 1, 0).ttft.in(u::ms), WithinRel(5 + 40 * 1.2, 1e-13));
  CHECK(first(1, 20, 1, 0).crowd == 0);  // a pass that always has prompts is given with them
}

TEST_CASE("first tokens of a burst, request by request", "[physics]") {
  for (const int together : {1, 2, 5, 10})
    for (const int requests : {10, 20}) {
      double sum = 0;  // request i gets its token with its pass
      for (int i = 0; i < requests; ++i) sum += 3.0 * together * (i / together + 1);
      INFO(requests << " requests, " << together << " together");
      CHECK_THAT(BurstFirstToken::solve<double>({3 * u::ms, static_cast<double>(requests), static_cast<double>(together)}).ttft.in(u::ms),
                 WithinRel(sum / requests, 1e-13));
    }
  // Fewer requests than a pass holds share one.
  CHECK_THAT(BurstFirstToken::solve<double>({3 * u::ms, 4, 10}).ttft.in(u::ms), WithinRel(12.0, 1e-13));
}

#include "support/catch.hpp"

#include <mlsysim/physics/in_flight.hpp>
#include <mlsysim/units/error.hpp>

#include <cmath>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("a step in flight: some steps have prompts", "[physics]") {
  const auto itl = [](double prompts) {
    return InFlightStep::solve<double>(
               {.decode_pass = 10 * u::ms, .added = 30 * u::ms, .prompts_per_step = prompts})
        .itl.in(u::ms);
  };
  CHECK_THAT(itl(0), WithinRel(10.0, 1e-14));
  CHECK_THAT(itl(0.1), WithinRel(0.9 * 10 + 0.1 * 40, 1e-14));
  // One prompt and more in every step: `added` is given for as many as there are.
  CHECK_THAT(itl(1), WithinRel(40.0, 1e-14));
  CHECK_THAT(itl(3), WithinRel(40.0, 1e-14));
}

TEST_CASE("a first token waits for the rest of a pass, long ones more often", "[physics]") {
  const auto first = [](double mean, double cv, double crowd, double busy, double late) {
    return InFlightFirstToken::solve<double>({.mean_pass = mean * u::ms,
                                              .pass_cv = cv,
                                              .own_pass = 40 * u::ms,
                                              .crowd = crowd,
                                              .busy = busy,
                                              .late = late * u::ms})
        .ttft.in(u::ms);
  };
  // Nine passes of 10 ms and one of 40 ms: an arrival at a random moment meets the long one in 40 of 130 ms.
  CHECK_THAT(first(13, std::sqrt(0.1 * 0.9) * 30 / 13, 0, 1, 0),
             WithinRel(90.0 / 130 * 5 + 40.0 / 130 * 20 + 40, 1e-13));
  CHECK_THAT(first(10, 0, 0, 1, 0), WithinRel(45.0, 1e-13));
  // An idle replica: the own pass alone; a token that is seen late; company in the own pass.
  CHECK_THAT(first(10, 0, 0, 0, 0), WithinRel(40.0, 1e-13));
  CHECK_THAT(first(10, 0, 0, 0, 7), WithinRel(47.0, 1e-13));
  CHECK_THAT(first(10, 0, 0.2, 1, 0), WithinRel(5 + 40 * 1.2, 1e-13));
}

TEST_CASE("first tokens of a burst, request by request", "[physics]") {
  for (const int together : {1, 2, 5, 10})
    for (const int requests : {10, 20}) {
      double sum = 0;  // request i gets its token with its pass
      for (int i = 0; i < requests; ++i) sum += 3.0 * together * (i / together + 1);
      INFO(requests << " requests, " << together << " together");
      CHECK_THAT(BurstFirstToken::solve<double>(
                     {3 * u::ms, static_cast<double>(requests), static_cast<double>(together)})
                     .ttft.in(u::ms),
                 WithinRel(sum / requests, 1e-13));
    }
  // Fewer requests than a pass holds share one.
  CHECK_THAT(BurstFirstToken::solve<double>({3 * u::ms, 4, 10}).ttft.in(u::ms), WithinRel(12.0, 1e-13));
}

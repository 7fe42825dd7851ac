#include "support/catch.hpp"

#include <mlsysim/physics/in_flight.hpp>
#include <mlsysim/units/error.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

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

TEST_CASE("prompts queue for passes as in a simulation", "[physics]") {
  // Passes of 1 s follow each other while prompts are there; each takes up to `together` prompts for `passes`
  // passes. The wait beyond the rest of the pass under way, of 400,000 prompts.
  std::mt19937_64 random(1);
  for (const int together : {1, 4})
    for (const int passes : {1, 3})
      for (const double share : {0.5, 0.8, 0.9}) {
        if (together > 1 && (passes > 1 || share < 0.8)) continue;  // bulk service: near its capacity
        std::exponential_distribution<double> gap(share * together / passes);
        double arrival = gap(random), free = 0, waited = 0;
        int served = 0;
        std::vector<double> waiting;
        while (served < 400000) {
          if (waiting.empty() && arrival > free) free = arrival;  // idle until somebody comes
          while (arrival <= free) waiting.push_back(arrival), arrival += gap(random);
          const auto taken = std::min<std::size_t>(waiting.size(), static_cast<std::size_t>(together));
          for (std::size_t i = 0; i < taken; ++i) waited += free - waiting[i];
          waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(taken));
          served += static_cast<int>(taken);
          free += passes;
        }
        const double law = PromptQueue::solve<double>({.pass_time = 1.0 * u::s,
                                                       .passes = static_cast<double>(passes),
                                                       .together = static_cast<double>(together),
                                                       .share = share})
                               .wait.in(u::s);
        INFO(together << " together, " << passes << " passes, " << share << " of the capacity");
        CHECK_THAT(waited / served, WithinRel(law + share * 0.5, together > 1 ? 0.25 : 0.05));
      }
  CHECK_THAT(PromptQueue::solve<double>({.pass_time = 311 * u::ms, .passes = 4, .together = 1, .share = 0.5})
                 .wait.in(u::ms),
             WithinRel(544.25, 1e-12));
}

TEST_CASE("requests differ in their mean time between tokens as in a simulation", "[physics]") {
  // Steps of 10 ms and 20 ms more for each prompt of others, of which 0.05 arrive in a step.
  std::mt19937_64 random(2);
  std::poisson_distribution<int> prompts(0.05);
  const int steps = 200, requests = 20000;
  double sum = 0, squares = 0;
  for (int i = 0; i < requests; ++i) {
    double time = 0;
    for (int k = 0; k < steps; ++k) time += 10 + 20 * prompts(random);
    sum += time / steps;
    squares += time / steps * (time / steps);
  }
  const double mean = sum / requests, deviation = std::sqrt(squares / requests - mean * mean);
  const auto law = TokenTimeSpread::solve<double>({.added = 1 * u::ms,
                                                   .by_requests = 0 * u::ms,
                                                   .prompts_per_step = 0.05,
                                                   .steps = steps,
                                                   .running = 10});
  CHECK_THAT(law.deviation.in(u::ms), WithinRel(deviation, 0.03));
  // The mean number of a Poisson number in service over one stay has 2/3 of its variance.
  const auto beside = TokenTimeSpread::solve<double>(
      {.added = 0 * u::ms, .by_requests = 9 * u::ms, .prompts_per_step = 0.05, .steps = steps, .running = 6});
  CHECK_THAT(beside.deviation.in(u::ms), WithinRel(3.0, 1e-12));
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

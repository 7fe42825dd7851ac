#include "support/catch.hpp"

#include <mlsysim/physics/in_flight.hpp>
#include <mlsysim/units/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("a step in flight: some steps have prompts", "[physics]") {
  const auto itl = [](double prompts) {
    return InFlightStep::solve<double>(
               {.decode_step_time = 10 * u::ms, .added = 30 * u::ms, .prompts_per_step = prompts})
        .itl.in(u::ms);
  };
  CHECK_THAT(itl(0), WithinRel(10.0, 1e-14));
  CHECK_THAT(itl(0.1), WithinRel(0.9 * 10 + 0.1 * 40, 1e-14));
  // One prompt and more in every step: `added` is given for as many as there are.
  CHECK_THAT(itl(1), WithinRel(40.0, 1e-14));
  CHECK_THAT(itl(3), WithinRel(40.0, 1e-14));
}

TEST_CASE("a first token waits for half of the pass under way, and for those beside it", "[physics]") {
  const auto first = [](double around, double crowd, double busy, double late) {
    return InFlightFirstToken::solve<double>({.around = around * u::ms,
                                              .own_pass = 40 * u::ms,
                                              .prompt = 30 * u::ms,
                                              .crowd = crowd,
                                              .busy = busy,
                                              .late = late * u::ms})
        .ttft.in(u::ms);
  };
  CHECK_THAT(first(10, 0, 1, 0), WithinRel(45.0, 1e-13));
  // An idle replica: the own pass alone; a token that is seen late; company in the own pass.
  CHECK_THAT(first(10, 0, 0, 0), WithinRel(40.0, 1e-13));
  CHECK_THAT(first(10, 0, 0, 7), WithinRel(47.0, 1e-13));
  CHECK_THAT(first(10, 0.2, 1, 0), WithinRel(5 + 40 + 0.2 * 30, 1e-13));
}

namespace {

Time<> around(double step, double fixed, double prompt, double load, double mean, double variation = 1) {
  return PassUnderWay::solve<double>({.step = step * u::ms,
                                      .fixed = fixed * u::ms,
                                      .prompt = prompt * u::ms,
                                      .load = load,
                                      .mean_pass = mean * u::ms,
                                      .variation = variation})
      .around;
}

/// Mean time to the first token where passes take what came in the one before, up to `together` prompts.
double played(double rate, double step, double fixed, double prompt, int together) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> gap(rate);
  double arrival = gap(random), now = 0, waited = 0;
  constexpr int kRequests = 200000;
  std::vector<double> waiting;
  for (int served = 0; served < kRequests;) {
    while (arrival <= now) waiting.push_back(arrival), arrival += gap(random);
    const auto taken = std::min<std::size_t>(waiting.size(), static_cast<std::size_t>(together));
    now += taken == 0 ? step : fixed + prompt * static_cast<double>(taken);
    for (std::size_t i = 0; i < taken; ++i) waited += now - waiting[i];
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(taken));
    served += static_cast<int>(taken);
  }
  return waited / kRequests;
}

}  // namespace

TEST_CASE("long passes follow long ones", "[physics]") {
  // Prompts of 40 ms between steps of 5 ms, at half of the load.
  CHECK_THAT(around(5, 0, 40, 0.5, 10).in(u::ms), WithinRel(30.0, 1e-13));
  // Nobody comes: the pass under way is a step. Every pass alike: it is the mean.
  CHECK_THAT(around(5, 0, 40, 0, 5).in(u::ms), WithinRel(5.0, 1e-13));
  CHECK_THAT(around(80, 80, 0, 0, 80).in(u::ms), WithinRel(80.0, 1e-13));
  // Arrivals that are dealt to two replicas in turn vary half as much: 0.5 x 40 x 0.5 = 10 of 20 ms are left.
  CHECK_THAT(around(5, 0, 40, 0.5, 10, 0.5).in(u::ms), WithinRel((10 + 2.5) / 0.75, 1e-13));
  // One prompt a pass: M/D/1 with vacations, load prompt / (2 (1 - load)) + step / 2.
  for (const double load : {0.2, 0.6, 0.9})
    CHECK_THAT(around(5, 0, 40, load, 10).in(u::ms)*0.5 * (1 + load),
               WithinRel(load * 40 / (2 * (1 - load)) + 2.5, 1e-12));
}

TEST_CASE("first tokens of passes that breed, as in a simulation", "[physics]") {
  for (const auto& [step, fixed, prompt] :
       {std::array{5e-3, 0.0, 40e-3}, {80e-3, 80e-3, 7e-3}, {20e-3, 10e-3, 40e-3}})
    for (const int together : {1, 3, 12})
      for (const double share : {0.3, 0.6, 0.8}) {
        const double b = together, rate = share * b / (fixed + b * prompt);
        // Each prompt has its own part, and the common one again where passes are full.
        const double again = fixed / (b * b), each = prompt + again, shared = fixed - again;
        const double load = rate * each;
        // Mean of the passes: fixed + rate prompt mean + (step - fixed) P(no arrival).
        double mean = step;
        for (int i = 0; i < 200; ++i)
          mean = fixed + rate * prompt * mean + (step - fixed) * std::exp(-rate * mean);
        const double pass = around(step * 1e3, shared * 1e3, each * 1e3, load, mean * 1e3).base();
        const double full =
            PromptQueue::solve<double>(
                {.pass_time = mean * u::s, .together = b, .share = std::min(0.95, rate * mean / b)})
                .wait.base();
        const double law = InFlightFirstToken::solve<double>({.around = pass * u::s,
                                                              .own_pass = (fixed + prompt) * u::s,
                                                              .prompt = each * u::s,
                                                              .crowd = rate * pass * (1 - 0.5 / b),
                                                              .late = full * u::s})
                               .ttft.base();
        INFO(step << ", " << fixed << ", " << prompt << " s, " << together << " together, " << share);
        CHECK_THAT(law, WithinRel(played(rate, step, fixed, prompt, together), 0.07));
      }
  CHECK(PromptQueue::solve<double>({.pass_time = 300 * u::ms, .together = 1, .share = 0.8}).wait.base() == 0);
  CHECK_THAT(
      PromptQueue::solve<double>({.pass_time = 300 * u::ms, .together = 4, .share = 0.8}).wait.in(u::ms),
      WithinRel(90.0, 1e-12));
}

TEST_CASE("requests differ in their mean time between tokens as in a simulation", "[physics]") {
  // Steps of 10 ms, and 20 ms more for each prompt of others, of which 20 come in a second: a load of 0.4.
  // Prompts that come while others take their time come on top.
  std::mt19937_64 random(2);
  const double rate = 0.02;  // 1/ms
  const int steps = 200, requests = 20000;
  std::vector<double> means;
  double sum = 0, squares = 0;
  for (int i = 0; i < requests; ++i) {
    double time = 0;
    for (double more = 10.0 * steps; more > 0;) {
      time += more;
      more = 20.0 * std::poisson_distribution<int>(rate * more)(random);
    }
    means.push_back(time / steps);
    sum += means.back();
    squares += means.back() * means.back();
  }
  const double mean = sum / requests, deviation = std::sqrt(squares / requests - mean * mean);
  const auto itl = 10 / 0.6 * u::ms;
  CHECK_THAT(mean, WithinRel(itl.in(u::ms), 0.005));
  const auto law = TokenTimeSpread::solve<double>({.itl = itl,
                                                   .decode_step_time = 10 * u::ms,
                                                   .by_requests = 0 * u::ms,
                                                   .prompts_per_step = rate * itl.in(u::ms),
                                                   .steps = steps,
                                                   .running = 10});
  CHECK_THAT(law.deviation.in(u::ms), WithinRel(deviation, 0.03));
  std::ranges::sort(means);
  for (const auto& [share, z] : {std::pair{0.9, 1.2815515655}, {0.99, 2.3263478740}})
    CHECK_THAT(TokenTimeQuantile::solve<double>({itl, law.deviation, z}).time.in(u::ms),
               WithinRel(means[static_cast<std::size_t>(share * requests)], 0.01));
  // The mean number of a Poisson number in service over one stay has 2/3 of its variance.
  const auto beside = TokenTimeSpread::solve<double>({.itl = itl,
                                                      .decode_step_time = itl,
                                                      .by_requests = 9 * u::ms,
                                                      .prompts_per_step = 0.05,
                                                      .steps = steps,
                                                      .running = 6});
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

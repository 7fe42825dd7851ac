// A replica that batches in flight against a twin that plays it event by event.

#include "plain_replica.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace worked;
using Catch::Matchers::WithinRel;

namespace {

struct Played {
  double ttft = 0, itl = 0, in_flight = 0, by_target = 0;
  double late = 0, slow = 0;  ///< first token and time between tokens that 99 % stay below
  double middle = 0;          ///< first token that half stay below
};

double quantile(double share, std::vector<double> all) {
  const auto at = all.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size()));
  std::ranges::nth_element(all, at);
  return *at;
}

/// Plays Poisson arrivals on the same replica, pass by pass.
/// @param cv of the lengths of prompts, which are lognormal
Played play(double rate, int prompt, int answer, bool mixed, double target, double cv = 0) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> gap(rate);
  std::uniform_real_distribution<double> spread(0.5, 1.5);
  const double deviation = std::sqrt(std::log1p(cv * cv));
  std::lognormal_distribution<double> length(std::log(prompt) - deviation * deviation / 2, deviation);
  struct Request {
    double arrived = 0, first = 0, prompt = 0;
    int left = 0, tokens = 0;
  };
  constexpr int kRequests = 20000;
  std::vector<Request> all(kRequests);
  double t = 0;
  for (auto& r : all) {
    r.arrived = t += gap(random);
    r.tokens = r.left = static_cast<int>(answer * spread(random));
    r.prompt = cv > 0 ? length(random) : prompt;
  }
  std::vector<Request*> running;
  std::size_t next = 0;
  std::vector<double> waits, gaps;
  double now = 0, weighted = 0, itl = 0, ttft = 0, in_time = 0;
  int done = 0;
  while (done < kRequests) {
    std::vector<Request*> fresh;
    double tokens = 0;
    while (next < all.size() && all[next].arrived <= now &&
           (fresh.empty() || tokens + all[next].prompt <= 8192)) {
      tokens += all[next].prompt;
      fresh.push_back(&all[next++]);
    }
    if (fresh.empty() && running.empty()) {
      now = all[next].arrived;
      continue;
    }
    const double n = static_cast<double>(running.size());
    const bool steps = !running.empty() && (mixed || fresh.empty());
    const double took = fresh.empty() ? PlainPasses::step(n) : PlainPasses::prompt(tokens + (mixed ? n : 0));
    now += took;
    weighted += n * took;
    if (steps)
      std::erase_if(running, [&](Request* r) {
        if (--r->left > 0) return false;
        gaps.push_back((now - r->first) / (r->tokens - 1));
        itl += gaps.back();
        ++done;
        return true;
      });
    for (auto* r : fresh) {
      r->first = now;
      --r->left;
      waits.push_back(now - r->arrived);
      ttft += waits.back();
      in_time += now - r->arrived <= target ? 1 : 0;
      running.push_back(r);
    }
  }
  return {ttft / kRequests,      itl / kRequests,      weighted / now,      in_time / kRequests,
          quantile(0.99, waits), quantile(0.99, gaps), quantile(0.5, waits)};
}

}  // namespace

TEST_CASE("in flight: a twin that plays every pass agrees", "[catalogue][in_flight]") {
  for (const bool mixed : {true, false})
    for (const double rate : {2.0, 8.0, 14.0}) {
      const auto played = play(rate, 1000, 100, mixed, 0.08);
      auto in = request(1000, 100);
      in.arrival_rate = rate * per_s;
      in.target_ttft = 80 * unit::ms;
      ServingEngine engine;
      engine.mixed = mixed;
      const auto r = steady(in, engine);
      INFO((mixed ? "mixed" : "apart") << ", " << rate << " a second");
      REQUIRE(r.is_stable);
      // Above half of the load clumps of arrivals count, which passes of two lengths do not know.
      const double slack = rate > 10 ? 2.0 : 1.0;
      CHECK_THAT(r.itl.base(), WithinRel(played.itl, 0.05 * slack));
      CHECK_THAT(r.ttft->base(), WithinRel(played.ttft, 0.09 * slack));
      CHECK_THAT(r.running_requests, WithinRel(played.in_flight, 0.06 * slack));
      CHECK(std::abs(*r.slo_attainment - played.by_target) < 0.06 * slack);
      // Little's law, and what is finished is what arrives.
      CHECK_THAT(r.running_requests, WithinRel(rate * 99 * r.itl.base(), 1e-5));
      CHECK_THAT(r.request_throughput.base(), WithinRel(rate, 1e-12));
    }
}

TEST_CASE("in flight: prompts that differ wait for each other as a twin has them wait",
          "[catalogue][in_flight]") {
  for (const bool mixed : {true, false})
    for (const double rate : {4.0, 8.0, 12.0})
      for (const double cv : {0.0, 0.5, 1.0}) {
        const auto played = play(rate, 1000, 100, mixed, 0.16, cv);
        auto in = request(1000, 100);
        in.arrival_rate = rate * per_s;
        in.target_ttft = 160 * unit::ms;
        in.seq_len_cv = cv;
        in.output_tokens_cv = 1 / std::sqrt(12.0);
        in.output_tokens_law = TrafficLaw::uniform;
        ServingEngine engine;
        engine.mixed = mixed;
        const auto r = steady(in, engine);
        INFO((mixed ? "mixed" : "apart") << ", " << rate << " a second, deviation " << cv);
        CHECK_THAT(r.ttft->base(), WithinRel(played.ttft, 0.05));
        CHECK_THAT(r.p50_ttft->base(), WithinRel(played.middle, cv > 0 ? 0.25 : 0.1));
        CHECK_THAT(r.p99_ttft->base(), WithinRel(played.late, cv > 0 ? 0.2 : 0.06));
        CHECK(std::abs(*r.slo_attainment - played.by_target) < 0.03);
        CHECK_THAT(r.itl.base(), WithinRel(played.itl, 0.11));
        // Lognormal prompts have a longer tail than a first passage.
        CHECK_THAT(r.p99_itl.base(), WithinRel(played.slow, cv > 0.5 ? 0.35 : 0.25));
      }
}

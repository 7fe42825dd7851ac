#include "detail/serving_case.hpp"

#include <mlsysim/physics/energy.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// Mean context of a request half-way through its generation.
double middle(const ServingCase& c) { return c.prompt + c.output_tokens.value_or(1) / 2; }

/// Iteration of an engine that mixes prompts into the decode steps of `batch` requests.
struct Steady {
  Replica::Pass decode;
  Time<> prompts;    ///< prompt work that falls on one step
  Time<> iteration;  ///< time between two tokens of a request
};

/// `batch` requests stay in flight; each brings one prompt every `output_tokens` steps.
Steady closed_loop(const ServingCase& c, const Replica& replica, double batch) {
  Steady s;
  s.decode = replica.decode(batch, middle(c));
  s.prompts = replica.prompt_share() * (batch / c.output_tokens.value_or(1));
  s.iteration = s.decode.time + s.prompts;
  return s;
}

std::vector<PredictionTerm> terms(const Steady& s, const PredictionContext& context) {
  auto out = terms_of(s.decode.cost, context);
  if (context.wants_terms) out.push_back({"prompts of others", s.prompts.base()});
  return out;
}

Prediction closed_loop_token(const ServingCase& c, const PredictionContext& context) {
  const Replica replica(c, context);
  const auto s = closed_loop(c, replica, c.batch_size);
  return {s.iteration.base(), terms(s, context)};
}

/// Requests of equal lengths that stay in flight start and end together, so that their prompts come as one burst. It is
/// processed in passes of at most a chunk; a request waits for half of the passes on average, and its own.
Prediction closed_loop_first_token(const ServingCase& c, const PredictionContext& context) {
  const Replica replica(c, context);
  const double burst = std::max(1.0, c.batch_size / c.ep_size);
  const double together = std::min(burst, std::max(1.0, std::floor(c.prefill_chunk / c.prompt)));
  const double passes = std::ceil(burst / together);
  const auto own = replica.prefill(together * c.ep_size, c.prompt);
  const Time<> wait = own.time * ((passes - 1) / 2);
  Prediction p{(own.time + wait).base(), terms_of(own.cost, context)};
  if (context.wants_terms) p.terms.push_back({"wait for other prompts", wait.base()});
  return p;
}

/// All requests are queued at once: the cache decides how many run together.
Prediction queued(const ServingCase& c, const PredictionContext& context) {
  const Replica replica(c, context);
  const double n = c.output_tokens.value_or(1);
  double batch = replica.capacity(middle(c));
  if (batch < 1) return {0, {}, "the weights and one request do not fit in memory"};
  if (c.requests) batch = std::min(batch, *c.requests);
  const auto s = closed_loop(c, replica, batch);
  // The last requests leave an engine that empties: about half of the batch runs in the last generation.
  const double waves = c.requests ? *c.requests / batch : 1e9;
  const double draining = c.requests ? waves / (waves + 0.5) : 1.0;
  Prediction p{batch / s.iteration.base() * (batch >= c.requests.value_or(1e18) ? 1.0 : draining)};
  if (context.wants_terms) {
    p.terms = {{"batch", batch}, {"decode step [s]", s.decode.time.base()}, {"prompts per step [s]", s.prompts.base()}};
  }
  (void)n;
  return p;
}

/// Requests arrive at a rate: the number in flight follows from Little's law.
Steady open_loop(const ServingCase& c, const Replica& replica, double& batch, bool& stable) {
  const double rate = c.request_rate.value_or(1), n = c.output_tokens.value_or(1);
  const double busy = rate * replica.prompt_share().base();
  stable = busy < 1;
  Steady s;
  batch = 1;
  for (int i = 0; i < 60 && stable; ++i) {
    s.decode = replica.decode(std::max(1.0, batch), middle(c));
    // During a step of length t, rate t prompts arrive and are processed in it.
    s.iteration = s.decode.time / (1 - busy);
    s.prompts = s.iteration - s.decode.time;
    const double next = rate * n * s.iteration.base();
    if (std::abs(next - batch) < 1e-6 * batch) break;
    batch = 0.5 * (batch + next);
  }
  const double most = replica.capacity(middle(c));
  stable = stable && batch <= most && batch < c.requests.value_or(1e18);
  return s;
}

Prediction open_token(const ServingCase& c, const PredictionContext& context) {
  const Replica replica(c, context);
  double batch = 0;
  bool stable = false;
  const auto s = open_loop(c, replica, batch, stable);
  if (!stable) return {0, {}, "the arrivals exceed what the replica can serve"};
  return {s.iteration.base(), terms(s, context)};
}

Prediction open_first_token(const ServingCase& c, const PredictionContext& context) {
  const Replica replica(c, context);
  double batch = 0;
  bool stable = false;
  const auto s = open_loop(c, replica, batch, stable);
  if (!stable) return {0, {}, "the arrivals exceed what the replica can serve"};
  const auto own = replica.prefill(1, c.prompt);
  const double busy = std::min(1.0, c.request_rate.value_or(1) * own.time.base());
  // An arrival finds the engine in a step with probability min(1, batch), and prompts before it as in an M/D/1 queue.
  const Time<> wait = s.iteration * (0.5 * std::min(1.0, batch)) + own.time * (busy / (2 * std::max(0.05, 1 - busy)));
  Prediction p{(own.time + wait).base(), terms_of(own.cost, context)};
  if (context.wants_terms) p.terms.push_back({"wait", wait.base()});
  return p;
}

Prediction energy(const ServingCase& c, const PredictionContext& context) {
  const Replica replica(c, context);
  const auto s = closed_loop(c, replica, c.batch_size);
  const auto& power = replica.hardware().power;
  if (!power.tdp) return {0, {}, "the device states no power"};
  const double busy = context.comparison == Yardstick::operators ? Replica::busy(s.decode) : 1.0;
  const Energy<> step = EnergyProportional::solve<double>({.tdp = *power.tdp, .utilization = busy, .time = s.iteration,
                                                           .idle_fraction = context.constants->conventions().idle_fraction}).energy;
  Prediction p{step.base() * c.devices() / c.batch_size};
  if (context.wants_terms) p.terms = {{"step [s]", s.iteration.base()}, {"busy share", busy}, {"batch", c.batch_size}};
  return p;
}

}  // namespace

std::vector<const Measurand*> steady_measurands() {
  static const CaseMeasurand<ServingCase, closed_loop_token> a("closed_loop_token_time", "ms", "time between tokens with a constant number of requests in flight");
  static const CaseMeasurand<ServingCase, closed_loop_first_token> b("closed_loop_first_token", "ms", "time to first token with a constant number of requests in flight");
  static const CaseMeasurand<ServingCase, queued> c("queued_rate", "1/s", "generated tokens a second when all requests are queued at once");
  static const CaseMeasurand<ServingCase, open_token> d("open_loop_token_time", "ms", "time between tokens at a rate of arrivals");
  static const CaseMeasurand<ServingCase, open_first_token> e("open_loop_first_token", "ms", "time to first token at a rate of arrivals");
  static const CaseMeasurand<ServingCase, energy> f("energy_per_token", "J", "energy of the accelerators for one generated token");
  return {&a, &b, &c, &d, &e, &f};
}

}  // namespace mlsysim::detail

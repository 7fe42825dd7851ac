// Steady states: the rows become inputs of InFlightBatchingModel.
#include "detail/serving_row.hpp"

#include <mlsysim/physics/energy.hpp>
#include <mlsysim/specs/software.hpp>

#include <algorithm>

namespace mlsysim::detail {
namespace {

using Result = InFlightBatchingModel::Result;

/// Inputs without a way of arriving: everything is queued.
InFlightBatchingModel::Inputs queue_of(const Replica& replica) {
  auto in = replica.inputs();
  in.concurrency.reset();
  in.arrival_rate.reset();
  return in;
}

Result closed_loop(const Replica& replica) {
  auto in = queue_of(replica);
  in.concurrency = replica.requests();
  return replica.steady(in);
}

Result open_loop(const Replica& replica) {
  auto in = queue_of(replica);
  in.arrival_rate = replica.inputs().arrival_rate.value_or(1.0 * (unit::request / unit::s));
  return replica.steady(in);
}

std::vector<PredictionTerm> terms(const Result& r, const Replica& replica, const PredictionContext& context) {
  if (!context.wants_terms) return {};
  const auto& in = replica.inputs();
  auto out = terms_of(
      replica.passes().decode(std::max(1.0, r.running_requests), *in.seq_len + in.output_tokens / 2).cost,
      context);
  out.push_back({"host", r.host_time.base()});
  out.push_back({"prompts of others", (r.prefill_share * r.itl).base()});
  return out;
}

constexpr std::string_view kNoRoom = "the weights and one request do not fit in memory";
constexpr std::string_view kTooMany = "the arrivals exceed what the replica can serve";
constexpr int kHalvings = 20;  // a rate to a millionth of the capacity

Prediction token(const Result& r, const Replica& replica, const PredictionContext& context) {
  if (!r.feasible) return {0, {}, std::string(kNoRoom)};
  if (!r.is_stable) return {0, {}, std::string(kTooMany)};
  return {r.itl.base(), terms(r, replica, context)};
}

/// The mean time between tokens that 99 % of the requests keep.
Prediction slow_token(const Result& r, const Replica& replica, const PredictionContext& context) {
  auto p = token(r, replica, context);
  if (p.reason.empty()) p = {r.p99_itl.base(), {}};
  return p;
}

Prediction first(const Result& r, const Replica& replica, const PredictionContext& context) {
  if (!r.feasible) return {0, {}, std::string(kNoRoom)};
  if (!r.is_stable || !r.ttft) return {0, {}, std::string(kTooMany)};
  Prediction p{r.ttft->base()};
  if (context.wants_terms) {
    p.terms = terms_of(
        replica.passes().prefill(replica.inputs().ep_size, replica.seq_len(), replica.seq_len()).cost,
        context);
    for (auto& t : p.terms) t.role = TermRole::within;
    p.terms.push_back({"own pass", r.mixed_step_time.base()});
    p.terms.push_back({"wait", (*r.ttft - r.mixed_step_time).base()});
  }
  return p;
}

/// A quantile of the first token.
template <auto Member>
Prediction first_at(const Result& r, const Replica& replica, const PredictionContext& context) {
  auto p = first(r, replica, context);
  if (!p.reason.empty()) return p;
  if (!(r.*Member)) return {0, {}, "no quantile of the first token follows"};
  return {(r.*Member)->base(), {}};
}

/// Reads one prediction from a replica's steady state under one way of arriving.
template <auto Arrivals, auto Read>
Prediction at_replica(const ServingRow& row, const PredictionContext& context) {
  const Replica replica(row, context);
  return Read(Arrivals(replica), replica, context);
}

/// All requests are queued at once: the cache decides how many run together.
Prediction queued(const ServingRow& row, const PredictionContext& context) {
  const Replica replica(row, context);
  const auto r = replica.steady(queue_of(replica));
  if (!r.feasible) return {0, {}, std::string(kNoRoom)};
  Prediction p{r.token_throughput.base()};
  if (context.wants_terms)
    p.terms = {{"batch", r.running_requests, TermRole::fact},
               {"decode step [s]", r.decode_step_time.base(), TermRole::fact},
               {"prompts per step [s]", (r.prefill_share * r.itl).base(), TermRole::fact}};
  return p;
}

/// The token throughput of queued requests, for each device of a replica.
Prediction queued_each(const ServingRow& row, const PredictionContext& context) {
  auto p = queued(row, context);
  p.base /= Replica(row, context).devices();
  return p;
}

/// The most that arrivals may demand while a share of the requests meets both targets, for each device.
Prediction served_each(const ServingRow& row, const PredictionContext& context) {
  const Replica replica(row, context);
  auto in = queue_of(replica);
  in.num_requests.reset();
  const auto full = replica.steady(in);
  if (!full.feasible) return {0, {}, std::string(kNoRoom)};
  Result best;
  RequestRate<> low, high = full.capacity;
  for (int halving = 0; halving < kHalvings; ++halving) {
    in.arrival_rate = (low + high) / 2.0;
    const auto r = replica.steady(in);
    const bool good = r.is_stable && r.slo_attainment.value_or(1) >= row.attainment;
    (good ? low : high) = *in.arrival_rate;
    if (good) best = r;
  }
  if (low <= RequestRate<>()) return {0, {}, "no rate of arrivals leaves a request its time"};
  Prediction p{low.base() * in.output_tokens / replica.devices()};
  if (context.wants_terms)
    p.terms = {{"batch", best.running_requests, TermRole::fact},
               {"decode step [s]", best.decode_step_time.base(), TermRole::fact},
               {"prompts per step [s]", (best.prefill_share * best.itl).base(), TermRole::fact},
               {"share of the capacity", low / full.capacity, TermRole::fact}};
  return p;
}

Prediction energy(const ServingRow& row, const PredictionContext& context) {
  const Replica replica(row, context);
  const auto r = closed_loop(replica);
  if (!r.feasible) return {0, {}, std::string(kNoRoom)};
  const auto& power = replica.inputs().hardware->power;
  if (!power.tdp) return {0, {}, "the device states no power"};
  const double busy = context.comparison == Yardstick::operators ? r.utilization : 1.0;
  const double idle = power.idle_share(context.constants->conventions().idle_fraction);
  const Energy<> step = EnergyProportional::solve<double>(
                            {.tdp = *power.tdp, .utilization = busy, .time = r.itl, .idle_fraction = idle})
                            .energy;
  Prediction p{step.base() * replica.devices() / r.running_requests};
  if (context.wants_terms)
    p.terms = {{"step [s]", r.itl.base(), TermRole::fact},
               {"busy share", busy, TermRole::fact},
               {"batch", r.running_requests, TermRole::fact}};
  return p;
}

}  // namespace

std::vector<const Measurand*> steady_measurands() {
  static const RowMeasurand<ServingRow, at_replica<closed_loop, token>> a(
      "closed_loop_token_time", measured("itl"), MeasurandKind::time, "ms",
      "time between tokens with a constant number of requests in flight");
  static const RowMeasurand<ServingRow, at_replica<closed_loop, first>> b(
      "closed_loop_first_token", measured("ttft"), MeasurandKind::time, "ms",
      "time to first token with a constant number of requests in flight");
  static const RowMeasurand<ServingRow, queued> c(
      "queued_rate", measured("token_throughput"), MeasurandKind::rate, "1/s",
      "generated tokens a second when all requests are queued at once");
  static const RowMeasurand<ServingRow, at_replica<open_loop, token>> d(
      "open_loop_token_time", measured("itl"), MeasurandKind::time, "ms",
      "time between tokens at a rate of arrivals");
  static const RowMeasurand<ServingRow, at_replica<open_loop, first>> e(
      "open_loop_first_token", measured("ttft"), MeasurandKind::time, "ms",
      "time to first token at a rate of arrivals");
  static const RowMeasurand<ServingRow, energy> f("energy_per_token", measured("energy_per_token"),
                                                  MeasurandKind::other, "J",
                                                  "energy of the accelerators for one generated token");
  static const RowMeasurand<ServingRow, queued_each> g(
      "queued_rate_each", measured("token_throughput"), MeasurandKind::rate, "1/s",
      "generated tokens a second and device when all requests are queued at once");
  static const RowMeasurand<ServingRow, served_each> h(
      "served_rate_each", measured("goodput"), MeasurandKind::rate, "1/s",
      "generated tokens a second and device at the most arrivals whose requests meet their targets");
  static const RowMeasurand<ServingRow, at_replica<open_loop, first_at<&Result::p50_ttft>>> i(
      "open_loop_first_token_median", measured("ttft"), MeasurandKind::time, "ms",
      "median time to first token at a rate of arrivals");
  static const RowMeasurand<ServingRow, at_replica<open_loop, first_at<&Result::p99_ttft>>> j(
      "open_loop_first_token_p99", measured("ttft"), MeasurandKind::time, "ms",
      "99th percentile of the time to first token at a rate of arrivals");
  static const RowMeasurand<ServingRow, at_replica<open_loop, slow_token>> k(
      "open_loop_token_time_p99", measured("itl"), MeasurandKind::time, "ms",
      "99th percentile over requests of the mean time between tokens at a rate of arrivals");
  return {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k};
}

}  // namespace mlsysim::detail

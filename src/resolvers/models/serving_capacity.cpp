#include "resolvers/models/static_batch.hpp"
#include "resolvers/shared/plan_check.hpp"
#include "resolvers/shared/prompt_tokens.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/models/continuous_batching.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/serving_capacity.hpp>
#include <mlsysim/timing/detail/line.hpp>
#include <mlsysim/timing/views.hpp>
#include <mlsysim/units/detail/halving.hpp>

#include <fmt/format.h>

#include <functional>

namespace mlsysim {
namespace {

/// Load and latency of a request at a number of replicas.
struct Estimate {
  bool stable = false;
  double utilization = 0;
  RequestRate<> capacity;  ///< of one replica
  Time<> ttft, itl, base;  ///< without waiting
  Time<> wait, total;      ///< P99
  std::optional<Time<>> p99_ttft;

  [[nodiscard]] bool meets(const ServingCapacityModel::Inputs& in) const {
    return broken(in) == CapacityLimit::none;
  }
  /// The first limit that is not met; `none` where all are met.
  [[nodiscard]] CapacityLimit broken(const ServingCapacityModel::Inputs& in) const {
    if (!stable) return CapacityLimit::queueing;
    if (p99_ttft) {  // textbook knows one target
      if (in.target_p99_ttft && *p99_ttft > *in.target_p99_ttft) return CapacityLimit::first_token;
      if (in.target_itl && itl > *in.target_itl) return CapacityLimit::token_time;
    }
    if (!in.target_p99_latency || total <= *in.target_p99_latency) return CapacityLimit::none;
    return wait < *in.target_p99_latency * 1e-3 ? CapacityLimit::base_latency : CapacityLimit::queueing;
  }
};
using Judge = std::function<Estimate(double replicas)>;

/// One server for each replica, which answers at the intervals of a full batch.
Judge without_engine(const ServingCapacityModel::Inputs& in, const ContinuousBatchingModel::Result& batching,
                     double slots, Notes& notes) {
  detail::warn_of_unpriced(in, {"target_p99_ttft", "target_itl"}, notes);
  const auto serving =
      ServingModel{}.solve(detail::static_batch(in, in.mean_request_tokens.value_or(*in.max_seq_len), slots));
  Estimate one{
      .ttft = serving.ttft, .itl = serving.itl, .base = serving.ttft + serving.itl * in.output_tokens};
  one.capacity = batching.token_throughput / (in.output_tokens * unit::token / unit::request);
  return [&in, one](double replicas) {
    Estimate e = one;
    const Time<> interval = (1.0 * unit::request) / e.capacity;
    const auto line =
        line_of((in.arrival_rate * interval).base(), replicas, interval, 1.0, *in.service_time_cv);
    e.utilization = line.utilization;
    e.stable = line.stable;
    if (!e.stable) return e;
    e.wait = wait_quantile(line, 0.99);
    e.total = e.base + e.wait;
    return e;
  };
}

/// Replicas that batch in flight, each at its share of the arrivals, behind one line for all their slots.
class InFlightFleet {
 public:
  InFlightFleet(const ServingCapacityModel::Inputs& in, const FidelityModel& fidelity_model, double slots,
                Notes& notes)
      : in_(in), slots_(slots) {
    auto request = fields_of<InFlightBatchingModel::Inputs>(in);
    request.seq_len =
        detail::prompt_tokens(in.mean_request_tokens.value_or(*in.max_seq_len), in.output_tokens);
    request.max_batch_size = slots;
    request.page_tokens = 1;  // the pages are in the number of slots
    request.target_itl.reset();
    const auto engine = engine_or_usual(in.engine, *in.hardware, fidelity_model, notes);
    const auto passes = pass_times(request, engine, notes);
    request.arrival_rate = in.arrival_rate;
    Notes quiet;
    problem_ = settle(request, engine, passes, quiet);
  }

  [[nodiscard]] Estimate operator()(double replicas) const {
    auto problem = problem_;
    problem.arrival_rate = in_.arrival_rate / replicas;
    const auto one = evaluate(problem);
    Estimate e{.utilization = in_.arrival_rate / (one.capacity * replicas),
               .capacity = one.capacity,
               .itl = one.itl};
    if (!one.is_stable) return e;
    e.ttft = *one.ttft;
    e.base = *one.request_latency;
    const auto line = line_of((in_.arrival_rate * e.base).base(), std::min(replicas * slots_, 65536.0),
                              e.base, 1.0, *in_.service_time_cv);
    e.stable = line.stable;
    if (!e.stable) return e;
    e.wait = wait_quantile(line, 0.99);
    e.p99_ttft = *one.p99_ttft + e.wait;
    // The service of the line has the mean first token in it; the tail of the first token comes on top.
    e.total = response_quantile(line, e.base, *in_.service_time_cv, 0.99) + (*one.p99_ttft - e.ttft);
    return e;
  }

 private:
  const ServingCapacityModel::Inputs& in_;
  double slots_;
  InFlightProblem<> problem_;
};

/// Requests take one time unless their variation is stated. Formulas from totals take it to be exponential
/// where lengths vary, as the Python package does.
void set_variation(ServingCapacityModel::Inputs& in, const FidelityModel& fidelity_model, Notes& notes) {
  if (in.service_time_cv) return;
  const bool alike = fidelity_model.prices_engines();
  in.service_time_cv = alike ? 0.0 : 1.0;
  notes.assume("service_time_cv", *in.service_time_cv,
               alike ? "requests are alike: service_time_cv states how they vary" : "exponential service");
}

/// The fewest replicas that meet the targets: more never wait longer, so halving finds them.
double fewest(const ServingCapacityModel::Inputs& in, const Judge& judge, Estimate& best) {
  return detail::last_whole(in.max_replicas, 0.0, [&](double replicas) {
    const Estimate e = judge(replicas);
    if (e.meets(in)) best = e;
    return e.meets(in);
  });
}

}  // namespace

ServingCapacityModel::Result ServingCapacityModel::solve(const Inputs& asked, Notes& notes) const {
  Result r;
  detail::require_tokens(*asked.workload, "workload");
  Inputs in = asked;
  in.max_seq_len = seq_len_or_default(asked.max_seq_len, *asked.workload, 0, notes);
  const FidelityModel& fidelity_model = fidelity_model_for(in.fidelity, *in.workload, notes);
  r.fidelity = fidelity_model.fidelity();
  set_variation(in, fidelity_model, notes);
  auto one = fields_of<ContinuousBatchingModel::Inputs>(in);
  one.fidelity = fidelity_model.fidelity();
  const auto batching = ContinuousBatchingModel{}.solve(one, notes);
  r.active_batch_size = std::max(1.0, batching.max_active_requests);
  if (!batching.feasible) {
    r.limit = CapacityLimit::memory;
    return r;
  }
  const Judge judge = fidelity_model.prices_engines()
                          ? Judge(InFlightFleet(in, fidelity_model, r.active_batch_size, notes))
                          : without_engine(in, batching, r.active_batch_size, notes);
  Estimate best = judge(in.max_replicas);
  double chosen = in.max_replicas;
  r.feasible = best.meets(in);
  if (r.feasible) {
    chosen = fewest(in, judge, best);
    r.required_replicas = chosen;
    if (chosen > 1) r.limit = judge(chosen - 1).broken(in);
  } else {
    r.limit = best.broken(in);
    notes.warn(
        [&] {
          return best.stable ? fmt::format("with {:g} replicas 99 % of the requests take up to {:.4g} ms",
                                           in.max_replicas, best.total.in(unit::ms))
                             : fmt::format("{:g} replicas cannot keep up with the arrivals", in.max_replicas);
        },
        BreakReason::infeasible_constraint);
  }
  if (best.itl > Time<>()) r.itl = best.itl;
  if (best.base > Time<>()) {
    r.ttft = best.ttft;
    r.base_request_latency = best.base;
  }
  r.per_replica_capacity = best.capacity;
  r.capacity = best.capacity * chosen;
  r.accelerators = chosen * in.tp_size * in.pp_size * in.ep_size;
  r.queue_utilization = best.utilization;
  if (best.stable) {
    r.estimated_p99_latency = best.total;
    r.queue_wait_p99 = best.wait;
    r.p99_ttft = best.p99_ttft;
  }
  return r;
}

}  // namespace mlsysim

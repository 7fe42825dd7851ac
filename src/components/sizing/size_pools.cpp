#include "sizing/detail/size_pools.hpp"

#include "sizing/detail/size_units.hpp"

#include <mlsysim/estimate/detail/steady.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace mlsysim::detail {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kPlenty = 1e9;  // replicas of which none is ever busy

/// The fewest from `least` on that are enough, where more always are; infinite where `most` are not.
double fewest(double least, double most, const std::function<bool(double)>& enough) {
  double few = least - 1, many = least;
  while (many <= most && !enough(many)) {
    few = many;
    many *= 2;
  }
  if (many > most) {
    many = most;
    if (few >= most || !enough(many)) return kInfinite;
  }
  while (many - few > 1) {
    const double middle = std::floor(0.5 * (few + many));
    (enough(middle) ? many : few) = middle;
  }
  return many;
}

/// A scenario as its problem.
ServingProblem<> pools_problem(const Scenario& s) {
  Notes quiet;
  return std::get<ServingProblem<>>(settle(ResolvedScenario(s, quiet), quiet));
}

/// Workers and replicas of some degrees, at a rate.
class Pools {
 public:
  Pools(const SizeQuestion& q, Machines& machines, const Degrees& worker, const Degrees& replica,
        double factor)
      : prefill(worker),
        decode(replica),
        q_(&q),
        together_(machines.together()),
        factor_(factor),
        rate_(q.rate.base() * factor),
        problem_(pools_problem(machines.pools({worker, 1}, replica, 1))) {
    problem_.prefill.all = true;  // idle devices of a node are counted at the end
    const auto one = one_replica(problem_, 1.0);
    const Steady<> s(one);
    prompts_ = s.prompt_ranks() / s.prompt_slot().base();
  }
  [[nodiscard]] ServingEstimate<> at(double workers, double replicas) const {
    return at(workers, replicas, rate_);
  }
  [[nodiscard]] ServingEstimate<> at(double workers, double replicas, double rate) const {
    ServingProblem<> p = problem_;
    p.prefill.workers = workers;
    p.prefill.decode_replicas = replicas;
    p.arrival_rate = RequestRate<>::from_base(rate);
    return evaluate(p);
  }
  /// The limit on a time, or on any where `time` is empty, that is broken by most; null where none is.
  [[nodiscard]] const ServiceLimit* broken(const ServingEstimate<>& e, std::string_view time = {}) const {
    return broken_most(q_->limits, [&](const ServiceLimit& l) {
      return time.empty() || l.time == time ? number_of(e, l.result()) * factor_ : 0.0;
    });
  }
  [[nodiscard]] static bool serves(const ServingEstimate<>& e) {
    return e.feasibility.memory_shortfall <= Data<>() && e.steady.max_active_requests >= 1 &&
           e.steady.overload <= RequestRate<>();
  }
  [[nodiscard]] bool meets(const ServingEstimate<>& e, std::string_view time = {}) const {
    return serves(e) && broken(e, time) == nullptr;
  }
  /// A prompt and its cache fit on a worker.
  [[nodiscard]] bool holds_prompts() const {
    const auto m = at(1, 1, 1e-9).prefill_memory_use;
    return m.total <= m.capacity;
  }
  /// Prompts a second that workers take at most.
  [[nodiscard]] double prompts(double workers) const { return workers * prompts_; }
  /// Workers of which none is ever idle.
  [[nodiscard]] double least_workers() const {
    return std::max(1.0, std::ceil(rate_ / prompts_ * (1 - 1e-9)));
  }
  /// Ranks that the law of a line with several servers counts.
  [[nodiscard]] double most_workers() const { return std::floor(kRepeatBound / prefill.ep); }
  /// Replicas that keep the limits on the time between tokens, or all limits, if prompts hardly ever wait.
  [[nodiscard]] double least_replicas(double from, double most, std::string_view time) const {
    const double idle = std::min(8 * least_workers() + 64, most_workers());
    return fewest(from, most, [&](double n) { return meets(at(idle, n), time); });
  }
  [[nodiscard]] double devices(double workers, double replicas) const {
    const double all = workers * prefill.devices() + replicas * decode.devices();
    return std::ceil(all / together_) * together_;
  }
  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] double factor() const { return factor_; }
  [[nodiscard]] const MacroProblem<>& macro() const { return problem_.macro; }

  Degrees prefill, decode;

 private:
  const SizeQuestion* q_;
  double together_, factor_, rate_, prompts_ = 0;
  ServingProblem<> problem_;
};

struct Counts {
  double workers = kInfinite, replicas = kInfinite, devices = kInfinite;
};

/// The fewest devices of a pair, fewer than `most`.
Counts fewest_of(const Pools& pools, double workers_from, double replicas_from, double most) {
  const auto workers_with = [&](double replicas, double devices) {
    double enough = workers_from;  // more take too many devices
    while (enough < pools.most_workers() && pools.devices(enough + 1, replicas) < devices)
      enough = 2 * enough + 1;
    enough = std::min(enough, pools.most_workers());
    return fewest(workers_from, enough, [&](double w) { return pools.meets(pools.at(w, replicas)); });
  };
  Counts best{.workers = kInfinite, .replicas = kInfinite, .devices = most};
  double replicas = pools.least_replicas(replicas_from, kPlenty, {});
  if (!std::isfinite(replicas)) return {};
  // With more replicas fewer workers may be enough, but no fewer than these.
  workers_from =
      fewest(workers_from, pools.most_workers(), [&](double w) { return pools.meets(pools.at(w, kPlenty)); });
  for (; pools.devices(workers_from, replicas) < best.devices; ++replicas) {
    const double workers = workers_with(replicas, best.devices);
    if (pools.devices(workers, replicas) < best.devices)
      best = {workers, replicas, pools.devices(workers, replicas)};
  }
  return std::isfinite(best.workers) ? best : Counts{};
}

/// Finds the highest rate that the pair serves within the limits, and the limit that stops it.
void set_most(const Pools& pools, SizedPlan& plan) {
  double low = pools.rate(), high = low;
  ServingEstimate<> over;
  const auto meets = [&](double rate) {
    const auto e = pools.at(plan.prefill.workers, plan.replicas, rate);
    const bool met = pools.meets(e);
    if (!met) over = e;
    return met;
  };
  while (high < 1e12 && meets(high *= 2)) low = high;
  while (high - low > 1e-4 * high) {
    const double middle = 0.5 * (low + high);
    (meets(middle) ? low : high) = middle;
  }
  plan.most_rate = RequestRate<>::from_base(low / pools.factor());
  const auto* why = pools.serves(over) ? pools.broken(over) : nullptr;
  plan.limited_by = why != nullptr                               ? why->text()
                    : high < pools.prompts(plan.prefill.workers) ? "the cache"
                                                                 : "the prefill workers";
}

SizedPlan plan_of(const Pools& pools, const Counts& counts, Machines& machines, RequestRate<> rate) {
  const auto e = pools.at(counts.workers, counts.replicas);
  SizedPlan plan{.tp = pools.decode.tp,
                 .pp = pools.decode.pp,
                 .ep = pools.decode.ep,
                 .precision = pools.decode.precision};
  plan.replicas = counts.replicas;
  plan.devices = counts.devices;
  plan.prefill = {pools.prefill, counts.workers};
  plan.running = e.steady.running_requests;
  plan.ttft = e.ttft;
  plan.p99_ttft = e.steady.p99_ttft;
  plan.itl = e.itl;
  plan.e2e = e.request_latency;
  plan.token_throughput = e.token_throughput;
  plan.scenario = machines.pools(plan.prefill, pools.decode, plan.replicas);
  plan.scenario.arrival_rate = rate;
  if (const auto& macro = pools.macro(); macro.has_power && macro.has_price) {
    const auto bought = evaluate(pools_problem(plan.scenario));
    plan.cost = bought.macro.tco / macro.period();
  }
  set_most(pools, plan);
  return plan;
}

/// A pair of pools and the devices that it takes at least.
struct Pair {
  Pools pools;
  double workers, replicas, devices;
};

}  // namespace

SizedPools sized_pools(const SizeQuestion& q, Machines& machines, std::span<const Degrees> degrees,
                       double most, double factor) {
  std::vector<Pair> pairs;
  std::vector<std::pair<Degrees, double>> workers;
  // The minimum size of a pool does not depend on the other pool.
  for (const auto& d : degrees) {
    if (d.pp > 1) continue;
    const Pools alone(q, machines, d, d, factor);
    if (alone.holds_prompts()) workers.emplace_back(d, alone.least_workers());
  }
  for (const auto& decode : degrees) {
    if (decode.pp > 1) continue;
    const double replicas =
        Pools(q, machines, decode, decode, factor).least_replicas(1, most / decode.devices(), "itl");
    if (!std::isfinite(replicas)) continue;
    for (const auto& [prefill, least] : workers) {
      if (prefill.precision != decode.precision) continue;  // the cache moves as it is
      const Pools pools(q, machines, prefill, decode, factor);
      pairs.push_back({pools, least, replicas, pools.devices(least, replicas)});
    }
  }
  std::ranges::stable_sort(pairs, {}, &Pair::devices);
  SizedPools out{.plans = {}, .pairs = pairs.size()};
  double best = most + 1;
  for (const auto& pair : pairs) {
    if (pair.devices >= best) break;
    const auto counts = fewest_of(pair.pools, pair.workers, pair.replicas, best);
    if (!std::isfinite(counts.devices)) continue;
    best = counts.devices;
    out.plans.push_back(plan_of(pair.pools, counts, machines, q.rate));
  }
  std::ranges::reverse(out.plans);
  return out;
}

double pool_devices(const SizeQuestion& q, Machines& machines, const Degrees& prefill, const Degrees& decode,
                    double factor) {
  const Pools pools(q, machines, prefill, decode, factor);
  return fewest_of(pools, pools.least_workers(), 1, kPlenty).devices;
}

}  // namespace mlsysim::detail

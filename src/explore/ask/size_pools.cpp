#include "explore/ask/size_pools.hpp"

#include "explore/ask/size_units.hpp"

#include <mlsysim/estimate/detail/steady.hpp>
#include <mlsysim/estimate/in_flight.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace mlsysim::detail {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kPlenty = 1e9;  // replicas of which none is ever busy

/// A number of an estimate that may be limited; infinite where it has none.
double number_of(const InFlightEstimate<>& e, std::string_view name) {
  const auto at = [](const std::optional<Time<>>& t) { return t ? t->base() : kInfinite; };
  if (name == "itl") return e.itl.base();
  if (name == "p99_itl") return e.p99_itl.base();
  if (name == "p90_itl") return (e.itl + (e.p99_itl - e.itl) * (kNinety / kNinetyNine)).base();
  const std::array<std::pair<std::string_view, const std::optional<Time<>>*>, 7> optional{
      {{"ttft", &e.ttft},
       {"p50_ttft", &e.p50_ttft},
       {"p90_ttft", &e.p90_ttft},
       {"p95_ttft", &e.p95_ttft},
       {"p99_ttft", &e.p99_ttft},
       {"request_latency", &e.request_latency},
       {"p99_request_latency", &e.p99_request_latency}}};
  for (const auto& [known, time] : optional)
    if (known == name) return at(*time);
  return kInfinite;
}

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

/// Workers and replicas of some degrees, at a rate.
class Pools {
 public:
  Pools(const SizeQuestion& q, const PoolMember& prefill, const PoolMember& decode, double factor)
      : q_(&q), prefill_(&prefill), decode_(&decode), factor_(factor), rate_(q.rate.base() * factor) {
    problem_ = one_replica(decode.problem, 1.0);
    problem_.arrivals = ArrivalProcess::random;
    problem_.has_workers = problem_.own_degrees = true;
    problem_.workers = replica_passes(prefill.problem);
    problem_.network_bandwidth = decode.problem.network_bandwidth;
  }
  [[nodiscard]] InFlightEstimate<> at(double workers, double replicas) const {
    return at(workers, replicas, rate_);
  }
  [[nodiscard]] InFlightEstimate<> at(double workers, double replicas, double rate) const {
    InFlightProblem<> p = problem_;
    p.prefill_replicas = workers;
    p.decode_replicas = replicas;
    p.arrival_rate = RequestRate<>::from_base(rate / replicas);
    return evaluate(p);
  }
  /// The limit on a time, or on any where `time` is empty, that is broken by most; null where none is.
  [[nodiscard]] const ServiceLimit* broken(const InFlightEstimate<>& e, std::string_view time = {}) const {
    return broken_most(q_->limits, [&](const ServiceLimit& l) {
      return time.empty() || l.time == time ? number_of(e, l.result()) * factor_ : 0.0;
    });
  }
  [[nodiscard]] static bool serves(const InFlightEstimate<>& e) { return e.feasible && e.is_stable; }
  [[nodiscard]] bool meets(const InFlightEstimate<>& e, std::string_view time = {}) const {
    return serves(e) && broken(e, time) == nullptr;
  }
  /// A prompt and its cache fit on a worker.
  [[nodiscard]] bool holds_prompts() const {
    return problem_.workers.capacity(problem_.seq_len, problem_.kv_share) >= 1;
  }
  /// Workers of which none is ever idle.
  [[nodiscard]] double least_workers() const {
    const Steady<> s(problem_);
    return std::max(1.0, std::ceil(rate_ * s.prompt_slot().base() / s.prompt_ranks() * (1 - 1e-9)));
  }
  /// Ranks that the law of a line with several servers counts.
  [[nodiscard]] double most_workers() const { return std::floor(kRepeatBound / problem_.workers.plan.ep); }
  /// Replicas that keep the limits on the time between tokens, or all limits, if prompts hardly ever wait.
  [[nodiscard]] double least_replicas(double from, double most, std::string_view time) const {
    const double idle = std::min(8 * least_workers() + 64, most_workers());
    return fewest(from, most, [&](double n) { return meets(at(idle, n), time); });
  }
  [[nodiscard]] double devices(double workers, double replicas, double together) const {
    const double all = workers * prefill_->degrees.devices() + replicas * decode_->degrees.devices();
    return std::ceil(all / together) * together;
  }
  [[nodiscard]] double rate() const { return rate_; }
  [[nodiscard]] double factor() const { return factor_; }

 private:
  const SizeQuestion* q_;
  const PoolMember *prefill_, *decode_;
  double factor_, rate_;
  InFlightProblem<> problem_;
};

struct Counts {
  double workers = kInfinite, replicas = kInfinite, devices = kInfinite;
};

/// The fewest devices of a pair, fewer than `most`.
Counts fewest_of(const Pools& pools, double workers_from, double replicas_from, double most,
                 double together) {
  const auto workers_with = [&](double replicas, double devices) {
    double enough = workers_from;  // more take too many devices
    while (enough < pools.most_workers() && pools.devices(enough + 1, replicas, together) < devices)
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
  for (; pools.devices(workers_from, replicas, together) < best.devices; ++replicas) {
    const double workers = workers_with(replicas, best.devices);
    if (pools.devices(workers, replicas, together) < best.devices)
      best = {workers, replicas, pools.devices(workers, replicas, together)};
  }
  return std::isfinite(best.workers) ? best : Counts{};
}

/// Finds the highest rate that the pair serves within the limits, and the limit that stops it.
void set_most(const Pools& pools, SizedPlan& plan) {
  double low = pools.rate(), high = low;
  InFlightEstimate<> over;
  const auto meets = [&](double rate) {
    auto e = pools.at(plan.prefill.workers, plan.replicas, rate);
    const bool met = pools.meets(e);
    if (!met) over = std::move(e);
    return met;
  };
  while (high < 1e12 && meets(high *= 2)) low = high;
  while (high - low > 1e-4 * high) {
    const double middle = 0.5 * (low + high);
    (meets(middle) ? low : high) = middle;
  }
  plan.most_rate = RequestRate<>::from_base(low / pools.factor());
  const auto* why = pools.serves(over) ? pools.broken(over) : nullptr;
  plan.limited_by = why != nullptr ? why->text() : over.overloaded ? "the cache" : "the prefill workers";
}

SizedPlan plan_of(const Pools& pools, const PoolMember& prefill, const PoolMember& decode,
                  const Counts& counts) {
  const auto e = pools.at(counts.workers, counts.replicas);
  SizedPlan plan{.tp = decode.degrees.tp, .pp = decode.degrees.pp, .ep = decode.degrees.ep};
  plan.replicas = counts.replicas;
  plan.devices = counts.devices;
  plan.prefill = {prefill.degrees, counts.workers, decode.problem.network_bandwidth};
  plan.running = e.running_requests;
  plan.ttft = *e.ttft;
  plan.p99_ttft = *e.p99_ttft;
  plan.itl = e.itl;
  plan.e2e = *e.request_latency;
  plan.token_throughput = e.token_throughput * counts.replicas;
  set_most(pools, plan);
  return plan;
}

/// A pair of pools and the devices that it takes at least.
struct Pair {
  const PoolMember *prefill, *decode;
  double workers, replicas, devices;
};

}  // namespace

SizedPools sized_pools(const SizeQuestion& q, std::span<const PoolMember> members, double most,
                       double together, double factor) {
  std::vector<Pair> pairs;
  std::vector<const PoolMember*> workers;
  std::vector<double> least_workers;
  // The minimum size of a pool does not depend on the other pool.
  for (const auto& m : members) {
    const Pools alone(q, m, m, factor);
    if (m.degrees.pp > 1 || !alone.holds_prompts()) continue;
    workers.push_back(&m);
    least_workers.push_back(alone.least_workers());
  }
  for (const auto& decode : members) {
    if (decode.degrees.pp > 1) continue;
    const double replicas =
        Pools(q, decode, decode, factor).least_replicas(1, most / decode.degrees.devices(), "itl");
    if (!std::isfinite(replicas)) continue;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const Pools pools(q, *workers[i], decode, factor);
      pairs.push_back({workers[i], &decode, least_workers[i], replicas,
                       pools.devices(least_workers[i], replicas, together)});
    }
  }
  std::ranges::stable_sort(pairs, {}, &Pair::devices);
  SizedPools out{.plans = {}, .pairs = pairs.size()};
  double best = most + 1;
  for (const auto& pair : pairs) {
    if (pair.devices >= best) break;
    const Pools pools(q, *pair.prefill, *pair.decode, factor);
    const auto counts = fewest_of(pools, pair.workers, pair.replicas, best, together);
    if (!std::isfinite(counts.devices)) continue;
    best = counts.devices;
    out.plans.push_back(plan_of(pools, *pair.prefill, *pair.decode, counts));
  }
  std::ranges::reverse(out.plans);
  return out;
}

double pool_devices(const SizeQuestion& q, const PoolMember& prefill, const PoolMember& decode,
                    double together, double factor) {
  const Pools pools(q, prefill, decode, factor);
  return fewest_of(pools, pools.least_workers(), 1, kPlenty, together).devices;
}

}  // namespace mlsysim::detail

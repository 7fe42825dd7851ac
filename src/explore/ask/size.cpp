#include "explore/ask/size_pools.hpp"
#include "explore/ask/size_units.hpp"

#include <mlsysim/engine/detail/launch_writer.hpp>
#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace mlsysim {
namespace {

using detail::Machines;
using detail::ServedUnit;
using detail::set_degrees;

/// Units that serve a rate, each at most `most`.
double units_for(double rate, double most) { return std::max(1.0, std::ceil(rate / most * (1 - 1e-9))); }

Scenario served_at_a_rate(const Scenario& base) {
  Scenario s = base;
  s.mode = Mode::serve;
  s.load = Load::rate;
  s.batch_size = 1;
  s.arrival_rate = 1.0 * (unit::request / unit::s);
  return s;
}

/// All degrees that are tried.
std::vector<Degrees> degrees_of(const SizeQuestion& q, Machines& machines, bool trains) {
  if (!q.only.empty()) return q.only;
  const double node = detail::devices_of_a_node(machines), experts = detail::experts_of(*q.scenario.workload);
  const double most = std::min(q.most_replica_devices, q.most_devices);
  std::vector<Degrees> out;
  const auto given = [](const std::optional<double>& x, std::vector<double> all) {
    return x ? std::vector<double>{*x} : all;
  };
  const auto one = [](double x) { return x > 1 ? std::optional(x) : std::nullopt; };
  for (const double tp : given(q.scenario.tp_size, detail::degrees_up_to(std::max(node, 1.0), node)))
    for (const double pp : given(one(q.scenario.pp_size), detail::degrees_up_to(trains ? 64 : 4)))
      for (const double ep : given(one(q.scenario.ep_size), detail::degrees_up_to(std::min(experts, most))))
        if (const Degrees d{tp, pp, ep}; d.devices() <= most) out.push_back(d);
  return out;
}

/// Counts the parameters of a device that are estimates of its class; empty where there are none.
std::string class_figures(const std::vector<Assumption>& assumptions, const std::string& device) {
  const auto of_class = std::count_if(assumptions.begin(), assumptions.end(),
                                      [](const Assumption& a) { return rests_on_class(a); });
  return of_class == 0 ? std::string()
                       : fmt::format("{} figures of {} are estimates of its class", of_class, device);
}

void finish(const SizeQuestion& q, SizeAnswer& out, std::vector<SizedPlan>& plans, Machines& machines) {
  std::stable_sort(plans.begin(), plans.end(), [](const SizedPlan& a, const SizedPlan& b) {
    if (a.devices != b.devices) return a.devices < b.devices;
    if (a.most_rate != b.most_rate) return a.most_rate > b.most_rate;
    return a.training_time < b.training_time;
  });
  out.best = plans.front();
  for (std::size_t i = 1; i < plans.size() && i < 5; ++i) out.others.push_back(plans[i]);
  out.workload = q.scenario.workload->name;
  out.hardware = machines.name();
  out.level = q.level;
  out.lower = out.upper = out.best.devices;
  out.keep = machines.keep();
  if (q.level == 0) return;
  Scenario one = out.best.scenario;
  if (q.scenario.workload != nullptr && one.mode != Mode::train) {
    one.load = Load::concurrency;
    one.arrival_rate.reset();
    one.batch_size = std::max(1.0, std::ceil(out.best.running * one.decode_replicas.value_or(1)));
  }
  const auto card = SystemEvaluator::evaluate(out.best.scenario);
  out.software = card.runtime;
  out.assumptions = card.assumptions;
  out.warnings = card.warnings;
  out.class_figures = class_figures(card.assumptions, machines.device().name);
  out.launch = detail::launch_command(one);

  const std::vector<std::string> behind{out.best.scenario.mode == Mode::train ? "step_latency" : "itl"};
  const Subject subject = subject_of(one);
  const auto found = intervals(subject, interval_subject(one), behind, q.level, {.samples = 256}, q.book);
  if (found.empty()) return;
  out.time_low = found.front().lower / found.front().value;
  out.time_high = found.front().upper / found.front().value;
  out.lower = devices_at(q, out.best, out.time_low);
  out.upper = devices_at(q, out.best, out.time_high);
}

Infeasible nothing_fits(std::string nearest, std::string_view plan, std::size_t plans, std::string change) {
  Infeasible why;
  why.reason =
      fmt::format("no plan meets the limits: {} plans were evaluated; nearest, {}: {}", plans, plan, nearest);
  why.smallest_change = std::move(change);
  why.facts = {{"plans", fmt::format("{}", plans)}, {"nearest", std::string(plan)}};
  return why;
}

std::string words_of(const Degrees& d) {
  std::vector<std::string> out;
  if (d.tp > 1) out.push_back(fmt::format("tp {:g}", d.tp));
  if (d.pp > 1) out.push_back(fmt::format("pp {:g}", d.pp));
  if (d.ep > 1) out.push_back(fmt::format("ep {:g}", d.ep));
  return out.empty() ? "tp 1" : fmt::format("{}", fmt::join(out, " x "));
}

Outcome<SizeAnswer> size_serving(const SizeQuestion& q) {
  if (!(q.rate > RequestRate<>()))
    throw InputError({.id = "mlsysim.explore.181",
                      .message = "there is no load to size for",
                      .key = "rate",
                      .found = "no rate",
                      .expected = "requests that arrive in a second, or tokens of a training run",
                      .hint = "e.g. --rate 10/s, or --mode train --tokens 15T --within '90 d'"});
  Machines machines(served_at_a_rate(q.scenario));
  SizeAnswer out;
  std::vector<SizedPlan> plans;
  std::vector<Degrees> tried;
  std::string nearest, nearest_plan;
  double missing = 1e300;
  for (const Degrees& d : degrees_of(q, machines, false)) {
    try {
      double devices = 0;
      Scenario s = machines.on(d.devices(), &devices);
      if (devices > q.most_devices) continue;
      set_degrees(s, d);
      const ServedUnit unit(s, devices, q.limits);
      tried.push_back(d);
      ++out.plans;
      const auto most = unit.most();
      if (!(most.rate > 0)) {
        if (most.missing < missing)
          missing = most.missing, nearest = most.nearest, nearest_plan = words_of(d);
        continue;
      }
      const double units = units_for(q.rate.base(), most.rate);
      if (units * devices > q.most_devices) {
        const double over = units * devices / q.most_devices;
        if (over < missing) {
          missing = over;
          nearest = fmt::format("{:g} devices, limited by {}", units * devices, most.limited_by);
          nearest_plan = words_of(d);
        }
        continue;
      }
      ++out.fitting;
      const auto e = unit.at(q.rate.base() / units);
      SizedPlan plan{.tp = d.tp, .pp = d.pp, .ep = d.ep};
      plan.replicas = units * e.replicas;
      plan.devices = units * devices;
      plan.running = e.steady.running_requests;
      plan.most_rate = RequestRate<>::from_base(most.rate * units);
      plan.limited_by = most.limited_by;
      plan.ttft = e.ttft;
      plan.p99_ttft = e.steady.p99_ttft;
      plan.itl = e.itl;
      plan.e2e = e.request_latency;
      plan.token_throughput = e.token_throughput * units;
      if (const auto& macro = unit.problem().macro; macro.has_power && macro.has_price)
        plan.cost = e.macro.tco / macro.period() * units;
      plan.scenario = s;
      plan.scenario.arrival_rate = RequestRate<>::from_base(q.rate.base() / units);
      plans.push_back(std::move(plan));
    } catch (const DomainError&) {  // degrees that do not divide the model or the devices
    } catch (const InputError&) {
      if (out.plans == 0 && d.devices() == 1) throw;  // of the question, not of the degrees
    }
  }
  if (q.disaggregated) {
    auto found = detail::sized_pools(q, machines, tried, q.most_devices);
    out.pools = found.pairs;
    std::ranges::move(found.plans, std::back_inserter(plans));
  }
  if (plans.empty())
    return nothing_fits(nearest.empty() ? "no degree divides the model" : nearest, nearest_plan, out.plans,
                        missing >= 1e9
                            ? "more devices for a replica, a narrower format, or devices with more memory"
                            : fmt::format("a limit {:.3g} times as long, or another machine", missing));
  finish(q, out, plans, machines);
  out.headroom = 1 - q.rate / out.best.most_rate;
  return out;
}

/// A training plan on any number of devices.
struct TrainedUnit {
  TrainingProblem<> problem;
  Scenario scenario;

  [[nodiscard]] TrainingEstimate<> at(double devices) const {
    TrainingProblem<> p = problem;
    p.accelerators = devices;
    return evaluate(p);
  }
};

std::optional<TrainedUnit> trained(const SizeQuestion& q, Machines& machines, const Degrees& d,
                                   double devices, double* bought) {
  Scenario s = machines.on(devices, bought);
  set_degrees(s, d);
  Notes quiet;
  const ResolvedScenario r(s, quiet);
  TrainedUnit out{std::get<TrainingProblem<>>(settle(r, quiet)), s};
  if (q.tokens) {
    out.problem.has_tokens = true;
    out.problem.training_tokens = *q.tokens;
  }
  return out;
}

/// The plan that misses the limits by the smallest factor, with the miss in words.
struct Nearest {
  double missing = 1e300;
  std::string words, plan;
  void take(double by, std::string what, const Degrees& d) {
    if (!(by < missing)) return;
    missing = by;
    words = std::move(what);
    plan = words_of(d);
  }
};

/// The fewest copies of a model that train in time; none where the most that have work do not.
std::optional<double> fewest_devices(const SizeQuestion& q, Machines& machines, const Degrees& d, double most,
                                     Nearest& nearest) {
  const auto at = [&](double devices) -> std::optional<TrainingEstimate<>> {
    double bought = 0;
    const auto unit = trained(q, machines, d, devices, &bought);
    return bought == devices ? std::optional(unit->at(devices)) : std::nullopt;
  };
  const auto meets = [&](const std::optional<TrainingEstimate<>>& e) {
    return e && e->training_time <= *q.within && e->memory.total <= e->memory.capacity;
  };
  const auto all = at(most);
  if (!meets(all)) {
    if (!all) return std::nullopt;
    const bool full = all->memory.total > all->memory.capacity;
    nearest.take(std::max(all->training_time / *q.within, all->memory.total / all->memory.capacity),
                 full ? fmt::format("needs {} of {} on each of {:g} devices",
                                    pretty(AnyQuantity(all->memory.total), 3),
                                    pretty(AnyQuantity(all->memory.capacity), 3), most)
                      : fmt::format("{} on {:g} devices", pretty(AnyQuantity(all->training_time), 3), most),
                 d);
    return std::nullopt;
  }
  const double step = d.devices();
  double enough = most, few = 0;  // multiples of a copy, by halving
  while (enough - few > step) {
    const double middle = std::floor((few + enough) / 2 / step) * step;
    bool fits = false;
    try {
      fits = middle >= step && meets(at(middle));
    } catch (const Error&) {  // devices that do not fill nodes
    }
    (fits ? enough : few) = middle;
    if (middle < step) break;
  }
  return enough;
}

SizedPlan trained_plan(const TrainedUnit& unit, const Degrees& d, double devices) {
  const auto e = unit.at(devices);
  SizedPlan plan{.tp = d.tp, .pp = d.pp, .ep = d.ep};
  plan.devices = devices;
  plan.replicas = e.dp_size;
  plan.training_time = e.training_time;
  plan.token_throughput = e.token_throughput;
  plan.mfu = e.mfu;
  plan.goodput_ratio = e.reliability.goodput_ratio;
  plan.limited_by = "the time";
  if (const auto& macro = unit.problem.macro; macro.has_power && macro.has_price) {
    plan.cost = e.macro.tco / macro.period();
    plan.run_cost = e.macro.run_cost;
  }
  plan.scenario = unit.scenario;
  return plan;
}

Outcome<SizeAnswer> size_training(const SizeQuestion& q) {
  if (!q.within)
    throw InputError({.id = "mlsysim.explore.182",
                      .message = "a training run is sized for a time",
                      .key = "within",
                      .found = "no time",
                      .expected = "the time in which the run must end",
                      .hint = "e.g. --tokens 15T --within '90 d'"});
  Scenario base = q.scenario;
  base.mode = Mode::train;
  if (!q.tokens && !base.workload->training.tokens)
    throw InputError(
        {.id = "mlsysim.explore.183",
         .message = fmt::format("nobody says on how many tokens '{}' is trained", base.workload->name),
         .key = "tokens",
         .found = "no tokens",
         .expected = "tokens of the run",
         .hint = "e.g. --tokens 15T"});
  Machines machines(base);
  SizeAnswer out;
  std::vector<SizedPlan> plans;
  Nearest nearest;
  for (const Degrees& d : degrees_of(q, machines, true)) {
    try {
      // As many copies of the model as the batch has sequences are the most that have work.
      const double step = d.devices(),
                   most = std::floor(std::min(q.most_devices, base.batch_size * step) / step) * step;
      if (most < step) continue;
      ++out.plans;
      const auto enough = fewest_devices(q, machines, d, most, nearest);
      if (!enough) continue;
      ++out.fitting;
      double bought = 0;
      plans.push_back(trained_plan(*trained(q, machines, d, *enough, &bought), d, *enough));
    } catch (const DomainError&) {
    } catch (const InputError&) {
      if (out.plans == 0 && d.devices() == 1) throw;
    }
  }
  if (plans.empty())
    return nothing_fits(
        nearest.words.empty() ? "no degree divides the model" : nearest.words, nearest.plan, out.plans,
        fmt::format(
            "a time {:.3g} times as long, or a larger batch, such as --batch-size {:g}: each copy of the "
            "model has at least one of its sequences",
            nearest.missing,
            std::exp2(std::ceil(std::log2(std::max(2.0, base.batch_size * nearest.missing))))));
  finish(q, out, plans, machines);
  out.headroom = 1 - out.best.training_time / *q.within;
  return out;
}

}  // namespace

std::string SizedPlan::degrees() const {
  const auto own = words_of({tp, pp, ep});
  if (prefill.workers == 0) return own;
  return fmt::format("prefill {:g} x ({}) + decode {:g} x ({})", prefill.workers, words_of(prefill.each),
                     replicas, own);
}

Outcome<SizeAnswer> size(const SizeQuestion& q) {
  if (q.scenario.workload == nullptr)
    throw InputError({.id = "mlsysim.explore.185",
                      .message = "a size is asked of a model",
                      .key = "workload",
                      .found = "none",
                      .expected = "a model",
                      .hint = "name a model of the zoo"});
  return q.scenario.mode == Mode::train || q.within || q.tokens ? size_training(q) : size_serving(q);
}

double devices_at(const SizeQuestion& q, const SizedPlan& plan, double factor) {
  if (plan.scenario.mode == Mode::train) {
    // Copies of the model share the batch, so that devices are as many times more as the time is longer.
    const double copies = plan.devices / plan.replica_devices();
    const double needed = copies * (plan.training_time * factor / *q.within);
    return std::max(1.0, std::ceil(needed * (1 - 1e-9))) * plan.replica_devices();
  }
  if (plan.prefill.workers > 0) {
    Machines machines(served_at_a_rate(q.scenario));
    return detail::pool_devices(q, machines, plan.prefill.each, {plan.tp, plan.pp, plan.ep}, factor);
  }
  const double unit_devices = plan.devices / std::round(q.rate / *plan.scenario.arrival_rate);
  const ServedUnit unit(plan.scenario, unit_devices, q.limits);
  const auto most = unit.most(factor);
  if (!(most.rate > 0)) return std::numeric_limits<double>::infinity();
  return units_for(q.rate.base(), most.rate) * unit_devices;
}

}  // namespace mlsysim

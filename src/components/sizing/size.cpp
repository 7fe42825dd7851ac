#include "sizing/detail/fewest_devices.hpp"
#include "sizing/detail/size_plans.hpp"
#include "sizing/detail/size_pools.hpp"

#include <mlsysim/engine/detail/launch_writer.hpp>
#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/specs/usual_request.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>
#include <mlsysim/zoo/loader.hpp>

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

/// Units that serve a rate, each at most `most`.
double units_for(double rate, double most) { return std::max(1.0, std::ceil(rate / most * (1 - 1e-9))); }

/// Counts the parameters of a device that are estimates of its class; empty where there are none.
std::string class_figures(const std::vector<Assumption>& assumptions, const std::string& device) {
  const auto of_class = std::count_if(assumptions.begin(), assumptions.end(),
                                      [](const Assumption& a) { return rests_on_class(a); });
  return of_class == 0 ? std::string()
                       : fmt::format("{} figures of {} are estimates of its class", of_class, device);
}

/// The replicas of a scenario as they are launched: for the longest request, and for as many requests in
/// flight as chance brings.
Scenario launched(const SizeQuestion& q, Scenario s, double replicas) {
  if (s.mode == Mode::train) return s;
  s.batch_size = detail::admitted_requests(s.batch_size / replicas) * replicas;
  if (q.longest_request) {
    s.seq_len = std::max(1.0, *q.longest_request - s.output_tokens.value_or(UsualRequest::answer));
    s.seq_len_cv.reset();
    s.output_tokens_cv.reset();
  }
  return s;
}

}  // namespace

namespace detail {

bool trains(const SizeQuestion& q) {
  return q.scenario.mode == Mode::train || q.within || q.scenario.training_tokens;
}

Scenario sized_scenario(const SizeQuestion& q) {
  Scenario s = q.scenario;
  if (trains(q)) {
    s.mode = Mode::train;
    return s;
  }
  s.mode = Mode::serve;
  s.load = Load::rate;
  s.batch_size = 1;
  s.arrival_rate = 1.0 * (unit::request / unit::s);
  return s;
}

std::vector<Degrees> degrees_of(const SizeQuestion& q, Machines& machines, bool trains) {
  const double node = devices_of_a_node(machines), experts = experts_of(*q.scenario.workload);
  const double most = std::min(q.most_replica_devices, q.most_devices);
  std::vector<Degrees> out;
  std::vector<std::optional<Precision>> formats{q.precisions.begin(), q.precisions.end()};
  if (formats.empty()) formats.emplace_back();
  const auto given = [&](const char* name, double x, std::vector<double> all) {
    return x > 1 || q.stated.contains(name) ? std::vector<double>{x} : all;
  };
  const auto& tp_size = q.scenario.tp_size;
  for (const double tp : tp_size ? std::vector<double>{*tp_size} : degrees_up_to(std::max(node, 1.0), node))
    for (const double pp : given("pp_size", q.scenario.pp_size, degrees_up_to(trains ? 64 : 4)))
      for (const double ep : given("ep_size", q.scenario.ep_size, degrees_up_to(std::min(experts, most))))
        for (const auto& precision : formats)
          if (const Degrees d{tp, pp, ep, precision}; d.devices() <= most) out.push_back(d);
  return out;
}

Scenario busy_replicas(const SizeQuestion& q, const SizedPlan& plan, double* replicas) {
  Scenario one = plan.scenario;
  if (one.mode == Mode::train) return one;
  *replicas = plan.replicas / std::round(q.rate / *one.arrival_rate);
  one.load = Load::concurrency;
  one.arrival_rate.reset();
  one.batch_size = std::max(1.0, std::ceil(plan.running * *replicas));
  return one;
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
  double replicas = 1;  // that are bought together
  const Scenario one = busy_replicas(q, out.best, &replicas);
  const auto card = SystemEvaluator::evaluate(out.best.scenario);
  out.software = card.runtime;
  out.assumptions = card.assumptions;
  out.warnings = card.warnings;
  out.class_figures = class_figures(card.assumptions, machines.device().name);
  const auto command = detail::launch_command(launched(q, one, replicas));
  out.launch = command.text;
  if (!command.refused.empty()) out.warnings.push_back("there is no launch: " + command.refused);

  const std::vector<std::string> behind{out.best.scenario.mode == Mode::train ? "step_latency" : "itl"};
  const Subject subject = subject_of(one);
  const auto found = intervals(subject, interval_subject(one), behind, q.level, {.samples = 256}, q.book);
  if (found.empty()) return;
  out.time_low = found.front().lower / found.front().value;
  out.time_high = found.front().upper / found.front().value;
  FewestDevices needed(q, [](VariedQuestion& varied, double x) { varied.time_factor = x; });
  out.lower = needed.at(out.time_low).devices;
  out.upper = needed.at(out.time_high).devices;
}

void NearestPlan::take(double by, std::string what, const Degrees& d, std::string would_help) {
  if (!(by < missing)) return;
  missing = by;
  words = std::move(what);
  plan = words_of(d);
  change = std::move(would_help);
}

Infeasible nothing_fits(const NearestPlan& nearest, std::size_t plans) {
  Infeasible why;
  why.reason = fmt::format("no plan meets the limits: {} plans were evaluated; nearest{}: {}", plans,
                           nearest.plan.empty() ? "" : ", " + nearest.plan,
                           nearest.words.empty() ? "no degree divides the model" : nearest.words);
  why.smallest_change = nearest.change;
  why.facts = {{"plans", fmt::format("{}", plans)}, {"nearest", nearest.plan}};
  return why;
}

std::string words_of(const Degrees& d) {
  std::vector<std::string> out;
  if (d.tp > 1) out.push_back(fmt::format("tp {:g}", d.tp));
  if (d.pp > 1) out.push_back(fmt::format("pp {:g}", d.pp));
  if (d.ep > 1) out.push_back(fmt::format("ep {:g}", d.ep));
  return fmt::format("{}{}", out.empty() ? "tp 1" : fmt::format("{}", fmt::join(out, " x ")),
                     d.precision ? fmt::format(", {}", name_of(*d.precision)) : "");
}

ServedUnit served_unit(const SizeQuestion& q, Machines& machines, const Degrees& d) {
  double devices = 0;
  Scenario s = machines.on(d.devices(), &devices);
  set_degrees(s, d);
  return {s, devices, q.limits};
}

double ServedMost::for_rate(RequestRate<> wanted) const {
  return rate > 0 ? units_for(wanted.base(), rate) * devices : std::numeric_limits<double>::infinity();
}

ServedMost served_most(const SizeQuestion& q, Machines& machines, const Degrees& d, double time_factor) {
  const ServedUnit unit = served_unit(q, machines, d);
  return {.rate = unit.most(time_factor).rate, .devices = unit.devices()};
}

}  // namespace detail

namespace {

Outcome<SizeAnswer> size_serving(const SizeQuestion& q) {
  if (!(q.rate > RequestRate<>()))
    throw InputError({.id = "mlsysim.explore.181",
                      .message = "there is no load to size for",
                      .key = "rate",
                      .found = "no rate",
                      .expected = "requests that arrive in a second, or tokens of a training run",
                      .hint = "e.g. --rate 10/s, or --mode train --tokens 15T --within '90 d'"});
  Machines machines(detail::sized_scenario(q));
  SizeAnswer out;
  std::vector<SizedPlan> plans;
  std::vector<Degrees> tried;
  detail::NearestPlan nearest;
  for (const Degrees& d : detail::degrees_of(q, machines, false)) {
    try {
      const ServedUnit unit = detail::served_unit(q, machines, d);
      const double devices = unit.devices();
      if (devices > q.most_devices) continue;
      tried.push_back(d);
      ++out.plans;
      const auto most = unit.most();
      if (!(most.rate > 0)) {
        nearest.take(most.missing, most.nearest, d,
                     most.short_of_memory
                         ? "more devices for a replica, a narrower format, or devices with more memory"
                         : fmt::format("a limit {:.3g} times as long, or another machine", most.missing));
        continue;
      }
      const double units = units_for(q.rate.base(), most.rate);
      if (units * devices > q.most_devices) {
        nearest.take(units * devices / q.most_devices,
                     fmt::format("{:g} devices, limited by {}", units * devices, most.limited_by), d,
                     fmt::format("{:g} devices, of which there are {:g}; or another machine", units * devices,
                                 q.most_devices));
        continue;
      }
      ++out.fitting;
      const auto e = unit.at(q.rate.base() / units);
      SizedPlan plan{.tp = d.tp, .pp = d.pp, .ep = d.ep, .precision = d.precision};
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
      plan.scenario = unit.scenario();
      plan.scenario.arrival_rate = RequestRate<>::from_base(q.rate.base() / units);
      plans.push_back(std::move(plan));
    } catch (const DomainError&) {  // degrees that do not divide the model or the devices
    } catch (const LookupError& error) {
      if (!d.precision) throw;  // a format that the device does not have
      nearest.take(detail::NearestPlan::kNone, error.facts().message, d, "formats that the device has");
    } catch (const InputError&) {
      if (out.plans == 0 && d.devices() == 1) throw;  // of the question, not of the degrees
    }
  }
  if (q.disaggregated) {
    auto found = detail::sized_pools(q, machines, tried, q.most_devices);
    out.pools = found.pairs;
    std::ranges::move(found.plans, std::back_inserter(plans));
  }
  if (plans.empty()) return detail::nothing_fits(nearest, out.plans);
  detail::finish(q, out, plans, machines);
  out.headroom = 1 - q.rate / out.best.most_rate;
  return out;
}

}  // namespace

std::string machine_name(const Scenario& s) {
  return s.fleet != nullptr ? s.fleet->name
                            : devices_name(*s.hardware, s.accelerators.value_or(1), s.accelerators_per_node);
}

std::string SizedPlan::degrees() const {
  auto own = detail::words_of(replica());
  if (scenario.mode == Mode::train) own += detail::words_of_training(scenario);
  if (prefill.workers == 0) return own;
  return fmt::format("prefill {:g} x ({}) + decode {:g} x ({})", prefill.workers,
                     detail::words_of(prefill.each), replicas, own);
}

namespace {

/// Limits of requests say nothing of a run.
void refuse_limits_of_requests(const SizeQuestion& q) {
  if (q.limits.empty() && !q.disaggregated) return;
  throw InputError({.id = "mlsysim.explore.260",
                    .message = "a training run has no requests",
                    .key = q.limits.empty() ? "disaggregated" : q.limits.front().time,
                    .found = q.limits.empty() ? "prefill workers" : q.limits.front().text(),
                    .expected = "tokens and the time in which the run must end",
                    .hint = "leave it out, or ask for a rate of requests"});
}

}  // namespace

Outcome<SizeAnswer> size(const SizeQuestion& q) {
  if (q.scenario.workload == nullptr)
    throw InputError({.id = "mlsysim.explore.185",
                      .message = "a size is asked of a model",
                      .key = "workload",
                      .found = "none",
                      .expected = "a model",
                      .hint = "name a model of the zoo"});
  SizeQuestion bounded = q;
  bounded.most_devices = std::min(q.most_devices, Machines(q.scenario).there_are());
  if (detail::trains(q)) refuse_limits_of_requests(q);
  return detail::trains(q) ? detail::size_training(bounded) : size_serving(bounded);
}

}  // namespace mlsysim

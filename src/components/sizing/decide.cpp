#include <mlsysim/sizing/decide.hpp>

#include "sizing/detail/decide_costs.hpp"
#include "sizing/detail/next_points.hpp"
#include "sizing/detail/size_plans.hpp"

#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlsysim {
namespace {

using detail::Costs;
using detail::ErrorBox;

double median_of(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n == 0 ? 0.0 : n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/// The part of an interval that a machine has for itself, and the one it shares, as factors.
double own_part(double factor, double shared) { return std::exp(std::log(factor) * std::sqrt(1 - shared)); }
double common_part(double factor, double shared) { return std::exp(std::log(factor) * std::sqrt(shared)); }

/// A machine with the scenario of the question on it.
struct AskedMachine {
  DecideOption option;
  Scenario machine;
  double price = 0;  ///< of a device, in what is compared
};

/// Whether a plan fits in memory, whatever the limits and the number of devices.
bool fits_at_all(SizeQuestion ask) {
  ask.limits.clear();
  ask.level = 0;
  if (ask.within) ask.within = Time<>::from_base(1e30);
  ask.rate = RequestRate<>::from_base(1e-6);
  return static_cast<bool>(size(ask));
}

AskedMachine sized(const DecideQuestion& q, const Scenario& machine) {
  SizeQuestion ask = q.ask;
  ask.scenario = machine;
  AskedMachine out{.option = {}, .machine = machine};
  out.option.machine = machine_name(machine);
  auto found = size(ask);
  if (!found) {
    out.option.why_not = found.why()->reason;
    out.option.change = found.why()->smallest_change;
    out.option.fits = fits_at_all(std::move(ask));
    return out;
  }
  out.option.fits = true;
  out.option.size = std::move(found).value();
  if (const auto& cost = out.option.size->best.cost)
    out.option.price = cost->in(unit::USD / unit::h) / out.option.size->best.devices;
  return out;
}

/// Sets what is compared; a machine without a price among others that have one costs any amount.
void set_costs(std::vector<AskedMachine>& asked, bool priced) {
  for (auto& a : asked) {
    DecideOption& o = a.option;
    if (!o.meets_limits()) continue;
    o.compared = !priced || o.priced();
    a.price = !priced ? 1 : o.priced() ? *o.price : std::numeric_limits<double>::infinity();
    o.cost = o.size->best.devices * a.price;
    o.lower = o.size->lower * a.price;
    o.upper = std::isfinite(o.size->upper) ? o.size->upper * a.price : o.size->upper;
  }
  std::ranges::stable_sort(asked, [](const AskedMachine& a, const AskedMachine& b) {
    if (a.option.meets_limits() != b.option.meets_limits()) return a.option.meets_limits();
    return a.option.cost < b.option.cost;
  });
}

}  // namespace

double shared_error(std::string_view metric) {
  const auto& groups = ErrorBook::standard_of(metric).groups();
  double products = 0, squares = 0;
  std::size_t pairs = 0, counted = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& a = groups[i].subject;
    if (a.family.empty() || groups[i].unmeasured) continue;
    const double x = median_of(groups[i].residuals);
    squares += x * x;
    ++counted;
    for (std::size_t k = 0; k < i; ++k) {
      const auto& b = groups[k].subject;
      if (b.family != a.family || b.origin != a.origin || b.device == a.device || groups[k].unmeasured)
        continue;
      products += x * median_of(groups[k].residuals);
      ++pairs;
    }
  }
  if (pairs == 0 || !(squares > 0)) return 0;
  return std::clamp((products / static_cast<double>(pairs)) / (squares / static_cast<double>(counted)), 0.0,
                    1.0);
}

Outcome<DecideAnswer> decide(const DecideQuestion& q) {
  if (q.machines.empty())
    throw InputError({.id = "mlsysim.explore.186",
                      .message = "there is nothing to decide between",
                      .key = "on",
                      .found = "no machine",
                      .expected = "two machines or more",
                      .hint = "e.g. --on H200,B200,MI355X"});
  DecideAnswer out;
  out.level = q.ask.level;
  std::vector<AskedMachine> asked;
  for (const Scenario& machine : q.machines) asked.push_back(sized(q, machine));
  const auto meets = [](const AskedMachine& a) { return a.option.meets_limits(); };
  const auto paid = [](const AskedMachine& a) { return a.option.meets_limits() && a.option.priced(); };
  out.priced =
      std::ranges::count_if(asked, paid) >= std::min<std::ptrdiff_t>(2, std::ranges::count_if(asked, meets));
  out.unit = out.priced ? "USD/h" : "devices";
  set_costs(asked, out.priced);
  if (!asked.front().option.meets_limits()) {
    Infeasible why{
        .reason = "no machine does it", .smallest_change = asked.front().option.change, .facts = {}};
    for (const auto& a : asked) why.facts.push_back({a.option.machine, a.option.why_not});
    return why;
  }

  const char* metric = detail::trains(q.ask) ? "step_latency" : "itl";
  out.shared = shared_error(metric);
  std::vector<Costs> costs;
  std::vector<Scenario> machines;
  std::vector<DecideOption*> compared;
  ErrorBox box;
  for (auto& a : asked) {
    if (!a.option.meets_limits() || !a.option.compared) continue;
    const auto& s = *a.option.size;
    a.option.time_low = own_part(s.time_low, out.shared);
    a.option.time_high = own_part(s.time_high, out.shared);
    box.low.push_back(a.option.time_low);
    box.high.push_back(a.option.time_high);
    box.least.push_back(s.time_low);
    box.most.push_back(s.time_high);
    box.common_low = std::min(box.common_low, common_part(s.time_low, out.shared));
    box.common_high = std::max(box.common_high, common_part(s.time_high, out.shared));
    costs.emplace_back(q.ask, a.option, a.machine, a.price);
    machines.push_back(a.machine);
    compared.push_back(&a.option);
  }
  out.common_low = box.common_low;
  out.common_high = box.common_high;
  // A part of a training run is priced by many searches.
  auto regret = detail::certified(costs, box, detail::trains(q.ask) ? 8 : 64);
  out.regret = regret.value;
  out.certificate = std::move(regret.parts);
  out.same_device = std::move(regret.same_device);
  std::vector<DecideOption> feasible;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    const auto range = detail::quotient_range(costs, box, i);
    compared[i]->against_low = range.low;
    compared[i]->against_high = range.high;
    compared[i]->apart = i == 0 || range.low > 1;
    feasible.push_back(*compared[i]);
  }
  for (auto& a : asked) out.options.push_back(std::move(a.option));
  out.flips = detail::flips_of(costs, feasible, machines, out.priced);
  for (const auto& o : out.options)
    if (o.meets_limits() && !o.compared)
      out.flips.push_back({fmt::format("price of {}", o.machine), "USD/h", std::nullopt,
                           feasible.front().cost / o.size->best.devices, o.machine, std::nullopt});
  detail::add_measurements(feasible, costs, box, out);
  return out;
}

}  // namespace mlsysim

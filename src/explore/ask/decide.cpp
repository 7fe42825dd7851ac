#include <mlsysim/explore/ask/decide.hpp>

#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace mlsysim {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double median_of(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n == 0 ? 0.0 : n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/// Cost of a plan at a factor on its times; a device costs `price`.
class Costs {
 public:
  Costs(const DecideQuestion& q, const DecideOption& option, const Scenario& machine)
      : ask_(q.ask), plan_(&option.size->best), name_(option.machine), price_(option.price) {
    ask_.scenario = machine;
  }
  [[nodiscard]] CostAt at(double factor) {
    const auto known = seen_.find(factor);
    if (known != seen_.end()) return known->second;
    CostAt out{.machine = name_, .factor = factor, .devices = devices_at(ask_, *plan_, factor)};
    out.cost = out.devices * price_;
    return seen_.emplace(factor, out).first->second;
  }

 private:
  SizeQuestion ask_;
  const SizedPlan* plan_;
  std::string name_;
  double price_;
  std::map<double, CostAt> seen_;
};

/// The part of an interval that a machine has for itself, and the one it shares, as factors.
double own_part(double factor, double shared) { return std::exp(std::log(factor) * std::sqrt(1 - shared)); }
double common_part(double factor, double shared) { return std::exp(std::log(factor) * std::sqrt(shared)); }

struct Box {
  std::vector<double> low, high;  ///< own factors by option
  double common_low, common_high;
};

struct Regret {
  double value = 0;
  std::vector<RegretPart> parts;
};

/// Branch and bound over the common factor.
Regret certified(std::vector<Costs>& costs, const Box& box, std::size_t most_parts) {
  const auto part_of = [&](double low, double high) {
    RegretPart part{.low = low, .high = high, .choice = costs[0].at(high * box.high[0])};
    part.other.cost = kInfinite;
    for (std::size_t i = 1; i < costs.size(); ++i)
      if (const CostAt c = costs[i].at(low * box.low[i]); c.cost < part.other.cost) part.other = c;
    part.bound = std::max(0.0, part.choice.cost - part.other.cost);
    return part;
  };
  Regret out;
  if (costs.size() < 2) return out;
  out.parts.push_back(part_of(box.common_low, box.common_high));
  while (out.parts.size() < most_parts) {
    const auto worst = std::max_element(out.parts.begin(), out.parts.end(),
                                        [](const auto& a, const auto& b) { return a.bound < b.bound; });
    if (worst->bound <= 0) break;
    const double middle = std::sqrt(worst->low * worst->high);
    const RegretPart left = part_of(worst->low, middle), right = part_of(middle, worst->high);
    if (std::max(left.bound, right.bound) >= worst->bound * (1 - 1e-9) && worst->high / worst->low < 1.01)
      break;
    *worst = left;
    out.parts.push_back(right);
  }
  std::sort(out.parts.begin(), out.parts.end(), [](const auto& a, const auto& b) { return a.low < b.low; });
  for (const auto& p : out.parts) out.value = std::max(out.value, p.bound);
  return out;
}

/// Cost of an option when the question changes; the plans that were best are tried again.
double cost_when(const DecideQuestion& q, const DecideOption& o, const Scenario& machine,
                 const std::function<void(SizeQuestion&)>& change) {
  SizeQuestion ask = q.ask;
  ask.scenario = machine;
  ask.level = 0;
  const auto add = [&](const SizedPlan& p) {
    ask.only.push_back({p.tp, p.pp, p.ep});
    if (p.prefill.workers > 0) ask.only.push_back(p.prefill.each);
  };
  add(o.size->best);
  if (!o.size->others.empty()) add(o.size->others.front());
  change(ask);
  try {
    const auto found = size(ask);
    return found ? found.value().best.devices * o.price : kInfinite;
  } catch (const Error&) {
    return kInfinite;
  }
}

/// A number of the question that may change the answer.
struct MovedNumber {
  std::string figure, unit;
  double now;
  double low, high;  ///< in which it is varied
  std::function<void(SizeQuestion&, double)> set;
};

std::vector<MovedNumber> moved_numbers(const DecideQuestion& q) {
  std::vector<MovedNumber> out;
  const Scenario& s = q.ask.scenario;
  const bool serves = s.mode != Mode::train && !q.ask.within;
  if (!serves) return out;
  const double rate = q.ask.rate.in(unit::request / unit::s);
  out.push_back({"rate", "request/s", rate, rate / 8, rate * 8,
                 [](SizeQuestion& ask, double x) { ask.rate = x * (unit::request / unit::s); }});
  const double length = s.seq_len.value_or(2048);
  out.push_back({"seq_len", "tokens", length, std::max(1.0, length / 8), length * 8,
                 [](SizeQuestion& ask, double x) { ask.scenario.seq_len = std::round(x); }});
  const double answer = s.output_tokens.value_or(128);
  out.push_back({"output_tokens", "tokens", answer, std::max(2.0, answer / 8), answer * 8,
                 [](SizeQuestion& ask, double x) { ask.scenario.output_tokens = std::round(x); }});
  const double hit = s.cached_prefix_len / length;
  out.push_back(
      {"share of the prompt that is cached", "", hit, 0, 0.95, [length](SizeQuestion& ask, double x) {
         ask.scenario.cached_prefix_len = std::floor(x * ask.scenario.seq_len.value_or(length));
       }});
  if (s.draft_model != nullptr)
    out.push_back({"draft_acceptance_rate", "", s.draft_acceptance_rate, 0.1, 0.95,
                   [](SizeQuestion& ask, double x) { ask.scenario.draft_acceptance_rate = x; }});
  return out;
}

/// The first value on the way from now to `end` at which another machine is cheaper than the choice.
std::optional<FlipPoint> flip(const DecideQuestion& q, const std::vector<DecideOption>& options,
                              const std::vector<Scenario>& machines, const MovedNumber& moved, double end) {
  const auto winner = [&](double x) -> std::size_t {
    std::size_t best = 0;
    double least = kInfinite;
    for (std::size_t i = 0; i < machines.size(); ++i)
      if (const double c = cost_when(q, options[i], machines[i], [&](SizeQuestion& a) { moved.set(a, x); });
          c < least)
        best = i, least = c;
    return least == kInfinite ? 0 : best;
  };
  constexpr int steps = 3, halvings = 6;
  const bool share = moved.unit.empty();
  const auto at = [&](double t) {
    return share ? moved.now + (end - moved.now) * t : moved.now * std::pow(end / moved.now, t);
  };
  double same = 0;
  for (int i = 1; i <= steps; ++i) {
    const double t = static_cast<double>(i) / steps;
    std::size_t now = winner(at(t));
    if (now == 0) {
      same = t;
      continue;
    }
    double other = t;
    for (int h = 0; h < halvings; ++h) {
      const double middle = 0.5 * (same + other);
      if (const std::size_t found = winner(at(middle)); found != 0)
        other = middle, now = found;
      else
        same = middle;
    }
    return FlipPoint{moved.figure, moved.unit, moved.now, at(other), options[now].machine, std::nullopt};
  }
  return std::nullopt;
}

/// Standard deviation of the price of a device, where the zoo gives the range of its market.
std::optional<double> spread_of_price(const Scenario& machine) {
  const HardwareNode* device = machine.hardware;
  if (device == nullptr || device->rental.empty() || machine.rent) return std::nullopt;
  const auto& f = standard_zoo().scalar(device->rental);
  if (!f.low || !f.high) return std::nullopt;
  return (f.high->base() - f.low->base()) * 3600 / (2 * 1.2816);  // the range holds 80 %
}

void add_flips(const DecideQuestion& q, const std::vector<DecideOption>& options,
               const std::vector<Scenario>& machines, DecideAnswer& out) {
  if (machines.size() < 2) return;
  if (out.priced) {
    // Two machines tie at a price of the other's cost over one's own devices.
    const auto& first = options[0];
    const auto& second = options[1];
    const double at = second.cost / first.size->best.devices;
    FlipPoint p{
        fmt::format("price of {}", first.machine), "USD/h", first.price, at, second.machine, std::nullopt};
    if (const auto sd = spread_of_price(machines[0])) p.deviations = (at - first.price) / *sd;
    out.flips.push_back(std::move(p));
    const double lower = first.cost / second.size->best.devices;
    FlipPoint o{fmt::format("price of {}", second.machine),
                "USD/h",
                second.price,
                lower,
                second.machine,
                std::nullopt};
    if (const auto sd = spread_of_price(machines[1])) o.deviations = (second.price - lower) / *sd;
    out.flips.push_back(std::move(o));
  }
  for (const MovedNumber& moved : moved_numbers(q))
    for (const double end : {moved.low, moved.high})
      if (end != moved.now)
        if (auto found = flip(q, options, machines, moved, end)) out.flips.push_back(std::move(*found));
}

/// Error that remains once a machine is measured: the least half-width, in logarithms, of measured bands.
double measured_width(const Scenario& s, int level) {
  const auto& book = ErrorBook::standard_of("itl");
  double least = kInfinite;
  for (const auto& g : book.groups()) {
    if (const auto band = book.band(g.subject, level); band && band->distance == 0)
      least = std::min(least, std::log(band->high / band->low) / 2);
  }
  (void)s;
  return least;
}

void add_measurements(const DecideQuestion& q, const std::vector<DecideOption>& options,
                      std::vector<Costs>& costs, const Box& box, DecideAnswer& out) {
  if (out.regret <= 0 || options.size() < 2) return;
  const double width = measured_width(q.ask.scenario, out.level);
  struct Point {
    NextMeasurement next;
    double seconds;
  };
  for (std::size_t i = 0; i < options.size(); ++i) {
    Box smaller = box;
    smaller.low[i] = std::max(box.low[i], std::exp(-width));
    smaller.high[i] = std::min(box.high[i], std::exp(width));
    const double left = certified(costs, smaller, 16).value;
    const auto& plan = options[i].size->best;
    const double length = q.ask.scenario.seq_len.value_or(2048),
                 answer = q.ask.scenario.output_tokens.value_or(128);
    // Two hundred steps, or twenty prompts, after a minute in which the engine starts.
    const auto add = [&](std::string what, double seconds) {
      out.next.push_back(
          {options[i].machine, std::move(what), plan.replica_devices() * (60 + seconds) / 60, left});
    };
    add(fmt::format("decode steps of {:.0f} requests at {:.0f} tokens, {}",
                    std::max(1.0, std::round(plan.running)), length + answer / 2, plan.degrees()),
        200 * plan.itl.in(unit::s));
    add(fmt::format("prompts of {:.0f} tokens, {}", length, plan.degrees()), 20 * plan.ttft.in(unit::s));
  }
  std::erase_if(out.next, [&](const NextMeasurement& m) { return m.regret >= out.regret * (1 - 1e-9); });
  std::stable_sort(out.next.begin(), out.next.end(),
                   [](const auto& a, const auto& b) { return a.regret < b.regret; });
  if (out.next.size() > 5) out.next.resize(5);
}

/// A machine with the scenario of the question on it.
struct AskedMachine {
  DecideOption option;
  Scenario machine;
};

AskedMachine sized(const DecideQuestion& q, const Scenario& machine) {
  SizeQuestion ask = q.ask;
  ask.scenario = machine;
  AskedMachine out{{}, machine};
  out.option.machine = machine.fleet != nullptr ? machine.fleet->node->name : machine.hardware->name;
  auto found = size(ask);
  if (!found) {
    out.option.why_not = found.why()->reason;
    out.option.change = found.why()->smallest_change;
    return out;
  }
  out.option.size = std::move(found).value();
  if (const auto& cost = out.option.size->best.cost)
    out.option.price = cost->in(unit::USD / unit::h) / out.option.size->best.devices;
  return out;
}

/// Intervals of the quotients of costs and that of the choice, by the factors of the two machines alone.
void set_quotients(std::vector<Costs>& costs, const Box& box, std::vector<AskedMachine>& asked) {
  const auto growth = [&](std::size_t i, double factor) {
    return std::log(costs[i].at(factor).cost / costs[i].at(1).cost);
  };
  const double choice = costs[0].at(1).cost;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    DecideOption& o = asked[i].option;
    const double quotient = o.cost / choice;
    o.against_low =
        i == 0 ? 1 : quotient * std::exp(-std::hypot(growth(i, box.low[i]), growth(0, box.high[0])));
    o.against_high =
        i == 0 ? 1 : quotient * std::exp(std::hypot(growth(i, box.high[i]), growth(0, box.low[0])));
    o.apart = i == 0 || o.against_low > 1;
  }
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
  const auto fitting = [](const AskedMachine& a) { return a.option.feasible(); };
  const auto paid = [](const AskedMachine& a) { return a.option.feasible() && a.option.priced(); };
  out.priced = std::ranges::count_if(asked, paid) >=
               std::min<std::ptrdiff_t>(2, std::ranges::count_if(asked, fitting));
  out.unit = out.priced ? "USD/h" : "devices";
  for (auto& a : asked) {
    if (!a.option.feasible()) continue;
    a.option.compared = !out.priced || a.option.priced();
    if (!out.priced) a.option.price = 1;
    if (!a.option.compared) a.option.price = kInfinite;  // as if it cost any amount
    a.option.cost = a.option.size->best.devices * a.option.price;
    a.option.lower = a.option.size->lower * a.option.price;
    a.option.upper = a.option.size->upper * a.option.price;
  }
  std::stable_sort(asked.begin(), asked.end(), [](const AskedMachine& a, const AskedMachine& b) {
    if (a.option.feasible() != b.option.feasible()) return a.option.feasible();
    return a.option.cost < b.option.cost;
  });
  if (!asked.front().option.feasible()) {
    Infeasible why{
        .reason = "no machine does it", .smallest_change = asked.front().option.change, .facts = {}};
    for (const auto& a : asked) why.facts.push_back({a.option.machine, a.option.why_not});
    return why;
  }

  const bool trains = asked.front().option.size->best.scenario.mode == Mode::train;
  out.shared = shared_error(trains ? "step_latency" : "itl");
  std::vector<Costs> costs;
  std::vector<Scenario> machines;
  Box box{{}, {}, 1, 1};
  for (auto& a : asked) {
    if (!a.option.feasible() || !a.option.compared) continue;
    const auto& s = *a.option.size;
    a.option.time_low = own_part(s.time_low, out.shared);
    a.option.time_high = own_part(s.time_high, out.shared);
    box.low.push_back(a.option.time_low);
    box.high.push_back(a.option.time_high);
    box.common_low = std::min(box.common_low, common_part(s.time_low, out.shared));
    box.common_high = std::max(box.common_high, common_part(s.time_high, out.shared));
  }
  for (auto& a : asked) {
    if (!a.option.feasible() || !a.option.compared) continue;
    costs.emplace_back(q, a.option, a.machine);
    machines.push_back(a.machine);
  }
  out.common_low = box.common_low;
  out.common_high = box.common_high;
  const auto regret = certified(costs, box, 64);
  out.regret = regret.value;
  out.certificate = regret.parts;
  set_quotients(costs, box, asked);
  for (auto& a : asked) out.options.push_back(std::move(a.option));
  std::vector<DecideOption> feasible;
  std::copy_if(out.options.begin(), out.options.end(), std::back_inserter(feasible),
               [](const auto& o) { return o.feasible() && o.compared; });
  add_flips(q, feasible, machines, out);
  for (const auto& o : out.options)
    if (o.feasible() && !o.compared)
      out.flips.push_back({fmt::format("price of {}", o.machine), "USD/h", 0,
                           feasible.front().cost / o.size->best.devices, o.machine, std::nullopt});
  add_measurements(q, feasible, costs, box, out);
  return out;
}

}  // namespace mlsysim

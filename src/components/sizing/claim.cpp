#include <mlsysim/sizing/claim.hpp>

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/units/detail/halving.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

namespace mlsysim {
namespace {

/// The words of a text.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> out;
  std::istringstream in{std::string(text)};
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.,") == std::string_view::npos;
}

double number_in(std::string text) {
  std::erase(text, ',');
  return AnyQuantity::parse(text).base();
}

/// A time of a request under a limit, of an estimate in steady state.
bool meets(const ServingEstimate<>& e, const std::optional<ServiceLimit>& limit) {
  if (!limit) return true;
  Time<> value;
  const auto read = [&](const auto& of) {
    for_each_row(std::remove_cvref_t<decltype(of)>::fields(), [&](const auto& row) {
      if constexpr (requires { value = of.*(row.member); })
        if (row.name == limit->result()) value = of.*(row.member);
    });
  };
  read(e);
  read(e.steady);
  return value <= limit->most;
}

/// The largest whole number of requests up to `most` at which `ok` holds, which holds for all smaller ones; 0
/// where it holds for none.
template <class F> double most_requests(double most, F&& ok) {
  if (!ok(1)) return 0;
  double low = 1, high = 2;
  while (high <= most && ok(high)) low = high, high *= 2;
  return detail::last_whole(low, std::min(high, most + 1), ok);
}

constexpr double kMostInFlight = 65536;

ServingEstimate<> at_requests(ServingProblem<> p, double n) {
  p.batch_size = n;
  return evaluate(p);
}

/// The bound of a plan: steps alone, at the peak rates.
void raise_bound(const ServingProblem<>& steady, const Claim& claim, double slots, ClaimVerdict& out,
                 Time<>& fastest) {
  ServingProblem<> decode = steady;
  decode.load = Load::burst;
  decode.fidelity_model = &roofline_model();
  const bool limited = claim.limit && claim.limit->time == "itl";
  const double n = most_requests(std::min(slots, kMostInFlight), [&](double x) {
    return !limited || at_requests(decode, x).itl <= claim.limit->most;
  });
  if (n < 1) {
    fastest = std::min(fastest, at_requests(decode, 1).itl);
    return;
  }
  const auto e = at_requests(decode, n);
  const TokenRate<> rate = Tokens<>::from_base(n) / e.itl / out.devices;
  if (rate <= out.bound) return;
  out.bound = rate;
  const auto limit = decode_limit(e);
  out.bound_by = n >= std::floor(slots)         ? "memory capacity"
                 : limit == Bottleneck::compute ? "arithmetic"
                 : limit == Bottleneck::network ? "the network between devices"
                                                : "memory bandwidth";
}

/// Where a quotient of a measured rate and a prediction lies among those of measurements, in percent.
double percentile_of(double quotient, ErrorSubject about, std::string& basis) {
  about.metric = "token_throughput";
  // Ends of the bands are quantiles of measured over predicted.
  std::vector<std::pair<double, double>> quantiles{{0.0, 50.0}};
  for (const int level : kIntervalLevels)
    if (const auto band = ErrorBook::standard_of(about.metric).band(about, level)) {
      const auto rate = band->of_rate();
      quantiles.emplace_back(std::log(rate.low), 50 - level / 2.0);
      quantiles.emplace_back(std::log(rate.high), 50 + level / 2.0);
      basis = rate.basis;
    }
  std::sort(quantiles.begin(), quantiles.end());
  const double x = std::log(quotient);
  if (x <= quantiles.front().first) return quantiles.front().second;
  for (std::size_t i = 1; i < quantiles.size(); ++i) {
    const auto [a, low] = quantiles[i - 1];
    const auto [b, high] = quantiles[i];
    if (x <= b) return b > a ? low + (high - low) * (x - a) / (b - a) : high;
  }
  return quantiles.back().second;
}

}  // namespace

std::string_view name_of(ClaimVerdict::Kind kind) {
  constexpr std::array<std::string_view, 3> names{"impossible", "heroic", "ordinary"};
  return names[static_cast<std::size_t>(kind)];
}

Claim Claim::parse(std::string_view text) {
  Claim out;
  const auto words = words_in(text);
  const auto refuse = [&](std::string missing, std::string expected) {
    throw InputError({.id = "mlsysim.explore.187",
                      .message = "this is no claim: " + missing,
                      .key = "claim",
                      .found = fmt::format("'{}'", text),
                      .expected = std::move(expected),
                      .hint = "e.g. 'Llama3_70B 8xH100 412 token/s/gpu at itl 20 ms'"});
  };
  bool has_rate = false;
  std::string statistic;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (i == 0) {
      out.model = word;
      continue;
    }
    if (out.machine.empty()) {
      out.machine = word;
      // "8x H100" and "8 x H100" are one name.
      const auto is_multiple = [](std::string_view part) {
        if (part.ends_with('x') || part.ends_with('X')) part.remove_suffix(1);
        return is_number(part);
      };
      while (i + 1 < words.size() && is_multiple(out.machine)) out.machine += words[++i];
      continue;
    }
    if (is_number(word) && i + 1 < words.size() && !has_rate) {
      std::string unit = words[++i];
      for (const std::string_view device : {"/gpu", "/device", "/GPU", "/accelerator", "/chip"})
        if (unit.ends_with(device)) {
          unit.resize(unit.size() - device.size());
          out.per_device = true;
        }
      if (unit != "token/s" && unit != "tok/s" && unit != "tokens/s" && unit != "tps")
        refuse(fmt::format("'{}' is no rate of tokens", unit), "token/s or token/s/gpu");
      out.rate = number_in(word) * (mlsysim::unit::token / mlsysim::unit::s);
      if (!(out.rate > TokenRate<>())) refuse(fmt::format("{} token/s is no rate", word), "more than 0");
      has_rate = true;
      continue;
    }
    if (word == "itl" || word == "tpot" || word == "ttft" || word == "e2e") {
      std::string limit = statistic;
      for (++i; i < words.size(); ++i) limit += " " + words[i];
      out.limit = ServiceLimit::parse(word == "tpot" ? "itl" : word, limit);
      statistic.clear();
    } else if (statistic.empty() && (word == "mean" || (word[0] == 'p' && is_number(word.substr(1))))) {
      statistic = word;
    } else if (word != "at" && word != "with" && word != "within") {
      refuse(fmt::format("'{}' is not understood", word),
             "a rate of tokens, then a limit on ttft, itl or e2e");
    }
  }
  if (out.machine.empty()) refuse("no machine is named", "a model, a machine and a rate");
  if (!has_rate) refuse("no rate is stated", "a number of token/s or token/s/gpu");
  if (!statistic.empty()) refuse(fmt::format("'{}' of nothing", statistic), "ttft, itl or e2e behind it");
  return out;
}

namespace {

/// Degrees that the scenario leaves open, of a replica on at most so many devices.
std::vector<Degrees> claimed_degrees(const Scenario& s, double devices) {
  std::vector<Degrees> out;
  const auto open = [](double stated, double tried) { return stated <= 1 || stated == tried; };
  for (double tp = 1; tp <= devices; tp *= 2)
    for (double ep = 1; tp * ep <= devices; ep *= 2)
      for (const double pp : {1.0, 2.0, 4.0})
        if (tp * ep * pp <= devices && (!s.tp_size || *s.tp_size == tp) && open(s.pp_size, pp) &&
            open(s.ep_size, ep))
          out.push_back({tp, pp, ep});
  if (out.empty()) out.push_back({s.tp_size.value_or(1), s.pp_size, s.ep_size});
  return out;
}

void refuse_load(const Scenario& s) {
  if (s.arrival_rate || s.load || s.batch_size != 1)
    throw InputError({.id = "mlsysim.explore.190",
                      .message = "a claim is judged at the best load",
                      .key = s.arrival_rate ? "arrival_rate" : "batch_size",
                      .found = "a load",
                      .expected = "a rate of tokens, and a limit",
                      .hint = "leave the load out, or ask eval about it"});
}

}  // namespace

ClaimVerdict judge(const Claim& claim, const Scenario& scenario) {
  refuse_load(scenario);
  ClaimVerdict out;
  out.devices =
      scenario.fleet != nullptr ? scenario.fleet->total_accelerators() : scenario.accelerators.value_or(1);
  out.claimed = claim.per_device ? claim.rate : claim.rate / out.devices;
  Scenario base = scenario;
  base.mode = Mode::serve;
  base.load = Load::concurrency;
  out.lengths = length_words(base, *base.load);
  bool fits = false;
  Time<> fastest = Time<>::from_base(std::numeric_limits<double>::infinity());
  Scenario best = base;
  const auto try_plan = [&](const Degrees& d) {
    Scenario s = base;
    s.tp_size = d.tp;
    s.pp_size = d.pp;
    s.ep_size = d.ep;
    const double used = std::floor(out.devices / d.devices()) * d.devices();
    if (s.fleet == nullptr) s.accelerators = used;
    Notes quiet;
    const auto steady = std::get<ServingProblem<>>(settle(ResolvedScenario(s, quiet), quiet));
    const double slots = at_requests(steady, 1).steady.max_active_requests * steady.replicas();
    if (slots < 1) return;
    fits = true;
    raise_bound(steady, claim, slots, out, fastest);
    const double n = most_requests(std::min(slots, kMostInFlight),
                                   [&](double x) { return meets(at_requests(steady, x), claim.limit); });
    if (n < 1) return;
    const auto e = at_requests(steady, n);
    const TokenRate<> each = e.token_throughput / out.devices;
    if (each <= out.predicted) return;
    out.predicted = each;
    out.plan = fmt::format("tp {:g}, pp {:g}, ep {:g}, {:g} {}, {:g} in flight", d.tp, d.pp, d.ep, e.replicas,
                           e.replicas == 1 ? "replica" : "replicas", n);
    if (used < out.devices) out.plan += fmt::format(", {:g} idle", out.devices - used);
    best = s;
    best.batch_size = n;
  };
  for (const Degrees& d : claimed_degrees(scenario, out.devices)) try {
      try_plan(d);
    } catch (const Error&) {  // degrees that do not divide the model or the nodes
    }
  if (!fits)
    throw DomainError({.id = "mlsysim.explore.188",
                       .message = "the model does not fit on these devices in any plan",
                       .key = "claim",
                       .found = fmt::format("{} on {}", claim.model, claim.machine),
                       .expected = "devices that hold the weights and a request",
                       .hint = "more devices, or --precision fp8",
                       .reason = BreakReason::infeasible_memory});
  if (out.claimed > out.bound) {
    out.kind = ClaimVerdict::Kind::impossible;
    if (!(out.bound > TokenRate<>()))
      out.bound_by = fmt::format("{} is met by no plan: a step of one request takes {} at peak rates",
                                 claim.limit->text(), pretty(AnyQuantity(fastest), 3));
    return out;
  }
  out.percentile = out.predicted > TokenRate<>()
                       ? percentile_of(out.claimed / out.predicted, interval_subject(best).about, out.basis)
                       : 100;
  if (out.percentile > 95) out.kind = ClaimVerdict::Kind::heroic;
  return out;
}

}  // namespace mlsysim

#include <mlsysim/explore/ask/claim.hpp>

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/specs/device_name.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/units/detail/halving.hpp>
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
void raise_bound(const ServingProblem<>& steady, const Claim& claim, double slots, ClaimVerdict& out) {
  ServingProblem<> decode = steady;
  decode.load = Load::burst;
  decode.fidelity_model = &roofline_model();
  const bool limited = claim.limit && claim.limit->time == "itl";
  const double n = most_requests(std::min(slots, kMostInFlight), [&](double x) {
    return !limited || at_requests(decode, x).itl <= claim.limit->most;
  });
  if (n < 1) return;
  const auto e = at_requests(decode, n);
  const TokenRate<> rate = Tokens<>::from_base(n) / e.itl / claim.devices;
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
  bool per_device = false, has_rate = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (i == 0) {
      out.model = word;
      continue;
    }
    if (out.machine.empty()) {
      std::string machine = word;
      // "8x H100" and "8 x H100" are one name.
      const auto is_multiple = [](std::string_view part) {
        if (part.ends_with('x') || part.ends_with('X')) part.remove_suffix(1);
        return is_number(part);
      };
      while (i + 1 < words.size() && is_multiple(machine)) machine += words[++i];
      const auto many = counted_machine(machine);
      out.devices = many ? many->count : 1;
      out.machine = many ? std::string(many->name) : machine;
      continue;
    }
    if (is_number(word) && i + 1 < words.size() && !has_rate) {
      std::string unit = words[++i];
      for (const std::string_view device : {"/gpu", "/device", "/GPU", "/accelerator", "/chip"})
        if (unit.ends_with(device)) {
          unit.resize(unit.size() - device.size());
          per_device = true;
        }
      if (unit != "token/s" && unit != "tok/s" && unit != "tokens/s" && unit != "tps")
        refuse(fmt::format("'{}' is no rate of tokens", unit), "token/s or token/s/gpu");
      out.rate = number_in(word) * (mlsysim::unit::token / mlsysim::unit::s);
      has_rate = true;
      continue;
    }
    if (word == "itl" || word == "tpot" || word == "ttft" || word == "e2e") {
      std::string limit;
      for (++i; i < words.size(); ++i) limit += words[i] + " ";
      while (limit.ends_with(' ')) limit.pop_back();
      out.limit = ServiceLimit::parse(word == "tpot" ? "itl" : word, limit);
    }
  }
  if (out.machine.empty()) refuse("no machine is named", "a model, a machine and a rate");
  if (!has_rate) refuse("no rate is stated", "a number of token/s or token/s/gpu");
  if (!per_device) out.rate = out.rate / out.devices;
  return out;
}

ClaimVerdict judge(const Claim& claim, const Scenario& scenario) {
  ClaimVerdict out;
  Scenario base = scenario;
  base.mode = Mode::serve;
  base.load = Load::concurrency;
  base.arrival_rate.reset();
  bool fits = false;
  Scenario best = base;
  const auto try_plan = [&](double tp, double pp, double ep) {
    Scenario s = base;
    s.tp_size = tp;
    s.pp_size = pp;
    s.ep_size = ep;
    Notes quiet;
    const auto steady = std::get<ServingProblem<>>(settle(ResolvedScenario(s, quiet), quiet));
    const double slots = at_requests(steady, 1).steady.max_active_requests * steady.replicas();
    if (slots < 1) return;
    fits = true;
    raise_bound(steady, claim, slots, out);
    const double n = most_requests(std::min(slots, kMostInFlight),
                                   [&](double x) { return meets(at_requests(steady, x), claim.limit); });
    if (n < 1) return;
    const auto e = at_requests(steady, n);
    if (e.throughput_per_accelerator <= out.predicted) return;
    out.predicted = e.throughput_per_accelerator;
    out.plan = fmt::format("tp {:g}, pp {:g}, ep {:g}, {:g} {}, {:g} in flight", tp, pp, ep, e.replicas,
                           e.replicas == 1 ? "replica" : "replicas", n);
    best = s;
    best.batch_size = n;
  };
  for (double tp = 1; tp <= claim.devices; tp *= 2)
    for (double ep = 1; tp * ep <= claim.devices; ep *= 2)
      for (const double pp : {1.0, 2.0, 4.0}) {
        if (std::fmod(claim.devices, tp * ep * pp) != 0) continue;
        try {
          try_plan(tp, pp, ep);
        } catch (const Error&) {  // degrees that do not divide the model
        }
      }
  if (!fits)
    throw DomainError({.id = "mlsysim.explore.188",
                       .message = "the model does not fit on these devices in any plan",
                       .key = "claim",
                       .found = fmt::format("{} on {:g} x {}", claim.model, claim.devices, claim.machine),
                       .expected = "devices that hold the weights and a request",
                       .hint = "more devices, or --precision fp8",
                       .reason = BreakReason::infeasible_memory});
  if (claim.rate > out.bound) {
    out.kind = ClaimVerdict::Kind::impossible;
    return out;
  }
  out.percentile = out.predicted > TokenRate<>()
                       ? percentile_of(claim.rate / out.predicted, interval_subject(best).about, out.basis)
                       : 100;
  if (out.percentile > 95) out.kind = ClaimVerdict::Kind::heroic;
  return out;
}

}  // namespace mlsysim

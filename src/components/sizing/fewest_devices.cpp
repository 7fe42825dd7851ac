#include "sizing/detail/fewest_devices.hpp"

#include "sizing/detail/size_plans.hpp"
#include "sizing/detail/size_pools.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace mlsysim::detail {
namespace {

/// Devices of one plan at the values that were asked. They do not fall with the value.
struct KnownDevices {
  std::map<double, double> at_least, at_most;

  /// The plan needs no fewer at x.
  [[nodiscard]] double lower(double x) const {
    const auto after = at_least.upper_bound(x);
    return after == at_least.begin() ? 0 : std::prev(after)->second;
  }
  /// The plan needs no more at x.
  [[nodiscard]] double upper(double x) const {
    const auto from = at_most.lower_bound(x);
    return from == at_most.end() ? std::numeric_limits<double>::infinity() : from->second;
  }
};

}  // namespace

struct FewestDevices::Plans {
  SizeQuestion question;
  std::function<void(VariedQuestion&, double)> change;
  Machines machines;
  std::vector<Degrees> degrees;
  std::vector<KnownDevices> known;  // of the degrees, and of pools where they are plans as well
  Varies varies;
  std::map<std::size_t, ServedMost> served;         // where the rate varies
  bool without_pools = false;                       // none needed fewer devices where they were tried
  std::optional<std::pair<Degrees, Degrees>> pair;  // of the best pools, which keep their degrees

  Plans(const SizeQuestion& q, std::function<void(VariedQuestion&, double)> how, Varies what)
      : question(q),
        change(std::move(how)),
        machines(sized_scenario(q)),
        degrees(degrees_of(q, machines, trains(q))),
        known(degrees.size() + (q.disaggregated && !trains(q) ? 1 : 0)),
        varies(what) {
    question.most_devices = std::min(question.most_devices, machines.there_are());
  }

  [[nodiscard]] double served_devices(std::size_t plan, const VariedQuestion& v, Machines& on) {
    if (varies != Varies::rate)
      return served_most(v.question, on, degrees[plan], v.time_factor).for_rate(v.question.rate);
    auto most = served.find(plan);
    if (most == served.end())
      most = served.emplace(plan, served_most(v.question, on, degrees[plan], v.time_factor)).first;
    return most->second.for_rate(v.question.rate);
  }

  /// Degrees of pools: those that divide the model.
  [[nodiscard]] std::vector<Degrees> degrees_of_pools(const SizeQuestion& q, Machines& on) const {
    std::vector<Degrees> out;
    for (const Degrees& d : degrees) try {
        (void)served_unit(q, on, d);
        out.push_back(d);
      } catch (const Error&) {  // degrees that do not divide the model or the devices
      }
    return out;
  }

  /// Devices of a plan; no number below `below` where it needs no fewer.
  [[nodiscard]] double devices(std::size_t plan, double x, double below) {
    VariedQuestion v{.question = question};
    change(v, x);
    Machines on(sized_scenario(v.question));
    try {
      if (plan == degrees.size()) {
        if (without_pools) return below;
        if (pair) return pool_devices(v.question, on, pair->first, pair->second, v.time_factor);
        const auto pools = sized_pools(v.question, on, degrees_of_pools(v.question, on),
                                       std::min(question.most_devices, below - 1), v.time_factor)
                               .plans;
        without_pools = pools.empty();
        if (without_pools) return below;
        const auto& best = pools.front();
        pair = {best.prefill.each, best.replica()};
        return best.devices;
      }
      return trains(v.question) ? training_devices(v.question, on, degrees[plan], v.time_factor, below)
                                : served_devices(plan, v, on);
    } catch (const Error&) {  // degrees that do not divide the model or the devices
      return std::numeric_limits<double>::infinity();
    }
  }
};

FewestDevices::FewestDevices(const SizeQuestion& q, std::function<void(VariedQuestion&, double)> change,
                             Varies varies)
    : plans_(std::make_shared<Plans>(q, std::move(change), varies)) {}

FewestDevices::Needed FewestDevices::at(double x) {
  auto& all = *plans_;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < all.known.size(); ++i) order.emplace_back(all.known[i].lower(x), i);
  std::ranges::sort(order);
  Needed out{.devices = std::numeric_limits<double>::infinity(), .plan = {}};
  for (const auto& [bound, i] : order) {
    if (bound >= out.devices) break;
    auto& known = all.known[i];
    double devices = bound;
    if (known.upper(x) > bound) {
      devices = all.devices(i, x, std::min(out.devices, all.question.most_devices + 1));
      if (devices > all.question.most_devices) devices = std::numeric_limits<double>::infinity();
      known.at_least[x] = devices;
    }
    if (!(devices < out.devices)) continue;
    known.at_most[x] = devices;
    const bool pools = i == all.degrees.size();
    out = {.devices = devices, .plan = pools ? Degrees{} : all.degrees[i], .pools = pools};
  }
  return out;
}

}  // namespace mlsysim::detail

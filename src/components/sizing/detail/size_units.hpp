#pragma once
// Machines that a size is asked of, and a replica on them at any rate.

#include <mlsysim/engine/detail/settle.hpp>
#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/engine/requests.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/sizing/size.hpp>
#include <mlsysim/specs/detail/divisor.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace mlsysim::detail {

/// A number of an estimate by its name; both tables are those of the scorecard.
inline double number_of(const ServingEstimate<>& e, std::string_view name) {
  const auto in = [&]<class Numbers>(const Numbers& numbers) -> const double* {
    for (const auto& f : describe<Numbers>())
      if (f.name == name)
        return reinterpret_cast<const double*>(reinterpret_cast<const char*>(&numbers) + f.offset);
    return nullptr;
  };
  const double* found = in(e.steady);
  if (found == nullptr) found = in(e);
  double value = 0;
  std::memcpy(&value, found, sizeof value);
  return value;
}

/// The limit whose time is the most times too long; null where none is broken.
/// @param time_of the time that a limit is on [s]
template <class TimeOf>
[[nodiscard]] const ServiceLimit* broken_most(std::span<const ServiceLimit> limits, TimeOf&& time_of) {
  const ServiceLimit* worst = nullptr;
  double by = 1;
  for (const auto& limit : limits)
    if (const double over = time_of(limit) / limit.most.base(); over > by) worst = &limit, by = over;
  return worst;
}

inline void set_degrees(Scenario& s, const Degrees& d) {
  s.tp_size = d.tp;
  s.pp_size = d.pp;
  s.ep_size = d.ep;
  if (d.precision) s.precision = d.precision;
}

/// Machines of a question: a device that comes in any number, or nodes that do.
class Machines {
 public:
  explicit Machines(const Scenario& s) : base_(s) {
    if (s.hardware == nullptr && s.fleet == nullptr)
      throw InputError({.id = "mlsysim.explore.180",
                        .message = "there is nothing to size",
                        .key = "hardware",
                        .found = "no device",
                        .expected = "a device or a node of the zoo",
                        .hint = "e.g. --on H200"});
    if (s.fleet != nullptr) node_ = s.fleet->node;
  }
  [[nodiscard]] const HardwareNode& device() const {
    return node_ != nullptr ? *node_->accelerator : *base_.hardware;
  }
  /// Devices that are bought together.
  [[nodiscard]] double together() const { return node_ != nullptr ? node_->accelerators_per_node : 1; }
  [[nodiscard]] std::string name() const { return node_ != nullptr ? node_->name : base_.hardware->name; }
  /// Devices that there are: a fleet or a number of devices has no more; infinite where nobody says it.
  [[nodiscard]] double there_are() const {
    if (node_ == nullptr) return base_.accelerators.value_or(std::numeric_limits<double>::infinity());
    return base_.fleet->name == node_->name ? std::numeric_limits<double>::infinity()
                                            : base_.fleet->total_accelerators();
  }
  /// A scenario on at least so many of them. @param devices receives how many they are
  [[nodiscard]] Scenario on(double wanted, double* devices) {
    Scenario s = base_;
    s.accelerators.reset();
    s.node_count.reset();
    s.accelerators_per_node.reset();
    if (node_ == nullptr) {
      s.accelerators = *devices = wanted;
      return s;
    }
    const double nodes = std::ceil(wanted / together());
    *devices = nodes * together();
    Fleet& fleet = fleets_->emplace_back(*base_.fleet);
    fleet.name = nodes > 1 ? fmt::format("{:g} x {}", nodes, node_->name) : node_->name;
    fleet.count = nodes;
    fleet.stated_accelerators.reset();
    join(fleet.levels, nodes);
    s.fleet = &fleet;
    return s;
  }
  /// A scenario with prefill workers beside replicas that generate tokens.
  [[nodiscard]] Scenario pools(const PrefillPool& prefill, const Degrees& decode, double replicas) {
    double devices = 0;
    Scenario s = on(prefill.workers * prefill.each.devices() + replicas * decode.devices(), &devices);
    set_degrees(s, decode);
    s.prefill_replicas = prefill.workers;
    s.prefill_tp_size = prefill.each.tp;
    s.prefill_ep_size = prefill.each.ep;
    s.decode_replicas = replicas;
    return s;
  }
  [[nodiscard]] std::shared_ptr<const void> keep() const { return fleets_; }

 private:
  /// Levels that join so many nodes: as many peers as divide them, what is left at the last level.
  static void join(std::vector<LinkLevel>& levels, double nodes) {
    double left = nodes;
    for (auto& level : levels) {
      level.peers = divisor_at_most(std::min(level.peers, left), left);
      left /= level.peers;
    }
    if (!levels.empty()) levels.back().peers *= left;
    std::erase_if(levels, [](const LinkLevel& level) { return level.peers <= 1; });
  }

  Scenario base_;
  const Node* node_ = nullptr;
  std::shared_ptr<std::deque<Fleet>> fleets_ = std::make_shared<std::deque<Fleet>>();
};

/// Powers of two up to `most`, and `also` where it is none.
inline std::vector<double> degrees_up_to(double most, double also = 0) {
  std::vector<double> out;
  for (double x = 1; x <= most; x *= 2) out.push_back(x);
  if (also > 1 && also <= most && std::find(out.begin(), out.end(), also) == out.end()) out.push_back(also);
  return out;
}

inline double devices_of_a_node(Machines& machines) {
  double devices = 0;
  Notes quiet;
  Scenario one = machines.on(1, &devices);  // whose degrees may take more than one
  one.tp_size.reset();
  one.pp_size = one.ep_size = one.cp_size = 1;
  const ResolvedScenario r(one, quiet);
  return shipped_node(machines.device(), 65536, quiet).accelerators_per_node;
}

inline double experts_of(const Workload& w) { return w.is_moe() ? w.experts()->count.value_or(1) : 1; }

/// A served replica, or the replicas of the nodes that are bought together, at any rate.
class ServedUnit {
 public:
  ServedUnit(const Scenario& scenario, double devices, std::span<const ServiceLimit> limits)
      : scenario_(scenario), devices_(devices), limits_(limits) {
    Notes quiet;
    const ResolvedScenario r(scenario_, quiet);
    problem_ = std::get<ServingProblem<>>(settle(r, quiet));
  }
  [[nodiscard]] ServingEstimate<> at(double rate) const {
    ServingProblem<> p = problem_;
    p.arrival_rate = RequestRate<>::from_base(rate);
    return evaluate(p);
  }
  /// The limit that an estimate breaks first, were all times `factor` times as long; null where it breaks
  /// none.
  [[nodiscard]] const ServiceLimit* broken(const ServingEstimate<>& e, double factor) const {
    return broken_most(limits_, [&](const ServiceLimit& l) { return number_of(e, l.result()) * factor; });
  }
  struct Most {
    double rate = 0;
    std::string limited_by;
    std::string nearest;  ///< where no rate is served: what is missing
    double missing = 0;   ///< by what factor
    bool short_of_memory = false;
  };
  /// The highest rate within the limits.
  [[nodiscard]] Most most(double factor = 1) const {
    Most out;
    const auto idle = at(1e-9);
    if (idle.memory.total > idle.memory.capacity || idle.steady.max_active_requests < 1) {
      out.nearest = fmt::format("needs {} of {} on each device", pretty(AnyQuantity(idle.memory.total), 3),
                                pretty(AnyQuantity(idle.memory.capacity), 3));
      out.missing = 1e9 * (idle.memory.total / idle.memory.capacity);
      out.short_of_memory = true;
      return out;
    }
    if (const auto* limit = broken(idle, factor); limit != nullptr) {
      const double value = number_of(idle, limit->result());
      out.nearest = fmt::format("{} is {} with one request at a time", limit->text(),
                                pretty(AnyQuantity(Time<>::from_base(value)), 3));
      out.missing = value / limit->most.base();
      return out;
    }
    const auto met = [&](double x) {
      const auto e = at(x);
      return e.steady.overload <= RequestRate<>() && broken(e, factor) == nullptr;
    };
    constexpr double close = 1e-5, next = 1.001;
    const auto between = [&](double below, double above) {
      while (above - below > close * above) {
        const double middle = 0.5 * (below + above);
        (met(middle) ? below : above) = middle;
      }
      return below;
    };
    const double capacity = idle.steady.capacity.base();
    double rate = capacity * (1 - 1e-6);
    const double full = at(2 * capacity).steady.running_requests;
    const ServiceLimit* why = broken(evaluate_decoding(problem_, full), factor);
    if (why != nullptr) {
      // The number of requests that decode at once is halved, since the rate follows from it.
      double low = 0, high = full;
      rate = 0;
      while (high - low > close * high) {
        const double middle = 0.5 * (low + high);
        const auto e = evaluate_decoding(problem_, middle);
        if (const auto* limit = broken(e, factor); limit != nullptr) {
          high = middle;
          why = limit;
        } else {
          low = middle;
          rate = e.steady.request_throughput.base();
        }
      }
    }
    // Where a step gets longer by a jump, several states have one rate: what holds is the state at the rate.
    if (rate > 0 && why != nullptr && met(rate * next))
      rate = between(rate * next, capacity);
    else if (!met(rate))
      rate = between(0, rate);
    if (why == nullptr) why = broken(at(rate * next), factor);
    out.rate = rate / factor;
    out.limited_by = why != nullptr                            ? why->text()
                     : idle.steady.max_active_requests < 65536 ? "the cache"
                                                               : "arithmetic";
    out.nearest = out.limited_by;
    out.missing = 1;
    return out;
  }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] double devices() const { return devices_; }
  [[nodiscard]] const ServingProblem<>& problem() const { return problem_; }

 private:
  Scenario scenario_;
  double devices_;
  std::span<const ServiceLimit> limits_;
  ServingProblem<> problem_;
};

}  // namespace mlsysim::detail

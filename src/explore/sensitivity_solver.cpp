#include <mlsysim/explore/sensitivity_solver.hpp>

#include <mlsysim/price/views.hpp>
#include <mlsysim/explore/sensitivity.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mlsysim {
namespace {

using In = SensitivitySolver::Inputs;
using Out = SensitivitySolver::Result;

constexpr double kBinds = 0.01;  // elasticity from which a figure is worth the name

/// A figure of the device as users speak of it: the inputs of the scenario that it stands for, and how a device is changed.
struct Knob {
  std::string_view name;
  std::array<std::string_view, 3> inputs;  ///< "" where there are fewer
  double Out::*elasticity;
  double Out::*change;
  void (*scale)(HardwareNode&, double);
};

template <class V>
void times(std::optional<V>& value, double factor) {
  if (value) *value = *value * factor;
}

// In the order in which ties are settled.
constexpr auto kKnobs = std::to_array<Knob>({
    {"peak_flops", {"device.matrix_rate", "device.vector_rate", ""}, &Out::peak_flops, &Out::peak_flops_change,
     [](HardwareNode& h, double f) {
       for (auto* rates : {&h.compute.dense, &h.compute.sparse, &h.compute.vector})
         for (auto& rate : rates->rates) times(rate, f);
     }},
    {"memory_bandwidth", {"device.memory_bandwidth", "", ""}, &Out::memory_bandwidth, &Out::memory_bandwidth_change,
     [](HardwareNode& h, double f) { times(h.memory.bandwidth, f); }},
    {"memory_capacity", {"device.memory_capacity", "", ""}, &Out::memory_capacity, &Out::memory_capacity_change,
     [](HardwareNode& h, double f) { times(h.memory.capacity, f); }},
    {"overhead", {"device.launch", "device.dispatch", "device.issue"}, &Out::overhead, &Out::overhead_change,
     [](HardwareNode& h, double f) { times(h.dispatch_overhead, f); }},
    {"interconnect", {"links.intra_bandwidth", "links.inter_bandwidth", ""}, &Out::interconnect, &Out::interconnect_change,
     [](HardwareNode& h, double f) { times(h.device_link.bandwidth, f); }},
});

Scenario scenario_of(const In& in) {
  Scenario s;
  s.workload = in.workload;
  s.hardware = in.hardware;
  s.mode = in.mode;
  s.batch_size = in.batch_size;
  s.seq_len = in.seq_len;
  s.accelerators = in.accelerators;
  s.precision = in.precision;
  s.efficiency = in.efficiency;
  s.fidelity = in.fidelity;
  s.conventions = in.conventions;
  return s;
}

/// The latency of a mode, by its name in the scorecard.
std::string metric_of(const Subject& s) {
  for (const std::string_view name : {"itl", "step_latency", "latency"})
    if (find_field(s.entry.results, name) != nullptr) return std::string(name);
  throw InputError({.id = "mlsysim.explore.080", .message = "the scenario has no latency", .key = "workload", .found = s.title, .expected = "itl, step_latency or latency"});
}

double at(const Subject& s, std::string_view result, const std::vector<double>& point) { return s.entry(point)[s.result(result)]; }

/// Every input of a knob moved by `factor`.
double moved(const Subject& s, const Knob& knob, std::string_view result, double factor) {
  auto point = s.point;
  for (const auto input : knob.inputs)
    if (const auto* f = input.empty() ? nullptr : find_field(s.entry.inputs, input); f != nullptr) {
      const auto i = static_cast<std::size_t>(f - s.entry.inputs.data());
      point[i] = std::min(point[i] * factor, base_range(*f).high);
    }
  return at(s, result, point);
}

double with_device(const In& in, const Knob& knob, std::string_view result, double factor) {
  HardwareNode device = *in.hardware;
  knob.scale(device, factor);
  Scenario s = scenario_of(in);
  s.hardware = &device;
  const Subject subject = subject_of(s);
  return at(subject, result, subject.point);
}

}  // namespace

Outcome<SensitivitySolver::Result> SensitivitySolver::solve(const Inputs& in, Notes& notes) const {
  const Subject s = subject_of(scenario_of(in));
  for (const auto& a : s.assumptions) notes.assume(a);
  for (const auto& w : s.warnings) notes.warn(w);
  Out r;
  r.metric = metric_of(s);
  r.perturbation = in.perturbation;
  const auto values = s.entry(s.point);
  const double base = values[s.result(r.metric)];
  r.baseline_latency = Time<>::from_base(base);
  r.fidelity = s.entry.is_law() ? Fidelity::operator_level : Fidelity::textbook;
  const auto bytes = [&](std::string_view name) {
    const auto* f = find_field(s.entry.results, name);
    return Data<>::from_base(f == nullptr ? 0.0 : values[static_cast<std::size_t>(f - s.entry.results.data())]);
  };
  const auto used = bytes("memory_used"), capacity = bytes("memory_capacity");
  if (used > capacity && capacity > Data<>())
    return Infeasible{.reason = fmt::format("the baseline does not fit: {} needs {}, a device has {}", in.workload->name,
                                            pretty(AnyQuantity(used), "GB", 4), pretty(AnyQuantity(capacity), "GB", 4)),
                      .smallest_change = "memory_capacity binds: a larger device, more of them, or a narrower precision",
                      .facts = {{"binding_constraint", "memory_capacity"}}};
  if (s.entry.is_law()) {
    std::vector<std::string> inputs;
    for (const auto& knob : kKnobs)
      for (const auto input : knob.inputs)
        if (!input.empty() && find_field(s.entry.inputs, input) != nullptr) inputs.emplace_back(input);
    const auto report = sensitivity(s, r.metric, {.inputs = inputs, .step = in.perturbation});
    for (const auto& knob : kKnobs)
      for (const auto& lever : report.levers)
        if (std::find(knob.inputs.begin(), knob.inputs.end(), lever.input) != knob.inputs.end()) r.*knob.elasticity += lever.elasticity_up;
    for (const auto& knob : kKnobs) r.*knob.change = moved(s, knob, r.metric, 1 + in.perturbation) / base - 1;
    r.shadow_price = report.binding;
  } else {
    notes.assume("slopes", "one move by the perturbation each", "textbook fidelity has no exact slopes");
    for (const auto& knob : kKnobs) {
      const double there = with_device(in, knob, r.metric, 1 + in.perturbation);
      r.*knob.change = there / base - 1;
      r.*knob.elasticity = std::log(there / base) / std::log1p(in.perturbation);
    }
  }
  const Knob* binds = nullptr;
  for (const auto& knob : kKnobs)
    if (std::fabs(r.*knob.elasticity) > (binds == nullptr ? kBinds : std::fabs(r.*binds->elasticity))) binds = &knob;
  r.binding_constraint = binds == nullptr ? "none" : std::string(binds->name);
  if (binds != nullptr && !s.entry.is_law())
    r.shadow_price = fmt::format("+{:g} % {} {} {} by {:.3g} %", 100 * in.perturbation, binds->name, r.*binds->change < 0 ? "lowers" : "raises", r.metric,
                                 100 * std::fabs(r.*binds->change));
  return r;
}

Check SensitivitySolver::verify(const Inputs& in, const Result& result) const {
  constexpr double h = 1e-6;
  for (const auto& knob : kKnobs) {
    if (knob.name != result.binding_constraint) continue;
    const Subject s = subject_of(scenario_of(in));
    const double base = result.baseline_latency.base();
    // Operator: the slope of the side it was taken on. Textbook: the move itself, made again.
    if (s.entry.is_law()) {
      const double there = moved(s, knob, result.metric, 1 + h);
      return {(there / base - 1) / h, result.*knob.elasticity, "elasticity", 1e-4};
    }
    return {with_device(in, knob, result.metric, 1 + result.perturbation) / base - 1, result.*knob.change, "change"};
  }
  return {0.0, 0.0, "nothing binds"};
}

}  // namespace mlsysim

#include <mlsysim/explore/ask/sensitivity_solver.hpp>

#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
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

/// A figure of the device as users speak of it, and the inputs of the scenario that it stands for.
struct Knob {
  std::string_view name;
  std::array<std::string_view, 6> inputs;  ///< "" where there are fewer
  double Out::*elasticity;
  double Out::*change;
};

// In the order in which ties are settled.
constexpr auto kKnobs = std::to_array<Knob>({
    {"peak_flops",
     {"hardware.compute.dense", "hardware.compute.vector", ""},
     &Out::peak_flops,
     &Out::peak_flops_change},
    {"memory_bandwidth",
     {"hardware.memory.bandwidth", "", ""},
     &Out::memory_bandwidth,
     &Out::memory_bandwidth_change},
    {"memory_capacity",
     {"hardware.memory.capacity", "", ""},
     &Out::memory_capacity,
     &Out::memory_capacity_change},
    {"overhead",
     {"hardware.kernels.launch", "hardware.dispatch_overhead", "hardware.kernels.issue"},
     &Out::overhead,
     &Out::overhead_change},
    {"interconnect",
     {"links.level1.bandwidth", "links.level2.bandwidth", "links.level3.bandwidth", "links.level4.bandwidth",
      "links.level5.bandwidth", "links.level6.bandwidth"},
     &Out::interconnect,
     &Out::interconnect_change},
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
  throw InputError({.id = "mlsysim.explore.080",
                    .message = "the scenario has no latency",
                    .key = "workload",
                    .found = s.title,
                    .expected = "itl, step_latency or latency"});
}

double at(const Subject& s, std::string_view result, const std::vector<double>& point) {
  return s.entry(point)[s.result(result)];
}

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
  Notes chosen;  // said above, with the scenario
  r.fidelity = fidelity_model_for(in.fidelity, *in.workload, chosen).fidelity();
  const auto bytes = [&](std::string_view name) {
    const auto* f = find_field(s.entry.results, name);
    return Data<>::from_base(f == nullptr ? 0.0
                                          : values[static_cast<std::size_t>(f - s.entry.results.data())]);
  };
  const auto used = bytes("memory_used"), capacity = bytes("memory_capacity");
  if (used > capacity && capacity > Data<>())
    return Infeasible{
        .reason = fmt::format("the baseline does not fit: {} needs {}, a device has {}", in.workload->name,
                              pretty(AnyQuantity(used), "GB", 4), pretty(AnyQuantity(capacity), "GB", 4)),
        .smallest_change = "memory_capacity binds: a larger device, more of them, or a narrower precision",
        .facts = {{"binding_constraint", "memory_capacity"}}};
  std::vector<std::string> inputs;
  for (const auto& knob : kKnobs)
    for (const auto input : knob.inputs)
      if (const auto* f = input.empty() ? nullptr : find_field(s.entry.inputs, input); f != nullptr)
        inputs.push_back(f->name);
  const auto report = sensitivity(s, r.metric, {.inputs = inputs, .step = in.perturbation});
  const auto is = [&](std::string_view input, const std::string& name) {
    const auto* f = input.empty() ? nullptr : find_field(s.entry.inputs, input);
    return f != nullptr && f->name == name;
  };
  for (const auto& knob : kKnobs)
    for (const auto& lever : report.levers)
      if (std::any_of(knob.inputs.begin(), knob.inputs.end(),
                      [&](auto input) { return is(input, lever.input); }))
        r.*knob.elasticity += lever.elasticity_up;
  for (const auto& knob : kKnobs) r.*knob.change = moved(s, knob, r.metric, 1 + in.perturbation) / base - 1;
  r.shadow_price = report.binding;
  const Knob* binds = nullptr;
  for (const auto& knob : kKnobs)
    if (std::fabs(r.*knob.elasticity) > (binds == nullptr ? kBinds : std::fabs(r.*binds->elasticity)))
      binds = &knob;
  r.binding_constraint = binds == nullptr ? "none" : std::string(binds->name);
  return r;
}

Check SensitivitySolver::verify(const Inputs& in, const Result& result) const {
  constexpr double h = 1e-6;
  for (const auto& knob : kKnobs) {
    if (knob.name != result.binding_constraint) continue;
    const Subject s = subject_of(scenario_of(in));
    const double base = result.baseline_latency.base();
    const double there = moved(s, knob, result.metric, 1 + h);
    return {(there / base - 1) / h, result.*knob.elasticity, "elasticity", 1e-4};
  }
  return {0.0, 0.0, "nothing binds"};
}

}  // namespace mlsysim

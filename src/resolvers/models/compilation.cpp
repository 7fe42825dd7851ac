#include <mlsysim/resolvers/models/compilation.hpp>

#include "resolvers/shared/figures.hpp"

#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {
namespace {

using In = CompilationModel::Inputs;

constexpr double kHoursPerYear = 8766;  // of a mean year

/// Kernels of a pass, and their time on the device when the host is never waited for.
struct DevicePass {
  double kernels = 0;
  Time<> time;
};
DevicePass device_pass(InferenceProblem<> v, bool fused) {
  v.model.structure.fused = fused;
  v.device.kernels.issue = Time<>();
  DevicePass out;
  out.time = evaluate(v).latency - v.device.dispatch_overhead;
  // With a host of a second a kernel, the issue time is the number of kernels.
  v.device.kernels.issue = 1.0 * unit::s;
  Plan<> plan = v.plan;
  plan.batch = v.batch_size;
  plan.context = v.sequences ? v.seq_len : 1.0;
  plan.new_tokens = v.model.structure.phase == Phase::decode ? 1.0 : plan.context;
  out.kernels = v.pricing->pricer<double>()
                    .inference({v.model, plan, v.device.kernels.issue}, v.device, v.links)
                    .cost.host_launch_time /
                (1.0 * unit::s);
  return out;
}

SingleNodeModel::Inputs pass_of(const In& in) {
  return {.workload = in.workload,
          .hardware = in.hardware,
          .batch_size = in.batch_size,
          .precision = in.precision,
          .seq_len = in.seq_len,
          .fidelity = operator_pricing().fidelity(),
          .conventions = in.conventions};
}

/// Tensors between two operators: the largest working set of one.
Data<> boundary_of(const InferenceProblem<>& v) {
  Plan<> plan = v.plan;
  plan.batch = v.batch_size;
  plan.context = v.sequences ? v.seq_len : 1.0;
  plan.new_tokens = v.model.structure.phase == Phase::decode ? 1.0 : plan.context;
  OpList<> ops;
  const auto range = lower(v.model.structure, v.model.shape(), v.model.layers, plan, ops);
  return totals_of(ops, range.forward_end).live;
}

/// Warns of an input or a size outside of the range in which its figure is known.
void hold_to_range(std::string_view what, const AnyQuantity& value, std::string_view figure, Notes& notes) {
  if (!notes.wanted()) return;
  const auto& known = standard_zoo().scalar(figure);
  if (!known.low || !known.high) return;
  if (value.base() >= known.low->base() && value.base() <= known.high->base()) return;
  notes.warn(
      [&] {
        return fmt::format("{}, {}, lies outside of {} to {}, where it is known ({})", what, pretty(value, 4),
                           pretty(*known.low, 4), pretty(*known.high, 4), figure);
      },
      BreakReason::out_of_domain);
}

/// Python runs on the host of a server; phones and microcontrollers run neither it nor its figures.
void check_host(const HardwareNode& hardware, Notes& notes) {
  if (hardware.category != "mobile" && hardware.category != "edge" && hardware.category != "tiny") return;
  notes.warn(
      [&] {
        return fmt::format(
            "'{}' is a device of the category '{}': the host times of eager operators were "
            "measured on the CPU of a server",
            hardware.name, hardware.category);
      },
      BreakReason::out_of_domain);
}

constexpr std::string_view kDispatch = "catalogue.compilation.dispatch",
                           kChain = "catalogue.compilation.operators_per_kernel";

/// Host time of one eager operator.
Time<> dispatch_of(const In& in, Time<> launch, Notes& notes) {
  if (in.dispatch) {
    hold_to_range("dispatch", *in.dispatch, kDispatch, notes);
    return *in.dispatch;
  }
  check_host(*in.hardware, notes);
  const Time<> dispatch = launch + detail::figure<dim::time>(kDispatch, notes);
  notes.assume("dispatch", dispatch, "a launch, and what Python adds to it");
  return dispatch;
}

/// Eager operators for each kernel of the list.
double chain_of(const In& in, Notes& notes) {
  if (in.operators_per_kernel) {
    hold_to_range("operators_per_kernel", AnyQuantity(*in.operators_per_kernel), kChain, notes);
    return *in.operators_per_kernel;
  }
  const bool known = in.workload->is_language_decoder();
  const double chain = known ? detail::number(kChain, notes) : 1.0;
  notes.assume("operators_per_kernel", chain,
               known ? SharedText("assumed: a layer of Llama") : SharedText("assumed: nothing is fused"));
  return chain;
}

}  // namespace

Time<> compile_time_of(const In& in, const CompiledViews& v, Notes& notes) {
  const double rest = 1 - in.cached;
  if (in.compile_time) return *in.compile_time * rest;
  hold_to_range("the number of operators", AnyQuantity(v.operators), "catalogue.compilation.operators",
                notes);
  const auto each = detail::figure<dim::time>("catalogue.compilation.time_per_operator", notes);
  notes.assume("compile_time", each * v.operators, "assumed: the same for each operator");
  return each * v.operators * rest;
}

Time<> CompiledViews::latency(CompileMode mode, double breaks) const {
  if (mode == CompileMode::eager) {
    auto in = eager;
    in.syncs = breaks * compiled.sync_share;
    return EagerStep::solve<double>(in).latency;
  }
  auto in = compiled;
  in.breaks = breaks;
  if (mode == CompileMode::cudagraphs) {
    in.kernels = 0;
    in.graph_launches = 1;
  }
  return CompiledStep::solve<double>(in).latency;
}

CompiledViews compiled_views(const In& in, Notes& notes) {
  const auto v = settle_inference(pass_of(in), notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const auto eager = device_pass(v, false), fused = device_pass(v, true);
  const Time<> launch = needed<Time<>>("kernels.issue", *in.hardware, c, notes);
  const Time<> dispatch = dispatch_of(in, launch, notes);
  const double chain = chain_of(in, notes);
  CompiledViews out;
  out.operators = std::round(eager.kernels * chain);
  out.eager = {.kernels = out.operators,
               .dispatch = dispatch,
               .device = eager.time,
               .syncs = 0,
               .sync = in.sync.value_or(dispatch)};
  out.compiled = {.breaks = 0,
                  .kernels = fused.kernels,
                  .graph_launches = 0,
                  .launch = launch,
                  .guard = in.guard.value_or(dispatch),
                  .resume = in.resume.value_or(dispatch),
                  .between = in.between,
                  .dispatch = dispatch,
                  .device = fused.time,
                  .boundary = boundary_of(v),
                  .bandwidth = v.device.memory.bandwidth,
                  .sync_share = in.sync_share,
                  .sync = in.sync.value_or(dispatch)};
  return out;
}

CompilationModel::Result CompilationModel::solve(const Inputs& in, Notes& notes) const {
  const auto v = compiled_views(in, notes);
  Result r;
  r.kernels_eager = v.eager.kernels;
  r.kernels_fused = v.compiled.kernels;
  r.device_eager = v.eager.device;
  r.device_fused = v.compiled.device;
  r.eager = v.latency(CompileMode::eager, in.breaks);
  r.compiled = v.latency(CompileMode::compile, in.breaks);
  r.captured = v.latency(CompileMode::cudagraphs, in.breaks);
  r.lost_to_breaks = r.compiled - v.latency(CompileMode::compile, 0);
  if (in.breaks >= 1) r.lost_per_break = r.compiled - v.latency(CompileMode::compile, in.breaks - 1);
  r.speedup_compiled = r.eager / r.compiled;
  r.speedup_captured = r.eager / r.captured;
  r.compile_time = compile_time_of(in, v, notes);
  const auto pay = CompilePayback::solve<double>({r.eager, r.compiled, r.compile_time, in.recompiles});
  r.saved_per_step = pay.saved;
  if (pay.pays > 0) r.payback_steps = pay.steps;
  const double hours = kHoursPerYear * in.accelerators * in.utilization;
  const double saved = pay.saved / r.eager, lost = r.lost_to_breaks / r.compiled;
  if (in.hardware->power.tdp) r.energy_saved_per_year = *in.hardware->power.tdp * (hours * saved * unit::h);
  if (in.device_hour) {
    r.cost_saved_per_year = *in.device_hour * (hours * saved);
    r.breaks_cost_per_year = *in.device_hour * (hours * lost);
  }
  return r;
}

}  // namespace mlsysim

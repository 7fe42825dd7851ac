#include <mlsysim/catalogue/models/compilation.hpp>

#include <mlsysim/catalogue/detail/prepare.hpp>
#include <mlsysim/price/fill.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <cmath>

namespace mlsysim {
namespace {

using In = CompilationModel::Inputs;

constexpr double kHoursPerYear = 8766;  // of a mean year
// The fourth graph of tests/data/compile/bert_tiny_print_breaks.log: 2.359 s for 64 operators.
constexpr Time<> kCompilePerOperator = 37.0 * unit::ms;
// 20 small Linear modules one by one against the same as one frozen script: (91.7 - 45.2) us / 20
// (PyTorch 1.13, CPU).
constexpr Time<> kPython = 2.3 * unit::us;
// A layer of LlamaDecoderLayer (transformers 4.49): 7 products, 1 attention, 2 norms of 8 operators, 10 of
// the rotary embedding, 7 of cache, heads and residuals, 2 of the gate; the list has 9 kernels for them.
constexpr double kChain = 43.0 / 9;

/// Kernels of a pass, and their time on the device when the host is never waited for.
struct DevicePass {
  double kernels = 0;
  Time<> time;
};
DevicePass device_pass(InferenceViews<> v, bool fused) {
  v.model.structure.fused = fused;
  v.device.kernels.issue = Time<>();
  DevicePass out;
  out.time = inference_numbers(v).latency - v.device.dispatch_overhead;
  // With a host of a second a kernel, the issue time is the number of kernels.
  v.device.kernels.issue = 1.0 * unit::s;
  Plan<> plan = v.plan;
  plan.batch = v.batch;
  plan.context = v.sequences ? v.seq_len : 1.0;
  plan.new_tokens = v.model.structure.phase == Phase::decode ? 1.0 : plan.context;
  out.kernels =
      v.pricing->pricer<double>().inference({v.model, plan, v.device, v.links}).cost.issued / (1.0 * unit::s);
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
Data<> boundary_of(const InferenceViews<>& v) {
  Plan<> plan = v.plan;
  plan.batch = v.batch;
  plan.context = v.sequences ? v.seq_len : 1.0;
  plan.new_tokens = v.model.structure.phase == Phase::decode ? 1.0 : plan.context;
  OpList<> ops;
  const auto range = lower(v.model.structure, v.model.shape(), v.model.layers, plan, ops);
  return totals_of(ops, range.forward_end).live;
}

}  // namespace

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
  const auto v = prepare_inference(pass_of(in), notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const auto eager = device_pass(v, false), fused = device_pass(v, true);
  const Time<> launch = needed<Time<>>("kernels.issue", *in.hardware, c, notes);
  const Time<> dispatch = in.dispatch.value_or(launch + kPython);
  const double chain = in.operators_per_kernel.value_or(in.workload->is_language_decoder() ? kChain : 1.0);
  if (!in.dispatch)
    notes.assume("dispatch", dispatch, "a launch and 2.3 us of Python (PyTorch 1.13, measured)");
  if (!in.operators_per_kernel)
    notes.assume("operators_per_kernel", chain, "assumed: a layer of Llama in transformers; else one");
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
  r.compile_time = in.compile_time.value_or(kCompilePerOperator * v.operators);
  if (!in.compile_time)
    notes.assume("compile_time", r.compile_time, "assumed: 37 ms for each operator, of a log of PyTorch 2.5");
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

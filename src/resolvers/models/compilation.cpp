#include <mlsysim/resolvers/models/compilation.hpp>

#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/specs/software.hpp>
#include <mlsysim/timing/launches.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/timing/step.hpp>
#include <mlsysim/units/format.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <set>
#include <tuple>

namespace mlsysim {
namespace {

using In = CompilationModel::Inputs;

constexpr double kHoursPerYear = 8766;  // of a mean year
// Runtimes of the zoo that stand for those that are not named.
constexpr std::string_view kEager = "pytorch_eager", kCompiler = "pytorch_compiled";

const ServingEngine& eager_of(const In& in, Notes& notes) {
  if (in.engine == nullptr) {
    notes.assume("engine", TextRef(kEager), "the framework where none is named");
    return standard_zoo().at<ServingEngine>(kEager);
  }
  if (is_unfused(*in.engine)) return *in.engine;
  throw InputError({.id = "mlsysim.catalogue.149",
                    .message = fmt::format("'{}' has no launch list to compile", in.engine->name),
                    .key = "engine",
                    .found = in.engine->name,
                    .expected = "a runtime that does not fuse its kernels, e.g. pytorch_eager",
                    .hint = "name the runtime that runs before compiling"});
}

CompiledStepKind step_of(const In& in) {
  const bool generates = in.workload->is_language_decoder();
  const auto kind = in.step.value_or(generates ? CompiledStepKind::decode : CompiledStepKind::pass);
  if (generates || kind == CompiledStepKind::pass || kind == CompiledStepKind::training) return kind;
  throw InputError({.id = "mlsysim.catalogue.150",
                    .message = fmt::format("'{}' does not generate tokens", in.workload->name),
                    .key = "step",
                    .found = std::string(name_of(kind)),
                    .expected = "pass or training",
                    .hint = "leave step out, or name a language model"});
}

Phase phase_of(CompiledStepKind kind) {
  switch (kind) {
    case CompiledStepKind::decode:
      return Phase::decode;
    case CompiledStepKind::prompt:
      return Phase::prefill;
    case CompiledStepKind::training:
      return Phase::training;
    case CompiledStepKind::pass:
      break;
  }
  return Phase::inference;
}

/// One micro-batch of a step on one device, as operators.
struct StepOps {
  ModelView<> model;
  Plan<> plan;
  Device<> device;
  Links<> links;
};

/// Kernels of a list and what they take.
struct ListTimes {
  Time<> device, host;
  double kernels = 0;
};

/// Times of a list. Behind a convolution all that follows it is one kernel where it is fused.
ListTimes priced(const StepOps& s, bool fused) {
  OpList<> ops;
  lower(s.model.structure, s.model.shape(), s.model.layers, s.plan, ops);
  std::vector<Op<>> kept;
  for (const auto& op : ops) {
    const bool joins = op.name == "batch_norm" || op.name == "convolution_residual";
    if (fused && joins && s.model.structure.phase != Phase::training) continue;
    kept.push_back(op);
  }
  std::optional<LaunchFrame<double>> frame;
  if (s.device.software != nullptr)
    frame.emplace(*s.device.software, s.model.structure, s.model.shape().hidden, s.plan, s.device,
                  ops.span());
  const auto sum = [&](Time<> launch) {
    const auto cost = price_list<double>(kept, s.device, s.links, launch, frame ? &*frame : nullptr);
    PassBreakdown<> all;
    for (const auto& pass : cost.at)
      for (const auto& place : pass) all.add(place, 1.0);
    return all;
  };
  ListTimes out;
  out.device = sum(Time<>()).total;
  out.host = sum(s.device.kernels.issue).host_launch_time;
  // On a host that takes one second per kernel and nothing else, the time counts the kernels.
  if (frame) {
    auto counts = std::make_shared<Software>(*s.device.software);
    counts->operation = counts->record = counts->backward_operation = counts->hook = counts->module =
        counts->allocation = Time<>();
    frame.emplace(*counts, s.model.structure, s.model.shape().hidden, s.plan, s.device, ops.span());
    out.kernels = sum(1.0 * unit::s).host_launch_time / (1.0 * unit::s);
  } else {
    out.kernels = sum(1.0 * unit::s).host_launch_time / (1.0 * unit::s);
  }
  return out;
}

/// Captured parts of the forward pass: calls, distinct convolutions, and the weights that graphs take as
/// inputs.
struct Captured {
  double calls = 0, convolutions = 0, tensors = 0;
  Data<> live;
};
Captured captured(const StepOps& s) {
  Captured out;
  OpList<> ops;
  const auto range = lower(s.model.structure, s.model.shape(), s.model.layers, s.plan, ops);
  const LaunchFrame<double> frame(*s.device.software, s.model.structure, s.model.shape().hidden, s.plan,
                                  s.device, ops.span());
  std::set<std::tuple<double, double, double, double, double>> distinct;
  const double vectors = s.model.shape().norm_vectors;
  for (std::size_t i = 0; i < range.forward_end; ++i) {
    const Op<>& op = ops[i];
    if (op.kind == OpKind::collective || op.kind == OpKind::host_transfer) continue;
    out.calls += frame.calls_of(op);
    if (op.kind == OpKind::convolution) distinct.insert({op.m, op.n, op.k, op.copies, op.working_set.base()});
    if (op.name == "batch_norm") out.tensors += 4 * op.count;  // scale, shift, mean and variance
    if (op.params <= Params<>()) continue;
    const double each = op.kind == OpKind::matmul   ? frame.matrices(op) * (1.0 + op.biased)
                        : op.group == OpGroup::norm ? vectors
                                                    : 1.0;
    out.tensors += op.count * each;
  }
  out.convolutions = static_cast<double>(distinct.size());
  out.live = totals_of(ops, range.forward_end).working_set;
  return out;
}

SingleNodeModel::Inputs pass_of(const In& in, const ServingEngine* engine, Execution execution) {
  SingleNodeModel::Inputs out;
  out.workload = in.workload;
  out.hardware = in.hardware;
  out.batch_size = in.batch_size;
  out.precision = in.precision;
  out.seq_len = in.seq_len;
  out.fidelity = operator_model().fidelity();
  out.engine = engine;
  out.execution = execution;
  out.conventions = in.conventions;
  return out;
}

/// A pass as it is asked of SingleNodeModel; `total` receives its time.
StepOps inference_of(const In& in, CompiledStepKind kind, const ServingEngine* engine, Execution execution,
                     Time<>& total, Notes& notes) {
  auto v = settle_inference(pass_of(in, engine, execution), notes);
  v.model.structure.phase = phase_of(kind);
  total = evaluate(v).latency;
  StepOps out{v.model, v.plan, v.device, v.links};
  out.plan.batch = v.batch_size;
  out.plan.context = v.sequences ? v.seq_len : 1.0;
  out.plan.new_tokens = kind == CompiledStepKind::decode ? 1.0 : out.plan.context;
  return out;
}

/// A training step of one device as it is asked of DistributedModel.
StepOps training_of(const In& in, const ServingEngine* engine, Execution execution, Time<>& total,
                    Notes& notes) {
  Node node;
  node.name = in.hardware->name;
  node.accelerator = in.hardware;
  node.accelerators_per_node = 1;
  Fleet fleet;
  fleet.node = &node;
  DistributedModel::Inputs d;
  d.workload = in.workload;
  d.fleet = &fleet;
  d.batch_size = in.batch_size;
  d.microbatch_size = in.batch_size;
  d.precision = in.precision;
  d.seq_len = in.seq_len;
  d.recomputation = Recomputation::none;
  d.sequence_parallel = false;
  d.fidelity = operator_model().fidelity();
  d.engine = engine;
  d.execution = execution;
  d.conventions = in.conventions;
  const auto v = settle(d, notes);
  total = evaluate(v).step_latency;
  return {v.model, training_plan(v), v.device, v.links};
}

StepOps step_ops(const In& in, CompiledStepKind kind, const ServingEngine* engine, Execution execution,
                 Time<>& total, Notes& notes) {
  return kind == CompiledStepKind::training ? training_of(in, engine, execution, total, notes)
                                            : inference_of(in, kind, engine, execution, total, notes);
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

/// A time of the compiler.
Time<> of_compiler(std::optional<Time<>> CompilerHost::*member) {
  return stated(standard_zoo().at<ServingEngine>(kCompiler), member).value_or(Time<>());
}

}  // namespace

Time<> compile_time_of(const In& in, const CompiledViews& v, Notes& notes) {
  if (in.compile_time) return *in.compile_time * (1 - in.cached);
  const Time<> time = CompileTime::solve<double>(v.compile).compile_time;
  notes.assume("compile_time", time, [] { return SharedText(fmt::format("runtime {}", kCompiler)); }());
  return time;
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
  const ServingEngine& runtime = eager_of(in, notes);
  const CompiledStepKind kind = step_of(in);
  check_host(*in.hardware, notes);
  Time<> eager_total, fused_total;
  const StepOps eager = step_ops(in, kind, &runtime, Execution::eager, eager_total, notes);
  const auto before = priced(eager, false);
  Notes quiet;
  // Convolutions have laws of their own in the launch list; all else runs as the lowering lists it.
  const bool convolves = in.workload->architecture == Architecture::cnn && kind != CompiledStepKind::training;
  const StepOps fused = convolves ? eager : step_ops(in, kind, nullptr, Execution::graph, fused_total, quiet);
  const auto after = priced(fused, true);
  const auto calls = captured(eager);
  const bool trains = kind == CompiledStepKind::training;
  using H = FrameworkHost;
  using C = CompilerHost;
  const auto of_host = [&](std::optional<Time<>> H::*member) {
    return stated(runtime, member).value_or(Time<>());
  };
  const Time<> dispatch = in.dispatch.value_or(of_host(&H::operation) + of_host(&H::launch));
  if (!in.dispatch) notes.assume("dispatch", dispatch, "an operator and a launch of the runtime");
  const Time<> host = in.dispatch ? dispatch * calls.calls : before.host;
  const Time<> device = in.dispatch ? before.device : eager_total;  // the host's waits are in the answer
  CompiledViews out;
  out.kernels_eager = before.kernels;
  out.device_eager = before.device;
  out.eager = {.kernels = calls.calls,
               .dispatch = host / max(calls.calls, 1.0),
               .device = device,
               .syncs = 0,
               .sync = in.sync.value_or(dispatch)};
  out.compiled = {.breaks = 0,
                  .kernels = after.kernels,
                  .graph_launches = 0,
                  .launch = of_compiler(&C::launch),
                  .guard = in.guard.value_or(of_compiler(&C::call)),
                  .resume = in.resume.value_or(dispatch),
                  .between = in.between,
                  .dispatch = dispatch,
                  .device = convolves ? after.device : fused_total - fused.device.dispatch_overhead,
                  .boundary = calls.live,
                  .bandwidth = fused.device.memory.bandwidth,
                  .sync_share = in.sync_share,
                  .sync = in.sync.value_or(dispatch),
                  .tensors = calls.tensors,
                  .tensor = of_compiler(&C::tensor)};
  const double graphs = (in.breaks + 1) * (trains ? 2 : 1);  // the backward pass has its own
  out.compile = {.calls = calls.calls,
                 .lowered = calls.calls * (trains ? 3 : 1),
                 .graphs = graphs,
                 .convolutions = calls.convolutions,
                 .cached = in.cached,
                 .process = in.first ? of_compiler(&C::process) : Time<>(),
                 .graph = of_compiler(&C::graph),
                 .trace = of_compiler(&C::trace),
                 .lower = of_compiler(&C::lower),
                 .convolution = of_compiler(&C::convolution),
                 .warm_graph = of_compiler(&C::warm_graph)};
  return out;
}

CompilationModel::Result CompilationModel::solve(const Inputs& in, Notes& notes) const {
  if (in.mode == CompileMode::eager)
    throw InputError({.id = "mlsysim.catalogue.151",
                      .message = "an eager step saves nothing",
                      .key = "mode",
                      .found = "eager",
                      .expected = "compile or cudagraphs",
                      .hint = "choose one of them"});
  const auto v = compiled_views(in, notes);
  Result r;
  r.calls = v.compile.calls;
  r.kernels_eager = v.kernels_eager;
  r.kernels_fused = v.compiled.kernels;
  r.device_eager = v.device_eager;
  r.device_fused = v.compiled.device;
  r.eager = v.latency(CompileMode::eager, in.breaks);
  r.compiled = v.latency(CompileMode::compile, in.breaks);
  r.captured = v.latency(CompileMode::cudagraphs, in.breaks);
  r.lost_to_breaks = r.compiled - v.latency(CompileMode::compile, 0);
  if (in.breaks >= 1) r.lost_per_break = r.compiled - v.latency(CompileMode::compile, in.breaks - 1);
  r.speedup_compiled = r.eager / r.compiled;
  r.speedup_captured = r.eager / r.captured;
  r.compile_time = compile_time_of(in, v, notes);
  const Time<> step = in.mode == CompileMode::compile ? r.compiled : r.captured;
  const auto pay = CompilePayback::solve<double>({r.eager, step, r.compile_time, in.recompiles});
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

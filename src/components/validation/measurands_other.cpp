#include "detail/row_measurand.hpp"

#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/resolvers/models/compilation.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/models/sustainability.hpp>
#include <mlsysim/timing/step.hpp>

namespace mlsysim::detail {
namespace {

struct SampleRow {
  SingleNodeModel::Inputs in;
  double accelerators = 1;
  static constexpr auto fields() {
    using R = SampleRow;
    return rows(field(&R::in, "in", "", "inputs of SingleNodeModel"),
                field(&R::accelerators, "accelerators", "", "devices, each with its own batch")
                    .at_least(1)
                    .defaulted("1"));
  }
};

Time<> batch_time(const SampleRow& row, const PredictionContext& context,
                  std::vector<PredictionTerm>* terms) {
  Notes quiet;
  auto in = row.in;
  in.hardware = &context.constants->device(*in.hardware);
  in.conventions = &context.constants->conventions();
  in.fidelity = fidelity_model_of(context.comparison).fidelity();
  const Precision precision = precision_or_default(in.precision, *in.hardware, quiet);
  if (context.comparison == Yardstick::roofline) {
    const auto view = model_view(*in.workload, in.is_training ? Phase::training : Phase::inference);
    Plan<> plan;
    plan.batch = in.batch_size;
    plan.new_tokens = plan.context = in.seq_len.value_or(1);
    set_storage(plan, inference_storage(precision, std::nullopt));
    OpList<> ops;
    lower(view.structure, view.shape(), view.layers, plan, ops);
    const auto d = device_view(*in.hardware, precision, *in.conventions, quiet);
    return roofline_of(ops, d, [](const Op<>& op) { return op.kind != OpKind::collective; });
  }
  if (context.comparison == Yardstick::textbook) return SingleNodeModel{}.solve(in).latency;
  // PyTorch launches element-wise operations one by one, a graph holds them fused.
  const auto launched = [&](auto& v) {
    if (in.engine != nullptr) return;  // its launches say
    v.model.structure.fused = in.execution != Execution::eager;
    v.device = device_view(*in.hardware, precision, *in.conventions, quiet, v.model.structure.phase,
                           in.execution.value_or(Execution::graph));
  };
  Time<> total, compute, memory, overhead;
  const auto take = [&](const auto& n, Time<> latency) {
    total = latency;
    compute = n.latency_compute;
    memory = n.latency_memory;
    overhead = n.latency_overhead;
  };
  if (in.is_training) {
    auto v = settle_step(in, quiet);
    v.spills = false;
    launched(v);
    const auto n = evaluate(v);
    take(n, n.step_latency);
  } else {
    auto v = settle_inference(in, quiet);
    launched(v);
    const auto n = evaluate(v);
    take(n, n.latency);
  }
  if (terms != nullptr)
    *terms = {{"compute", compute.base()}, {"memory", memory.base()}, {"launch", overhead.base()}};
  return total;
}

Prediction sample_rate(const SampleRow& row, const PredictionContext& context) {
  Prediction p;
  const Time<> time = batch_time(row, context, context.wants_terms ? &p.terms : nullptr);
  p.base = row.in.batch_size * row.accelerators / time.base();
  return p;
}

Prediction sample_time(const SampleRow& row, const PredictionContext& context) {
  Prediction p;
  p.base = batch_time(row, context, context.wants_terms ? &p.terms : nullptr).base();
  return p;
}

struct FailureRow {
  double accelerators = 1;
  Time<> job_duration;
  static constexpr auto fields() {
    using R = FailureRow;
    return rows(field(&R::accelerators, "accelerators", "", "devices of the job").at_least(1).counted(),
                field(&R::job_duration, "job_duration", "d", "length of the job").positive());
  }
};

/// Interruptions of a job from the mean time to failure of one accelerator and its share of everything around
/// it.
Prediction interruptions(const FailureRow& row, const PredictionContext& context) {
  const Time<> part = context.zoo->scalar("Gpu").quantity<dim::time>();
  const Time<> whole = ClusterMtbf::solve<double>({.part_mtbf = part, .parts = row.accelerators}).mtbf;
  Prediction p{row.job_duration / whole};
  if (context.wants_terms) p.terms = {{"time between interruptions [s]", whole.base(), TermRole::fact}};
  return p;
}

struct FootprintRow {
  SustainabilityModel::Inputs in;
  const Node* node = nullptr;
  static constexpr auto fields() {
    using R = FootprintRow;
    return rows(field(&R::in, "in", "", "inputs of SustainabilityModel, of one device"),
                field(&R::node, "node", "", "node with its devices"));
  }
};

/// Emissions of the electricity of a job by its device days.
Prediction operational_carbon(const FootprintRow& row, const PredictionContext& context) {
  const RowFleet one(*row.node, nullptr, 1, context, 1);
  auto in = row.in;
  in.fleet = &one.fleet;
  in.conventions = &context.constants->conventions();
  const auto r = SustainabilityModel{}.solve(in);
  Prediction p{r.operational_carbon.base()};
  if (context.wants_terms) p.terms = {{"PUE", r.pue, TermRole::fact}};
  return p;
}

struct CompileRow {
  CompilationModel::Inputs in;
  static constexpr auto fields() {
    return rows(field(&CompileRow::in, "in", "", "inputs of CompilationModel"));
  }
};

/// Operators alone know what is compiled.
std::optional<CompilationModel::Result> compiled(const CompileRow& row, const PredictionContext& context) {
  if (context.comparison != Yardstick::operators) return std::nullopt;
  auto in = row.in;
  in.hardware = &context.constants->device(*in.hardware);
  in.conventions = &context.constants->conventions();
  return CompilationModel{}.solve(in);
}
const char* const kNoCalls = "totals do not say what is compiled";

Prediction compile_time(const CompileRow& row, const PredictionContext& context) {
  const auto r = compiled(row, context);
  if (!r) return {0, {}, kNoCalls};
  Prediction p{r->compile_time.base()};
  if (context.wants_terms) p.terms = {{"calls", r->calls, TermRole::fact}};
  return p;
}

Prediction payback_steps(const CompileRow& row, const PredictionContext& context) {
  const auto r = compiled(row, context);
  if (!r) return {0, {}, kNoCalls};
  if (!r->payback_steps) return {0, {}, "compiling never pays"};
  Prediction p{*r->payback_steps};
  if (context.wants_terms)
    p.terms = {{"compile time [s]", r->compile_time.base(), TermRole::fact},
               {"eager step [s]", r->eager.base(), TermRole::fact},
               {"saved by a step [s]", r->saved_per_step.base(), TermRole::fact}};
  return p;
}

}  // namespace

std::vector<const Measurand*> other_measurands() {
  static const RowMeasurand<SampleRow, sample_rate> a("sample_rate", measured("latency"), MeasurandKind::rate,
                                                      "1/s", "samples a second of all devices");
  static const RowMeasurand<SampleRow, sample_time> b("sample_time", measured("latency"), MeasurandKind::time,
                                                      "ms", "time of one batch");
  static const RowMeasurand<FailureRow, interruptions> c(
      "interruptions", measured("interruptions"), MeasurandKind::other, "", "interruptions of a long job");
  static const RowMeasurand<FootprintRow, operational_carbon> d(
      "operational_carbon", measured("operational_carbon"), MeasurandKind::other, "tCO2e",
      "emissions of the electricity of a long job");
  static const RowMeasurand<CompileRow, compile_time> e("compile_time", measured("compile_time"),
                                                        MeasurandKind::other, "s", "time to compile a step");
  static const RowMeasurand<CompileRow, payback_steps> f(
      "payback_steps", measured("payback_steps"), MeasurandKind::other, "", "steps until compiling has paid");
  return {&a, &b, &c, &d, &e, &f};
}

}  // namespace mlsysim::detail

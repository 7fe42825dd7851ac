#include "detail/case_measurand.hpp"

#include <mlsysim/catalogue/detail/settle.hpp>
#include <mlsysim/catalogue/models/single_node.hpp>
#include <mlsysim/catalogue/models/sustainability.hpp>
#include <mlsysim/physics/reliability.hpp>

namespace mlsysim::detail {
namespace {

struct SampleCase {
  const Workload* workload = nullptr;
  const HardwareNode* hardware = nullptr;
  Precision precision = Precision::fp16;
  double batch_size = 1;
  double seq_len = 1;
  bool training = false;
  double accelerators = 1;
  Execution execution = Execution::graph;
  static constexpr auto fields() {
    using C = SampleCase;
    return rows(field(&C::workload, "workload", "", "model of the zoo"),
                field(&C::hardware, "hardware", "", "device"),
                field(&C::precision, "precision", "", "format").defaulted("fp16"),
                field(&C::batch_size, "batch_size", "", "samples of a batch on one device")
                    .at_least(1)
                    .defaulted("1"),
                field(&C::seq_len, "seq_len", "", "tokens of a sequence").at_least(1).defaulted("1"),
                field(&C::training, "training", "", "forward, backward and update").defaulted("inference"),
                field(&C::accelerators, "accelerators", "", "devices, each with its own batch")
                    .at_least(1)
                    .defaulted("1"),
                field(&C::execution, "execution", "", "kernels launched one by one, or as a captured graph")
                    .defaulted("graph"));
  }
};

Time<> batch_time(const SampleCase& c, const PredictionContext& context, std::vector<PredictionTerm>* terms) {
  const HardwareNode& hardware = context.constants->device(*c.hardware);
  if (context.comparison == Yardstick::roofline) {
    const auto view = model_view(*c.workload, c.training ? Phase::training : Phase::inference);
    Plan<> plan;
    plan.batch = c.batch_size;
    plan.new_tokens = plan.context = c.seq_len;
    set_storage(plan, inference_storage(c.precision, std::nullopt));
    OpList<> ops;
    lower(view.structure, view.shape(), view.layers, plan, ops);
    Notes quiet;
    const auto d = device_view(hardware, c.precision, context.constants->conventions(), quiet);
    return roofline_of(ops, d, [](const Op<>& op) { return op.kind != OpKind::collective; });
  }
  SingleNodeModel::Inputs in;
  in.workload = c.workload;
  in.hardware = &hardware;
  in.precision = c.precision;
  in.batch_size = c.batch_size;
  in.seq_len = c.seq_len;
  in.is_training = c.training;
  in.conventions = &context.constants->conventions();
  in.fidelity = pricing_of(context.comparison).fidelity();
  if (context.comparison == Yardstick::textbook) return SingleNodeModel{}.solve(in).latency;
  // The resolver decides by the phase how kernels are launched; the row states it.
  Notes quiet;
  const auto launched = [&](auto& v) {
    v.model.structure.fused = c.execution == Execution::graph;
    v.device =
        device_view(hardware, c.precision, *in.conventions, quiet, v.model.structure.phase, c.execution);
  };
  Time<> total, compute, memory, overhead;
  const auto take = [&](const auto& n, Time<> latency) {
    total = latency;
    compute = n.latency_compute;
    memory = n.latency_memory;
    overhead = n.latency_overhead;
  };
  if (c.training) {
    auto v = settle_step(in, quiet);
    v.spills = false;
    launched(v);
    const auto n = training_estimate(v);
    take(n, n.step_latency);
  } else {
    auto v = settle_inference(in, quiet);
    launched(v);
    const auto n = inference_estimate(v);
    take(n, n.latency);
  }
  if (terms != nullptr)
    *terms = {{"compute", compute.base()}, {"memory", memory.base()}, {"launch", overhead.base()}};
  return total;
}

Prediction sample_rate(const SampleCase& c, const PredictionContext& context) {
  Prediction p;
  const Time<> time = batch_time(c, context, context.wants_terms ? &p.terms : nullptr);
  p.base = c.batch_size * c.accelerators / time.base();
  return p;
}

Prediction sample_time(const SampleCase& c, const PredictionContext& context) {
  Prediction p;
  p.base = batch_time(c, context, context.wants_terms ? &p.terms : nullptr).base();
  return p;
}

struct FailureCase {
  double accelerators = 1;
  Time<> duration;
  static constexpr auto fields() {
    using C = FailureCase;
    return rows(field(&C::accelerators, "accelerators", "", "devices of the job").at_least(1).counted(),
                field(&C::duration, "duration", "d", "time that the job runs").positive());
  }
};

/// Interruptions of a job from the mean time to failure of one accelerator and its share of everything around
/// it.
Prediction interruptions(const FailureCase& c, const PredictionContext& context) {
  const Time<> part = context.zoo->scalar("Gpu").quantity<dim::time>();
  const Time<> whole = ClusterMtbf::solve<double>({.part_mtbf = part, .parts = c.accelerators}).mtbf;
  Prediction p{c.duration / whole};
  if (context.wants_terms) p.terms = {{"time between interruptions [s]", whole.base(), TermRole::fact}};
  return p;
}

struct FootprintCase {
  const Node* node = nullptr;
  const Datacenter* datacenter = nullptr;
  Time<> device_time;
  static constexpr auto fields() {
    using C = FootprintCase;
    return rows(
        field(&C::node, "node", "", "node with its devices"),
        field(&C::datacenter, "datacenter", "", "site and its grid"),
        field(&C::device_time, "device_time", "d", "time of all devices together, at full load").positive());
  }
};

/// Emissions of the electricity of a job by its device hours.
Prediction operational_carbon(const FootprintCase& c, const PredictionContext& context) {
  Node node = *c.node;
  node.accelerator = &context.constants->device(*c.node->accelerator);
  node.accelerators_per_node = 1;
  Fleet fleet;
  fleet.node = &node;
  fleet.count = 1;
  SustainabilityModel::Inputs in;
  in.fleet = &fleet;
  in.datacenter = c.datacenter;
  in.duration_days = c.device_time / (1.0 * unit::d);
  in.conventions = &context.constants->conventions();
  const auto r = SustainabilityModel{}.solve(in);
  Prediction p{r.operational_carbon.base()};
  if (context.wants_terms) p.terms = {{"PUE", r.pue, TermRole::fact}};
  return p;
}

}  // namespace

std::vector<const Measurand*> other_measurands() {
  static const CaseMeasurand<SampleCase, sample_rate> a("sample_rate", MeasurandKind::rate, "1/s",
                                                        "samples a second of all devices");
  static const CaseMeasurand<SampleCase, sample_time> b("sample_time", MeasurandKind::time, "ms",
                                                        "time of one batch");
  static const CaseMeasurand<FailureCase, interruptions> c("interruptions", MeasurandKind::other, "",
                                                           "interruptions of a long job");
  static const CaseMeasurand<FootprintCase, operational_carbon> d(
      "operational_carbon", MeasurandKind::other, "tCO2e", "emissions of the electricity of a long job");
  return {&a, &b, &c, &d};
}

}  // namespace mlsysim::detail

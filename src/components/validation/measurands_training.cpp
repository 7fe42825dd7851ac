#include "detail/row_measurand.hpp"

#include <mlsysim/estimate/evaluate.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/training_memory.hpp>
#include <mlsysim/timing/step.hpp>

namespace mlsysim::detail {
namespace {

struct TrainingRow {
  DistributedModel::Inputs in;
  const Workload* workload = nullptr;
  double layers = 0, hidden = 0, heads = 0, vocab = 0;
  std::optional<double> kv_heads{}, ffn{};
  bool gated = false, tied = false, biases = false, learned_positions = false;
  const Node* node = nullptr;
  const HardwareNode* hardware = nullptr;
  const NetworkFabric* fabric = nullptr;
  double accelerators = 1;
  std::string part = "total";

  static constexpr auto fields() {
    using R = TrainingRow;
    return rows(
        field(&R::in, "in", "", "inputs of DistributedModel"),
        field(&R::workload, "workload", "", "model of the zoo").defaulted("made of the sizes below"),
        field(&R::layers, "layers", "", "transformer blocks").non_negative().defaulted("none"),
        field(&R::hidden, "hidden", "", "width").non_negative().defaulted("none"),
        field(&R::heads, "heads", "", "query heads").non_negative().defaulted("none"),
        field(&R::vocab, "vocab", "", "vocabulary").non_negative().defaulted("none"),
        field(&R::kv_heads, "kv_heads", "", "key-value heads").positive().defaulted("heads"),
        field(&R::ffn, "ffn", "", "feed-forward width").positive().defaulted("no feed-forward"),
        field(&R::gated, "gated", "", "three feed-forward matrices").defaulted("two"),
        field(&R::tied, "tied", "", "output shares the embedding").defaulted("its own"),
        field(&R::biases, "biases", "", "projections and norms have biases").defaulted("none"),
        field(&R::learned_positions, "learned_positions", "", "learned position embeddings")
            .defaulted("none"),
        field(&R::node, "node", "", "node with its devices").defaulted("devices joined by their own link"),
        field(&R::hardware, "hardware", "", "device, where there is no node").defaulted("that of the node"),
        field(&R::fabric, "fabric", "", "network between nodes").defaulted("one node"),
        field(&R::accelerators, "accelerators", "", "devices").at_least(1).counted(),
        field(&R::part, "part", "", "of a memory measurand: total, activations or states")
            .defaulted("total"));
  }
};

/// Peak arithmetic alone: the FLOPs of forward, backward and recomputed passes over the rate of all devices.
Prediction roofline_of(const DistributedModel::Inputs& in, double accelerators) {
  Notes quiet;
  const HardwareNode& device = *in.fleet->node->accelerator;
  const Precision precision = precision_or_default(in.precision, device, quiet);
  auto view = model_view(*in.workload, Phase::training);
  Plan<> plan;
  plan.new_tokens = plan.context = seq_len_or_default(in.seq_len, *in.workload, 0, quiet);
  set_storage(plan, training_storage(precision, in.optimizer));
  OpList<> ops;
  const auto range = lower(view.structure, view.shape(), view.layers, plan, ops);
  const double passes = 3.0 + (in.recomputation == Recomputation::full ? in.recomputed_share : 0.0);
  return {(passes * totals_of(ops, range.forward_end).work * in.batch_size /
           (rate_at(device, precision) * accelerators))
              .base()};
}

/// The node of a row, or one made of its device.
Node node_of(const TrainingRow& row) {
  if (row.node != nullptr) return *row.node;
  if (row.hardware == nullptr)
    throw InputError({.id = "mlsysim.validation.062",
                      .message = "a training step has neither a node nor a device",
                      .key = "node",
                      .found = "nothing",
                      .expected = "node, or hardware"});
  Node made;
  made.name = row.hardware->name;
  made.accelerator = row.hardware;
  made.accelerators_per_node = row.accelerators;
  return made;
}

/// The model of the sizes of a row.
Workload made_of(const TrainingRow& row) {
  Workload made;
  made.name = "the model of the row";
  made.architecture = Architecture::decoder;
  made.max_positions = row.in.seq_len;
  auto& stack = made.stacks.emplace_back(plain_decoder({.layers = row.layers,
                                                        .hidden = row.hidden,
                                                        .heads = row.heads,
                                                        .vocab = row.vocab,
                                                        .kv_heads = row.kv_heads,
                                                        .head_dim = std::nullopt,
                                                        .ffn = row.ffn,
                                                        .gated = row.gated,
                                                        .tied = row.tied,
                                                        .biases = row.biases}));
  if (row.learned_positions) stack.input.positions = row.in.seq_len;
  return made;
}

/// The inputs of a row with its model and machine, under the constants of a prediction.
struct TrainingRun {
  Workload made;
  Node node;
  RowFleet machine;
  DistributedModel::Inputs in;

  TrainingRun(const TrainingRow& row, const PredictionContext& context)
      : made(row.workload != nullptr ? Workload() : made_of(row)),
        node(node_of(row)),
        machine(node, row.fabric, row.accelerators, context,
                std::min(node.accelerators_per_node, row.accelerators)),
        in(row.in) {
    in.workload = row.workload != nullptr ? row.workload : &made;
    in.fleet = &machine.fleet;
    in.conventions = &context.constants->conventions();
    in.fidelity =
        (context.comparison == Yardstick::operators ? operator_model() : textbook_model()).fidelity();
  }
};

Prediction memory_of_step(const TrainingRow& row, const PredictionContext& context) {
  const TrainingRun run(row, context);
  const auto out = DistributedModel{}.solve(run.in);
  if (row.part != "total" && row.part != "activations" && row.part != "states")
    throw InputError({.id = "mlsysim.validation.061",
                      .message = "a memory has no such part",
                      .key = "part",
                      .found = "'" + row.part + "'",
                      .expected = "total, activations or states"});
  const auto& m = out.memory;
  const Data<> states = m.weights + m.gradients + m.optimizer_states;
  const Data<> asked = row.part == "activations" ? m.activations : row.part == "states" ? states : m.total;
  Prediction p{asked.base()};
  if (!context.wants_terms) return p;
  const PredictionTerm weights{"weights", m.weights.base()}, gradients{"gradients", m.gradients.base()},
      optimizer{"optimizer states", m.optimizer_states.base()},
      activations{"activations", m.activations.base()};
  if (row.part == "activations")
    p.terms = {activations};
  else if (row.part == "states")
    p.terms = {weights, gradients, optimizer};
  else
    p.terms = {weights,
               gradients,
               optimizer,
               activations,
               {"buffers", m.communication_buffers.base()},
               {"reserve", (m.fragmentation + m.reserve).base()}};
  return p;
}

Prediction step_time_of(const TrainingRow& row, const PredictionContext& context) {
  const TrainingRun run(row, context);
  if (context.comparison == Yardstick::roofline) return roofline_of(run.in, row.accelerators);
  const auto out = DistributedModel{}.solve(run.in);
  Prediction p{out.step_latency.base()};
  if (context.wants_terms)
    p.terms = {{"compute", out.latency_compute.base()},
               {"memory", out.latency_memory.base()},
               {"launch", out.latency_overhead.base()},
               {"tensor parallel", out.tp_communication_latency.base()},
               {"gradient exchange", out.dp_communication_latency.base()},
               {"bubble", out.pipeline_bubble_latency.base()}};
  return p;
}

/// Energy of the devices in one optimizer step; the roofline draws full power.
Prediction step_energy_of(const TrainingRow& row, const PredictionContext& context) {
  const TrainingRun run(row, context);
  Notes quiet;
  const auto problem = settle(run.in, quiet);
  const Power<> tdp = problem.device.power.tdp;
  if (tdp <= Power<>()) return {0, {}, "the device states no power"};
  if (context.comparison == Yardstick::roofline)
    return {(tdp * row.accelerators * (roofline_of(run.in, row.accelerators).base * unit::s)).base()};
  const auto out = evaluate(problem);
  const auto drawn =
      EnergyProportional::solve<double>({.tdp = tdp,
                                         .utilization = out.utilization,
                                         .time = out.step_latency,
                                         .idle_fraction = problem.device.conventions.idle_fraction});
  Prediction p{(drawn.energy * row.accelerators).base()};
  if (context.wants_terms)
    p.terms = {{"power [W]", drawn.power.base(), TermRole::fact},
               {"time [s]", out.step_latency.base(), TermRole::fact}};
  return p;
}

}  // namespace

std::vector<const Measurand*> training_measurands() {
  static const RowMeasurand<TrainingRow, step_time_of> a(
      "training_step", measured("step_latency"), MeasurandKind::time, "s", "time of one optimizer step");
  static const RowMeasurand<TrainingRow, memory_of_step> b("training_memory", measured("memory_used"),
                                                           MeasurandKind::other, "GiB",
                                                           "memory of the fullest device in training");
  static const RowMeasurand<TrainingRow, step_energy_of> c("training_energy", measured("energy_per_step"),
                                                           MeasurandKind::other, "J",
                                                           "energy of the devices in one optimizer step");
  return {&a, &b, &c};
}

}  // namespace mlsysim::detail

#include "detail/case_measurand.hpp"

#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/training_memory.hpp>

#include <cmath>

namespace mlsysim::detail {
namespace {

struct TrainingCase {
  const Workload* workload = nullptr;
  std::optional<double> layers, hidden, ffn, heads, kv_heads, vocab;
  bool gated_ffn = false, biases = true, learned_positions = true, tied_embeddings = true;
  const Node* node = nullptr;
  const HardwareNode* hardware = nullptr;
  const NetworkFabric* fabric = nullptr;
  double accelerators = 1, batch_size = 1, microbatch = 1, seq_len = 2048;
  double tp_size = 1, pp_size = 1, cp_size = 1, ep_size = 1, v_stages = 1, zero_stage = 0, shards = 0;
  Precision precision = Precision::bf16;
  std::optional<WeightFormat> weight_format{};
  Recomputation recomputation = Recomputation::none;
  double recomputed_share = 1;
  bool sequence_parallel = false;
  AttentionKernel attention_kernel = AttentionKernel::fused;
  bool dropout = false, kernel_fusion = true, backward_prefetch = true;
  OptimizerKind optimizer = OptimizerKind::adam;
  double trainable_fraction = 1, lora_rank = 0;
  LoraModules lora_modules = LoraModules::all;
  bool fused_loss = false;
  std::optional<Precision> gradient_precision{};
  std::optional<double> overlap_efficiency{};
  double tp_overlap = 0;
  std::string part = "total";

  static constexpr auto fields() {
    using C = TrainingCase;
    return rows(
        field(&C::workload, "workload", "", "model of the zoo").defaulted("made of the sizes below"),
        field(&C::layers, "layers", "", "transformer blocks").positive(),
        field(&C::hidden, "hidden", "", "width").positive(),
        field(&C::ffn, "ffn", "", "feed-forward width; four times the width where absent").positive(),
        field(&C::heads, "heads", "", "query heads").positive(),
        field(&C::kv_heads, "kv_heads", "", "key-value heads").positive(),
        field(&C::vocab, "vocab", "", "vocabulary").positive(),
        field(&C::gated_ffn, "gated_ffn", "", "three feed-forward matrices").defaulted("two, GPT-3"),
        field(&C::biases, "biases", "", "projections and norms have biases").defaulted("yes, GPT-3"),
        field(&C::learned_positions, "learned_positions", "", "learned position embeddings")
            .defaulted("yes, GPT-3"),
        field(&C::tied_embeddings, "tied_embeddings", "", "output shares the embedding")
            .defaulted("yes, GPT-3"),
        field(&C::node, "node", "", "node with its devices").defaulted("devices joined by their own link"),
        field(&C::hardware, "hardware", "", "device, where there is no node").defaulted("that of the node"),
        field(&C::fabric, "fabric", "", "network between nodes").defaulted("one node"),
        field(&C::accelerators, "accelerators", "", "devices").at_least(1).counted(),
        field(&C::batch_size, "batch_size", "", "sequences of a step, all replicas").at_least(1),
        field(&C::microbatch, "microbatch", "", "sequences of a micro-batch of a replica")
            .at_least(1)
            .counted()
            .defaulted("1"),
        field(&C::seq_len, "seq_len", "", "tokens of a sequence").at_least(1),
        field(&C::tp_size, "tp_size", "", "tensor-parallel degree").at_least(1).counted().defaulted("1"),
        field(&C::pp_size, "pp_size", "", "pipeline-parallel degree").at_least(1).counted().defaulted("1"),
        field(&C::cp_size, "cp_size", "", "context-parallel degree").at_least(1).counted().defaulted("1"),
        field(&C::ep_size, "ep_size", "", "expert-parallel degree").at_least(1).counted().defaulted("1"),
        field(&C::v_stages, "v_stages", "", "model chunks of a device").at_least(1).counted().defaulted("1"),
        field(&C::zero_stage, "zero_stage", "", "ZeRO stage").within(0, 3).counted().defaulted("0"),
        field(&C::shards, "shards", "", "ranks over which ZeRO divides")
            .non_negative()
            .counted()
            .defaulted("all replicas"),
        field(&C::precision, "precision", "", "format of the products").defaulted("bf16"),
        field(&C::weight_format, "weight_format", "", "how weights are stored, apart from the products"),
        field(&C::recomputation, "recomputation", "", "activations that are made again").defaulted("none"),
        field(&C::recomputed_share, "recomputed_share", "", "share of the blocks that recompute")
            .within(0, 1)
            .defaulted("all"),
        field(&C::sequence_parallel, "sequence_parallel", "", "norms divided over the tensor-parallel group")
            .defaulted("no"),
        field(&C::attention_kernel, "attention_kernel", "", "whether scores stay on chip").defaulted("fused"),
        field(&C::dropout, "dropout", "", "dropout masks are made and kept").defaulted("no"),
        field(&C::kernel_fusion, "kernel_fusion", "", "chains of element-wise operations run as one kernel")
            .defaulted("fused"),
        field(&C::backward_prefetch, "backward_prefetch", "",
              "ZeRO-3 gathers weights ahead in the backward pass")
            .defaulted("ahead"),
        field(&C::optimizer, "optimizer", "", "optimizer").defaulted("Adam"),
        field(&C::trainable_fraction, "trainable_fraction", "", "trained share of the weights")
            .within(0, 1)
            .defaulted("1"),
        field(&C::lora_rank, "lora_rank", "", "rank of low-rank adapters; 0: none")
            .non_negative()
            .counted()
            .defaulted("none"),
        field(&C::lora_modules, "lora_modules", "", "products with adapters").defaulted("all"),
        field(&C::fused_loss, "fused_loss", "", "output head and loss run chunk by chunk").defaulted("no"),
        field(&C::gradient_precision, "gradient_precision", "",
              "format of gradients; that of the weights where absent"),
        field(&C::overlap_efficiency, "overlap_efficiency", "", "share of the exchange that hides")
            .within(0, 1),
        field(&C::tp_overlap, "tp_overlap", "", "share of the tensor-parallel traffic beside its products")
            .within(0, 1)
            .defaulted("none"),
        field(&C::part, "part", "", "of a memory measurand: total, activations or states")
            .defaulted("total"));
  }
};

/// The model of the row: of the zoo, or from its sizes.
struct Model {
  Workload made;
  const Workload* workload = nullptr;

  explicit Model(const TrainingCase& c) : workload(c.workload) {
    if (workload != nullptr) return;
    made.name = "the model of the row";
    made.architecture = Architecture::decoder;
    made.max_positions = c.seq_len;
    auto& stack = made.stacks.emplace_back(
        plain_decoder({.layers = c.layers.value_or(0),
                       .hidden = c.hidden.value_or(0),
                       .heads = c.heads.value_or(0),
                       .vocab = c.vocab.value_or(0),
                       .kv_heads = c.kv_heads,
                       .head_dim = std::nullopt,
                       .ffn = c.ffn || !c.hidden ? c.ffn : std::optional(4 * *c.hidden),
                       .gated = c.gated_ffn,
                       .tied = c.tied_embeddings,
                       .biases = c.biases}));
    if (c.learned_positions) stack.input.positions = c.seq_len;
    workload = &made;
  }
};

/// Peak arithmetic alone: the FLOPs of forward, backward and recomputed passes over the rate of all devices.
Prediction roofline_of(const TrainingCase& c, const Workload& workload, const HardwareNode& device) {
  auto view = model_view(workload, Phase::training);
  Plan<> plan;
  plan.new_tokens = plan.context = c.seq_len;
  set_storage(plan, training_storage(c.precision, c.optimizer));
  OpList<> ops;
  const auto range = lower(view.structure, view.shape(), view.layers, plan, ops);
  const double passes = 3.0 + (c.recomputation == Recomputation::full ? c.recomputed_share : 0.0);
  return {(passes * totals_of(ops, range.forward_end).work * c.batch_size /
           (rate_at(device, c.precision) * c.accelerators))
              .base()};
}

/// The machine and the model of a row, under the constants of a prediction.
struct TrainingRun {
  Model model;
  Node node;
  Fleet fleet;
  DistributedModel::Inputs in;

  TrainingRun(const TrainingCase& c, const PredictionContext& context) : model(c) {
    if (c.node != nullptr) node = *c.node;
    const HardwareNode* device = c.node != nullptr ? c.node->accelerator : c.hardware;
    if (device == nullptr)
      throw InputError({.id = "mlsysim.validation.062",
                        .message = "a training step has neither a node nor a device",
                        .key = "node",
                        .found = "nothing",
                        .expected = "node, or hardware"});
    if (c.node == nullptr) {
      node.name = device->name;
      node.accelerators_per_node = c.accelerators;
    }
    node.accelerator = &context.constants->device(*device);
    node.accelerators_per_node = std::min(node.accelerators_per_node, c.accelerators);
    fleet.node = &node;
    fleet.fabric = c.fabric;
    fleet.count = std::ceil(c.accelerators / node.accelerators_per_node);
    set_inputs(c);
    in.conventions = &context.constants->conventions();
    in.fidelity =
        (context.comparison == Yardstick::operators ? operator_pricing() : textbook_pricing()).fidelity();
  }
  // The inputs point to the other members.
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

 private:
  void set_inputs(const TrainingCase& c) {
    in.workload = model.workload;
    in.fleet = &fleet;
    in.batch_size = c.batch_size;
    in.precision = c.precision;
    in.tp_size = c.tp_size;
    in.pp_size = c.pp_size;
    in.ep_size = c.ep_size;
    in.v_stages = c.v_stages;
    in.microbatch_size = c.microbatch;
    in.cp_size = c.cp_size;
    if (c.shards > 0) in.shard_size = c.shards;
    in.recomputed_share = c.recomputed_share;
    in.attention_kernel = c.attention_kernel;
    in.dropout = c.dropout;
    in.kernel_fusion = c.kernel_fusion;
    in.backward_prefetch = c.backward_prefetch;
    in.gradient_precision = c.gradient_precision;
    in.zero_stage = c.zero_stage;
    in.recomputation = c.recomputation;
    in.sequence_parallel = c.sequence_parallel;
    in.seq_len = c.seq_len;
    in.optimizer = c.optimizer;
    in.trainable_fraction = c.trainable_fraction;
    in.weight_format = c.weight_format;
    if (c.lora_rank > 0) in.lora_rank = c.lora_rank;
    in.lora_modules = c.lora_modules;
    in.fused_loss = c.fused_loss;
    in.overlap_efficiency = c.overlap_efficiency;
    in.tp_overlap = c.tp_overlap;
  }
};

Prediction memory_of_step(const TrainingCase& c, const PredictionContext& context) {
  const TrainingRun run(c, context);
  const auto out = DistributedModel{}.solve(run.in);
  if (c.part != "total" && c.part != "activations" && c.part != "states")
    throw InputError({.id = "mlsysim.validation.061",
                      .message = "a memory has no such part",
                      .key = "part",
                      .found = "'" + c.part + "'",
                      .expected = "total, activations or states"});
  const auto& m = out.memory;
  const Data<> states = m.weights + m.gradients + m.optimizer_states;
  const Data<> asked = c.part == "activations" ? m.activations : c.part == "states" ? states : m.total;
  Prediction p{asked.base()};
  if (!context.wants_terms) return p;
  const PredictionTerm weights{"weights", m.weights.base()}, gradients{"gradients", m.gradients.base()},
      optimizer{"optimizer states", m.optimizer_states.base()},
      activations{"activations", m.activations.base()};
  if (c.part == "activations")
    p.terms = {activations};
  else if (c.part == "states")
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

Prediction step_time_of(const TrainingCase& c, const PredictionContext& context) {
  const TrainingRun run(c, context);
  if (context.comparison == Yardstick::roofline)
    return roofline_of(c, *run.model.workload, *run.node.accelerator);
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

}  // namespace

std::vector<const Measurand*> training_measurands() {
  static const CaseMeasurand<TrainingCase, step_time_of> a("training_step", MeasurandKind::time, "s",
                                                           "time of one optimizer step");
  static const CaseMeasurand<TrainingCase, memory_of_step> b("training_memory", MeasurandKind::other, "GiB",
                                                             "memory of the fullest device in training");
  return {&a, &b};
}

}  // namespace mlsysim::detail

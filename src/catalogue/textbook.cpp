#include <mlsysim/catalogue/textbook.hpp>
#include <mlsysim/physics/activations.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {

TextbookTotals textbook_totals(const Workload& w, Notes& notes) {
  TextbookTotals t;
  if (w.parameters) t.params = *w.parameters;
  else if (w.has_shape()) t.params = parameter_count(w);
  else if (!w.model_size)
    throw InputError({.id = "mlsysim.catalogue.004",
                      .message = fmt::format("neither parameters nor a size are known for '{}'", w.name),
                      .key = w.name,
                      .expected = "parameters or model_size",
                      .hint = "add 'parameters' to the entry"});
  t.active_params = w.active_parameters ? *w.active_parameters : t.params;
  if (w.inference.work) {
    t.work = *w.inference.work;
  } else {
    t.work = t.active_params * (2.0 * unit::FLOP / unit::param);
    notes.assume("inference.work", t.work, "2 FLOP per active weight and unit of work");
  }
  const auto stored = w.extra.find("layers");  // of a network whose layers are no transformer blocks
  t.layers = std::max(1.0, w.shape.layers.value_or(stored == w.extra.end() ? 1 : stored->second));
  t.hidden = w.shape.hidden.value_or(0);
  t.heads = w.shape.heads.value_or(0);
  t.width = t.heads * w.shape.head_dim.value_or(t.heads > 0 ? t.hidden / t.heads : 0);
  return t;
}

MemoryBreakdown<> textbook_training_memory(const Workload& w, const TextbookTotals& t, const TextbookTraining& run,
                                           const HardwareNode& hardware, Precision precision, OptimizerKind optimizer,
                                           double gradient_bucket) {
  Structure structure;
  structure.phase = Phase::training;
  structure.zero_stage = run.zero_stage;
  Plan<> plan;
  plan.dp = run.dp;
  // The textbook keeps an fp32 master copy whatever the format, and gradients in the format itself.
  const double b = bytes_per_element(precision);
  const double states = optimizer == OptimizerKind::none ? 0.0 : optimizer == OptimizerKind::sgd ? 4.0 : 12.0;
  plan.weight_bytes = plan.gradient_bytes = b * unit::B / unit::param;
  plan.state_bytes = states * unit::B / unit::param;
  plan.trainable = run.trainable;

  Device<> device;
  device.memory_capacity = hardware.memory.capacity.value_or(Data<>());

  MemoryDemand<> demand;
  const Params<> mine = t.params / (run.tp * run.pp * run.ep);
  demand.dense_params = mine;
  demand.bucket = gradient_bucket;
  if (t.hidden > 0 && t.heads > 0) {
    const auto layer = TransformerActivations::solve<double>({.seq_len = run.seq_len,
                                                              .batch_size = run.microbatch,
                                                              .hidden = t.hidden,
                                                              .heads = t.heads,
                                                              .element_bytes = b * unit::B,
                                                              .tp_size = run.tp,
                                                              .sequence_parallel = run.sequence_parallel ? 1.0 : 0.0});
    // The closed forms know these three; recomputing one module is counted like none.
    const Data<> each = run.recomputation == Recomputation::full        ? layer.full
                        : run.recomputation == Recomputation::selective ? layer.selective
                                                                        : layer.none;
    demand.activations = each * std::max(1.0, std::ceil(t.layers / run.pp)) * run.in_flight;
    if (run.pp > 1) demand.buffers = 2.0 * run.microbatch * run.seq_len * t.hidden * b * unit::B;
  } else if (w.architecture == Architecture::cnn && !w.convolution.empty()) {
    // The list is the only place that knows a convolutional network's activations.
    auto view = model_view(w, Phase::training);
    Plan<> p;
    p.batch = run.microbatch;
    p.activation_bytes = b * unit::B;
    OpList<> ops;
    const auto range = lower(view.structure, view.shape, view.layers, p, ops);
    demand.activations = totals_of(ops, range.forward_end).kept;
  }
  return memory_of(structure, plan, device, demand);
}

}  // namespace mlsysim

#pragma once
// How a training step is laid out over devices, from the inputs of any resolver that trains.

#include "unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/core/training.hpp>
#include <mlsysim/catalogue/prepare.hpp>

namespace mlsysim::detail {

/// Degrees and batches of a request, checked against the devices.
struct Layout {
  double devices = 1, dp = 1, local_batch = 1, microbatches = 1, microbatch = 1;
};

/// The layout of a step on a fleet. @throws DomainError when the degrees do not fit the fleet, or the micro-batches
/// not the batch
[[nodiscard]] Layout layout_of(const DistributedModel::Inputs& in, Fidelity fidelity, Notes& notes);
/// Warns of what a plan says about parts that it does not have: stages of no pipeline, shards of one replica.
void warn_of_idle_parts(const DistributedModel::Inputs& in, const Layout& layout, Notes& notes);

/// Work of a training step, in forward passes: what the model needs, and what runs.
struct TextbookForwards {
  double model, hardware;
};
/// Frozen weights need no gradients of their own, only those of their inputs; full recomputation runs the forward pass again.
[[nodiscard]] inline TextbookForwards textbook_forwards(Recomputation recomputation, double trainable) {
  const double model = 2.0 + trainable;
  return {model, recomputation == Recomputation::full ? model + 1.0 : model};
}

/// Warns of what only the operator list knows of a training plan; `In` has the members of one.
template <class In>
void warn_of_unpriced_plan(const In& in, Notes& notes) {
  warn_of_unpriced(in, {"cp_size", "schedule", "shard_size", "recomputed_share", "attention_kernel", "dropout", "kernel_fusion",
                        "gradient_precision", "backward_prefetch", "overlap_slowdown", "tp_overlap", "offload_weights",
                        "offload_activations", "offload_states"}, notes);
  if (in.recomputation != Recomputation::none && in.recomputation != Recomputation::selective && in.recomputation != Recomputation::full)
    notes.warn("textbook fidelity knows no recomputation of one module: it counts like none");
}

/// Lowers the rate of attention to that of an earlier generation of kernels.
void slow_attention(Device<>& device, AttentionKernel kernel, const HardwareNode& hardware, const Conventions& c, Notes& notes);

/// Model, plan and device of a step; `In` has the members of a training plan (see DistributedModel::Inputs).
template <class In>
[[nodiscard]] PassViews<> training_views(const In& in, const HardwareNode& hardware, const Layout& layout, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, hardware, notes);
  PassViews<> v;
  v.model = model_view(*in.workload, Phase::training);
  auto& s = v.model.structure;
  s.recomputed = parts_of(in.recomputation);
  s.zero_stage = static_cast<int>(in.zero_stage);
  s.sequence_parallel = in.sequence_parallel && in.tp_size > 1;
  s.schedule = in.schedule;
  s.kernel = in.attention_kernel;
  s.dropout = in.dropout;
  s.fused = in.kernel_fusion;
  s.per_operator = in.recomputation == Recomputation::per_operator;
  s.offloads = in.offload_weights > 0 || in.offload_activations > 0 || in.offload_states > 0;
  v.device = device_view(hardware, precision, c, notes, Phase::training);
  if (bytes_per_element(precision) < 2) {
    // Narrow formats are for products with weights inside the blocks; attention and the output head stay at 16 bits.
    s.narrow = true;
    const double rates = rate_at(hardware, Precision::bf16) / rate_at(hardware, precision);
    v.device.attention_share *= rates;
    v.device.wide_ratio = rates * hardware.efficiency.matrix.value_or(c.matrix_share) / v.device.matrix_share;
  }
  slow_attention(v.device, in.attention_kernel, hardware, c, notes);
  auto& p = v.plan;
  p.tp = in.tp_size;
  p.pp = in.pp_size;
  p.ep = in.ep_size;
  p.cp = in.cp_size;
  p.dp = layout.dp;
  p.shards = in.shard_size.value_or(0);
  p.virtual_stages = in.v_stages;
  p.batch = layout.microbatch;
  p.microbatches = layout.microbatches;
  p.new_tokens = p.context = in.workload->architecture == Architecture::cnn ? 1 : in.seq_len;
  p.trainable = in.trainable_fraction;
  p.recomputed = in.recomputed_share;
  p.offload_weights = in.offload_weights;
  p.offload_activations = in.offload_activations;
  p.offload_states = in.offload_states;
  p.exchange_bucket = c.exchange_bucket;
  if (in.zero_stage < 3 && layout.dp * in.ep_size * in.cp_size > 1) notes.assume("exchange_bucket", c.exchange_bucket, "zoo/defaults.yaml");
  set_storage(p, training_storage(precision, in.optimizer));
  if (in.gradient_precision) p.gradient_bytes = bytes_per_element(*in.gradient_precision) * unit::B / unit::param;
  return v;
}

/// Micro-batches of a replica and step where the request names none; `In` has the members of a training plan. Textbook
/// fidelity has no model of a pipeline or of memory for which it would divide the batch.
/// @param views of the step, with links; their batch does not count
template <class In>
[[nodiscard]] double microbatches_by_default(const In& in, const PassViews<>& views, double local_batch, Fidelity fidelity, Notes& notes) {
  const double steps = in.gradient_accumulation_steps;
  double count = steps;
  if (fidelity == Fidelity::operator_level) {
    OpList<> ops;
    const auto divided = [&](double by) {
      return default_microbatches(views.model, views.plan, views.device, views.links, local_batch, by, FreshParts<double>{ops});
    };
    count = divided(steps);
    if (steps > 1 && std::min(divided(1), local_batch) == std::min(count, local_batch))
      warn_of_idle(in, {"gradient_accumulation_steps"}, "where micro-batches are as small without", notes);
  }
  const bool piped = in.pp_size > 1 && fidelity == Fidelity::operator_level;
  notes.assume("microbatch_count", count, piped           ? "one sequence for each expert-parallel rank, as a pipeline wants many"
                                          : count > steps ? "the batch of a replica, divided until it fits in memory"
                                                          : "the batch of a replica at once, or its part of an accumulation step");
  return count;
}

}  // namespace mlsysim::detail

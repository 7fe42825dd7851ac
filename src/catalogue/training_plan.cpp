#include "detail/plan_check.hpp"
#include "detail/training_plan.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/answer/replicas.hpp>
#include <mlsysim/catalogue/core/training.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

[[noreturn]] void refuse_degrees(const DistributedModel::Inputs& in, double replica, double devices) {
  throw DomainError(
      {.id = "mlsysim.catalogue.030",
       .message = "the parallel degrees do not fit the fleet",
       .key = "tp_size, pp_size, ep_size, cp_size",
       .found = fmt::format("tp {} x pp {} x ep {} x cp {} = {} devices per replica on {} accelerators", in.tp_size,
                            in.pp_size, in.ep_size, in.cp_size, replica, devices),
       .expected = "a product that divides the accelerators",
       .hint = replica > devices ? "lower a degree or use a larger fleet"
                                 : fmt::format("use a product that divides {}", devices)});
}

[[noreturn]] void refuse_shards(double shards, double holders) {
  throw DomainError({.id = "mlsysim.catalogue.076",
                     .message = "the ranks of a shard do not divide those that hold the same weights",
                     .key = "shard_size",
                     .found = fmt::format("shard_size {:g}", shards),
                     .expected = fmt::format("a divisor of {:g}", holders),
                     .hint = "leave it out to shard over all of them"});
}

[[noreturn]] void refuse_steps(double steps, double local_batch, double replicas) {
  throw DomainError({.id = "mlsysim.catalogue.077",
                     .message = "a replica has fewer sequences than gradient accumulation steps",
                     .key = "gradient_accumulation_steps",
                     .found = fmt::format("gradient_accumulation_steps {:g}", steps),
                     .expected = fmt::format("at most {:g}, the sequences of each of {:g} replicas", local_batch, replicas),
                     .hint = "lower it, or raise batch_size"});
}

/// Micro-batches of one replica and step.
double microbatches_of(const DistributedModel::Inputs& in, const Layout& layout, Fidelity fidelity, Notes& notes) {
  if (in.microbatch_size) {
    const double local_batch = layout.local_batch;
    const double count = std::ceil(local_batch / *in.microbatch_size);
    if (in.microbatch_count && *in.microbatch_count * in.gradient_accumulation_steps != count)
      throw DomainError({.id = "mlsysim.catalogue.031",
                         .message = "the micro-batches do not make up the batch of a replica",
                         .key = "microbatch_size, microbatch_count",
                         .found = fmt::format("{} micro-batches of {} sequences for {} sequences a replica",
                                              *in.microbatch_count * in.gradient_accumulation_steps,
                                              *in.microbatch_size, local_batch),
                         .expected = fmt::format("{} micro-batches", count),
                         .hint = "give one of the two"});
    if (!in.microbatch_count) warn_of_idle(in, {"gradient_accumulation_steps"}, "where microbatch_size divides the batch", notes);
    return count;
  }
  if (in.microbatch_count) return *in.microbatch_count * in.gradient_accumulation_steps;
  Notes quiet;
  PassViews<> v;
  if (fidelity == Fidelity::operator_level) {
    v = training_views(in, *in.fleet->node->accelerator, layout, quiet);
    v.links = links_view(*in.fleet, conventions_or_standard(in.conventions), quiet);
  }
  return microbatches_by_default(in, v, layout.local_batch, fidelity, notes);
}

}  // namespace

Layout layout_of(const DistributedModel::Inputs& in, Fidelity fidelity, Notes& notes) {
  Layout l;
  l.devices = in.fleet->total_accelerators();
  const double replica = in.tp_size * in.pp_size * in.ep_size * in.cp_size;
  if (replica > l.devices || std::fmod(l.devices, replica) != 0) refuse_degrees(in, replica, l.devices);
  l.dp = l.devices / replica;
  check_degrees(*in.workload, {.tp = in.tp_size, .pp = in.pp_size, .ep = in.ep_size, .cp = in.cp_size, .v_stages = in.v_stages},
                in.seq_len, notes);
  const double holders = l.dp * in.ep_size * in.cp_size;  // of the same weights outside of experts
  if (in.shard_size && (*in.shard_size > holders || std::fmod(holders, *in.shard_size) != 0)) refuse_shards(*in.shard_size, holders);
  l.local_batch = share_batch(in.batch_size, l.dp).sequences;
  if (in.gradient_accumulation_steps > l.local_batch) refuse_steps(in.gradient_accumulation_steps, l.local_batch, l.dp);
  const auto divided = divide_batch(l.local_batch, microbatches_of(in, l, fidelity, notes));
  l.microbatches = divided.microbatches;
  l.microbatch = divided.microbatch;
  if (l.microbatch * l.microbatches != l.local_batch || (in.microbatch_size && *in.microbatch_size != l.microbatch))
    notes.warn([&] {
      return fmt::format("{:g} sequences of a replica do not divide into {}: {:g} micro-batches are priced, each of {:g}", l.local_batch,
                         in.microbatch_size ? fmt::format("micro-batches of {:g}", *in.microbatch_size)
                                            : fmt::format("{:g} micro-batches", l.microbatches),
                         l.microbatches, l.microbatch);
    });
  warn_of_uneven_ranks(l.microbatch, in.ep_size, notes);
  if (in.v_stages > 1 && in.pp_size > 1 && std::fmod(l.microbatches, in.pp_size) != 0)
    notes.warn([&] {
      return fmt::format("an interleaved schedule takes micro-batches in groups of {:g}: {:g} are priced as if they filled them",
                         in.pp_size, l.microbatches);
    });
  return l;
}

void warn_of_idle_parts(const DistributedModel::Inputs& in, const Layout& layout, Notes& notes) {
  if (in.zero_stage == 0) warn_of_idle(in, {"shard_size"}, "without ZeRO", notes);
  if (in.zero_stage < 3) warn_of_idle(in, {"backward_prefetch"}, "without ZeRO-3", notes);
  if (in.recomputation == Recomputation::none) warn_of_idle(in, {"recomputed_share"}, "without recomputation", notes);
  if (in.tp_size == 1) warn_of_idle(in, {"tp_overlap"}, "without tensor parallelism", notes);
  if (in.pp_size == 1) warn_of_idle(in, {"schedule", "v_stages"}, "without a pipeline", notes);
  if (in.optimizer == OptimizerKind::none) warn_of_idle(in, {"offload_states"}, "without an optimizer", notes);
  if (layout.dp == 1) warn_of_idle(in, {"congestion_factor"}, "with one replica", notes);
  if (in.workload->architecture == Architecture::cnn) warn_of_idle(in, {"attention_kernel", "dropout"}, "on a model without attention", notes);
}

void slow_attention(Device<>& device, AttentionKernel kernel, const HardwareNode& hardware, const Conventions& c, Notes& notes) {
  if (kernel != AttentionKernel::flash1 && kernel != AttentionKernel::flash2) return;
  // Where nothing is said the second generation is the present one.
  const double second = hardware.efficiency.flash2.value_or(1.0);
  if (hardware.efficiency.flash2) notes.assume("flash2", second, "the device's zoo entry");
  device.attention_share *= second;
  if (kernel == AttentionKernel::flash2) return;
  device.attention_share *= c.flash1_ratio;
  notes.assume("flash1_ratio", c.flash1_ratio, "zoo/defaults.yaml");
}

}  // namespace mlsysim::detail

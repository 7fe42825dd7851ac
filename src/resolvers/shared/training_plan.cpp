#include "resolvers/shared/training_plan.hpp"
#include "resolvers/shared/plan_check.hpp"

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/timing/stored_formats.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

[[noreturn]] void refuse_degrees(const Degrees& d, double devices) {
  const double replica = d.replica();
  throw DomainError(
      {.id = "mlsysim.catalogue.030",
       .message = "the parallel degrees do not fit the fleet",
       .key = "tp_size, pp_size, ep_size, cp_size",
       .found = fmt::format("tp {} x pp {} x {} {} x cp {} = {} devices per replica on {} accelerators", d.tp,
                            d.pp, d.expert_tp == d.tp ? "ep" : "ranks of folded experts", d.sequence_ranks(),
                            d.cp, replica, devices),
       .expected = "a product that divides the accelerators",
       .hint = replica > devices ? "lower a degree or use a larger fleet"
                                 : fmt::format("use a product that divides {}", devices),
       .reason = BreakReason::infeasible_constraint});
}

[[noreturn]] void refuse_shards(double shards, double holders) {
  throw DomainError({.id = "mlsysim.catalogue.076",
                     .message = "the ranks of a shard do not divide those that hold the same weights",
                     .key = "shard_size",
                     .found = fmt::format("shard_size {:g}", shards),
                     .expected = fmt::format("a divisor of {:g}", holders),
                     .hint = "leave it out to shard over all of them",
                     .reason = BreakReason::infeasible_constraint});
}

[[noreturn]] void refuse_steps(double steps, double local_batch, double replicas) {
  throw DomainError(
      {.id = "mlsysim.catalogue.077",
       .message = "a replica has fewer sequences than gradient accumulation steps",
       .key = "gradient_accumulation_steps",
       .found = fmt::format("gradient_accumulation_steps {:g}", steps),
       .expected = fmt::format("at most {:g}, the sequences of each of {:g} replicas", local_batch, replicas),
       .hint = "lower it, or raise batch_size"});
}

[[noreturn]] void refuse_microbatches(const DistributedModel::Inputs& in, double local_batch, double count) {
  throw DomainError({.id = "mlsysim.catalogue.031",
                     .message = "the micro-batches do not make up the batch of a replica",
                     .key = "microbatch_size, microbatch_count",
                     .found = fmt::format("{} micro-batches of {} sequences for {} sequences a replica",
                                          *in.microbatch_count * in.gradient_accumulation_steps,
                                          *in.microbatch_size, local_batch),
                     .expected = fmt::format("{} micro-batches", count),
                     .hint = "give one of the two",
                     .reason = BreakReason::infeasible_constraint});
}

}  // namespace

Layout layout_of(const DistributedModel::Inputs& in, Notes& notes) {
  Notes quiet;
  const double seq_len = seq_len_or_default(in.seq_len, *in.workload, 0, quiet);  // the views note it
  Layout l;
  l.devices = in.fleet->total_accelerators();
  const Degrees degrees = training_degrees(in);
  check_folding(degrees);
  const double replica = degrees.replica();
  if (replica > l.devices || std::fmod(l.devices, replica) != 0) refuse_degrees(degrees, l.devices);
  l.dp = l.devices / replica;
  check_degrees(*in.workload, degrees, seq_len, notes);
  const double holders =
      l.dp * degrees.sequence_ranks() * in.cp_size;  // of the same weights outside of experts
  if (in.shard_size && (*in.shard_size > holders || std::fmod(holders, *in.shard_size) != 0))
    refuse_shards(*in.shard_size, holders);
  l.local_batch = share_batch(in.batch_size, l.dp).sequences;
  if (in.gradient_accumulation_steps > l.local_batch)
    refuse_steps(in.gradient_accumulation_steps, l.local_batch, l.dp);
  if (in.microbatch_size && in.microbatch_count) {
    const double count = std::ceil(l.local_batch / (*in.microbatch_size * degrees.sequence_ranks()));
    if (*in.microbatch_count * in.gradient_accumulation_steps != count)
      refuse_microbatches(in, l.local_batch, count);
  }
  return l;
}

void note_default_microbatches(const TrainingProblem<>& v, double local, double count, Notes& notes) {
  const double steps = v.gradient_accumulation_steps;
  if (steps > 1 && notes.wanted()) {
    TrainingProblem<> without = v;
    without.gradient_accumulation_steps = 1;
    Plan<> plan = training_plan(v);
    if (std::min(microbatches_asked(without, plan, local), local) == std::min(count, local))
      notes.remark("no effect where micro-batches are as small without: gradient_accumulation_steps");
  }
  notes.assume("microbatch_count", count,
               v.plan.pp > 1 && count > steps
                   ? "one sequence for each expert-parallel rank, as a pipeline wants many"
               : count > steps ? "the batch of a replica, divided until it fits in memory"
                               : "the batch of a replica at once, or its part of an accumulation step");
}

void check_microbatches(const DistributedModel::Inputs& in, const TrainingProblem<>& v, double count,
                        Notes& notes) {
  const Degrees degrees = training_degrees(in);
  const double local = share_batch(v.batch_size, v.accelerators / degrees.replica()).sequences;
  const double ranks = degrees.sequence_ranks();
  const double batch = std::ceil(local / count);  // of the largest micro-batch, all ranks
  if (v.division == Microbatches::by_default) note_default_microbatches(v, local, count, notes);
  if (in.microbatch_size && !in.microbatch_count)
    warn_of_idle(in, {"gradient_accumulation_steps"}, "where microbatch_size divides the batch", notes);
  if (batch * count != local || (in.microbatch_size && *in.microbatch_size * ranks != batch))
    notes.warn([&] {
      return fmt::format(
          "{:g} sequences of a replica do not divide into {}: the largest of {:g} has {:g}, and the step "
          "takes the time of their mean",
          local,
          in.microbatch_size ? fmt::format("micro-batches of {:g}", *in.microbatch_size * ranks)
                             : fmt::format("{:g} micro-batches", count),
          count, batch);
    });
  warn_of_uneven_ranks(batch, ranks, notes);
  if (in.v_stages > 1 && in.pp_size > 1 && count > in.pp_size && std::fmod(count, in.pp_size) != 0)
    notes.warn([&] {
      return fmt::format(
          "an interleaved schedule takes micro-batches in groups of {:g}: {:g} are priced as if they filled "
          "them",
          in.pp_size, count);
    });
}

void warn_of_idle_parts(const DistributedModel::Inputs& in, const Layout& layout, Notes& notes) {
  if (in.zero_stage == 0) warn_of_idle(in, {"shard_size"}, "without ZeRO", notes);
  if (in.zero_stage < 3) warn_of_idle(in, {"backward_prefetch"}, "without ZeRO-3", notes);
  if (in.recomputation == Recomputation::none)
    warn_of_idle(in, {"recomputed_share"}, "without recomputation", notes);
  if (in.tp_size == 1) warn_of_idle(in, {"tp_overlap"}, "without tensor parallelism", notes);
  if (in.pp_size == 1) warn_of_idle(in, {"schedule", "v_stages"}, "without a pipeline", notes);
  if (in.optimizer == OptimizerKind::none)
    warn_of_idle(in, {"offload_states"}, "without an optimizer", notes);
  if (layout.dp == 1) warn_of_idle(in, {"congestion_factor"}, "with one replica", notes);
  if (is_listed(in.workload->architecture))
    warn_of_idle(in, {"attention_kernel", "dropout"}, "on a model without attention", notes);
}

void check_offloaded_gradients(double gradients, double states) {
  if (gradients <= states) return;
  throw DomainError({.id = "mlsysim.catalogue.160",
                     .message = "gradients follow the states that they update",
                     .key = "offload_gradients",
                     .found = fmt::format("{:g} of the gradients and {:g} of the states", gradients, states),
                     .expected = "at most the share of offload_states",
                     .hint = "give offload_states too"});
}

void set_step(Device<>& device, const ServingEngine* runtime, Notes& notes) {
  if (runtime == nullptr || device.software != nullptr) return;  // unfused software counts its own
  const auto step = stated(*runtime, &FrameworkHost::step);
  if (!step) return;
  device.dispatch_overhead += *step;
  notes.assume("host.step", *step, SharedText(fmt::format("runtime {}", runtime->name)));
}

void set_states(std::string_view states, Precision precision, OptimizerKind optimizer, Plan<>& plan,
                Structure& structure, Notes& notes) {
  constexpr std::string_view kParts = "parameter, gradient, moment or master";
  const auto refuse = [&](std::string_view found) {
    throw InputError({.id = "mlsysim.catalogue.120",
                      .message = "the states of training are not understood",
                      .key = "states",
                      .found = fmt::format("'{}'", found),
                      .expected = fmt::format("PART=FORMAT, separated by commas; PART is {}", kParts),
                      .hint = "e.g. parameter=bf16,gradient=bf16,moment=bf16,master=none"});
  };
  const auto bytes = [](double b) { return b * unit::B / unit::param; };
  const Storage usual = training_storage(precision, optimizer);
  const double moments = optimizer == OptimizerKind::muon ? 2.0 : keeps_moments(optimizer) ? 2.0 : 0.0;
  double moment = 4, master = usual.state_bytes - 4 * moments;
  std::string_view rest = states;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) refuse(item);
    const auto part = item.substr(0, equals), format = item.substr(equals + 1);
    const bool none = format == "none" && (part == "master" || part == "gradient");
    const auto known = choice_of<Precision>(format);
    if (!none && !known) refuse(item);
    const double size = none ? 0.0 : bytes_per_element(*known);
    if (part == "parameter")
      plan.weight_bytes = bytes(size);
    else if (part == "gradient" && none)
      structure.drops_gradients = true;
    else if (part == "gradient")
      plan.gradient_bytes = bytes(size);
    else if (part == "moment")
      moment = size;
    else if (part == "master")
      master = size;
    else
      refuse(item);
  }
  plan.state_bytes = bytes(moments * moment + master);
  plan.matrix_state_bytes = bytes((optimizer == OptimizerKind::muon ? 1.0 : moments) * moment + master);
  notes.assume("states", std::string(states), "bytes of a weight: parameter, gradient, moments, master copy");
}

void store_frozen(const Workload& workload, const HardwareNode& hardware, WeightFormat format, Plan<>& plan,
                  Structure& structure, Notes& notes) {
  if (plan.trainable >= 1 && !structure.adapts())
    throw DomainError(
        {.id = "mlsysim.catalogue.110",
         .message = "weights that are trained are not stored in a format of their own",
         .key = "weight_format",
         .found = fmt::format("{}, with a trainable_fraction of 1", name_of(format)),
         .expected = "lora_rank, or a trainable_fraction below 1: what learns beside frozen weights",
         .hint = "give lora_rank, or leave weight_format out"});
  const Precision any = Precision::bf16;  // what is asked here is how they are stored
  const auto stored =
      served_format(workload, {.precision = any, .weight_format = format}, hardware, nullptr, notes);
  const auto wide = plan.weight_bytes;
  set_stored(stored, structure.known && workload.has_shape(), plan, structure);
  if (structure.adapts() && plan.weight_bytes < wide) structure.adapters = Adapters::qlora;
}

}  // namespace mlsysim::detail

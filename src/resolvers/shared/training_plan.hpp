#pragma once
// How a training step is laid out over devices, from the inputs of any resolver that trains.

#include "resolvers/shared/plan_check.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>

namespace mlsysim::detail {

/// The degrees of a training plan; `In` as in `training_problem`.
template <class In> [[nodiscard]] Degrees training_degrees(const In& in) {
  return {.tp = in.tp_size,
          .pp = in.pp_size,
          .ep = in.ep_size,
          .expert_tp = in.expert_tp_size.value_or(in.tp_size),
          .cp = in.cp_size,
          .v_stages = in.v_stages,
          .sequence_parallel = in.sequence_parallel};
}

/// Devices, data-parallel degree and sequences per replica of a training plan. layout_of() checks degrees,
/// shards and accumulation steps against devices and model.
struct Layout {
  double devices = 1, dp = 1, local_batch = 1;
};
/// @throws DomainError when the degrees do not fit the fleet
[[nodiscard]] Layout layout_of(const DistributedModel::Inputs& in, Notes& notes);
/// Warns of micro-batches that do not divide the batch, and notes a number of micro-batches that was not
/// given.
void check_microbatches(const DistributedModel::Inputs& in, const TrainingProblem<>& problem, double count,
                        Notes& notes);
/// Notes the number of micro-batches if it was not given, and warns of accumulation steps that divide
/// nothing further.
void note_default_microbatches(const TrainingProblem<>& problem, double local_batch, double count,
                               Notes& notes);
/// Warns of what a plan says about parts that it does not have: stages of no pipeline, shards of one replica.
void warn_of_idle_parts(const DistributedModel::Inputs& in, const Layout& layout, Notes& notes);

/// Stores the weights of a model of which only a part is trained in a format of their own (QLoRA); products
/// are those of the arithmetic.
/// @throws DomainError where all weights are trained
/// @cite dettmers2023qlora, section 3
void store_frozen(const Workload& workload, const HardwareNode& hardware, WeightFormat format, Plan<>& plan,
                  Structure& structure, Notes& notes);
/// Whether an optimizer keeps moments of its gradients.
[[nodiscard]] inline bool keeps_moments(OptimizerKind o) {
  return o == OptimizerKind::adam || o == OptimizerKind::adamw || o == OptimizerKind::muon;
}

/// Sets the formats of training states from a text such as
/// "parameter=bf16,gradient=bf16,moment=bf16,master=none". What it does not name stays. Gradients of format
/// `none` are freed layer by layer, by an update in the backward pass.
/// @throws InputError naming the part that is not understood
void set_states(std::string_view states, Precision precision, OptimizerKind optimizer, Plan<>& plan,
                Structure& structure, Notes& notes);

/// Adds what the host of a runtime takes between two steps while the devices wait. @pre software is set
void set_step(Device<>& device, const ServingEngine* runtime, Notes& notes);

/// Refuses gradients in host memory whose optimizer states are not there. @throws DomainError
void check_offloaded_gradients(double gradients, double states);

/// Sets what is trained: a share of the weights, or low-rank adapters beside frozen ones.
template <class In> void set_trained(const In& in, TrainingProblem<>& v, Notes& notes) {
  auto& s = v.model.structure;
  const bool layers = !is_listed(in.workload->architecture);
  v.plan.tower_bytes = tower_weights({.model = in.workload});
  if (in.lora_rank && layers && v.fidelity_model->lists_operators()) s.adapters = Adapters::lora;
  s.adapted = in.lora_modules;
  if (in.optimizer == OptimizerKind::muon && v.fidelity_model->lists_operators())
    s.update = WeightUpdate::orthogonal;
  if (in.fused_loss && v.fidelity_model->lists_operators()) s.loss = LossKernel::chunked;
  if (!layers) warn_of_idle(in, {"lora_rank", "fused_loss"}, "on a model without attention", notes);
  if (!in.lora_rank) warn_of_idle(in, {"lora_modules"}, "without lora_rank", notes);
  if (!s.adapts()) return;
  warn_of_idle(in, {"trainable_fraction"}, "beside lora_rank", notes);
  auto& p = v.plan;
  p.trainable = 0;
  p.lora_rank = *in.lora_rank;
  p.adapter_bytes = p.weight_bytes;
}

/// Warns of the inputs of a training plan that the textbook does not price.
template <class In> void warn_of_operator_plan(const In& in, Notes& notes) {
  warn_of_unpriced(in,
                   {"lora_rank",
                    "lora_modules",
                    "fused_loss",
                    "cp_size",
                    "schedule",
                    "shard_size",
                    "recomputed_share",
                    "attention_kernel",
                    "dropout",
                    "kernel_fusion",
                    "gradient_precision",
                    "backward_prefetch",
                    "overlap_slowdown",
                    "tp_overlap",
                    "offload_weights",
                    "offload_activations",
                    "offload_states",
                    "offload_gradients",
                    "host_memory_bandwidth",
                    "power_cap",
                    "clock_limit",
                    "dispatch_precision",
                    "expert_copies",
                    "expert_overlap",
                    "rank_imbalance",
                    "collective_algorithm",
                    "execution",
                    "moment_precision",
                    "states",
                    "engine"},
                   notes);
}

/// Model, device and plan of a step, without links, batch and fleet; `In` has the members of a training plan
/// (see DistributedModel::Inputs).
template <class In>
[[nodiscard]] TrainingProblem<> training_problem(const In& in, const HardwareNode& hardware, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, hardware, notes);
  TrainingProblem<> v;
  v.fidelity_model = &fidelity_model_for(in.fidelity, *in.workload, notes);
  const bool lists = v.fidelity_model->lists_operators();
  if (!lists) warn_of_operator_plan(in, notes);
  v.model = v.fidelity_model->model(*in.workload, Phase::training, notes);
  auto& s = v.model.structure;
  s.recomputed = parts_of(in.recomputation);
  s.zero_stage = static_cast<int>(in.zero_stage);
  s.sequence_parallel = in.sequence_parallel;
  s.schedule = in.schedule;
  s.kernel = in.attention_kernel;
  s.dropout = in.dropout;
  s.fused = in.kernel_fusion;
  s.per_operator = in.recomputation == Recomputation::per_operator;
  const double moved = lists ? 1.0 : 0.0;  // what lies in host memory is not priced without operators
  s.offloads = moved > 0 && (in.offload_weights > 0 || in.offload_activations > 0 || in.offload_states > 0);
  s.host_computes = s.offloads && in.offload_gradients > 0;
  check_offloaded_gradients(in.offload_gradients, in.offload_states);
  s.narrow = bytes_per_element(precision) < 2;
  s.four_bits = bytes_per_element(precision) < 1;
  v.fidelity_model->warn_of(s, notes);
  DeviceUse use{.precision = precision,
                .phase = Phase::training,
                .params = v.model.totals.params,
                .kernel = in.attention_kernel};
  const ServingEngine* runtime = nullptr;
  if constexpr (requires { in.engine; }) runtime = lists ? in.engine : nullptr;
  if constexpr (requires { in.execution; }) use.execution = execution_of(in.execution, runtime);
  v.device = v.fidelity_model->device(hardware, use, with_kernels(c, runtime), notes);
  set_software(v.device, runtime, hardware, precision, v.model, c, notes);
  set_products(v.device, runtime, hardware, precision, c, notes);
  if (lists) set_recurrences(v.device, v.model, hardware, with_kernels(c, runtime), notes);
  set_step(v.device, runtime, notes);
  if (runtime != nullptr)
    if (const auto* gradients = stated(*runtime, &ServingEngine::gradients))
      s.frees_gradients = *gradients == GradientLife::freed;
  if (runtime != nullptr)
    if (const bool* stops = stated(*runtime, &ServingEngine::early_stop)) s.early_stop = *stops;
  if constexpr (requires { in.engine; })
    if (runtime != nullptr && !stated(*runtime, &ServingEngine::form) &&
        !stated(*runtime, &ServingEngine::states))
      warn_of_idle(in, {"engine"}, "on a training step: it states nothing of one", notes);
  v.seq_len = seq_len_or_default(in.seq_len, *in.workload, 0, notes);
  v.sequences = !is_listed(in.workload->architecture);
  // Numbers that laws know by the name under which they are asked for need no line of their own.
  v.plan = fields_of<Plan<>>(in);
  auto& p = v.plan;
  p.expert_tp = in.expert_tp_size.value_or(in.tp_size);
  p.folded = p.expert_tp != p.tp;
  p.shards = in.shard_size.value_or(0);
  v.sharded = in.shard_size.has_value();
  p.offload_weights = moved * in.offload_weights;
  p.offload_activations = moved * in.offload_activations;
  p.offload_states = moved * in.offload_states;
  p.offload_gradients = moved * in.offload_gradients;
  p.exchange_bucket = c.exchange_bucket;
  set_storage(p, v.fidelity_model->training_storage(precision, in.optimizer));
  // Adam keeps two moments of a weight, Muon one of a matrix (zero where nothing is kept).
  if (in.moment_precision) {
    const DataPerParam<> narrow = bytes_per_element(*in.moment_precision) * unit::B / unit::param,
                         less = 4.0 * unit::B / unit::param - narrow;
    if (keeps_moments(in.optimizer)) {
      p.state_bytes -= 2.0 * less;
      p.matrix_state_bytes -= (in.optimizer == OptimizerKind::muon ? 1.0 : 2.0) * less;
    }
  }
  if (in.gradient_precision)
    p.gradient_bytes = bytes_per_element(*in.gradient_precision) * unit::B / unit::param;
  if (const auto* states = runtime == nullptr ? nullptr : stated(*runtime, &ServingEngine::states);
      states != nullptr && !in.states)
    set_states(*states, precision, in.optimizer, p, s, notes);
  if (in.states && lists) set_states(*in.states, precision, in.optimizer, p, s, notes);
  set_trained(in, v, notes);
  if (in.weight_format) store_frozen(*in.workload, hardware, *in.weight_format, p, s, notes);
  return v;
}

}  // namespace mlsysim::detail

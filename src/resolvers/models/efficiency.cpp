#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/efficiency.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/timing/step.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

/// Shares of the peak; together one.
struct KernelShares {
  double mfu = 0, kernel_loss = 0, memory_stall = 0, launch_loss = 0;
  double of_pass = 1;  ///< share of the pass that these kernels take
};

double table_share(const EfficiencyModel::Inputs& in, double efficiency, const Figures& figures) {
  const auto at = [&](const char* name) {
    return figures.number(std::string("catalogue.efficiency.") + name);
  };
  const double scale = efficiency / 0.5;  // the table is written for the reference efficiency
  switch (in.workload_type) {
    case KernelClass::attention:
      if (in.use_flash_attention.value_or(false))
        return std::min(at("flash_attention") * scale, at("flash_attention_cap"));
      break;
    case KernelClass::ffn:
      return std::min(at("ffn") * scale, at("ffn_cap"));
    case KernelClass::conv:
      return std::min(at("conv") * scale, at("conv_cap"));
    case KernelClass::other:
      break;
  }
  return at("attention") * scale;
}

/// A table of shares, scaled by the efficiency.
KernelShares textbook_shares(const EfficiencyModel::Inputs& in, const Figures& figures) {
  const double efficiency =
      detail::textbook_efficiency(in.efficiency, conventions_or_standard(in.conventions), figures.notes());
  KernelShares s;
  s.mfu = std::clamp(table_share(in, efficiency, figures), 0.0, 1.0);
  s.kernel_loss = 1.0 - std::min(figures.number("catalogue.efficiency.occupancy_headroom") * efficiency, 1.0);
  s.memory_stall = std::max(0.0, 1.0 - s.mfu - s.kernel_loss);
  return s;
}

bool belongs(const Op<>& op, KernelClass wanted) {
  const bool core = op.kind == OpKind::attention || (op.parts & part::core);  // a fused kernel, or its parts
  switch (wanted) {
    case KernelClass::attention:
      return core;
    case KernelClass::ffn:
      return op.kind == OpKind::matmul && !core;
    case KernelClass::conv:
      return op.kind == OpKind::convolution;
    case KernelClass::other:
      break;
  }
  if (core) return false;
  return op.kind == OpKind::elementwise || op.kind == OpKind::gather || op.kind == OpKind::recurrence;
}

KernelShares shares_of(const OpList<>& ops, const EfficiencyModel::Inputs& in, const Device<>& device,
                       const Links<>& links) {
  Work<> work;
  Time<> pass, total, compute, launch;
  for (const auto& op : ops.span()) {
    const auto cost = price(op, device, links);
    pass += cost.total;
    if (!belongs(op, in.workload_type)) continue;
    work += op.work * op.count;
    total += cost.total;
    compute += cost.compute;
    launch += cost.overhead;
  }
  if (!(total > Time<>()))
    throw InputError({.id = "mlsysim.catalogue.034",
                      .message = fmt::format("'{}' has no kernels of this class", in.workload->name),
                      .key = "workload_type",
                      .found = std::string(name_of(in.workload_type)),
                      .expected = "a class that occurs in the model",
                      .hint = is_listed(in.workload->architecture) ? "use conv" : "use ffn or attention",
                      .reason = BreakReason::unsupported_op});
  KernelShares s;
  s.mfu = work / (device.compute.dense * total);
  s.launch_loss = launch / total;
  s.memory_stall = std::max(0.0, (total - launch - compute) / total);
  s.kernel_loss = std::max(0.0, 1.0 - s.mfu - s.launch_loss - s.memory_stall);
  s.of_pass = total / pass;
  return s;
}

/// The kernels of the class in one forward pass, priced on the device.
KernelShares operator_shares(const EfficiencyModel::Inputs& in, Precision precision, Notes& notes) {
  const Workload& w = *in.workload;
  const Conventions& c = conventions_or_standard(in.conventions);
  auto model = model_view(w, w.is_language_decoder() ? Phase::prefill : Phase::inference);
  model.structure.kernel =
      in.use_flash_attention.value_or(true) ? AttentionKernel::fused : AttentionKernel::unfused;
  if (!in.use_flash_attention && in.workload_type == KernelClass::attention)
    notes.assume("use_flash_attention", "true", "serving and training engines use fused kernels");
  auto device = device_view(*in.hardware, precision, c, notes);
  if (in.efficiency) device.efficiency.matrix = *in.efficiency;
  const auto links = links_view(*in.hardware, 1, c, notes);
  Plan<> plan;
  plan.batch = in.batch_size;
  if (!is_listed(w.architecture))
    plan.context = plan.new_tokens = seq_len_or_default(in.seq_len, w, 0, notes);
  set_storage(plan, inference_storage(precision, std::nullopt));
  OpList<> ops;
  (void)lower(model.structure, model.shape(), model.layers, plan, ops);
  return shares_of(ops, in, device, links);
}

}  // namespace

EfficiencyModel::Result EfficiencyModel::solve(const Inputs& asked, Notes& notes) const {
  Result r;
  r.fidelity = fidelity_or_default(asked.fidelity, *asked.workload, notes);
  const Inputs in = detail::priced(asked, r.fidelity, {"batch_size", "seq_len"}, notes);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  const KernelShares shares = r.fidelity == Fidelity::textbook
                                  ? textbook_shares(in, detail::zoo_figures(notes))
                                  : operator_shares(in, precision, notes);
  r.peak_flops = rate_at(*in.hardware, precision);
  r.mfu = shares.mfu;
  r.achievable_flops = r.peak_flops * r.mfu;
  r.kernel_loss = shares.kernel_loss;
  r.memory_stall = shares.memory_stall;
  r.launch_loss = shares.launch_loss;
  r.time_share = shares.of_pass;
  return r;
}

}  // namespace mlsysim

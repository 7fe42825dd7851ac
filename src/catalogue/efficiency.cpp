#include "detail/figures.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/efficiency.hpp>
#include <mlsysim/price/views.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

using In = EfficiencyModel::Inputs;
using Out = EfficiencyModel::Result;

double table_share(const In& in, double efficiency, Notes& notes) {
  const auto at = [&](const char* name) {
    return detail::number(std::string("catalogue.efficiency.") + name, notes);
  };
  const double scale = efficiency / 0.5;  // the table is written for the reference efficiency
  switch (in.workload_type) {
    case KernelClass::attention:
      if (in.use_flash_attention.value_or(false)) return std::min(at("flash_attention") * scale, at("flash_attention_cap"));
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

}  // namespace

EfficiencyModel::Result EfficiencyModel::solve(const Inputs& in, Notes& notes) const {
  Out r;
  r.fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  r.peak_flops = rate_at(*in.hardware, precision);
  if (r.fidelity == Fidelity::textbook) {
    detail::warn_of_unpriced(in, {"batch_size", "seq_len"}, notes);
    const double efficiency = in.efficiency.value_or(c.textbook_efficiency);
    if (!in.efficiency) notes.assume("efficiency", efficiency, "zoo/defaults.yaml");
    r.mfu = std::clamp(table_share(in, efficiency, notes), 0.0, 1.0);
    r.kernel_loss =
        1.0 - std::min(detail::number("catalogue.efficiency.occupancy_headroom", notes) * efficiency, 1.0);
    r.memory_stall = std::max(0.0, 1.0 - r.mfu - r.kernel_loss);
  } else {
    const bool decoder = in.workload->is_language_decoder();
    auto model = model_view(*in.workload, decoder ? Phase::prefill : Phase::inference);
    const bool fused = in.use_flash_attention.value_or(true);
    model.structure.kernel = fused ? AttentionKernel::fused : AttentionKernel::unfused;
    if (!in.use_flash_attention && in.workload_type == KernelClass::attention)
      notes.assume("use_flash_attention", "true", "serving and training engines use fused kernels");
    auto device = device_view(*in.hardware, precision, c, notes);
    if (in.efficiency) device.matrix_share = *in.efficiency;
    const auto links = links_view(*in.hardware, 1, c, notes);
    Plan<> plan;
    plan.batch = in.batch_size;
    if (in.workload->architecture != Architecture::cnn) plan.context = plan.new_tokens = in.seq_len;
    set_storage(plan, inference_storage(precision, std::nullopt));
    OpList<> ops;
    (void)lower(model.structure, model.shape, model.layers, plan, ops);
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
      throw InputError(
          {.id = "mlsysim.catalogue.034",
           .message = fmt::format("'{}' has no kernels of this class", in.workload->name),
           .key = "workload_type",
           .found = std::string(name_of(in.workload_type)),
           .expected = "a class that occurs in the model",
           .hint = in.workload->architecture == Architecture::cnn ? "use conv" : "use ffn or attention"});
    r.mfu = work / (r.peak_flops * total);
    r.launch_loss = launch / total;
    r.memory_stall = std::max(0.0, (total - launch - compute) / total);
    r.kernel_loss = std::max(0.0, 1.0 - r.mfu - r.launch_loss - r.memory_stall);
    r.time_share = total / pass;
  }
  r.achievable_flops = r.peak_flops * r.mfu;
  return r;
}

}  // namespace mlsysim

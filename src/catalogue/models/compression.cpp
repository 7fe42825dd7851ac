#include "catalogue/models/guard_rails.hpp"
#include "catalogue/shared/figures.hpp"
#include "catalogue/shared/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/compression.hpp>
#include <mlsysim/price/pricing.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

using In = CompressionModel::Inputs;
using Out = CompressionModel::Result;

bool sparse_rate(const HardwareNode& hardware) {
  return !hardware.compute.sparse.empty() || hardware.compute.dense[Precision::tf32] ||
         hardware.compute.dense[Precision::int8] || hardware.compute.dense[Precision::fp8];
}

std::string label_of(const In& in) {
  switch (in.method) {
    case CompressionMethod::quantization:
      return fmt::format("{}{:g} quantization", in.target_bitwidth <= 8 ? "INT" : "FP", in.target_bitwidth);
    case CompressionMethod::pruning:
      return fmt::format("{} pruning {:g}%", name_of(in.sparsity_type), 100 * in.sparsity);
    case CompressionMethod::distillation:
      break;
  }
  return in.student_share ? fmt::format("distillation to {:g}%", 100 * *in.student_share) : "distillation";
}

/// What belongs to another way of compression.
void warn_of_idle_ways(const In& in, Notes& notes) {
  switch (in.method) {
    case CompressionMethod::quantization:
      return detail::warn_of_idle(in, {"sparsity", "sparsity_type", "student_share"}, "on quantization",
                                  notes);
    case CompressionMethod::pruning:
      return detail::warn_of_idle(in, {"target_bitwidth", "weight_only", "group_size", "student_share"},
                                  "on pruning", notes);
    case CompressionMethod::distillation:
      break;
  }
  detail::warn_of_idle(in, {"target_bitwidth", "weight_only", "group_size", "sparsity", "sparsity_type"},
                       "on distillation", notes);
}

void guard(const In& in, Out& r) {
  const auto rails = detail::guard_rails(in, r);
  for (std::size_t i = 0; i < rails.size(); ++i)
    if (!rails[i].met()) r.violations += (r.violations.empty() ? "" : ", ") + std::string(rails[i].name);
  r.feasible = r.violations.empty();
  if (r.feasible) r.violations = "none";
  r.binding_constraint = r.violations.substr(0, r.violations.find(','));
}

/// Whether the device gains from it.
bool supported(const In& in, const CompressionRules& rules) {
  switch (in.method) {
    case CompressionMethod::quantization:
      return in.target_bitwidth >= 16 || rules.rate_at_width(*in.hardware, in.target_bitwidth);
    case CompressionMethod::pruning:
      return in.sparsity_type == SparsityType::structured ||
             (in.sparsity_type == SparsityType::n_m && sparse_rate(*in.hardware));
    case CompressionMethod::distillation:
      break;
  }
  return true;
}

}  // namespace

CompressionModel::Result CompressionModel::solve(const Inputs& asked, Notes& notes) const {
  warn_of_idle_ways(asked, notes);
  const Pricing& pricing = pricing_named(asked.fidelity);
  const CompressionRules& rules = pricing.compression();
  const Inputs in = detail::priced(asked, pricing.unpriced(PricedInputs::compression), notes);
  const Figures figures = detail::zoo_figures(notes);
  const auto totals = totals_of(*in.workload, notes);
  const Compression c{.workload = *in.workload,
                      .hardware = *in.hardware,
                      .conventions = conventions_or_standard(in.conventions),
                      .params = totals.params,
                      .work = totals.work,
                      .active_share = totals.active_params / totals.params,
                      .baseline = in.baseline_precision.value_or(rules.baseline()),
                      .method = in.method,
                      .bits = in.target_bitwidth,
                      .sparsity = in.sparsity,
                      .pattern = in.sparsity_type,
                      .weight_only = in.weight_only,
                      .group = in.group_size,
                      .student_share = in.student_share,
                      .batch = in.batch_size,
                      .seq_len = in.seq_len,
                      .efficiency = in.efficiency};
  const auto done = rules.compress(c, figures);
  Result r;
  r.fidelity = pricing.fidelity();
  r.label = label_of(in);
  r.baseline_precision = c.baseline;
  r.original_size = done.original;
  r.compressed_size = done.size;
  r.compression_ratio = done.ratio;
  r.memory_savings = 1.0 - done.size / done.original;
  r.inference_speedup = done.speedup;
  r.bottleneck = done.bottleneck;
  r.hardware_supported = supported(in, rules);
  r.estimated_accuracy_delta = rules.accuracy_change(c, figures);
  if (in.method == CompressionMethod::distillation)
    notes.warn("the accuracy of a distilled model depends on its training: no change is estimated");
  else if (r.estimated_accuracy_delta)
    notes.warn(
        "the accuracy change is a median over tasks; small models and reasoning lose more. Measure it on "
        "your task");
  guard(in, r);
  return r;
}

}  // namespace mlsysim

#include "detail/figures.hpp"
#include "detail/guard_rails.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/compression.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/physics/compression.hpp>
#include <mlsysim/physics/roofline.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using In = CompressionModel::Inputs;
using Out = CompressionModel::Result;

/// The number format that a width stands for: integers up to 8 bits, floating point above, as in the Python
/// package.
std::optional<Precision> format_of(double bits) {
  return choice_of<Precision>(fmt::format("{}{:g}", bits <= 8 ? "int" : "fp", bits));
}

std::optional<ComputeRate<>> rate_of(const In& in, double bits) {
  const auto format = format_of(bits);
  if (!format) return std::nullopt;
  const auto& core = in.hardware->compute;
  if (core.dense[*format]) return core.dense[*format];
  if (bits == 8) return core.dense[Precision::fp8];
  return bits == 4 ? core.dense[Precision::fp4] : std::nullopt;
}

bool sparse_rate(const HardwareNode& hardware) {
  return !hardware.compute.sparse.empty() || hardware.compute.dense[Precision::tf32] ||
         hardware.compute.dense[Precision::int8] || hardware.compute.dense[Precision::fp8];
}

double quantization_change(double bits, Fidelity fidelity, Notes& notes) {
  const auto at = [&](const char* name) {
    return detail::number(std::string("catalogue.compression.") + name, notes);
  };
  if (bits >= 16) return 0;
  if (fidelity == Fidelity::textbook)
    return bits == 8 ? at("fp8_change") : bits >= 4 ? at("int4_change") : at("below4_change");
  if (bits >= 8) return at("int8_change") * (16 - bits) / 8;  // nothing at 16 bits, the median of int8 at 8
  const double four = at("int4_change"), eight = at("int8_change");
  return bits >= 4 ? eight + (four - eight) * (8 - bits) / 4 : at("below4_change");
}

double pruning_change(double sparsity, Fidelity fidelity, Notes& notes) {
  const double mild = detail::number("catalogue.compression.mild_pruning_change", notes);
  const double steep = detail::number("catalogue.compression.steep_pruning_coefficient", notes);
  if (fidelity == Fidelity::textbook) return sparsity <= 0.5 ? mild : -steep * std::exp(2 * sparsity);
  // The same steep part without the jump at one half, and nothing for no zeros.
  return sparsity <= 0.5 ? mild * sparsity / 0.5 : mild - steep * (std::exp(2 * sparsity) - std::exp(1.0));
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

void textbook(const In& in, Params<> params, double baseline_bits, Out& r, Notes& notes) {
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  r.original_size = CompressedWeights::solve<double>({.params = params, .bits = baseline_bits}).weights;
  const ComputeRate<> peak = in.hardware->compute.peak_flops();
  const Bandwidth<> bandwidth = memory_level(*in.hardware, Data<>()).bandwidth;
  const auto roof = Roofline::solve<double>(
      {.work = t.work, .traffic = r.original_size, .peak = peak, .bandwidth = bandwidth});
  r.bottleneck = roof.memory > roof.compute ? Bottleneck::memory : Bottleneck::compute;
  if (in.method == CompressionMethod::quantization) {
    r.compression_ratio = baseline_bits / in.target_bitwidth;
    const auto format = format_of(in.target_bitwidth);
    const auto rate = format ? in.hardware->compute.dense[*format] : std::nullopt;
    r.inference_speedup = r.bottleneck == Bottleneck::memory ? r.compression_ratio
                          : rate                             ? std::min(*rate / peak, r.compression_ratio)
                                                             : 1.0;
  } else if (in.method == CompressionMethod::pruning) {
    r.compression_ratio = in.sparsity < 1 ? 1 / (1 - in.sparsity) : 100.0;
    if (in.sparsity_type == SparsityType::structured) r.inference_speedup = r.compression_ratio;
    if (in.sparsity_type == SparsityType::n_m && std::abs(in.sparsity - 0.5) < 0.05)
      r.inference_speedup = 2.0;
  } else if (in.student_share) {
    r.compression_ratio = r.inference_speedup = 1 / *in.student_share;
  }
  r.compressed_size = r.original_size / r.compression_ratio;
}

/// One step before and after, from what is read and what is computed.
void operators(const In& in, Params<> params, double baseline_bits, Precision baseline, Out& r,
               Notes& notes) {
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const double efficiency = in.efficiency.value_or(c.matrix_share);
  if (!in.efficiency) notes.assume("efficiency", efficiency, "zoo/defaults.yaml");
  const Bandwidth<> bandwidth = memory_level(*in.hardware, Data<>()).bandwidth *
                                in.hardware->efficiency.memory.value_or(c.memory_share);
  const double touched = t.active_params / t.params;  // of the weights, by one token; a batch touches more
  const double read = std::min(1.0, touched * in.batch_size);
  Data<> kept;  // keys and values stay as they are
  if (in.workload->is_language_decoder() && in.workload->has_shape())
    kept = kv_cache_bytes(*in.workload, in.seq_len, in.batch_size,
                          baseline == Precision::fp32 ? Precision::fp16 : baseline);
  const ComputeRate<> rate = rate_at(*in.hardware, baseline);
  const Work<> work = t.work * in.batch_size;
  const auto step = [&](Work<> todo, Data<> weights, ComputeRate<> peak, double share) {
    return Roofline::solve<double>({.work = todo,
                                    .traffic = weights * (read / share) + kept,
                                    .peak = peak * efficiency,
                                    .bandwidth = bandwidth});
  };
  r.original_size = CompressedWeights::solve<double>({.params = params, .bits = baseline_bits}).weights;
  const auto before = step(work, r.original_size, rate, 1.0);
  CompressedWeights::Inputs<double> stored{.params = params, .bits = baseline_bits};
  Work<> todo = work;
  ComputeRate<> peak = rate;
  double share = 1;
  if (in.method == CompressionMethod::quantization) {
    stored.bits = in.target_bitwidth;
    const bool weight_only = in.weight_only.value_or(in.target_bitwidth < 8);
    if (in.target_bitwidth < 8 || in.group_size) {
      stored.group = in.group_size ? *in.group_size : detail::number("catalogue.compression.group", notes);
      stored.scale_bits = detail::number("catalogue.compression.scale_bits", notes);
    }
    if (weight_only)
      share = detail::number("catalogue.compression.dequantize_share", notes);
    else if (const auto faster = rate_of(in, in.target_bitwidth))
      peak = *faster;
    else
      notes.warn("the device has no rate for this format: its arithmetic stays in the baseline format");
  } else if (in.method == CompressionMethod::pruning) {
    stored.sparsity = in.sparsity;
    if (in.sparsity_type == SparsityType::structured) {
      todo = work * (1.0 - in.sparsity);
    } else if (in.sparsity_type == SparsityType::n_m) {
      stored.sparsity = 0.5;  // two of four
      stored.index_bits = 2;
      if (const auto& sparse = in.hardware->compute.sparse[baseline]) peak = *sparse;
    } else {
      stored.scale_bits = 1;  // a bit mask tells which weights are kept
      // Dense kernels multiply the zeros and read them, whatever the file stores.
    }
  } else if (in.student_share) {
    stored.params = params * *in.student_share;
    todo = work * *in.student_share;
  }
  r.compressed_size = CompressedWeights::solve<double>(stored).weights;
  r.compression_ratio = r.compressed_size > Data<>() ? r.original_size / r.compressed_size : 0.0;
  const bool scattered =
      in.method == CompressionMethod::pruning && in.sparsity_type == SparsityType::unstructured;
  const auto after = step(todo, scattered ? r.original_size : r.compressed_size, peak, share);
  r.inference_speedup = after.time > Time<>() ? before.time / after.time : 1.0;
  r.bottleneck = after.memory > after.compute ? Bottleneck::memory : Bottleneck::compute;
}

/// What belongs to another way of compression.
void warn_of_idle_ways(const In& in, Notes& notes) {
  switch (in.method) {
    case CompressionMethod::quantization:
      return detail::warn_of_idle(in, {"sparsity", "sparsity_type", "student_share"}, "on quantization", notes);
    case CompressionMethod::pruning:
      return detail::warn_of_idle(in, {"target_bitwidth", "weight_only", "group_size", "student_share"}, "on pruning", notes);
    case CompressionMethod::distillation: break;
  }
  detail::warn_of_idle(in, {"target_bitwidth", "weight_only", "group_size", "sparsity", "sparsity_type"}, "on distillation", notes);
}

void guard(const In& in, Out& r) {
  const auto rails = detail::guard_rails(in, r);
  for (std::size_t i = 0; i < rails.size(); ++i)
    if (!rails[i].met()) r.violations += (r.violations.empty() ? "" : ", ") + std::string(rails[i].name);
  r.feasible = r.violations.empty();
  if (r.feasible) r.violations = "none";
  r.binding_constraint = r.violations.substr(0, r.violations.find(','));
}

}  // namespace

CompressionModel::Result CompressionModel::solve(const Inputs& in, Notes& notes) const {
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  const bool refined = r.fidelity == Fidelity::operator_level;
  r.baseline_precision = in.baseline_precision.value_or(refined ? Precision::fp16 : Precision::fp32);
  const double bits = 8 * bytes_per_element(r.baseline_precision);
  if (in.method == CompressionMethod::pruning && in.sparsity_type == SparsityType::n_m && refined &&
      std::abs(in.sparsity - 0.5) > 1e-9)
    throw DomainError({.id = "mlsysim.catalogue.036",
                       .message = "the pattern n_m keeps two of four weights",
                       .key = "sparsity",
                       .found = fmt::format("{:g}", in.sparsity),
                       .expected = "0.5",
                       .hint = "use sparsity 0.5, or another pattern"});
  warn_of_idle_ways(in, notes);
  if (!refined) detail::warn_of_unpriced(in, {"weight_only", "group_size", "batch_size", "seq_len", "efficiency"}, notes);
  const Params<> params = textbook_totals(*in.workload, notes).params;
  if (refined)
    operators(in, params, bits, r.baseline_precision, r, notes);
  else
    textbook(in, params, bits, r, notes);
  r.label = label_of(in);
  r.memory_savings = 1.0 - r.compressed_size / r.original_size;
  switch (in.method) {
    case CompressionMethod::quantization:
      r.estimated_accuracy_delta = quantization_change(in.target_bitwidth, r.fidelity, notes);
      r.hardware_supported = in.target_bitwidth >= 16 ||
                             (refined ? rate_of(in, in.target_bitwidth).has_value()
                                      : format_of(in.target_bitwidth) &&
                                            in.hardware->compute.dense[*format_of(in.target_bitwidth)]);
      break;
    case CompressionMethod::pruning:
      if (refined && in.sparsity_type == SparsityType::structured && in.sparsity > 0) {
        // The published medians are of masks that follow the weights; whole rows and heads lose more of the same share.
        r.estimated_accuracy_delta.reset();
        notes.warn("the accuracy of a structurally pruned model depends on its training afterwards: no change is estimated");
      } else {
        r.estimated_accuracy_delta = pruning_change(in.sparsity, r.fidelity, notes);
      }
      r.hardware_supported = in.sparsity_type == SparsityType::structured ||
                             (in.sparsity_type == SparsityType::n_m && sparse_rate(*in.hardware));
      break;
    case CompressionMethod::distillation:
      r.hardware_supported = true;
      if (refined) r.estimated_accuracy_delta.reset();
      notes.warn("the accuracy of a distilled model depends on its training: no change is estimated");
      break;
  }
  if (r.estimated_accuracy_delta && in.method != CompressionMethod::distillation)
    notes.warn(
        "the accuracy change is a median over tasks; small models and reasoning lose more. Measure it on "
        "your task");
  guard(in, r);
  return r;
}

}  // namespace mlsysim

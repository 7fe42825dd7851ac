#include "resolvers/models/guard_rails.hpp"
#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/compression.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/compression.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/fill.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

bool sparse_rate(const HardwareNode& hardware) {
  return !hardware.compute.sparse.empty() || hardware.compute.dense[Precision::tf32] ||
         hardware.compute.dense[Precision::int8] || hardware.compute.dense[Precision::fp8];
}

std::string label_of(const CompressionModel::Inputs& in) {
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

/// Notes the inputs that belong to another compression method.
void warn_of_idle_ways(const CompressionModel::Inputs& in, Notes& notes) {
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

void guard(const CompressionModel::Inputs& in, CompressionModel::Result& r) {
  const auto rails = detail::guard_rails(in, r);
  for (std::size_t i = 0; i < rails.size(); ++i)
    if (!rails[i].met()) r.violations += (r.violations.empty() ? "" : ", ") + std::string(rails[i].name);
  r.feasible = r.violations.empty();
  if (r.feasible) r.violations = "none";
  r.binding_constraint = r.violations.substr(0, r.violations.find(','));
}

/// A request with its defaults filled in.
struct Compression {
  const Workload& workload;
  const HardwareNode& hardware;
  const Conventions& conventions;
  Params<> params;
  Work<> work;              ///< of a sample
  double active_share = 1;  ///< of the weights, read by one token
  Precision baseline = Precision::fp16;
  CompressionMethod method = CompressionMethod::quantization;
  double bits = 8, sparsity = 0;
  SparsityType pattern = SparsityType::unstructured;
  std::optional<bool> weight_only{};
  std::optional<double> group, student_share;
  double batch = 1;
  std::optional<double> seq_len, efficiency;

  [[nodiscard]] double baseline_bits() const { return 8 * bytes_per_element(baseline); }
};

/// The compressed weights and a step that reads them.
struct Compressed {
  Data<> original, size;
  double ratio = 1, speedup = 1;
  Bottleneck bottleneck = Bottleneck::memory;
};

/// The number format that a width stands for: integers up to 8 bits, floating point above, as in the Python
/// package.
std::optional<Precision> format_of(double bits) {
  return choice_of<Precision>(fmt::format("{}{:g}", bits <= 8 ? "int" : "fp", bits));
}

double accuracy_figure(const char* name, const Figures& figures) {
  return figures.number(std::string("catalogue.compression.") + name);
}

Data<> stored(Params<> params, double bits) {
  return CompressedWeights::solve<double>({.params = params, .bits = bits}).weights;
}

/// Ratios of widths, a speed-up by the roofline of batch one, medians of accuracy changes.
struct Textbook {
  static constexpr Precision baseline = Precision::fp32;

  static Compressed compress(const Compression& c, const Figures& /*figures*/) {
    Compressed r;
    r.original = stored(c.params, c.baseline_bits());
    const ComputeRate<> peak = c.hardware.compute.peak_flops();
    const auto roof = Roofline::solve<double>({.work = c.work,
                                               .traffic = r.original,
                                               .peak = peak,
                                               .bandwidth = memory_level(c.hardware, Data<>()).bandwidth});
    r.bottleneck = roof.memory > roof.compute ? Bottleneck::memory : Bottleneck::compute;
    if (c.method == CompressionMethod::quantization) {
      r.ratio = c.baseline_bits() / c.bits;
      const auto rate = rate_at_width(c.hardware, c.bits);
      r.speedup = r.bottleneck == Bottleneck::memory ? r.ratio : rate ? std::min(*rate / peak, r.ratio) : 1.0;
    } else if (c.method == CompressionMethod::pruning) {
      r.ratio = c.sparsity < 1 ? 1 / (1 - c.sparsity) : 100.0;
      if (c.pattern == SparsityType::structured) r.speedup = r.ratio;
      if (c.pattern == SparsityType::n_m && std::abs(c.sparsity - 0.5) < 0.05) r.speedup = 2.0;
    } else if (c.student_share) {
      r.ratio = r.speedup = 1 / *c.student_share;
    }
    r.size = r.original / r.ratio;
    return r;
  }

  static std::optional<double> accuracy_change(const Compression& c, const Figures& figures) {
    if (c.method == CompressionMethod::distillation) return 0;
    if (c.method == CompressionMethod::quantization) {
      if (c.bits >= 16) return 0;
      return accuracy_figure(c.bits == 8   ? "fp8_change"
                             : c.bits >= 4 ? "int4_change"
                                           : "below4_change",
                             figures);
    }
    const double mild = accuracy_figure("mild_pruning_change", figures),
                 steep = accuracy_figure("steep_pruning_coefficient", figures);
    return c.sparsity <= 0.5 ? mild : -steep * std::exp(2 * c.sparsity);
  }

  static std::optional<ComputeRate<>> rate_at_width(const HardwareNode& hardware, double bits) {
    const auto format = format_of(bits);
    return format ? hardware.compute.dense[*format] : std::nullopt;
  }
};

/// Counts stored bytes, bytes read and arithmetic of a step; accuracy changes are continuous.
struct Operators {
  static constexpr Precision baseline = Precision::fp16;

  /// One step before and after.
  static Compressed compress(const Compression& c, const Figures& figures) {
    const Change after = changed(c, figures);
    Compressed r;
    r.original = stored(c.params, c.baseline_bits());
    r.size = CompressedWeights::solve<double>(after.weights).weights;
    r.ratio = r.size > Data<>() ? r.original / r.size : 0.0;

    const double efficiency =
        c.efficiency ? *c.efficiency : class_figure("efficiency.matrix", c.conventions, figures.notes());
    const Bandwidth<> bandwidth =
        memory_level(c.hardware, Data<>()).bandwidth *
        needed_figure("efficiency.memory", c.hardware, c.conventions, figures.notes());
    const double read =
        std::min(1.0, c.active_share * c.batch);  // one token reads the active share, a batch more
    Data<> kept;                                  // keys and values stay as they are
    if (c.workload.is_language_decoder() && c.workload.has_shape())
      kept = kv_cache_bytes(c.workload, seq_len_or_default(c.seq_len, c.workload, 0, figures.notes()),
                            c.batch, c.baseline == Precision::fp32 ? Precision::fp16 : c.baseline);
    const auto step = [&](Work<> work, Data<> weights, ComputeRate<> peak, double share) {
      return Roofline::solve<double>({.work = work,
                                      .traffic = weights * (read / share) + kept,
                                      .peak = peak * efficiency,
                                      .bandwidth = bandwidth});
    };
    const auto first = step(c.work * c.batch, r.original, rate_at(c.hardware, c.baseline), 1.0);
    const auto second = step(after.work, after.scattered ? r.original : r.size, after.peak, after.share);
    r.speedup = second.time > Time<>() ? first.time / second.time : 1.0;
    r.bottleneck = second.memory > second.compute ? Bottleneck::memory : Bottleneck::compute;
    return r;
  }

  static std::optional<double> accuracy_change(const Compression& c, const Figures& figures) {
    if (c.method == CompressionMethod::distillation) return std::nullopt;
    if (c.method == CompressionMethod::quantization) return quantization_change(c.bits, figures);
    if (c.pattern == SparsityType::structured && c.sparsity > 0) {
      // The published medians are of masks that follow the weights; whole rows and heads lose more of the
      // same share.
      figures.notes().warn(
          "the accuracy of a structurally pruned model depends on its training afterwards: no change is "
          "estimated");
      return std::nullopt;
    }
    // Linear up to one half, then the textbook's exponential part without its jump; zero without pruning.
    const double mild = accuracy_figure("mild_pruning_change", figures),
                 steep = accuracy_figure("steep_pruning_coefficient", figures);
    return c.sparsity <= 0.5 ? mild * c.sparsity / 0.5
                             : mild - steep * (std::exp(2 * c.sparsity) - std::exp(1.0));
  }

  static std::optional<ComputeRate<>> rate_at_width(const HardwareNode& hardware, double bits) {
    const auto format = format_of(bits);
    if (!format) return std::nullopt;
    const auto& core = hardware.compute;
    if (core.dense[*format]) return core.dense[*format];
    if (bits == 8) return core.dense[Precision::fp8];
    return bits == 4 ? core.dense[Precision::fp4] : std::nullopt;
  }

 private:
  /// A step of the compressed model.
  struct Change {
    CompressedWeights::Inputs<double> weights;
    Work<> work;
    ComputeRate<> peak;
    double share = 1;        ///< of the memory bandwidth that kernels reach which unpack
    bool scattered = false;  ///< dense kernels read and multiply the zeros, whatever the file stores
  };

  static Change changed(const Compression& c, const Figures& figures) {
    Change a{.weights = {.params = c.params, .bits = c.baseline_bits()},
             .work = c.work * c.batch,
             .peak = rate_at(c.hardware, c.baseline)};
    switch (c.method) {
      case CompressionMethod::quantization:
        quantize(c, a, figures);
        break;
      case CompressionMethod::pruning:
        prune(c, a);
        break;
      case CompressionMethod::distillation:
        if (!c.student_share) break;
        a.weights.params = c.params * *c.student_share;
        a.work = a.work * *c.student_share;
    }
    return a;
  }

  static void quantize(const Compression& c, Change& a, const Figures& figures) {
    a.weights.bits = c.bits;
    if (c.bits < 8 || c.group) {
      a.weights.group = c.group ? *c.group : figures.number("catalogue.compression.group");
      a.weights.scale_bits = figures.number("catalogue.compression.scale_bits");
    }
    if (c.weight_only.value_or(c.bits < 8))
      a.share = figures.number("catalogue.compression.dequantize_share");
    else if (const auto faster = rate_at_width(c.hardware, c.bits))
      a.peak = *faster;
    else
      figures.notes().warn(
          "the device has no rate for this format: its arithmetic stays in the baseline format");
  }

  static void prune(const Compression& c, Change& a) {
    a.weights.sparsity = c.sparsity;
    switch (c.pattern) {
      case SparsityType::structured:
        a.work = a.work * (1.0 - c.sparsity);
        break;
      case SparsityType::unstructured:
        a.weights.scale_bits = 1;  // a bit mask tells which weights are kept
        a.scattered = true;
        break;
      case SparsityType::n_m:
        if (std::abs(c.sparsity - 0.5) > 1e-9)
          throw DomainError({.id = "mlsysim.catalogue.036",
                             .message = "the pattern n_m keeps two of four weights",
                             .key = "sparsity",
                             .found = fmt::format("{:g}", c.sparsity),
                             .expected = "0.5",
                             .hint = "use sparsity 0.5, or another pattern"});
        a.weights.sparsity = 0.5;  // two of four
        a.weights.index_bits = 2;
        if (const auto& sparse = c.hardware.compute.sparse[c.baseline]) a.peak = *sparse;
    }
  }

  /// Nothing at 16 bits, the medians of int8 and int4 at 8 and 4, and straight lines between them.
  static double quantization_change(double bits, const Figures& figures) {
    if (bits >= 16) return 0;
    if (bits >= 8) return accuracy_figure("int8_change", figures) * (16 - bits) / 8;
    const double four = accuracy_figure("int4_change", figures),
                 eight = accuracy_figure("int8_change", figures);
    return bits >= 4 ? eight + (four - eight) * (8 - bits) / 4 : accuracy_figure("below4_change", figures);
  }
};

/// Whether the device gains from it.
template <class Equations> bool supported(const CompressionModel::Inputs& in) {
  switch (in.method) {
    case CompressionMethod::quantization:
      return in.target_bitwidth >= 16 || Equations::rate_at_width(*in.hardware, in.target_bitwidth);
    case CompressionMethod::pruning:
      return in.sparsity_type == SparsityType::structured ||
             (in.sparsity_type == SparsityType::n_m && sparse_rate(*in.hardware));
    case CompressionMethod::distillation:
      break;
  }
  return true;
}

template <class Equations>
CompressionModel::Result compressed(const CompressionModel::Inputs& in, Notes& notes) {
  const Figures figures = detail::zoo_figures(notes);
  const auto totals = totals_of(*in.workload, notes);
  const Compression c{.workload = *in.workload,
                      .hardware = *in.hardware,
                      .conventions = conventions_or_standard(in.conventions),
                      .params = totals.params,
                      .work = totals.work,
                      .active_share = totals.active_params / totals.params,
                      .baseline = in.baseline_precision.value_or(Equations::baseline),
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
  const auto done = Equations::compress(c, figures);
  CompressionModel::Result r;
  r.label = label_of(in);
  r.baseline_precision = c.baseline;
  r.original_size = done.original;
  r.compressed_size = done.size;
  r.compression_ratio = done.ratio;
  r.memory_savings = 1.0 - done.size / done.original;
  r.inference_speedup = done.speedup;
  r.bottleneck = done.bottleneck;
  r.hardware_supported = supported<Equations>(in);
  r.estimated_accuracy_delta = Equations::accuracy_change(c, figures);
  if (in.method == CompressionMethod::distillation)
    notes.warn("the accuracy of a distilled model depends on its training: no change is estimated");
  else if (r.estimated_accuracy_delta)
    notes.warn(
        "the accuracy change is a median over tasks; small models and reasoning lose more. Measure it on "
        "your task");
  guard(in, r);
  return r;
}

}  // namespace

CompressionModel::Result CompressionModel::solve(const Inputs& asked, Notes& notes) const {
  warn_of_idle_ways(asked, notes);
  const Fidelity fidelity = fidelity_or_operators(asked.fidelity);
  const Inputs in = detail::priced(
      asked, fidelity, {"weight_only", "group_size", "batch_size", "seq_len", "efficiency"}, notes);
  Result r =
      fidelity == Fidelity::textbook ? compressed<Textbook>(in, notes) : compressed<Operators>(in, notes);
  r.fidelity = fidelity;
  return r;
}

}  // namespace mlsysim

#include "price/rules/rules.hpp"

#include <mlsysim/physics/compression.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/price/fill.hpp>
#include <mlsysim/price/rules/compression.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// The number format that a width stands for: integers up to 8 bits, floating point above, as in the Python
/// package.
std::optional<Precision> format_of(double bits) {
  return choice_of<Precision>(fmt::format("{}{:g}", bits <= 8 ? "int" : "fp", bits));
}

double change(const char* name, const Figures& figures) {
  return figures.number(std::string("catalogue.compression.") + name);
}

Data<> stored(Params<> params, double bits) {
  return CompressedWeights::solve<double>({.params = params, .bits = bits}).weights;
}

/// Ratios of widths, a speed-up by the roofline of batch one, medians of accuracy changes.
class TextbookCompression final : public CompressionRules {
 public:
  Precision baseline() const override { return Precision::fp32; }

  Compressed compress(const Compression& c, const Figures&) const override {
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

  std::optional<double> accuracy_change(const Compression& c, const Figures& figures) const override {
    if (c.method == CompressionMethod::distillation) return 0;
    if (c.method == CompressionMethod::quantization) {
      if (c.bits >= 16) return 0;
      return change(c.bits == 8 ? "fp8_change" : c.bits >= 4 ? "int4_change" : "below4_change", figures);
    }
    const double mild = change("mild_pruning_change", figures),
                 steep = change("steep_pruning_coefficient", figures);
    return c.sparsity <= 0.5 ? mild : -steep * std::exp(2 * c.sparsity);
  }

  std::optional<ComputeRate<>> rate_at_width(const HardwareNode& hardware, double bits) const override {
    const auto format = format_of(bits);
    return format ? hardware.compute.dense[*format] : std::nullopt;
  }
};

/// What is stored, read and computed; accuracy changes are continuous.
class OperatorCompression final : public CompressionRules {
 public:
  Precision baseline() const override { return Precision::fp16; }

  /// One step before and after.
  Compressed compress(const Compression& c, const Figures& figures) const override {
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

  std::optional<double> accuracy_change(const Compression& c, const Figures& figures) const override {
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
    // The same steep part as in the textbook without its jump at one half, and nothing for no zeros.
    const double mild = change("mild_pruning_change", figures),
                 steep = change("steep_pruning_coefficient", figures);
    return c.sparsity <= 0.5 ? mild * c.sparsity / 0.5
                             : mild - steep * (std::exp(2 * c.sparsity) - std::exp(1.0));
  }

  std::optional<ComputeRate<>> rate_at_width(const HardwareNode& hardware, double bits) const override {
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

  [[nodiscard]] Change changed(const Compression& c, const Figures& figures) const {
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

  void quantize(const Compression& c, Change& a, const Figures& figures) const {
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
    if (bits >= 8) return change("int8_change", figures) * (16 - bits) / 8;
    const double four = change("int4_change", figures), eight = change("int8_change", figures);
    return bits >= 4 ? eight + (four - eight) * (8 - bits) / 4 : change("below4_change", figures);
  }
};

}  // namespace

const CompressionRules& textbook_compression() {
  static const TextbookCompression rules;
  return rules;
}
const CompressionRules& operator_compression() {
  static const OperatorCompression rules;
  return rules;
}

}  // namespace mlsysim::detail

#include "price/rules/rules.hpp"

#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/price/rules/device.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>

namespace mlsysim::detail {
namespace {

/// The caller's share of the peak rate, or the textbook's; noted.
double efficiency_or(const std::optional<double>& given, const Conventions& c, Notes& notes) {
  if (!given) notes.assume("efficiency", c.textbook_efficiency, kDefaults);
  return given.value_or(c.textbook_efficiency);
}

/// Totals and tables.
class TextbookDevices final : public DeviceRules {
 public:
  /// A table of shares, scaled by the efficiency.
  KernelShares shares(const KernelUse& use, const Figures& figures) const override {
    const double efficiency = efficiency_or(use.efficiency, use.conventions, figures.notes());
    KernelShares s;
    s.mfu = std::clamp(table_share(use, efficiency, figures), 0.0, 1.0);
    s.kernel_loss =
        1.0 - std::min(figures.number("catalogue.efficiency.occupancy_headroom") * efficiency, 1.0);
    s.memory_stall = std::max(0.0, 1.0 - s.mfu - s.kernel_loss);
    return s;
  }

  /// The two sides of the roofline, each alone.
  DeviceNeeds needs(const LatencyWish& wish, Notes& notes) const override {
    const Totals<> t = totals_of(wish.workload, notes);
    const double efficiency = efficiency_or(wish.efficiency, wish.conventions, notes);
    DeviceNeeds n;
    n.weights = n.memory = n.traffic = t.params * (bytes_per_element(wish.precision) * unit::B / unit::param);
    n.work = t.work * wish.batch;
    const auto rates = RequiredRates::solve<double>(
        {.work = n.work, .traffic = n.traffic, .time = wish.latency, .efficiency = efficiency});
    n.rate = rates.required_flops;
    n.bandwidth = rates.required_bw;
    return n;
  }
  Time<> latency(const LatencyWish& wish, ComputeRate<> rate, Bandwidth<> bandwidth) const override {
    Notes quiet;
    const DeviceNeeds n = needs(wish, quiet);
    return max(n.work / (rate * efficiency_or(wish.efficiency, wish.conventions, quiet)),
               n.traffic / bandwidth);
  }

  /// Weights divided evenly over the layers, their arithmetic, and that of attention in a prefill.
  StreamNeeds streamed(const StreamUse& use, const Figures& figures) const override {
    Notes& notes = figures.notes();
    const Totals<> t = totals_of(use.workload, notes);
    const double heads = use.workload.kv_heads().value_or(t.heads),
                 width = t.heads > 0 ? t.width / t.heads : 0;
    StreamNeeds n;
    n.layers = t.layers;
    const Params<> each = t.params / t.layers;
    n.layer_weights = each * (bytes_per_element(use.precision) * unit::B / unit::param);
    n.work_per_sample = each * (2.0 * unit::FLOP / unit::param);
    if (!use.decodes)
      n.work_per_sample =
          n.work_per_sample * use.seq_len + 2.0 * heads * use.seq_len * use.seq_len * width * unit::FLOP;
    n.efficiency = efficiency_or(use.efficiency, use.conventions, notes);
    if (use.workload.has_shape())
      n.held = kv_cache_bytes(use.workload, use.seq_len, use.batch, use.precision) *
               (1.0 + figures.number("catalogue.streaming.activation_headroom"));
    else
      notes.warn("keys and values are not counted: the shape of the model is not known");
    return n;
  }

 private:
  static double table_share(const KernelUse& use, double efficiency, const Figures& figures) {
    const auto at = [&](const char* name) {
      return figures.number(std::string("catalogue.efficiency.") + name);
    };
    const double scale = efficiency / 0.5;  // the table is written for the reference efficiency
    switch (use.kernels) {
      case KernelClass::attention:
        if (use.fused.value_or(false))
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
};

}  // namespace

const DeviceRules& textbook_devices() {
  static const TextbookDevices rules;
  return rules;
}

}  // namespace mlsysim::detail

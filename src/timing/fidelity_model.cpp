#include "timing/views/bare_links_view.hpp"

#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/units/unit.hpp>

#include <algorithm>
#include <numeric>

namespace mlsysim {
namespace {

/// Lowers the rate of attention to that of an earlier generation of kernels.
void slow_attention(Device<>& device, AttentionKernel kernel, const HardwareNode& hardware,
                    const Conventions& c, Notes& notes) {
  if (kernel != AttentionKernel::flash1 && kernel != AttentionKernel::flash2) return;
  device.efficiency.attention *= needed_figure("efficiency.flash2", hardware, c, notes);
  if (kernel == AttentionKernel::flash1)
    device.efficiency.attention *= needed_figure("efficiency.flash1", hardware, c, notes);
}

/// Every operator.
class OperatorModel : public FidelityModel {
 public:
  Fidelity fidelity() const override { return Fidelity::operator_level; }
  ModelView<> model(const Workload& workload, Phase phase, Notes&) const override {
    return model_view(workload, phase);
  }
  Device<> device(const HardwareNode& hardware, const DeviceUse& use, const Conventions& c,
                  Notes& notes) const override {
    Device<> d = device_view(hardware, use.precision, c, notes, use.phase, use.execution);
    if (use.phase == Phase::training) {
      // Narrow formats are for products with weights inside the blocks; the output head stays at 16 bits, and
      // attention where nothing else is asked.
      if (use.kernel == AttentionKernel::fused_fp8)
        d.efficiency.attention *= rate_at(hardware, Precision::fp8) / rate_at(hardware, use.precision);
      else if (bytes_per_element(use.precision) < 2)
        d.efficiency.attention *= rate_at(hardware, Precision::bf16) / rate_at(hardware, use.precision);
      if (bytes_per_element(use.precision) < 2) {
        const double rates = rate_at(hardware, Precision::bf16) / rate_at(hardware, use.precision);
        Notes quiet;
        d.compute.wide_ratio =
            rates * needed_figure("efficiency.matrix", hardware, c, quiet) / d.efficiency.matrix;
      }
      slow_attention(d, use.kernel, hardware, c, notes);
    } else {
      set_cache_format(d, hardware, use.precision, use.kv_precision);
    }
    set_matrix_share(d, use.efficiency);
    return d;
  }
  Links<> links(const Fleet& fleet, const Conventions& c, Notes& notes, Phase phase) const override {
    return links_view(fleet, c, notes, phase);
  }
  Storage training_storage(Precision precision, OptimizerKind optimizer) const override {
    return mlsysim::training_storage(precision, optimizer);
  }
  void set_overlap(Plan<>& plan, const std::optional<double>& overlap, const std::optional<double>& slowdown,
                   const Conventions& c, Notes& notes) const override {
    plan.overlap = overlap.value_or(c.overlap);
    if (!overlap) notes.assume("overlap_efficiency", c.overlap, kDefaults);
    plan.overlap_slowdown = slowdown.value_or(c.overlap_slowdown);
    if (!slowdown) notes.assume("overlap_slowdown", c.overlap_slowdown, kDefaults);
  }
  std::optional<double> answer(double tokens) const override { return tokens; }

 private:
  const PassEstimator<double>& numbers() const override { return operator_estimator<double>(); }
  const PassEstimator<Recorded>& recorder() const override { return operator_estimator<Recorded>(); }
};

/// Estimates time from the same views by the roofline.
class RooflineModel final : public OperatorModel {
 private:
  const PassEstimator<double>& numbers() const override { return roofline_estimator<double>(); }
  const PassEstimator<Recorded>& recorder() const override { return roofline_estimator<Recorded>(); }
};

/// Whether a sample does its work once for each of its tokens; that of a sequence of stated length is divided
/// evenly over them.
bool counts_tokens(const Workload& w, Totals<>& totals, Notes& notes) {
  const auto& i = w.inference;
  if (i.per != WorkUnit::sequence || !i.work) return i.per == WorkUnit::token || i.per == WorkUnit::sequence;
  if (!i.sequence_length) {
    notes.warn("how long a sequence the published work is of is not known: it is priced whatever seq_len is");
    return false;
  }
  totals.work = totals.work / *i.sequence_length;
  notes.assume("work of a token", totals.work,
               "the published work of a sequence, divided evenly over its tokens");
  return true;
}

/// Totals and classic formulas.
class TextbookModel final : public FidelityModel {
 public:
  Fidelity fidelity() const override { return Fidelity::textbook; }

  ModelView<> model(const Workload& w, Phase phase, Notes& notes) const override {
    ModelView<> v;
    if (w.has_shape())
      v = model_view(w, phase);
    else
      v.structure.known = false;
    v.structure.phase = phase;
    v.structure.architecture = w.architecture;
    v.totals = totals_of(w, notes);
    if (v.totals.tables > Params<>() && v.totals.table_rows <= 0)
      notes.warn("the rows that a sample reads are not known: tables cost capacity alone");
    v.structure.attends = v.totals.hidden > 0 && v.totals.heads > 0;
    v.structure.per_token = v.totals.hidden > 0 && counts_tokens(w, v.totals, notes);
    if (!v.structure.known && phase != Phase::training && phase != Phase::inference)
      notes.warn("the KV cache is not counted: the shape of the model is not known");
    return v;
  }

  /// Rates are those of the data sheet, arithmetic derated by one share; memory is all there is.
  Device<> device(const HardwareNode& hardware, const DeviceUse& use, const Conventions& c,
                  Notes& notes) const override {
    Device<> d;
    d.compute.dense = d.compute.vector = rate_at(hardware, use.precision);
    d.efficiency.matrix = use.efficiency.value_or(c.textbook_efficiency);
    if (!use.efficiency) notes.assume("efficiency", c.textbook_efficiency, kDefaults);
    const Data<> weights = use.params * (bytes_per_element(use.precision) * unit::B / unit::param);
    const MemoryLevel level = memory_level(hardware, weights);
    d.memory.bandwidth = level.bandwidth;
    d.memory.capacity = level.capacity;
    d.dispatch_overhead = needed<Time<>>("dispatch_overhead", hardware, c, notes);
    d.conventions.textbook_layer_overhead = c.textbook_layer_overhead;
    notes.assume("layer_overhead", c.textbook_layer_overhead, kDefaults);
    if (use.phase == Phase::training || use.phase == Phase::inference) {
      d.conventions.textbook_activation_share = c.textbook_activation_share;
      notes.assume("activation_share", c.textbook_activation_share, kDefaults);
    }
    // Data beyond device memory crosses the host link in training and inference; others do not note its rate.
    Notes quiet;
    const bool spills = use.phase == Phase::training || use.phase == Phase::inference;
    d.host_link.bandwidth = needed<Bandwidth<>>("host_link.bandwidth", hardware, c, spills ? notes : quiet);
    d.conventions.gradient_bucket = c.gradient_bucket;
    if (use.phase == Phase::training) notes.assume("gradient_bucket", c.gradient_bucket, kDefaults);
    d.power.tdp = hardware.power.tdp.value_or(Power<>());
    d.conventions.idle_fraction = c.idle_fraction;
    return d;
  }

  /// Rates are those of the data sheet; a device has a port of the fabric, or its part of the node's adapters
  /// where they are fewer.
  Links<> links(const Fleet& fleet, const Conventions& c, Notes& notes, Phase phase) const override {
    // No formula reads what collectives are made of: it is settled for those who read the notes.
    Links<> l = notes.wanted() ? links_view(fleet, c, notes, phase) : bare_links_view(fleet, c, notes);
    for (int i = 0; i < l.form.levels; ++i) l[i].share = 1;
    if (fleet.fabric == nullptr || !fleet.fabric->bandwidth || !fleet.levels.empty()) return l;
    const Node& node = *fleet.node;
    const double cards =
        min(1.0, node.nics_per_node.value_or(node.accelerators_per_node) / node.accelerators_per_node);
    l[l.form.levels - 1].bandwidth = *fleet.fabric->bandwidth * cards / fleet.fabric->oversubscription;
    return l;
  }
  /// An fp32 master copy whatever the format, and gradients in the format itself.
  Storage training_storage(Precision precision, OptimizerKind optimizer) const override {
    const double b = bytes_per_element(precision);
    const double states = optimizer == OptimizerKind::none   ? 0.0
                          : optimizer == OptimizerKind::sgd  ? 4.0
                          : optimizer == OptimizerKind::muon ? 8.0
                                                             : 12.0;
    return {b, b, b, b, states, states};
  }
  void set_overlap(Plan<>& plan, const std::optional<double>& overlap, const std::optional<double>&,
                   const Conventions&, Notes&) const override {
    plan.overlap = overlap.value_or(0);
  }
  bool prices_engines() const override { return false; }
  bool lists_operators() const override { return false; }
  void warn_of(const Structure& training, Notes& notes) const override {
    for (const Parts known : {part::none, part::core, part::all})
      if (training.recomputed == known) return;
    notes.warn("textbook fidelity knows no recomputation of one module: it counts like none");
  }
  std::optional<double> answer(double /*tokens*/) const override { return std::nullopt; }

 private:
  const PassEstimator<double>& numbers() const override { return textbook_estimator<double>(); }
  const PassEstimator<Recorded>& recorder() const override { return textbook_estimator<Recorded>(); }
};

}  // namespace

const FidelityModel& operator_model() {
  static const OperatorModel operators;
  return operators;
}

const FidelityModel& textbook_model() {
  static const TextbookModel textbook;
  return textbook;
}

const FidelityModel& fidelity_model_of(Fidelity fidelity) {
  return fidelity == Fidelity::textbook ? textbook_model() : operator_model();
}

const FidelityModel& roofline_model() {
  static const RooflineModel roofline;
  return roofline;
}

const FidelityModel& fidelity_model_for(std::optional<Fidelity> fidelity, const Workload& workload,
                                        Notes& notes) {
  return fidelity_model_of(fidelity_or_default(fidelity, workload, notes));
}

namespace {
/// A lookup reads rows, not the table; where they are not known the tables cost capacity alone.
void set_tables(Totals<>& t, const RecommendationShape& r) {
  t.row_params = r.embedding_dim.value_or(0);
  const double entries = !r.table_rows.empty() && r.embedding_dim
                             ? std::accumulate(r.table_rows.begin(), r.table_rows.end(), 0.0) * t.row_params
                             : r.embedding_entries.value_or(0);
  t.tables = min(Params<>::from_base(entries), t.params);
  t.table_rows = r.rows_per_sample ? *r.rows_per_sample
                                   : std::accumulate(r.table_pooling.begin(), r.table_pooling.end(), 0.0);
}
}  // namespace

Totals<> totals_of(const Workload& w, Notes& notes) {
  Totals<> t;
  if (w.parameters)
    t.params = *w.parameters;
  else if (w.has_shape() || !w.model_size)
    t.params = parameter_count(w);
  t.active_params = w.active_parameters ? *w.active_parameters : t.params;
  if (w.inference.work) {
    t.work = *w.inference.work;
  } else {
    t.work = t.active_params * (2.0 * unit::FLOP / unit::param);
    notes.assume("inference.work", t.work, "2 FLOP per active weight and unit of work");
  }
  t.layers = std::max(1.0, w.layers().value_or(w.outline.layers.value_or(1)));
  t.hidden = w.hidden().value_or(0);
  t.heads = w.heads().value_or(0);
  t.width = t.heads * w.head_dim().value_or(t.heads > 0 ? t.hidden / t.heads : 0);
  if (const auto* experts = w.experts()) {
    t.moe_layers = w.expert_layers();
    t.top_k = experts->top_k.value_or(1);
  }
  if (w.architecture == Architecture::recommendation) set_tables(t, w.recommendation);
  return t;
}

}  // namespace mlsysim

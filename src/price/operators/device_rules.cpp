#include "price/rules/rules.hpp"

#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/physics/routing.hpp>
#include <mlsysim/price/fill.hpp>
#include <mlsysim/price/rules/device.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim::detail {
namespace {

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

/// A pass of the operator list on a device that is not there yet: all but its rates is settled.
struct Draft {
  ModelView<> model;
  Plan<> plan;
  Device<> device;
  Links<> links;
  double vector_ratio = 0;

  [[nodiscard]] Device<> at(ComputeRate<> rate, Bandwidth<> bandwidth) const {
    Device<> d = device;
    d.compute.dense = rate;
    d.compute.vector = rate * vector_ratio;
    d.memory.bandwidth = bandwidth;
    return d;
  }
  [[nodiscard]] Time<> latency(ComputeRate<> rate, Bandwidth<> bandwidth) const {
    return operator_pricer<double>().decode({model, plan, at(rate, bandwidth), links}).total;
  }
};

Draft draft_of(const LatencyWish& wish, Notes& notes) {
  const Conventions& c = wish.conventions;
  const bool decoder = wish.workload.is_language_decoder();
  Draft d;
  d.model = model_view(wish.workload, decoder ? Phase::decode : Phase::inference);
  d.plan.batch = wish.batch;
  if (!is_listed(wish.workload.architecture))
    d.plan.context = seq_len_or_default(wish.seq_len, wish.workload, 0, notes);
  d.plan.new_tokens = decoder ? 1 : d.plan.context;
  set_storage(d.plan, inference_storage(wish.precision, std::nullopt));
  // The device is not there yet: it is of the conventions' class, and one unit.
  const auto of_class = [&](std::string_view path) { return class_figure(path, c, notes); };
  auto& e = d.device.efficiency;
  e.matrix = wish.efficiency ? *wish.efficiency : of_class("efficiency.matrix");
  e.attention = of_class("efficiency.attention");
  e.vector = of_class("efficiency.vector");
  e.memory = of_class("efficiency.memory");
  d.vector_ratio = of_class("compute.vector_ratio");
  d.device.compute.matrix_rows = of_class("compute.matrix_rows");
  d.device.tiles = {.tile_m = of_class("tiles.tile_m"),
                    .tile_n = of_class("tiles.tile_n"),
                    .split_depth = of_class("tiles.split_depth"),
                    .attention_tile = of_class("tiles.attention_tile"),
                    .prompt_tile = of_class("tiles.prompt_tile"),
                    .prompt_group = of_class("tiles.prompt_group")};
  d.device.kernels.launch = Time<>::from_base(of_class("kernels.launch"));
  d.device.dispatch_overhead = Time<>::from_base(of_class("dispatch_overhead"));
  d.device.conventions.memory_reserve = c.memory_reserve;
  d.device.conventions.memory_fragmentation = c.memory_fragmentation;
  notes.assume("memory_fragmentation", c.memory_fragmentation, kDefaults);
  notes.assume("memory_reserve", c.memory_reserve, kDefaults);
  // One device exchanges nothing; the links only must not be empty.
  d.links.level1.bandwidth = d.links.level2.bandwidth = c.fabric_bandwidth;
  return d;
}

/// Rates at which a side takes no time that counts.
constexpr ComputeRate<> kEndlessRate = 1e24 * (unit::FLOP / unit::s);
constexpr Bandwidth<> kEndlessBandwidth = 1e21 * (unit::B / unit::s);

/// The smallest factor that is not late, to the last digits. @param late true below some factor and false
/// above
template <class Late> double least(Late&& late) {
  double low = 1e-3, high = 1;
  while (high < 1e30 && late(high)) high *= 2;
  while (low > 1e-30 && !late(low)) low /= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (late(middle) ? low : high) = middle;
  }
  return high;
}

/// Every operator.
class OperatorDevices final : public DeviceRules {
 public:
  /// The kernels of the class in one forward pass, priced on the device.
  KernelShares shares(const KernelUse& use, const Figures& figures) const override {
    Notes& notes = figures.notes();
    const Conventions& c = use.conventions;
    auto model =
        model_view(use.workload, use.workload.is_language_decoder() ? Phase::prefill : Phase::inference);
    model.structure.kernel = use.fused.value_or(true) ? AttentionKernel::fused : AttentionKernel::unfused;
    if (!use.fused && use.kernels == KernelClass::attention)
      notes.assume("use_flash_attention", "true", "serving and training engines use fused kernels");
    auto device = device_view(use.hardware, use.precision, c, notes);
    if (use.efficiency) device.efficiency.matrix = *use.efficiency;
    const auto links = links_view(use.hardware, 1, c, notes);
    Plan<> plan;
    plan.batch = use.batch;
    if (!is_listed(use.workload.architecture))
      plan.context = plan.new_tokens = seq_len_or_default(use.seq_len, use.workload, 0, notes);
    set_storage(plan, inference_storage(use.precision, std::nullopt));
    OpList<> ops;
    (void)lower(model.structure, model.shape(), model.layers, plan, ops);
    return shares_of(ops, use, device, links);
  }

  /// The device whose every operator adds up to the latency; its rates are in the proportion of what each
  /// would have to be if the other were endless.
  DeviceNeeds needs(const LatencyWish& wish, Notes& notes) const override {
    const Draft d = draft_of(wish, notes);
    const Device<> probe = d.at(1e15 * unit::FLOP / unit::s, 1e12 * unit::B / unit::s);
    const PassRequest<double> request{d.model, d.plan, probe, d.links};
    const auto pass = operator_pricer<double>().decode(request);
    const auto memory = operator_pricer<double>().pass_memory(request);
    DeviceNeeds n{.memory = memory.total,
                  .weights = memory.weights,
                  .traffic = pass.cost.traffic,
                  .work = pass.cost.work,
                  .overhead = pass.cost.overhead};
    if (wish.latency <= n.overhead) return n;
    const auto start = RequiredRates::solve<double>({.work = n.work,
                                                     .traffic = n.traffic,
                                                     .time = wish.latency - n.overhead,
                                                     .efficiency = d.device.efficiency.matrix,
                                                     .memory_share = d.device.efficiency.memory});
    const auto late = [&](ComputeRate<> rate, Bandwidth<> bandwidth) {
      return d.latency(rate, bandwidth) > wish.latency;
    };
    // Each side alone, the other so fast that it does not count: padded products need more arithmetic than
    // the model's.
    const ComputeRate<> rate = start.required_flops * least([&](double x) {
                                 return late(start.required_flops * x, kEndlessBandwidth);
                               });
    const Bandwidth<> bandwidth =
        start.required_bw * least([&](double x) { return late(kEndlessRate, start.required_bw * x); });
    // Then both together, until the whole list takes the target.
    const double scale = least([&](double x) { return late(rate * x, bandwidth * x); });
    n.rate = rate * scale;
    n.bandwidth = bandwidth * scale;
    return n;
  }
  Time<> latency(const LatencyWish& wish, ComputeRate<> rate, Bandwidth<> bandwidth) const override {
    Notes quiet;
    return draft_of(wish, quiet).latency(rate, bandwidth);
  }

  /// Work and memory from the operator list; of a mixture only the experts that the batch touches come in.
  StreamNeeds streamed(const StreamUse& use, const Figures& figures) const override {
    const auto model = model_view(use.workload, use.decodes ? Phase::decode : Phase::prefill);
    Plan<> plan;
    plan.batch = use.batch;
    plan.context = use.seq_len;
    plan.new_tokens = use.decodes ? 1 : use.seq_len;
    set_storage(plan, inference_storage(use.precision, std::nullopt));
    OpList<> ops;
    const auto totals = forward_totals(model.structure, model.shape(), model.layers, plan, ops).stage(1, 1);
    double share = 1;  // of the experts that come in
    if (use.workload.is_moe()) {
      const auto load = ExpertLoad::solve<double>(
          {model.shape().experts, std::max(1.0, model.shape().top_k), use.batch * plan.new_tokens});
      share = load.touched / model.shape().experts;
    }
    const Device<> device = device_view(use.hardware, use.precision, use.conventions, figures.notes());
    StreamNeeds n;
    n.layers = std::max(1.0, model.shape().layers);
    n.layer_weights = plan.weight_bytes * (totals.dense_params + totals.expert_params * share) / n.layers;
    n.work_per_sample = totals.work / (n.layers * use.batch);
    n.efficiency = use.efficiency.value_or(device.efficiency.matrix);
    n.held = totals.state + totals.live + device.conventions.memory_reserve;
    return n;
  }

 private:
  static KernelShares shares_of(const OpList<>& ops, const KernelUse& use, const Device<>& device,
                                const Links<>& links) {
    Work<> work;
    Time<> pass, total, compute, launch;
    for (const auto& op : ops.span()) {
      const auto cost = price(op, device, links);
      pass += cost.total;
      if (!belongs(op, use.kernels)) continue;
      work += op.work * op.count;
      total += cost.total;
      compute += cost.compute;
      launch += cost.overhead;
    }
    if (!(total > Time<>()))
      throw InputError({.id = "mlsysim.catalogue.034",
                        .message = fmt::format("'{}' has no kernels of this class", use.workload.name),
                        .key = "workload_type",
                        .found = std::string(name_of(use.kernels)),
                        .expected = "a class that occurs in the model",
                        .hint = is_listed(use.workload.architecture) ? "use conv" : "use ffn or attention"});
    KernelShares s;
    s.mfu = work / (device.compute.dense * total);
    s.launch_loss = launch / total;
    s.memory_stall = std::max(0.0, (total - launch - compute) / total);
    s.kernel_loss = std::max(0.0, 1.0 - s.mfu - s.launch_loss - s.memory_stall);
    s.of_pass = total / pass;
    return s;
  }
};

}  // namespace

const DeviceRules& operator_devices() {
  static const OperatorDevices rules;
  return rules;
}

}  // namespace mlsysim::detail

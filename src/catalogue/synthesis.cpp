#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/solvers/synthesis.hpp>

#include <mlsysim/price/views.hpp>
#include <mlsysim/physics/requirements.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

using In = SynthesisSolver::Inputs;
using Out = SynthesisSolver::Result;

/// A pass of the operator list on a device that is not there yet: all but its rates is settled.
struct Draft {
  ModelView<> model;
  Plan<> plan;
  Device<> device;
  Links<> links;
  double vector_ratio = 0;

  [[nodiscard]] Time<> latency(ComputeRate<> rate, Bandwidth<> bandwidth, OpList<>& ops) const {
    Device<> d = device;
    d.matrix_rate = rate;
    d.vector_rate = rate * vector_ratio;
    d.memory_bandwidth = bandwidth;
    return pass_time(model, plan, d, links, ops).total;
  }
};

Draft draft_of(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const bool decoder = in.workload->is_language_decoder();
  Draft d;
  d.model = model_view(*in.workload, decoder ? Phase::decode : Phase::inference);
  d.plan.batch = in.batch_size;
  if (in.workload->architecture != Architecture::cnn) d.plan.context = in.seq_len;
  d.plan.new_tokens = decoder ? 1 : d.plan.context;
  set_storage(d.plan, inference_storage(in.precision, std::nullopt));
  d.device.matrix_share = in.efficiency.value_or(c.matrix_share);
  d.device.attention_share = c.attention_share;
  d.device.vector_share = c.vector_share;
  d.device.memory_share = c.memory_share;
  d.device.units = c.units;
  d.device.tile_m = c.tile_m;
  d.device.tile_n = c.tile_n;
  d.device.launch = c.kernel_launch;
  d.device.dispatch = c.dispatch_overhead;
  d.device.reserve = c.memory_reserve;
  d.device.fragmentation = c.memory_fragmentation;
  // One device exchanges nothing; the links only must not be empty.
  d.links.intra_bandwidth = c.host_bandwidth;
  d.links.inter_bandwidth = c.fabric_bandwidth;
  d.vector_ratio = c.vector_rate_ratio;
  for (const auto& [name, value] : {std::pair{"matrix_share", d.device.matrix_share},
                                    {"attention_share", d.device.attention_share},
                                    {"memory_share", d.device.memory_share},
                                    {"vector_rate_ratio", d.vector_ratio}})
    notes.assume(name, value, "zoo/defaults.yaml");
  notes.assume("kernel_launch", d.device.launch, "zoo/defaults.yaml");
  notes.assume("dispatch_overhead", d.device.dispatch, "zoo/defaults.yaml");
  return d;
}

Out textbook(const In& in, Notes& notes) {
  detail::warn_of_unpriced(in, {"seq_len"}, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  if (!in.efficiency) notes.assume("efficiency", c.textbook_efficiency, "zoo/defaults.yaml");
  Out r;
  r.model_size = r.required_memory = r.total_traffic =
      t.params * (bytes_per_element(in.precision) * unit::B / unit::param);
  r.total_ops = t.work * in.batch_size;
  const auto rates =
      RequiredRates::solve<double>({.work = r.total_ops,
                                    .traffic = r.total_traffic,
                                    .time = in.target_latency,
                                    .efficiency = in.efficiency.value_or(c.textbook_efficiency)});
  r.required_flops = rates.required_flops;
  r.required_bw = rates.required_bw;
  r.compute_memory_ratio = rates.balance;
  return r;
}

/// Rates at which a side takes no time that counts.
constexpr ComputeRate<> kEndlessRate = 1e24 * (unit::FLOP / unit::s);
constexpr Bandwidth<> kEndlessBandwidth = 1e21 * (unit::B / unit::s);

/// The smallest factor that is not late, to the last digits. @param late true below some factor and false above
template <class Late>
double least(Late&& late) {
  double low = 1e-3, high = 1;
  while (high < 1e30 && late(high)) high *= 2;
  while (low > 1e-30 && !late(low)) low /= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (late(middle) ? low : high) = middle;
  }
  return high;
}

Outcome<Out> operators(const In& in, Notes& notes) {
  const Draft d = draft_of(in, notes);
  OpList<> ops;
  const auto probe = pass_time(
      d.model, d.plan,
      [&] {
        Device<> x = d.device;
        x.matrix_rate = 1e15 * unit::FLOP / unit::s;
        x.vector_rate = x.matrix_rate * d.vector_ratio;
        x.memory_bandwidth = 1e12 * unit::B / unit::s;
        return x;
      }(),
      d.links, ops);
  Out r;
  r.fidelity = Fidelity::operator_level;
  r.total_ops = probe.cost.work;
  r.total_traffic = probe.cost.traffic;
  r.overhead = probe.cost.overhead + d.device.dispatch;
  r.model_size = probe.memory.weights;
  r.required_memory = probe.memory.total;
  if (in.target_latency <= r.overhead)
    return Infeasible{
        .reason = fmt::format("launches and dispatch alone take {:.4g} ms, the target is {:.4g} ms",
                              r.overhead.in(unit::ms), in.target_latency.in(unit::ms)),
        .smallest_change = fmt::format("a target above {:.4g} ms, or fewer kernels", r.overhead.in(unit::ms)),
        .facts = {{"overhead", fmt::format("{:.6g} ms", r.overhead.in(unit::ms))}}};
  const auto start = RequiredRates::solve<double>({.work = r.total_ops,
                                                   .traffic = r.total_traffic,
                                                   .time = in.target_latency - r.overhead,
                                                   .efficiency = d.device.matrix_share,
                                                   .memory_share = d.device.memory_share});
  const auto late = [&](ComputeRate<> rate, Bandwidth<> bandwidth) { return d.latency(rate, bandwidth, ops) > in.target_latency; };
  // Each side alone, the other so fast that it does not count: padded products need more arithmetic than the model's.
  const ComputeRate<> rate = start.required_flops * least([&](double x) { return late(start.required_flops * x, kEndlessBandwidth); });
  const Bandwidth<> bandwidth = start.required_bw * least([&](double x) { return late(kEndlessRate, start.required_bw * x); });
  // Then both together, until the whole list takes the target.
  const double scale = least([&](double x) { return late(rate * x, bandwidth * x); });
  r.required_flops = rate * scale;
  r.required_bw = bandwidth * scale;
  r.compute_memory_ratio = r.required_flops / r.required_bw;
  return r;
}

}  // namespace

Outcome<SynthesisSolver::Result> SynthesisSolver::solve(const Inputs& in, Notes& notes) const {
  if (fidelity_or_default(in.fidelity, *in.workload, notes) == Fidelity::textbook) return textbook(in, notes);
  return operators(in, notes);
}

Check SynthesisSolver::verify(const Inputs& in, const Result& result) const {
  if (result.fidelity == Fidelity::textbook)
    return {in.target_latency, result.total_traffic / result.required_bw, "target_latency"};
  Notes quiet;
  OpList<> ops;
  return {in.target_latency, draft_of(in, quiet).latency(result.required_flops, result.required_bw, ops),
          "target_latency"};
}

}  // namespace mlsysim

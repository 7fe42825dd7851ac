#include "resolvers/shared/figures.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/solvers/synthesis.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

namespace mlsysim {
namespace {

/// Rates and memory that a device needs for a latency. Both rates are 0 where launches alone take longer.
struct DeviceRequirements {
  ComputeRate<> rate;
  Bandwidth<> bandwidth;
  Data<> memory, weights, traffic;
  Work<> work;
  Time<> overhead;
};

/// The two sides of the roofline, each alone.
struct Textbook {
  DeviceRequirements required;
  double efficiency;

  [[nodiscard]] DeviceRequirements needs() const { return required; }
  [[nodiscard]] Time<> latency(ComputeRate<> rate, Bandwidth<> bandwidth) const {
    return max(required.work / (rate * efficiency), required.traffic / bandwidth);
  }
};

Textbook textbook_of(const SynthesisSolver::Inputs& in, Notes& notes) {
  const Totals<> t = totals_of(*in.workload, notes);
  const double efficiency =
      detail::textbook_efficiency(in.efficiency, conventions_or_standard(in.conventions), notes);
  DeviceRequirements n;
  n.weights = n.memory = n.traffic = t.params * (bytes_per_element(in.precision) * unit::B / unit::param);
  n.work = t.work * in.batch_size;
  const auto rates = RequiredRates::solve<double>(
      {.work = n.work, .traffic = n.traffic, .time = in.target_latency, .efficiency = efficiency});
  n.rate = rates.required_flops;
  n.bandwidth = rates.required_bw;
  return {n, efficiency};
}

/// A pass of the operator list on a device that is not there yet: all but its rates is settled.
struct Operators {
  const SynthesisSolver::Inputs& in;
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
  [[nodiscard]] PassEstimate<> pass(const Device<>& d) const {
    return operator_estimator<double>().decode({model, plan, d.kernels.issue}, d, links);
  }
  [[nodiscard]] Time<> latency(ComputeRate<> rate, Bandwidth<> bandwidth) const {
    return pass(at(rate, bandwidth)).total;
  }
  [[nodiscard]] DeviceRequirements needs() const;
};

Operators operators_of(const SynthesisSolver::Inputs& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const bool decoder = in.workload->is_language_decoder();
  Operators d{.in = in};
  d.model = model_view(*in.workload, decoder ? Phase::decode : Phase::inference);
  d.plan.batch = in.batch_size;
  if (!is_listed(in.workload->architecture))
    d.plan.context = seq_len_or_default(in.seq_len, *in.workload, 0, notes);
  d.plan.new_tokens = decoder ? 1 : d.plan.context;
  set_storage(d.plan, inference_storage(in.precision, std::nullopt));
  // The device is not there yet: it is of the conventions' class, and one unit.
  const auto of_class = [&](std::string_view path) { return class_figure(path, c, notes); };
  auto& e = d.device.efficiency;
  e.matrix = in.efficiency ? *in.efficiency : of_class("efficiency.matrix");
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

/// The device whose every operator adds up to the latency. Its rates are in the proportion of what each would
/// have to be if the other were endless.
DeviceRequirements Operators::needs() const {
  const Device<> probe = at(1e15 * unit::FLOP / unit::s, 1e12 * unit::B / unit::s);
  const auto one = pass(probe);
  const auto memory = operator_estimator<double>().pass_memory(model, plan, probe);
  DeviceRequirements n{.memory = memory.total,
                       .weights = memory.weights,
                       .traffic = one.cost.traffic,
                       .work = one.cost.work,
                       .overhead = one.cost.overhead};
  if (in.target_latency <= n.overhead) return n;
  const auto start = RequiredRates::solve<double>({.work = n.work,
                                                   .traffic = n.traffic,
                                                   .time = in.target_latency - n.overhead,
                                                   .efficiency = device.efficiency.matrix,
                                                   .memory_share = device.efficiency.memory});
  const auto late = [&](ComputeRate<> rate, Bandwidth<> bandwidth) {
    return latency(rate, bandwidth) > in.target_latency;
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

/// Passes the equations of a fidelity to `question`.
template <class F>
auto ask(Fidelity fidelity, const SynthesisSolver::Inputs& in, Notes& notes, F&& question) {
  return fidelity == Fidelity::textbook ? question(textbook_of(in, notes))
                                        : question(operators_of(in, notes));
}

}  // namespace

Outcome<SynthesisSolver::Result> SynthesisSolver::solve(const Inputs& asked, Notes& notes) const {
  const Fidelity fidelity = fidelity_or_default(asked.fidelity, *asked.workload, notes);
  const Inputs in = detail::priced(asked, fidelity, {"seq_len"}, notes);
  const DeviceRequirements needs = ask(fidelity, in, notes, [](const auto& e) { return e.needs(); });
  if (in.target_latency <= needs.overhead)
    return Infeasible{
        .reason = fmt::format("launches and dispatch alone take {:.4g} ms, the target is {:.4g} ms",
                              needs.overhead.in(unit::ms), in.target_latency.in(unit::ms)),
        .smallest_change =
            fmt::format("a target above {:.4g} ms, or fewer kernels", needs.overhead.in(unit::ms)),
        .facts = {{"overhead", fmt::format("{:.6g} ms", needs.overhead.in(unit::ms))}}};
  Result r;
  r.fidelity = fidelity;
  r.required_flops = needs.rate;
  r.required_bw = needs.bandwidth;
  r.compute_memory_ratio = needs.rate / needs.bandwidth;
  r.required_memory = needs.memory;
  r.model_size = needs.weights;
  r.total_ops = needs.work;
  r.total_traffic = needs.traffic;
  r.overhead = needs.overhead;
  return r;
}

Check SynthesisSolver::verify(const Inputs& in, const Result& result) const {
  Notes quiet;
  const Time<> latency = ask(result.fidelity, in, quiet, [&](const auto& e) {
    return e.latency(result.required_flops, result.required_bw);
  });
  return {in.target_latency, latency, "target_latency"};
}

}  // namespace mlsysim

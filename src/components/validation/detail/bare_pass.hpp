#pragma once
/// Lists of operators without a model around them, priced and with the power that they draw.

#include "row_measurand.hpp"

#include <mlsysim/lowering/emit.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/timing/detail/loaded.hpp>
#include <mlsysim/timing/pass_cost.hpp>

#include <algorithm>

namespace mlsysim::detail {

/// Operators one after the other, as the comparison sees them; no sooner than the host has issued them.
inline Prediction priced(const OpList<>& ops, const Device<>& d, const PredictionContext& context,
                         const Links<>& links = {}) {
  const auto all = [](const Op<>&) { return true; };
  if (context.comparison == Yardstick::roofline) return {roofline_of(ops, d, all).base()};
  if (context.comparison == Yardstick::textbook) {
    // A student's derating: half of the peak, the whole bandwidth, one dispatch.
    Device<> half = d;
    half.compute.dense = d.compute.dense * context.constants->conventions().textbook_efficiency;
    return {(roofline_of(ops, half, all) + d.dispatch_overhead).base()};
  }
  PassBreakdown<> sum;
  for (const auto& op : ops) sum.add(op, price(op, d, links), d.kernels.issue);
  return {max(sum.total, sum.host_launch_time).base(), terms_of(sum, context)};
}

/// Reading of the power of a device that executes what `sum` adds up over and over, each round in `duration`
/// [W]. The textbook knows full power; the roofline a power that rises with the busy time.
/// @param resident time in kernels
/// @param settled how far a meter that averages over a window gets from idle power to what is drawn before
/// the rounds end
inline Prediction drawn(const PassBreakdown<>& sum, const Device<>& d, Time<> duration, Time<> resident,
                        const PredictionContext& context, double settled = 1) {
  if (d.power.tdp <= Power<>()) return {0, {}, "the device states no power"};
  const Time<> full = context.comparison == Yardstick::textbook ? duration
                      : context.comparison == Yardstick::roofline
                          ? max(sum.work / d.compute.dense, sum.traffic / d.memory.bandwidth)
                          : detail::loaded(sum.work, sum.traffic, resident, d);
  const double load = std::min(1.0, full / duration) * settled;
  Prediction p{EnergyProportional::solve<double>({.tdp = d.power.tdp,
                                                  .utilization = load,
                                                  .time = duration,
                                                  .idle_fraction = d.conventions.idle_fraction})
                   .power.base()};
  if (context.wants_terms) p.terms = {{"load", load, TermRole::fact}};
  return p;
}
/// ... of operators, whose kernels are resident for all of that but their launches and transfers.
inline Prediction drawn(const OpList<>& ops, const Device<>& d, Time<> duration,
                        const PredictionContext& context, double settled = 1) {
  PassBreakdown<> sum;
  for (const auto& op : ops) sum.add(op, price(op, d, {}), Time<>());
  const Time<> resident = max(duration - sum.overhead - sum.network - sum.host, Time<>());
  return drawn(sum, d, duration, resident, context, settled);
}

/// The frame that the rules of the lowering work in, without a model around it.
struct Bare {
  Structure structure;
  StackView<> stack;
  Plan<> plan;
  OpList<> ops;

  explicit Bare(const Storage& storage) {
    structure.phase = Phase::prefill;
    stack.layers = stack.hidden = 1;
    set_storage(plan, storage);
  }
  Frame<double> frame() { return {structure, stack, plan, ops}; }
};

}  // namespace mlsysim::detail

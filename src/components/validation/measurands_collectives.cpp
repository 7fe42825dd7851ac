#include "detail/row_measurand.hpp"

#include <mlsysim/lowering/single_op.hpp>
#include <mlsysim/physics/routing.hpp>
#include <mlsysim/timing/collective.hpp>
#include <mlsysim/timing/op_price.hpp>

namespace mlsysim::detail {
namespace {

struct CollectiveRow {
  const Node* node = nullptr;
  const NetworkFabric* fabric = nullptr;
  Collective collective = Collective::all_reduce;
  double ranks = 1;
  double ranks_per_node = 0;
  double payload = 0;
  bool engine = false;
  bool ring = false;
  double process_devices = 0;
  bool blocking = false;
  static constexpr auto fields() {
    using R = CollectiveRow;
    return rows(field(&R::node, "node", "", "node with its devices"),
                field(&R::fabric, "fabric", "", "network between nodes").defaulted("one node"),
                field(&R::collective, "collective", "", "pattern").defaulted("all_reduce"),
                field(&R::ranks, "ranks", "", "participants").at_least(2).counted(),
                field(&R::ranks_per_node, "ranks_per_node", "", "participants on one node")
                    .non_negative()
                    .counted()
                    .defaulted("all that fit"),
                field(&R::payload, "payload", "", "bytes of the whole buffer").positive(),
                field(&R::engine, "engine", "", "a serving engine's own all-reduce kernels take part")
                    .defaulted("no"),
                field(&R::ring, "ring", "", "all-reduces take the ring through all devices and no other way")
                    .defaulted("the fastest way"),
                field(&R::process_devices, "process_devices", "",
                      "devices that one process of the host drives, one launch after the other")
                    .non_negative()
                    .counted()
                    .defaulted("calls are captured in a graph"),
                field(&R::blocking, "blocking", "", "the framework waits for each call before the next")
                    .defaulted("no"));
  }
};

/// The time that the caller sees: that of the device, or of the host, which launches on all its devices
/// before it returns to the first. A framework that waits for each call adds its dispatch and one launch.
Time<> as_called(const CollectiveRow& c, Time<> device, const Device<>& d) {
  const Time<> seen = max(device, c.process_devices * d.kernels.issue);
  return c.blocking ? seen + d.dispatch_overhead + d.kernels.issue : seen;
}

/// The time on the devices.
Time<> on_devices(const CollectiveRow& c, Data<> payload, const Device<>& device, const Links<>& links) {
  const Spread<> spread = spread_of(c.ranks, 1.0, links);
  if (!c.ring || spread.nodes <= 1)
    return price(collective_op(c.collective, payload, c.ranks), device, links).total;
  return ring_through(payload, spread, inside_rate(spread.inner, 1.0, links), links);
}

Prediction collective_time_of(const CollectiveRow& c, const PredictionContext& context) {
  const Conventions& conventions = context.constants->conventions();
  const RowFleet machine(*c.node, c.fabric, c.ranks, context, c.ranks_per_node);
  const Fleet& fleet = machine.fleet;
  Notes quiet;
  const Links<> links = links_view(fleet, conventions, quiet, c.engine ? Phase::decode : Phase::training);
  const double passes = c.collective == Collective::all_reduce ? 2.0 : 1.0;
  const Data<> payload = c.payload * unit::B;
  const Time<> wire =
      passes * (1.0 - 1.0 / c.ranks) * payload /
      (fleet.count > 1 ? min(links.level1.bandwidth, links.level2.bandwidth) : links.level1.bandwidth);
  if (context.comparison == Yardstick::roofline) return {wire.base()};
  if (context.comparison == Yardstick::textbook) {
    const Time<> alpha = fleet.count > 1 ? links.level2.latency : links.level1.latency;
    return {(wire + passes * (c.ranks - 1.0) * alpha).base()};
  }
  const auto& device = context.constants->kernel_device(
      *c.node->accelerator, machine.node.accelerator->compute.default_precision, nullptr,
      Phase::training);  // launched by a host, not replayed
  const Time<> seen = as_called(c, on_devices(c, payload, device, links), device);
  Prediction out{seen.base()};
  if (context.wants_terms)
    out.terms = {{"wire", wire.base()}, {"start-up and inefficiency", (seen - wire).base()}};
  return out;
}

struct ExchangeRow {
  FullestRank::Inputs<double> in{};
  const Node* node = nullptr;
  const NetworkFabric* fabric = nullptr;
  double hidden = 1, groups = 1, limited_groups = 1;
  double value_bytes = 2;
  static constexpr auto fields() {
    using R = ExchangeRow;
    return rows(
        field(&R::in, "in", "", "inputs of FullestRank: experts, and the tokens of all ranks"),
        field(&R::node, "node", "", "node with its devices"),
        field(&R::fabric, "fabric", "", "network between nodes").defaulted("one node"),
        field(&R::hidden, "hidden", "", "values of a token").at_least(1).counted(),
        field(&R::groups, "groups", "", "groups of experts").at_least(1).counted().defaulted("one"),
        field(&R::limited_groups, "limited_groups", "", "groups that a token may visit")
            .at_least(1)
            .counted()
            .defaulted("one"),
        field(&R::value_bytes, "value_bytes", "", "bytes of a value on its way, scales included").positive());
  }
};

/// Bytes over time where a token crosses once to each node, or to each rank of a single one, as the
/// benchmarks of DeepEP count: those that stay with the sender too.
Prediction exchange_rate(const ExchangeRow& c, const PredictionContext& context) {
  const Conventions& conventions = context.constants->conventions();
  const RowFleet machine(*c.node, c.fabric, c.in.ranks, context);
  Notes quiet;
  const Links<> links = links_view(machine.fleet, conventions, quiet, Phase::training);
  const auto visited = [&](double parts) {
    return DistinctParts::solve<double>({c.in.experts, c.in.top_k, c.groups, c.limited_groups, parts})
        .visited;
  };
  const bool several = machine.fleet.count > 1;
  const Data<> row = c.in.tokens / c.in.ranks * c.hidden * c.value_bytes * unit::B;
  const Data<> counted = row * visited(several ? machine.fleet.count : c.in.ranks);
  // Only for a yardstick: what leaves, over the link or card.
  const double parts = several ? machine.fleet.count : c.in.ranks;
  const Bandwidth<> wire = (several ? links.level2 : links.level1).bandwidth;
  if (context.comparison == Yardstick::roofline) return {(wire / (1.0 - 1.0 / parts)).base()};
  if (context.comparison == Yardstick::textbook)
    return {(counted / AllToAll::solve<double>({.message = row * c.in.top_k,
                                                .ranks = c.in.ranks,
                                                .bandwidth = wire,
                                                .alpha = (several ? links.level2 : links.level1).latency})
                           .time)
                .base()};
  Op<> op = collective_op<double>(Collective::all_to_all,
                                  row * c.in.top_k * FullestRank::solve<double>(c.in).imbalance, c.in.ranks);
  op.routed = {c.in.experts, c.in.top_k, c.groups, c.limited_groups, true};
  const Time<> time = collective_time(op, links);
  Prediction out{(counted / time).base()};
  if (context.wants_terms) out.terms = {{"exchange", time.base()}};
  return out;
}

}  // namespace

std::vector<const Measurand*> collective_measurands() {
  static const RowMeasurand<CollectiveRow, collective_time_of> a(
      "collective", measured("collective"), MeasurandKind::time, "us", "time of one collective");
  static const RowMeasurand<ExchangeRow, exchange_rate> b("exchange_rate", measured("collective"),
                                                          MeasurandKind::rate, "GB/s",
                                                          "bytes of an experts' exchange over its time");
  return {&a, &b};
}

}  // namespace mlsysim::detail

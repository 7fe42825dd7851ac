#include "detail/case_measurand.hpp"

#include <mlsysim/lowering/single_op.hpp>
#include <mlsysim/price/op_price.hpp>

#include <cmath>

namespace mlsysim::detail {
namespace {

struct CollectiveCase {
  const Node* node = nullptr;
  const NetworkFabric* fabric = nullptr;
  Collective collective = Collective::all_reduce;
  double ranks = 1;
  double ranks_per_node = 0;
  double payload = 0;
  bool engine = false;
  static constexpr auto fields() {
    using C = CollectiveCase;
    return rows(field(&C::node, "node", "", "node with its devices"),
                field(&C::fabric, "fabric", "", "network between nodes").defaulted("one node"),
                field(&C::collective, "collective", "", "pattern").defaulted("all_reduce"),
                field(&C::ranks, "ranks", "", "participants").at_least(2).counted(),
                field(&C::ranks_per_node, "ranks_per_node", "", "participants on one node")
                    .non_negative()
                    .counted()
                    .defaulted("all that fit"),
                field(&C::payload, "payload", "", "bytes of the whole buffer").positive(),
                field(&C::engine, "engine", "", "a serving engine's own all-reduce kernels take part")
                    .defaulted("no"));
  }
};

Prediction collective_time_of(const CollectiveCase& c, const PredictionContext& context) {
  const Conventions& conventions = context.constants->conventions();
  Node node = *c.node;
  node.accelerator = &context.constants->device(*c.node->accelerator);
  if (c.ranks_per_node > 0) node.accelerators_per_node = c.ranks_per_node;
  Fleet fleet;
  fleet.node = &node;
  fleet.fabric = c.fabric;
  fleet.count = std::ceil(c.ranks / node.accelerators_per_node);
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
  const Device<> device =
      device_view(*node.accelerator, node.accelerator->compute.default_precision, conventions, quiet);
  const auto cost = price(collective_op(c.collective, payload, c.ranks), device, links);
  Prediction out{cost.total.base()};
  if (context.wants_terms)
    out.terms = {{"wire", wire.base()}, {"start-up and inefficiency", (cost.total - wire).base()}};
  return out;
}

}  // namespace

std::vector<const Measurand*> collective_measurands() {
  static const CaseMeasurand<CollectiveCase, collective_time_of> a("collective", MeasurandKind::time, "us",
                                                                   "time of one collective");
  return {&a};
}

}  // namespace mlsysim::detail

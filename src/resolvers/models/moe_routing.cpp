#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/routing.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/models/moe_routing.hpp>
#include <mlsysim/timing/fidelity_model.hpp>
#include <mlsysim/timing/pass_cost.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

void check(const MoERoutingModel::Inputs& in) {
  const auto& w = *in.workload;
  if (!w.is_moe())
    throw InputError({.id = "mlsysim.catalogue.037",
                      .message = fmt::format("'{}' has no experts", w.name),
                      .key = "workload",
                      .expected = "a mixture of experts (feed_forward: {experts: {count, top_k}})",
                      .hint = "e.g. Mixtral_8x7B or DeepSeek_V3"});
  const double experts = *w.experts()->count, whole = experts / in.ep_size;
  if (in.ep_size > experts || whole != static_cast<double>(static_cast<long long>(whole)))
    throw DomainError(
        {.id = "mlsysim.catalogue.038",
         .message = "the ranks do not divide the experts",
         .key = "ep_size",
         .found = fmt::format("{:g}", in.ep_size),
         .expected = fmt::format("a divisor of {:g}, the experts of a layer of '{}'", experts, w.name),
         .hint = "choose a degree that divides the experts"});
}

/// Experts evenly loaded, tokens that travel once.
struct TextbookRouting {
  static double imbalance(const ExpertLoad::Result<double>& /*chance*/, Notes& notes) {
    notes.assume("routing_imbalance_factor", 1.0, "even routing");
    return 1;
  }
  static double dearer(double uneven, Params<> /*routed*/, Params<> /*active*/) { return uneven; }
  static Data<> rank_message(Data<> all, double /*ranks*/) { return all; }
  static Time<> travel(Data<> message, double ranks, double /*layers*/, const Fleet& fleet,
                       const Conventions& c, Notes& notes) {
    const auto* fabric = fleet.fabric;
    Bandwidth<> link = c.fabric_bandwidth;
    if (fabric != nullptr && fabric->bandwidth)
      link = *fabric->bandwidth / fabric->oversubscription;
    else
      notes.assume("fabric_bandwidth", link, kDefaults);
    Time<> alpha = c.inter_latency;
    if (fabric != nullptr && fabric->latency)
      alpha = *fabric->latency;
    else
      notes.assume("inter_latency", alpha, kDefaults);
    return AllToAll::solve<double>({.message = message, .ranks = ranks, .bandwidth = link, .alpha = alpha})
        .time;
  }
};

/// Chance loads the experts unevenly, and tokens travel to the experts and back in every layer.
struct OperatorRouting {
  static double imbalance(const ExpertLoad::Result<double>& chance, Notes& notes) {
    notes.assume("routing_imbalance_factor", chance.imbalance, "raabsteger1998balls");
    return chance.imbalance;
  }
  /// Only the routed experts last longer; attention, norms and shared experts do not.
  static double dearer(double uneven, Params<> routed, Params<> active) {
    return 1.0 + min(routed, active) / active * (uneven - 1.0);
  }
  static Data<> rank_message(Data<> all, double ranks) { return all / ranks; }
  static Time<> travel(Data<> message, double ranks, double layers, const Fleet& fleet, const Conventions& c,
                       Notes& notes) {
    Op<> exchange;
    exchange.kind = OpKind::collective;
    exchange.collective = Collective::all_to_all;
    exchange.message = message;
    exchange.ranks = ranks;
    exchange.count = 2 * layers;
    const auto& hardware = *fleet.node->accelerator;
    const Device<> device = device_view(hardware, hardware.compute.default_precision, c, notes);
    return price(exchange, device, links_view(fleet, c, notes)).network;
  }
};

template <class Equations>
MoERoutingModel::Result routed_by(const MoERoutingModel::Inputs& in, Notes& notes) {
  const Workload& w = *in.workload;
  const double experts = *w.experts()->count, top_k = std::max(1.0, w.experts()->top_k.value_or(1));
  const double tokens = in.batch_size * seq_len_or_default(in.seq_len, w, 0, notes),
               b = bytes_per_element(in.precision);
  const double hidden = w.hidden().value_or(4096);
  if (!w.hidden()) notes.assume("hidden", hidden, "convention of MLSys-im, the width is not known");
  const auto load = ExpertLoad::solve<double>({experts, top_k, tokens});
  MoERoutingModel::Result r;
  r.experts_touched = load.touched;
  r.routing_imbalance_factor =
      in.routing_imbalance_factor ? *in.routing_imbalance_factor : Equations::imbalance(load, notes);
  r.effective_active_experts = std::min(experts, top_k * r.routing_imbalance_factor);
  r.ep_size = in.ep_size;
  r.layers_with_experts = std::max(1.0, w.expert_layers());
  const double uneven = r.effective_active_experts / top_k, matrices = w.experts()->gated ? 3 : 2;
  const Params<> active = totals_of(w, notes).active_params;
  const Params<> routed = r.layers_with_experts * top_k * matrices * hidden *
                          w.experts()->width.value_or(4 * hidden) * unit::param;
  r.active_parameter_multiplier = Equations::dearer(uneven, routed, active);
  r.effective_active_parameters = active * r.active_parameter_multiplier;
  const Data<> message = Equations::rank_message(tokens * hidden * b * top_k * uneven * unit::B, in.ep_size);
  r.token_dispatch_size = message * ((in.ep_size - 1) / in.ep_size);
  if (in.fleet != nullptr && in.ep_size > 1)
    r.all_to_all_latency = Equations::travel(message, in.ep_size, r.layers_with_experts, *in.fleet,
                                             conventions_or_standard(in.conventions), notes);
  return r;
}

}  // namespace

MoERoutingModel::Result MoERoutingModel::solve(const Inputs& in, Notes& notes) const {
  check(in);
  const Fidelity fidelity = fidelity_or_operators(in.fidelity);
  Result r = fidelity == Fidelity::textbook ? routed_by<TextbookRouting>(in, notes)
                                            : routed_by<OperatorRouting>(in, notes);
  r.fidelity = fidelity;
  return r;
}

}  // namespace mlsysim

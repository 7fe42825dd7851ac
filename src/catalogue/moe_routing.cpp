#include "detail/figures.hpp"

#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/moe_routing.hpp>
#include <mlsysim/price/views.hpp>
#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/routing.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace mlsysim {
namespace {

using In = MoERoutingModel::Inputs;

void check(const In& in) {
  const auto& w = *in.workload;
  if (!w.is_moe())
    throw InputError({.id = "mlsysim.catalogue.037",
                      .message = fmt::format("'{}' has no experts", w.name),
                      .key = "workload",
                      .expected = "a mixture of experts (moe: {experts, top_k})",
                      .hint = "e.g. Mixtral_8x7B or DeepSeek_V3"});
  const double experts = *w.moe.experts, whole = experts / in.ep_size;
  if (in.ep_size > experts || whole != static_cast<double>(static_cast<long long>(whole)))
    throw DomainError(
        {.id = "mlsysim.catalogue.038",
         .message = "the ranks do not divide the experts",
         .key = "ep_size",
         .found = fmt::format("{:g}", in.ep_size),
         .expected = fmt::format("a divisor of {:g}, the experts of a layer of '{}'", experts, w.name),
         .hint = "choose a degree that divides the experts"});
}

/// Layers that have routed experts.
double expert_layers(const Workload& w) {
  const double layers = w.shape.layers.value_or(1), dense = w.moe.dense_layers.value_or(0);
  return std::max(1.0, (layers - dense) / w.moe.moe_every.value_or(1));
}

}  // namespace

MoERoutingModel::Result MoERoutingModel::solve(const Inputs& in, Notes& notes) const {
  check(in);
  Result r;
  r.fidelity = detail::refined_by_default(in.fidelity);
  const bool textbook = r.fidelity == Fidelity::textbook;
  const Workload& w = *in.workload;
  const double experts = *w.moe.experts, top_k = std::max(1.0, w.moe.top_k.value_or(1));
  const double tokens = in.batch_size * in.seq_len, b = bytes_per_element(in.precision);
  const double hidden = w.shape.hidden.value_or(4096);
  if (!w.shape.hidden) notes.assume("hidden", hidden, "convention of MLSys-im, the width is not known");
  const auto load = ExpertLoad::solve<double>({experts, top_k, tokens});
  r.experts_touched = load.touched;
  r.routing_imbalance_factor = in.routing_imbalance_factor.value_or(textbook ? 1.0 : load.imbalance);
  if (!in.routing_imbalance_factor)
    notes.assume("routing_imbalance_factor", r.routing_imbalance_factor,
                 textbook ? "even routing" : "raabsteger1998balls");
  r.effective_active_experts = std::min(experts, top_k * r.routing_imbalance_factor);
  const double uneven = r.effective_active_experts / top_k;
  const Params<> active = textbook_totals(w, notes).active_params;
  r.ep_size = in.ep_size;
  r.layers_with_experts = expert_layers(w);
  const Conventions& c = conventions_or_standard(in.conventions);
  const Data<> all = tokens * hidden * b * top_k * uneven * unit::B;
  if (textbook) {
    r.active_parameter_multiplier = uneven;
    r.token_dispatch_size = all * ((in.ep_size - 1) / in.ep_size);
    if (in.fleet != nullptr && in.ep_size > 1) {
      const auto* fabric = in.fleet->fabric;
      const Bandwidth<> link = fabric != nullptr && fabric->bandwidth
                                   ? *fabric->bandwidth / fabric->oversubscription
                                   : c.fabric_bandwidth;
      const Time<> alpha = fabric != nullptr && fabric->latency ? *fabric->latency : c.inter_latency;
      r.all_to_all_latency =
          AllToAll::solve<double>({.message = all, .ranks = in.ep_size, .bandwidth = link, .alpha = alpha})
              .time;
    }
  } else {
    // Only the routed experts last longer; attention, norms and shared experts do not.
    const double matrices = w.shape.gated_ffn ? 3 : 2;
    const Params<> routed = r.layers_with_experts * top_k * matrices * hidden *
                            w.moe.expert_ffn.value_or(w.shape.ffn.value_or(4 * hidden)) * unit::param;
    r.active_parameter_multiplier = 1.0 + min(routed, active) / active * (uneven - 1.0);
    const Data<> mine = all / in.ep_size;
    r.token_dispatch_size = mine * ((in.ep_size - 1) / in.ep_size);
    if (in.fleet != nullptr && in.ep_size > 1) {
      Op<> exchange;
      exchange.kind = OpKind::collective;
      exchange.collective = Collective::all_to_all;
      exchange.message = mine;
      exchange.ranks = in.ep_size;
      exchange.count = 2 * r.layers_with_experts;  // to the experts and back
      const auto& hardware = *in.fleet->node->accelerator;
      const Device<> device = device_view(hardware, hardware.compute.default_precision, c, notes);
      r.all_to_all_latency = price(exchange, device, links_view(*in.fleet, c, notes)).network;
    }
  }
  r.effective_active_parameters = active * r.active_parameter_multiplier;
  return r;
}

}  // namespace mlsysim

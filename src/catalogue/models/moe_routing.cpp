#include <mlsysim/catalogue/defaults.hpp>
#include <mlsysim/catalogue/models/moe_routing.hpp>
#include <mlsysim/physics/routing.hpp>
#include <mlsysim/price/pricing.hpp>
#include <mlsysim/price/rules/network.hpp>

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

}  // namespace

MoERoutingModel::Result MoERoutingModel::solve(const Inputs& in, Notes& notes) const {
  check(in);
  const Pricing& pricing = pricing_named(in.fidelity);
  const NetworkRules& rules = pricing.network();
  const Workload& w = *in.workload;
  const double experts = *w.experts()->count, top_k = std::max(1.0, w.experts()->top_k.value_or(1));
  const double tokens = in.batch_size * seq_len_or_default(in.seq_len, w, 0, notes),
               b = bytes_per_element(in.precision);
  const double hidden = w.hidden().value_or(4096);
  if (!w.hidden()) notes.assume("hidden", hidden, "convention of MLSys-im, the width is not known");
  const auto load = ExpertLoad::solve<double>({experts, top_k, tokens});
  Result r;
  r.fidelity = pricing.fidelity();
  r.experts_touched = load.touched;
  r.routing_imbalance_factor =
      in.routing_imbalance_factor ? *in.routing_imbalance_factor : rules.imbalance(load, notes);
  r.effective_active_experts = std::min(experts, top_k * r.routing_imbalance_factor);
  r.ep_size = in.ep_size;
  r.layers_with_experts = std::max(1.0, w.expert_layers());
  const double uneven = r.effective_active_experts / top_k, matrices = w.experts()->gated ? 3 : 2;
  const Params<> active = totals_of(w, notes).active_params;
  const Params<> routed = r.layers_with_experts * top_k * matrices * hidden *
                          w.experts()->width.value_or(4 * hidden) * unit::param;
  r.active_parameter_multiplier = rules.dearer(uneven, routed, active);
  r.effective_active_parameters = active * r.active_parameter_multiplier;
  const Data<> message = rules.rank_message(tokens * hidden * b * top_k * uneven * unit::B, in.ep_size);
  r.token_dispatch_size = message * ((in.ep_size - 1) / in.ep_size);
  if (in.fleet != nullptr && in.ep_size > 1)
    r.all_to_all_latency = rules.travel(message, in.ep_size, r.layers_with_experts, *in.fleet,
                                        conventions_or_standard(in.conventions), notes);
  return r;
}

}  // namespace mlsysim

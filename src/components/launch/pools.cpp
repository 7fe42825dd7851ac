#include "detail/pools.hpp"

#include <mlsysim/engine/evaluator.hpp>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// Flags that make an engine one half of a disaggregated service, as its documentation has them.
std::string role_flags(LaunchFormat format, bool prefill) {
  if (format == LaunchFormat::sglang)
    return prefill ? " --disaggregation-mode prefill" : " --disaggregation-mode decode";
  if (format == LaunchFormat::trtllm) return prefill ? " --server_role CONTEXT" : " --server_role GENERATION";
  return std::string(R"( --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":")") +
         (prefill ? "kv_producer" : "kv_consumer") + "\"}'";
}

}  // namespace

std::vector<LaunchedPool> launched_pools(const Scenario& scenario, LaunchFormat format) {
  Notes quiet;
  const ResolvedScenario r(scenario, quiet);
  Scenario each = scenario;
  each.hardware = &r.hardware();
  each.fleet = nullptr;
  for (auto* count : {&each.node_count, &each.accelerators_per_node, &each.prefill_replicas,
                      &each.prefill_tp_size, &each.prefill_ep_size, &each.decode_replicas})
    count->reset();
  each.network_bandwidth.reset();
  each.arrival_rate.reset();
  each.load = Load::concurrency;
  each.batch_size = std::max(1.0, std::ceil(scenario.batch_size / r.replicas()));
  const auto with = [&](double tp, double ep) {
    Scenario s = each;
    s.tp_size = tp;
    s.ep_size = ep;
    s.accelerators = tp * s.pp_size * ep;
    return s;
  };
  const double tp = r.tp_size(), ep = scenario.ep_size;
  return {{"prefill", *scenario.prefill_replicas,
           with(scenario.prefill_tp_size.value_or(tp), scenario.prefill_ep_size.value_or(ep)),
           role_flags(format, true)},
          {"decode", r.replicas(), with(tp, ep), role_flags(format, false)}};
}

}  // namespace mlsysim::detail

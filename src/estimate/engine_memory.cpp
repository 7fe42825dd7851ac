#include "estimate/engine_memory.hpp"

#include <mlsysim/estimate/cache_rule.hpp>
#include <mlsysim/units/unit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim::detail {
namespace {

/// The step of a device; null where the engine has none for it.
const MemoryStep* step_of(const EngineMemoryRule& rule, Data<> total) {
  for (const auto& s : rule.steps)
    if (!s.below || total < *s.below) return &s;
  return nullptr;
}

/// Memory that an engine reserves by its table, e.g. for pass tokens, ranks and captured graphs.
Data<> kept_by(const EngineMemoryRule& rule, const ShareDemand& d) {
  const MemoryKept& k = *rule.kept;
  const double graphs = graph_requests(rule, d.total, d.tensor_parallel).value_or(0);
  Data<> kept = k.base + std::max(d.pass_tokens, k.least_pass_tokens) * k.pass_token + d.ranks * k.rank +
                graphs * k.graph_request;
  if (d.latent && k.latent) kept += *k.latent;
  if (k.least && d.total >= k.least_from.value_or(Data<>())) kept = max(kept, *k.least);
  return kept;
}

}  // namespace

double engine_share(const EngineMemoryRule& rule, const ShareDemand& d) {
  if (!rule.kept) return rule.share.value_or(1);
  const double scale = std::pow(10.0, rule.kept->digits);
  return std::round((d.total - kept_by(rule, d)) / d.total * scale) / scale;
}

std::optional<double> graph_requests(const EngineMemoryRule& rule, Data<> total, double tensor_parallel) {
  const auto* s = step_of(rule, total);
  if (s == nullptr) return std::nullopt;
  return tensor_parallel >= 4 && s->graph_batch4 ? s->graph_batch4 : s->graph_batch;
}

double batched_tokens(const EngineMemoryRule& rule, Data<> total) {
  const auto* s = step_of(rule, total);
  return s == nullptr ? 1 : s->pass_tokens;
}

EngineMemory engine_memory(const EngineMemoryRule& rule, const EngineDemand& d, Data<> activations) {
  EngineMemory out;
  const auto hold = [&](std::string what, Data<> bytes) {
    if (bytes == Data<>()) return;
    out.held.push_back({.part = MemoryPart::margin, .what = std::move(what), .bytes = bytes});
  };
  const double pass = d.shares.pass_tokens.value_or(batched_tokens(rule, d.total));
  const double share = d.shares.cache ? 1  // of the device, as far as it reaches
                       : d.shares.fraction
                           ? *d.shares.fraction
                           : engine_share(rule, {d.total, pass, d.ranks, d.tensor_parallel, d.latent});
  const auto outside = fmt::format("outside {} {}", rule.knob, share);
  const auto work = fmt::format("activations of the largest pass, {:g} tokens", pass);
  switch (rule.share_of) {
    case ShareOf::total:
      hold(outside, d.total * (1 - share));
      hold(work, activations);
      break;
    case ShareOf::free: {
      const Data<> free = d.total - d.reserve, slack = free * (1 - share);
      hold(outside + ", for activations and graphs", slack);
      if (activations > slack)
        out.notes.push_back(
            fmt::format("activations of a pass of {:g} tokens are more than what is kept for them: "
                        "the engine starts, and may run out of memory later",
                        pass));
      break;
    }
    case ShareOf::rest: {
      const Data<> rest = d.total - d.weights - d.reserve - activations;
      if (share < 1) hold(outside, rest * (1 - share));
      hold(work, activations);
      break;
    }
  }
  const Data<> margin = d.shares.margin.value_or(rule.margin.value_or(Data<>()));
  if (margin > Data<>()) {
    hold(rule.share ? "margin" : fmt::format("margin of {}", rule.knob), margin);
  }
  out.pool = pool_of<double>(rule.share_of, share, {d.total, d.weights, d.reserve, activations, margin});
  if (rule.states_first) out.pool -= d.state;
  if (const auto given = d.shares.cache) {
    out.excess = max(*given - max(out.pool, Data<>()), Data<>());
    out.pool = *given;
  }
  const double block = d.shares.block_tokens.value_or(rule.block_tokens);
  const Data<> wanted = d.cache + (rule.states_first ? Data<>() : d.state);
  const Data<> token = wanted / (d.requests * d.context);
  out.pool = max(out.pool, Data<>());
  out.tokens = token > Data<>()
                   ? std::max(0.0, std::floor(out.pool / (token * block)) - rule.blocks_without) * block
                   : 0;
  out.fits = out.excess == Data<>() && out.tokens >= d.requests * std::ceil(d.context / block) * block;
  return out;
}

}  // namespace mlsysim::detail

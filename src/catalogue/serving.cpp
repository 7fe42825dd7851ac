#include "detail/plan_check.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/catalogue/textbook.hpp>
#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using In = ServingModel::Inputs;
using Out = ServingModel::Result;

void check_prompt(const In& in) {
  if (in.cached_prefix_len < in.seq_len) return;
  throw DomainError({.id = "mlsysim.catalogue.011",
                     .message = "the cached prefix must be shorter than the prompt",
                     .key = "cached_prefix_len",
                     .found = fmt::format("{} of {} tokens", in.cached_prefix_len, in.seq_len),
                     .expected = fmt::format("at most {} tokens", in.seq_len - 1),
                     .hint = "at least the last token of the prompt is computed"});
}

int chunks_of(const In& in) {
  const double fresh = in.seq_len - in.cached_prefix_len;
  return in.prefill_chunk_tokens ? std::max(1, static_cast<int>(std::ceil(fresh / *in.prefill_chunk_tokens))) : 1;
}

double mean_context(const In& in) {
  // Token i of n is generated with seq_len + i tokens in the cache: the mean over i = 1..n.
  return in.output_tokens ? in.seq_len + (*in.output_tokens + 1) / 2 : in.seq_len;
}

/// The request of the draft model on the same decoding devices.
In draft_request(const In& in, Notes& notes) {
  In d = in;
  d.workload = in.draft_model;
  d.draft_model = nullptr;
  d.tp_size = detail::draft_degree(*in.draft_model, in.tp_size, notes);
  d.pp_size = d.ep_size = 1;
  d.cached_prefix_len = 0;
  d.prefill_chunk_tokens.reset();
  return d;
}

}  // namespace

ServingViews<> prepare_serving(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  const HardwareNode& decoder = in.decode_hardware != nullptr ? *in.decode_hardware : *in.hardware;
  ServingViews<> v;
  v.prefill = model_view(*in.workload, Phase::prefill);
  v.decode = model_view(*in.workload, Phase::decode);
  v.prefill_device = device_view(*in.hardware, precision, c, notes, Phase::prefill);
  v.decode_device = in.decode_hardware != nullptr ? device_view(decoder, precision, c, notes) : v.prefill_device;
  set_matrix_share(v.prefill_device, in.efficiency);
  set_matrix_share(v.decode_device, in.efficiency);
  const double devices = in.tp_size * in.pp_size * in.ep_size;
  v.links = in.fleet != nullptr ? links_view(*in.fleet, c, notes, Phase::decode)
                               : links_view(decoder, devices, c, notes, Phase::decode);
  v.plan.tp = in.tp_size;
  v.plan.pp = in.pp_size;
  v.plan.ep = in.ep_size;
  v.plan.batch = in.batch_size;
  set_storage(v.plan, inference_storage(precision, in.kv_precision));
  v.prompt = in.seq_len;
  v.cached = in.cached_prefix_len;
  v.chunk = in.prefill_chunk_tokens.value_or(in.seq_len);
  v.chunks = chunks_of(in);
  v.decode_context = mean_context(in);
  v.final_context = in.seq_len + in.output_tokens.value_or(0);
  v.apart = in.decode_hardware != nullptr;
  warn_of_positions(*in.workload, v.final_context, notes);
  return v;
}

namespace {

/// Cache of the batch with `tokens` in each sequence; none where the shape is not known.
Data<> textbook_cache(const In& in, Precision precision, double tokens) {
  if (!in.workload->has_shape()) return {};
  const double b = inference_storage(precision, in.kv_precision).kv_bytes;
  const Precision stored = in.kv_precision.value_or(b < bytes_per_element(precision) + 0.1 ? precision : Precision::fp16);
  return kv_cache_bytes(*in.workload, tokens, in.batch_size, stored);
}

/// Weights and cache of a draft model, beside what its target holds.
void add_draft(MemoryBreakdown<>& m, Data<> weights, Data<> kv_cache, double fragmentation) {
  m.weights += weights;
  m.kv_cache += kv_cache;
  m.fragmentation += (weights + kv_cache) * fragmentation;
  m.total += (weights + kv_cache) * (1 + fragmentation);
}

/// Says which of two pools is short of memory.
void warn_of_short_pool(const MemoryBreakdown<>& m, std::string_view pool, const HardwareNode& hardware, Notes& notes) {
  if (m.total <= m.capacity) return;
  notes.warn([&] {
    return fmt::format("the model does not fit on the {} devices: it needs {} of {} on each {}", pool,
                       pretty(AnyQuantity(m.total), 3), pretty(AnyQuantity(m.capacity), 3), hardware.name);
  });
}

}  // namespace

TextbookServingViews<> prepare_textbook_serving(const In& in, Notes& notes) {
  const Conventions& c = conventions_or_standard(in.conventions);
  const Precision precision = precision_or_default(in.precision, *in.hardware, notes);
  const HardwareNode& decoder = in.decode_hardware != nullptr ? *in.decode_hardware : *in.hardware;
  const TextbookTotals t = textbook_totals(*in.workload, notes);
  warn_of_positions(*in.workload, in.seq_len + in.output_tokens.value_or(0), notes);
  if (!in.efficiency) notes.assume("efficiency", c.textbook_efficiency, "zoo/defaults.yaml");
  TextbookServingViews<> v;
  v.active_params = t.active_params;
  v.weights = t.params * (bytes_per_element(precision) * unit::B / unit::param);
  v.kv_cache = textbook_cache(in, precision, in.seq_len + in.output_tokens.value_or(0));
  if (!in.workload->has_shape()) notes.warn("the KV cache is not counted: the shape of the model is not known");
  v.peak = rate_at(*in.hardware, precision);
  const MemoryLevel level = memory_level(decoder, v.weights);
  v.bandwidth = level.bandwidth;
  v.capacity = level.capacity;
  v.dispatch = in.hardware->dispatch_overhead.value_or(c.dispatch_overhead);
  v.layer_overhead = c.textbook_layer_overhead;
  v.efficiency = in.efficiency.value_or(c.textbook_efficiency);
  v.devices = in.tp_size * in.pp_size * in.ep_size;
  v.batch = in.batch_size;
  v.layers = t.layers;
  v.width = t.width;
  v.prompt = in.seq_len;
  v.cached = in.cached_prefix_len;
  v.chunk = in.prefill_chunk_tokens.value_or(in.seq_len);
  v.chunks = chunks_of(in);
  return v;
}

namespace {

Bottleneck slower_of(const PassCost<>& cost, Time<> dispatch) {
  const Time<> overhead = cost.overhead + dispatch;
  const Time<> worst = max(max(cost.compute_bound, cost.memory_bound), max(cost.network, overhead));
  if (worst == cost.compute_bound) return Bottleneck::compute;
  if (worst == cost.memory_bound) return Bottleneck::memory;
  return worst == cost.network ? Bottleneck::network : Bottleneck::overhead;
}


}  // namespace

ServingModel::Result ServingModel::solve(const Inputs& in, Notes& notes) const {
  detail::require_tokens(*in.workload, "workload");
  if (in.draft_model != nullptr) detail::require_tokens(*in.draft_model, "draft_model");
  check_prompt(in);
  detail::check_degrees(*in.workload, {.tp = in.tp_size, .pp = in.pp_size, .ep = in.ep_size}, in.seq_len, notes);
  detail::warn_of_uneven_ranks(in.batch_size, in.ep_size, notes);
  const Conventions& c = conventions_or_standard(in.conventions);
  const Fidelity fidelity = fidelity_or_default(in.fidelity, *in.workload, notes);
  const double draft_tokens = in.draft_tokens.value_or(c.draft_tokens);
  const double devices = in.tp_size * in.pp_size * in.ep_size;
  const bool apart = in.decode_hardware != nullptr;

  if (!apart) detail::warn_of_idle(in, {"network_bandwidth"}, "without decode_hardware", notes);
  detail::warn_of_idle_draft(in, notes);

  Out out;
  out.fidelity = fidelity;
  out.accelerators = apart ? 2 * devices : devices;  // each pool is a replica
  ServingAnswer<> answer;
  Data<> kv_transfer;  // of the whole batch
  if (fidelity == Fidelity::textbook) {
    detail::warn_of_unpriced(in, {"fleet"}, notes);  // no collectives are counted
    const auto v = prepare_textbook_serving(in, notes);
    answer = textbook_serving_core(v);
    out.model_weights_size = v.weights;
    out.kv_cache_size = kv_transfer = v.kv_cache;
    auto& m = answer.memory;
    m.weights = v.weights / devices;
    m.kv_cache = v.kv_cache / devices;
    m.total = m.weights + m.kv_cache;
    m.capacity = v.capacity;
    if (in.draft_model != nullptr) {
      const auto d = prepare_textbook_serving(draft_request(in, notes), notes);
      // The draft pays no layer overhead here: it runs inside the target's step.
      const Data<> draft_weights = d.weights / d.devices, draft_cache = d.kv_cache / d.devices;
      const Time<> draft = (draft_weights + draft_cache) / d.bandwidth, verify = answer.itl;
      answer.itl = SpeculativeTokenTime::solve<double>({draft, verify, in.draft_acceptance_rate, draft_tokens}).itl;
      add_draft(m, draft_weights, draft_cache, 0.0);
    }
    if (apart) {
      auto& p = answer.prefill_memory;
      p.weights = v.weights / devices;
      p.kv_cache = textbook_cache(in, precision_or_default(in.precision, *in.hardware, notes), in.seq_len) / devices;
      p.total = p.weights + p.kv_cache;
      p.capacity = memory_level(*in.hardware, v.weights).capacity;
    }
    const Work<> work = TextbookPrefillWork::solve<double>(
        {v.active_params, v.layers, v.width, v.prompt - v.cached, v.prompt, v.batch}).work;
    out.prefill_mfu = std::min(1.0, work / (v.peak * devices * answer.ttft));
    out.mfu = std::min(1.0, 2.0 * v.active_params.base() * v.batch / (v.peak * devices * answer.itl).base());
    out.prefill_bottleneck = Bottleneck::compute;
    out.bottleneck = Bottleneck::memory;
  } else {
    const auto v = prepare_serving(in, notes);
    OpList<> ops;
    answer = serving_core(v, ops);
    out.prefill_bottleneck = slower_of(answer.prefill, v.prefill_device.dispatch);
    out.bottleneck = slower_of(answer.decode, v.decode_device.dispatch);
    out.prefill_mfu = std::min(1.0, answer.prefill.work * in.pp_size / (v.prefill_device.matrix_rate * in.pp_size * answer.ttft));
    out.mfu = std::min(1.0, answer.decode.work / (v.decode_device.matrix_rate * answer.itl));
    const Precision precision = in.precision.value_or(in.hardware->compute.default_precision);
    out.model_weights_size = parameter_count(*in.workload) * v.plan.weight_bytes;
    out.kv_cache_size = kv_cache_bytes(*in.workload, v.final_context, in.batch_size, precision) *
                        (v.plan.kv_bytes / (bytes_per_element(precision) * unit::B));
    if (apart) kv_transfer = kv_cache_bytes(*in.workload, in.seq_len, in.batch_size, precision) *
                             (v.plan.kv_bytes / (bytes_per_element(precision) * unit::B));
    if (in.draft_model != nullptr) {
      Plan<> check = v.plan;
      check.new_tokens = draft_tokens + 1;
      check.context = v.decode_context + draft_tokens;
      const Time<> verify = pass_time(v.prefill, check, v.decode_device, v.links, ops).total;
      const auto d = prepare_serving(draft_request(in, notes), notes);
      const auto draft = serving_core(d, ops);
      answer.itl = SpeculativeTokenTime::solve<double>({draft.itl, verify, in.draft_acceptance_rate, draft_tokens}).itl;
      add_draft(answer.memory, draft.memory.weights, draft.memory.kv_cache, v.decode_device.fragmentation);
    }
  }
  if (apart) answer.ttft += kv_transfer / in.network_bandwidth;
  if (in.draft_model != nullptr && !in.draft_tokens) notes.assume("draft_tokens", c.draft_tokens, "zoo/defaults.yaml");

  out.ttft = answer.ttft;
  out.itl = answer.itl;
  const double generated = in.output_tokens.value_or(1);
  // The first of the generated tokens comes with the prefill.
  const Time<> decoding = out.itl * (generated - 1);
  out.request_latency = out.ttft + decoding;
  out.token_throughput = in.output_tokens ? in.batch_size * generated * unit::token / out.request_latency
                                          : in.batch_size * unit::token / out.itl;
  const double share = in.output_tokens ? decoding / (out.ttft + decoding) : 1.0;  // of the time that is spent decoding
  if (fidelity == Fidelity::textbook) {
    out.utilization = share * out.mfu + (1 - share) * out.prefill_mfu;
  } else {
    // A device that runs kernels draws its full power, whichever side limits them.
    const auto busy = [&](const PassCost<>& cost) { return (cost.compute_bound + cost.memory_bound) / cost.total; };
    out.utilization = std::min(1.0, share * busy(answer.decode) + (1 - share) * busy(answer.prefill));
  }
  out.memory = answer.memory;
  out.prefill_memory = apart ? answer.prefill_memory : answer.memory;
  const auto &m = out.memory, &p = out.prefill_memory;
  out.total_memory_required = (apart ? m.total + p.total : m.total) * devices;
  out.memory_utilization = std::max(m.total / m.capacity, p.total / p.capacity);
  out.feasible = m.total <= m.capacity && p.total <= p.capacity;
  if (apart) {
    warn_of_short_pool(p, "prefilling", *in.hardware, notes);
    warn_of_short_pool(m, "decoding", *in.decode_hardware, notes);
  }
  out.prompt_cache_hit_ratio = in.cached_prefix_len / in.seq_len;
  out.prefill_chunks = chunks_of(in);
  if (in.prefill_chunk_tokens) out.prefill_chunk_time = out.decode_stall_bound = answer.chunk_time;
  return out;
}

}  // namespace mlsysim

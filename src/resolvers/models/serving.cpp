#include "resolvers/models/proposals.hpp"
#include "resolvers/shared/calls.hpp"
#include "resolvers/shared/expert_exchange.hpp"
#include "resolvers/shared/host_memory.hpp"
#include "resolvers/shared/pass_budget.hpp"
#include "resolvers/shared/plan_check.hpp"
#include "resolvers/shared/power_limits.hpp"
#include "resolvers/shared/unpriced.hpp"

#include <mlsysim/estimate/detail/bottleneck.hpp>
#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/resolvers/machine.hpp>
#include <mlsysim/timing/collective.hpp>
#include <mlsysim/timing/step.hpp>
#include <mlsysim/timing/stored_formats.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using In = ServingModel::Inputs;
using Out = ServingModel::Result;

void check_prompt(const In& in, double prompt) {
  if (in.cached_prefix_len < prompt) return;
  throw DomainError({.id = "mlsysim.catalogue.011",
                     .message = "the cached prefix must be shorter than the prompt",
                     .key = "cached_prefix_len",
                     .found = fmt::format("{} of {} tokens", in.cached_prefix_len, prompt),
                     .expected = fmt::format("at most {} tokens", prompt - 1),
                     .hint = "at least the last token of the prompt is computed"});
}

/// Layers of the model that draft for it are part of a pass of its engine; a static batch would count the
/// whole model twice.
void check_draft(const In& in) {
  if (in.draft_model == nullptr) return;
  detail::require_tokens(*in.draft_model, "draft_model");
  if (in.draft_model != in.workload) return;
  throw InputError({.id = "mlsysim.catalogue.148",
                    .message = fmt::format("a static batch has no price for the draft layers of '{}' itself",
                                           in.workload->name),
                    .key = "draft_model",
                    .found = "the model itself",
                    .expected = "a smaller model",
                    .hint = "InFlightBatchingModel prices them: mlsysim resolver run InFlightBatchingModel"});
}

/// Which prompts share a pass, and how a long one is divided. Formulas from totals take all at once where
/// nothing is asked.
void set_budget(const In& in, ServingProblem<>& v, Notes& notes) {
  v.prefill_chunk_tokens = v.seq_len;
  if (!v.fidelity_model->prices_engines() && !in.prefill_chunk_tokens) {
    if (in.chunked_prefill)
      notes.warn("textbook fidelity divides no prompt without prefill_chunk_tokens: chunked_prefill");
    return;
  }
  const double fresh = v.seq_len - in.cached_prefix_len;
  const auto* engine = v.fidelity_model->prices_engines() ? in.engine : nullptr;
  v.has_token_budget = true;
  v.prefill_chunk_tokens = detail::pass_tokens(in.prefill_chunk_tokens, engine, *in.hardware, notes);
  v.chunked_prefill = in.chunked_prefill.value_or(in.prefill_chunk_tokens || engine != nullptr);
  if (fresh <= v.prefill_chunk_tokens) return;
  if (v.chunked_prefill) v.chunks = std::ceil(fresh / v.prefill_chunk_tokens);
  if (!in.chunked_prefill)
    notes.assume("chunked_prefill", v.chunked_prefill ? "yes" : "no",
                 v.chunked_prefill ? "a budget of a pass or an engine is given"
                                   : "no engine is named: a longer prompt has a pass of its own");
}

/// Weights of an encoder, which no step reads, in the format of the other layers.
Data<> encoder_weights(const ServingProblem<>& v) {
  Structure pass = v.model.structure;
  pass.architecture = Architecture::encoder;
  pass.phase = Phase::inference;
  OpList<> ops;
  return v.plan.weight_bytes *
         forward_totals(pass, *v.model.shape().encoder, {}, Plan<>(), ops).stage(1.0, 1.0).params();
}

/// An encoder reads the prompt at once, and the decoder starts from one token. Formulas from totals count its
/// weights as those of a decoder.
void set_encoder(const In& in, ServingProblem<>& v, Notes& notes) {
  if (in.workload->encoder() == nullptr) return;
  v.encodes = v.fidelity_model->lists_operators() && v.model.encodes();
  if (!v.encodes) return notes.warn("textbook fidelity counts an encoder as further layers of the decoder");
  v.plan.tower_bytes += encoder_weights(v);
  notes.assume("decoder prompt", UsualRequest::begun,
               "the answer of an encoder-decoder starts from one token");
  detail::warn_of_idle(in, {"cached_prefix_len"}, "behind an encoder", notes);
  v.cached_prefix_len = 0;
  v.chunks = 1;
  v.chunked_prefill = false;
  if (in.pp_size > 1) notes.warn("the encoder is divided over the stages of the pipeline as the decoder is");
}

/// How the kernels of prompts and steps reach the devices. @return what to ask of them
std::optional<Execution> set_launches(const In& in, const HardwareNode& decoder, ServingProblem<>& v,
                                      Notes& notes) {
  const auto* engine = v.fidelity_model->prices_engines() ? in.engine : nullptr;
  const bool own = engine != nullptr && engine->prefill_issue;  // the engine launches prompts by itself
  if (engine != nullptr && engine->prompt_layer) {
    v.prompt_layer = *engine->prompt_layer;
    if (notes.wanted()) notes.assume("engine.prompt_layer", v.prompt_layer, engine->name + ", zoo/runtimes");
  }
  if (own) {
    v.eager_steps = true;
    v.prompt_launch = PromptLaunch::engine;
    v.prompt_launch_overhead = *engine->prefill_issue;
    if (notes.wanted())
      notes.assume("engine.prefill_issue", *engine->prefill_issue, engine->name + ", zoo/runtimes");
  }
  const auto execution = execution_of(in.execution, engine);
  if (execution == Execution::eager) {
    v.eager_steps = true;
    if (!own) v.prompt_launch = PromptLaunch::device;
    return execution;
  }
  if (execution) return execution;
  const auto captured = detail::captured_requests(engine, decoder, in.tp_size);
  if (!captured) return std::nullopt;
  v.eager_steps = true;
  v.graph_batch = *captured;
  if (notes.wanted())
    notes.assume("execution", fmt::format("graphs of up to {:g} requests, eager beyond", *captured),
                 engine->name + ", zoo/runtimes");
  return Execution::eager;
}

/// Says which of two pools is short of memory.
void warn_of_short_pool(const MemoryBreakdown<>& m, std::string_view pool, const HardwareNode& hardware,
                        Notes& notes) {
  if (m.total <= m.capacity) return;
  notes.warn(
      [&] {
        return fmt::format("the model does not fit on the {} devices: it needs {} of {} on each {}", pool,
                           pretty(AnyQuantity(m.total), 3), pretty(AnyQuantity(m.capacity), 3),
                           hardware.name);
      },
      BreakReason::infeasible_memory);
}

FormatRequest formats_asked(const In& in) {
  Notes quiet;
  const auto& fidelity_model = fidelity_model_for(in.fidelity, *in.workload, quiet);
  return {.precision = in.precision,
          .weight_format = in.weight_format,
          .weight_bits = in.weight_bits,
          .from_totals = !fidelity_model.lists_operators()};
}

/// Says in which format the cache is where the request does not.
void note_cache(const ServedFormat& format, Notes& notes) {
  if (format.kv_stored)
    notes.assume("kv_precision", *format.kv_precision, "as the weights outside of the matrices");
  else if (format.kv_precision)
    notes.assume("kv_precision", "16 bits", "as engines keep it beside narrower weights");
  else
    notes.assume("kv_precision", kv_format_words(format.precision), "as the arithmetic, 16 bits below 8");
}

/// Weights in a format of their own, and what the runtime makes of them.
void store_weights(const In& in, ServingProblem<>& v, const ServedFormat& format, Precision precision,
                   Notes& notes) {
  v.mean_weight_bytes = format.whole;
  auto &s = v.model.structure, &step = v.decode;
  if (format.apart) {
    set_stored(format, v.fidelity_model->lists_operators() && s.known, v.plan, s);
    s.widened = format.whole < bytes_per_element(precision) * (unit::B / unit::param);
    step.mixed_storage = s.mixed_storage;
    step.widened = s.widened;
  }
  if (!v.fidelity_model->prices_engines()) return;
  set_operators(in.engine, s, v.plan, notes);
  step.kernel = s.kernel;
  step.unpacks = s.unpacks;
}

/// The exchange of experts in prompts, and in steps of decoding, whose kernels send a copy for each expert.
void set_exchange(const In& in, Precision precision, const Conventions& c, ServingProblem<>& v,
                  Notes& notes) {
  if (!v.fidelity_model->lists_operators()) return;  // with a warning, see unpriced
  auto &prompts = v.model.structure, &steps = v.decode;
  detail::set_expert_exchange(in, in.ep_size, bytes_per_element(precision) < 2,
                              "per_node in prompts, per_expert in steps", v.plan, prompts, notes);
  steps.expert_overlap = prompts.expert_overlap;
  if (in.expert_copies) steps.expert_copies = prompts.expert_copies;
  if (prompts.expert_overlap == ExpertOverlap::none) return;
  v.plan.overlap_slowdown = c.overlap_slowdown;
  if (in.ep_size > 1) notes.assume("overlap_slowdown", c.overlap_slowdown, kDefaults);
}

/// Bytes of a weight of the draft: as it is stored itself, multiplied in the format of the model.
DataPerParam<> draft_bytes(const In& in, Precision precision) {
  Notes quiet;
  FormatRequest asked = formats_asked(in);
  if (asked.weight_format == WeightFormat::as_stored && in.draft_model->formats.empty())
    asked.weight_format.reset();
  asked.precision = precision;
  return served_format(*in.draft_model, asked, *in.hardware, in.decode_hardware, quiet).whole;
}

void add_draft(const In& in, const Conventions& c, DataPerParam<> stored, ServingProblem<>& v, Notes& notes) {
  v.drafts = true;
  v.draft = {.model = v.fidelity_model->model(*in.draft_model, Phase::decode, notes),
             .tp = detail::draft_degree(*in.draft_model, in.tp_size, notes),
             .weight_bytes = stored,
             .per_token = head_per_token(*in.draft_model)};
  v.draft.model.structure.drafting = true;
  v.draft.model.structure.capped = v.decode.capped;
  v.draft_acceptance_rate = in.draft_acceptance_rate;
  v.draft_tokens = in.draft_tokens.value_or(c.draft_tokens);
  if (!in.draft_tokens) notes.assume("draft_tokens", c.draft_tokens, kDefaults);
  if (in.acceptance_length) {
    detail::check_acceptance_length(*in.acceptance_length, v.draft_tokens);
    v.acceptance = Acceptance::measured;
    v.acceptance_length = *in.acceptance_length;
  } else if (in.draft_acceptance_decay) {
    v.acceptance = Acceptance::decaying;
    v.draft_acceptance_decay = *in.draft_acceptance_decay;
  }
}

/// Limits of power and clock hold for the devices of both pools.
/// The software of the runtime, and its products where the caller does not say what they sustain.
void set_runtime(const In& in, const HardwareNode& hardware, Precision precision, const Conventions& c,
                 const ServingProblem<>& v, Device<>& device, Notes& notes) {
  set_software(device, in.engine, hardware, precision, v.model, c, notes);
  detail::set_calls(in.execution, in.engine, device, notes);
  if (!in.efficiency) set_products(device, in.engine, hardware, precision, c, notes);
  set_recurrences(device, v.model, hardware, c, notes);
}

void set_limits(const In& in, const HardwareNode& decoder, const Conventions& c, ServingProblem<>& v,
                Notes& notes) {
  if (!v.fidelity_model->lists_operators()) return;  // with a warning, see unpriced
  bool capped = detail::set_power_limits(v.plan, in.power_cap, in.clock_limit, *in.hardware, c, notes);
  if (v.disaggregated) {
    const Power<> first = v.plan.power_cap;
    capped = detail::set_power_limits(v.plan, in.power_cap, in.clock_limit, decoder, c, notes);
    v.plan.power_cap = max(v.plan.power_cap, first);
  }
  v.model.structure.capped = v.decode.capped = capped;
}

/// Sets the share of weights in host memory, and whether the host multiplies them.
void set_host_memory(const In& in, const Conventions& c, ServingProblem<>& v, Notes& notes) {
  if (!v.fidelity_model->lists_operators()) return;  // with a warning, see unpriced
  auto &prompts = v.model.structure, &steps = v.decode;
  const auto* rows = in.engine == nullptr ? nullptr : stated(*in.engine, &ServingEngine::host_rows);
  prompts.host_computes = steps.host_computes = rows != nullptr;
  prompts.offloads = steps.offloads = in.offload_weights > 0 || in.offload_experts > 0;
  if (in.offload_experts > 0 && !prompts.moe)
    detail::warn_of_idle(in, {"offload_experts"}, "on a model without routed experts", notes);
  if (!prompts.offloads)
    return detail::warn_of_idle(in, {"host_memory_bandwidth"}, "with all weights on devices", notes);
  v.plan.offload_weights = in.offload_weights;
  v.plan.offload_experts = in.offload_experts;
  if (prompts.host_computes) {
    v.plan.host_rows = *rows;
    v.plan.host_bandwidth =
        detail::host_bandwidth(in.host_memory_bandwidth, in.tp_size * in.ep_size, c, notes);
    notes.assume("host_rows", *rows,
                 fmt::format("{}: of larger passes the weights cross the link", in.engine->name));
  } else {
    notes.assume("host_rows", 0.0, "weights in host memory cross the link in every pass");
  }
}

}  // namespace

void detail::check_workers(const Workload& workload, const ServingProblem<>& problem, Notes& notes) {
  const Plan<> worker = problem.worker_plan();
  check_degrees(workload, {.tp = worker.tp, .pp = worker.pp, .ep = worker.ep}, problem.seq_len, notes);
}

ServingProblem<> settle(const In& in, Notes& notes, double replicas) {
  detail::require_tokens(*in.workload, "workload");
  check_draft(in);
  const double prompt = seq_len_or_default(in.seq_len, *in.workload, in.output_tokens.value_or(0), notes);
  check_prompt(in, prompt);
  detail::check_degrees(*in.workload, {.tp = in.tp_size, .pp = in.pp_size, .ep = in.ep_size}, prompt, notes);
  if (in.decode_hardware == nullptr)
    detail::warn_of_idle(in, {"network_bandwidth"}, "without decode_hardware", notes);
  detail::warn_of_idle_draft(in, notes);
  const Conventions c = with_kernels(conventions_or_standard(in.conventions), in.engine);
  const HardwareNode& decoder = in.decode_hardware != nullptr ? *in.decode_hardware : *in.hardware;
  const ServedFormat format =
      served_format(*in.workload, formats_asked(in), *in.hardware, in.decode_hardware, notes);
  const Precision precision = format.precision;
  const auto kv_precision = in.kv_precision ? in.kv_precision : format.kv_precision;
  ServingProblem<> v;
  v.fidelity_model = &fidelity_model_for(in.fidelity, *in.workload, notes);
  if (!v.fidelity_model->lists_operators())
    detail::warn_of_unpriced(in,
                             {"fleet", "power_cap", "clock_limit", "dispatch_precision", "expert_copies",
                              "expert_overlap", "rank_imbalance", "collective_algorithm", "engine",
                              "execution", "offload_weights", "offload_experts", "host_memory_bandwidth"},
                             notes);
  v.model = v.fidelity_model->model(*in.workload, Phase::prefill, notes);
  v.decode = v.model.structure;
  v.decode.phase = Phase::decode;
  const DeviceUse use{.precision = precision,
                      .phase = Phase::prefill,
                      .params = v.model.totals.params,
                      .efficiency = in.efficiency,
                      .execution = set_launches(in, decoder, v, notes),
                      .kv_precision = kv_precision};
  v.device = v.fidelity_model->device(*in.hardware, use, c, notes);
  v.disaggregated = in.decode_hardware != nullptr;
  v.decode_device = v.disaggregated ? v.fidelity_model->device(decoder, use, c, notes) : v.device;
  if (v.fidelity_model->prices_engines()) {
    set_runtime(in, *in.hardware, precision, c, v, v.device, notes);
    set_runtime(in, decoder, precision, c, v, v.decode_device, notes);
    v.plan.routing_spread = c.routing_spread;
    if (v.decode.moe) {
      notes.assume("routing_spread", c.routing_spread, kDefaults);
      set_expert_kernels(v.device, in.engine, *in.hardware, format.experts, c, notes);
      if (v.disaggregated)
        set_expert_kernels(v.decode_device, in.engine, decoder, format.experts, c, notes);
      else
        v.decode_device.experts = v.device.experts;
    }
  }
  const double devices = in.tp_size * in.pp_size * in.ep_size;
  v.links = in.fleet != nullptr ? v.fidelity_model->links(*in.fleet, c, notes, Phase::decode)
                                : shipped_links(*v.fidelity_model, decoder, devices, c, notes, Phase::decode);
  if (in.collective_algorithm != CollectiveAlgorithm::usual) v.links.form.algorithm = in.collective_algorithm;
  if (devices <= devices_inside(v.links))
    detail::warn_of_idle(in, {"collective_algorithm"}, "inside one node", notes);
  v.plan.tp = in.tp_size;
  v.plan.pp = in.pp_size;
  v.plan.ep = in.ep_size;
  set_storage(v.plan, inference_storage(precision, kv_precision));
  v.plan.tower_bytes = tower_weights({.model = in.workload,
                                      .device = in.hardware,
                                      .precision = in.precision,
                                      .weight_format = in.weight_format});
  if (!in.kv_precision) note_cache(format, notes);
  store_weights(in, v, format, precision, notes);
  set_exchange(in, precision, c, v, notes);
  v.batch_size = in.batch_size;
  v.accelerators = devices * replicas;
  v.seq_len = prompt;
  v.cached_prefix_len = in.cached_prefix_len;
  set_budget(in, v, notes);
  set_encoder(in, v, notes);
  v.output_tokens = in.output_tokens.value_or(1);
  v.generates = in.output_tokens.has_value();
  v.network_bandwidth = in.network_bandwidth;
  warn_of_positions(*in.workload, prompt, in.output_tokens.value_or(0), notes);
  set_limits(in, decoder, c, v, notes);
  set_host_memory(in, c, v, notes);
  if (in.draft_model != nullptr) add_draft(in, c, draft_bytes(in, precision), v, notes);
  return v;
}

ServingModel::Result ServingModel::solve(const Inputs& in, Notes& notes) const {
  detail::warn_of_uneven_ranks(in.batch_size, in.ep_size, notes);
  const auto problem = settle(in, notes);
  const bool two_pools = problem.disaggregated;
  Out out{evaluate(problem)};
  out.fidelity = problem.fidelity_model->fidelity();
  out.accelerators = two_pools ? 2 * problem.accelerators : problem.accelerators;
  out.prefill_bottleneck = prefill_limit(out);
  out.bottleneck = decode_limit(out);
  const auto& model = problem.model;
  out.model_weights_size =
      problem.mean_weight_bytes * (problem.fidelity_model->lists_operators() && model.structure.known
                                       ? parameter_count(*in.workload)
                                       : model.totals.params);
  const auto &m = out.memory, &p = out.prefill_memory_use;
  out.total_memory_required = (two_pools ? m.total + p.total : m.total) * problem.accelerators;
  out.memory_utilization = std::max(m.total / m.capacity, p.total / p.capacity);
  out.feasible = m.total <= m.capacity && p.total <= p.capacity;
  if (two_pools) {
    warn_of_short_pool(p, "prefilling", *in.hardware, notes);
    warn_of_short_pool(m, "decoding", *in.decode_hardware, notes);
  }
  out.prompt_cache_hit_ratio = in.cached_prefix_len / problem.seq_len;
  out.prefill_chunks = problem.chunks;
  if (in.prefill_chunk_tokens || problem.chunks > 1) out.decode_stall_bound = out.prefill_chunk_time;
  return out;
}

}  // namespace mlsysim

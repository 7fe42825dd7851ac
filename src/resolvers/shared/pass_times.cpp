// Prices the passes of a replica.

#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

/// One request; its prompt and answer come with the passes.
ServingModel::Inputs serving_of(const InFlightBatchingModel::Inputs& in, const ServingEngine& engine,
                                Notes& notes) {
  auto out = fields_of<ServingModel::Inputs>(in);
  if (in.seq_len) out.seq_len = std::max(1.0, std::round(*in.seq_len));
  out.output_tokens.reset();
  out.cached_prefix_len = 0;
  out.prefill_chunk_tokens = 1;  // each pass is asked for by itself: what it takes is settled there
  Notes quiet;
  out.engine = &engine;
  if (!pricing_for(in.fidelity, *in.workload, quiet).prices_engines()) {
    out.engine = nullptr;  // who asks for the engine says what becomes of it
    out.execution.reset();
    if (in.execution) notes.warn("textbook fidelity does not price execution: operator fidelity does");
  }
  out.draft_model = nullptr;
  out.draft_acceptance_decay.reset();
  out.acceptance_length.reset();
  return out;
}

/// Rows to which a narrow product of a step is padded where an engine brings its own kernels: those of routed
/// experts multiply by warp, 16 rows at a time, where a library fills a warp group's 64. Prompts have rows
/// for whole tiles.
void set_step_rows(const ServingProblem<>& p, Device<>& steps) {
  constexpr double warp_rows = 16;
  double& rows = steps.compute.matrix_rows;
  if (p.decode.moe) rows = std::min(rows, warp_rows);
}

}  // namespace

ReplicaPasses<> pass_times(const InFlightBatchingModel::Inputs& in, const ServingEngine& engine,
                           Notes& notes) {
  ServingProblem<> p = settle(serving_of(in, engine, notes), notes);
  const bool priced = p.pricing->prices_engines();
  ReplicaPasses<> out;
  out.plan = p.plan;
  out.prompt_device = p.device;
  out.step_device = p.step_device();
  if (priced) set_step_rows(p, out.step_device);
  out.links = p.links;
  out.prompt_launch = p.eager_steps ? detail::prompt_launch_overhead(p) : p.device.kernels.issue;
  out.prompt_layer = p.prompt_layer;
  out.graph_batch = p.graph_batch;
  out.eager_steps = p.eager_steps;
  out.pricing = p.pricing;
  out.decode_structure = std::move(p.decode);
  out.model = std::move(p.model);
  return out;
}

ServingEngine engine_or_generic(const ServingEngine* engine, const Pricing& pricing, Notes& notes) {
  if (!pricing.prices_engines()) {
    if (engine != nullptr)
      notes.warn("textbook fidelity prices no engine: no host time, prompts mixed into steps");
    return {.name = "none"};
  }
  const ServingEngine& e = engine != nullptr ? *engine : standard_zoo().at<ServingEngine>("generic");
  if (engine == nullptr)
    notes.assume("engine", e.name, "the class of engines; name yours for its host time and scheduling");
  if (!notes.wanted()) return e;
  for_each_field<ServingEngine>([&]<class M>(const Field<ServingEngine, M>& row) {
    if constexpr (!HasFields<typename detail::unwrap<M>::type>) {
      const auto name = fmt::format("engine.{}.{}", e.name, row.name);
      const std::string source = e.entry != nullptr ? e.entry->source_of(row.name).ref : "given";
      if constexpr (std::is_same_v<M, bool>)
        notes.assume(name, e.*row.member ? "yes" : "no", source);
      else if constexpr (std::is_same_v<M, std::optional<Time<>>>) {
        if (e.*row.member) notes.assume(name, *(e.*row.member), source);
      } else if constexpr (std::is_same_v<M, Time<>> || std::is_same_v<M, double>)
        notes.assume(name, e.*row.member, source);
    }
  });
  return e;
}

}  // namespace mlsysim

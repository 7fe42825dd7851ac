// Prices the passes of a replica.

#include <mlsysim/catalogue/detail/pass_times.hpp>
#include <mlsysim/catalogue/detail/settle.hpp>
#include <mlsysim/table/take_fields.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using In = InFlightBatchingModel::Inputs;

/// One request; its prompt and answer come with the passes.
ServingModel::Inputs serving_of(const In& in, Notes& notes) {
  auto out = fields_of<ServingModel::Inputs>(in);
  if (in.seq_len) out.seq_len = std::max(1.0, std::round(*in.seq_len));
  out.output_tokens.reset();
  out.cached_prefix_len = 0;
  out.prefill_chunk_tokens = 1;  // each pass is asked for by itself: what it takes is settled there
  Notes quiet;
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

}  // namespace

PassTimes::PassTimes(ServingProblem<> problem, const Device<>& prompts, const Device<>& steps)
    : problem_(std::move(problem)), decode_(problem_.model), prompts_(prompts), steps_(steps) {
  decode_.structure = problem_.decode;
}

Plan<> PassTimes::plan(double sequences, double new_tokens, double context) const {
  Plan<> p = problem_.plan;
  p.batch = sequences;
  p.new_tokens = new_tokens;
  p.context = context;
  return p;
}

PassEstimate<> PassTimes::prefill(double prompts, double new_tokens, double context) const {
  const auto p = plan(prompts, new_tokens, context);
  return problem_.pricing->pricer<double>().prefill({problem_.model, p, prompts_.kernels.issue}, prompts_,
                                                    problem_.links, context);
}

PassEstimate<> PassTimes::decode(double requests, double context, double new_tokens) const {
  const auto p = plan(requests, new_tokens, context);
  // A few tokens a sequence are attended to as a prompt is.
  const auto& model = new_tokens > 1 ? problem_.model : decode_;
  const Time<> launch = problem_.eager_steps
                            ? detail::step_launch_overhead(problem_, requests / problem_.plan.ep)
                            : steps_.kernels.issue;
  return problem_.pricing->pricer<double>().decode({model, p, launch}, steps_, problem_.links);
}

double PassTimes::capacity(double tokens, double kv_share) const {
  const double ranks = problem_.plan.ep;
  const auto p = plan(ranks, 1, tokens);
  const auto m = problem_.pricing->pricer<double>().pass_memory(decode_, p, steps_);
  const Data<> rest = m.capacity - (m.total - m.kv_cache);
  if (rest <= Data<>()) return 0;
  // Without a shape no cache is counted (noted with the problem) and any number fits.
  if (m.kv_cache <= Data<>()) return decode_.structure.known ? 0 : 65536;
  return ranks * std::floor(kv_share * rest / m.kv_cache);
}

Data<> PassTimes::cache(double tokens) const {
  const auto p = plan(1, 1, tokens);
  return problem_.pricing->pricer<double>().cache(decode_, p);
}

namespace {

/// Rows to which a narrow product of a step is padded where an engine brings its own kernels: those of routed
/// experts multiply by warp, 16 rows at a time, where a library fills a warp group's 64. Prompts have rows
/// for whole tiles.
void set_step_rows(const ServingProblem<>& p, Device<>& steps) {
  constexpr double warp_rows = 16;
  double& rows = steps.compute.matrix_rows;
  if (p.decode.moe) rows = std::min(rows, warp_rows);
}

}  // namespace

PassTimes pass_times(const In& in, std::optional<Time<>> prefill_issue, Notes& notes) {
  ServingProblem<> p = settle(serving_of(in, notes), notes);
  Device<> prompts = p.device, steps = p.disaggregated ? p.decode_device : p.device;
  if (p.pricing->prices_engines()) set_step_rows(p, steps);
  if (p.eager_steps) prompts.kernels.issue = detail::prompt_launch_overhead(p);
  if (prefill_issue && p.pricing->prices_engines()) prompts.kernels.issue = *prefill_issue;
  return PassTimes(std::move(p), prompts, steps);
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
      else if constexpr (detail::is_optional_v<M>) {
        if (e.*row.member) notes.assume(name, *(e.*row.member), source);
      } else if constexpr (!std::is_same_v<M, std::string>)
        notes.assume(name, e.*row.member, source);
    }
  });
  return e;
}

}  // namespace mlsysim

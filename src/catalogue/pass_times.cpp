// Prices the passes of a replica, from the operator list or from totals.
#include "detail/figures.hpp"
#include "detail/unpriced.hpp"

#include <mlsysim/catalogue/pass_times.hpp>
#include <mlsysim/catalogue/prepare.hpp>
#include <mlsysim/table/take_fields.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mlsysim {
namespace {

using In = InFlightBatchingModel::Inputs;

/// One request; its prompt and answer come with the passes.
ServingModel::Inputs serving_of(const In& in) {
  auto out = fields_of<ServingModel::Inputs>(in);
  out.seq_len = std::max(1.0, std::round(in.seq_len));
  out.output_tokens.reset();
  out.cached_prefix_len = 0;
  out.prefill_chunk_tokens.reset();
  out.draft_model = nullptr;
  return out;
}

/// Bytes on the decoding devices beside the cache, and of the cache of the requests in `plan`.
MemoryBreakdown<> memory_at(const ServingViews<>& v, Plan<> plan) {
  OpList<> ops;
  const auto& m = v.decode;
  const auto range = lower(m.structure, m.shape, m.layers, plan, ops);
  const auto totals = totals_of(ops, range.forward_end);
  return memory_of(m.structure, plan, v.decode_device, demand_of(m.structure, plan, totals, m.blocks(plan)));
}

/// Every operator of a pass priced.
class OperatorPasses final : public PassTimes {
 public:
  OperatorPasses(const In& in, std::optional<Time<>> prefill_issue, Notes& notes) : views_(serving_views(in, notes)) {
    if (prefill_issue) views_.prefill_device.issue = *prefill_issue;
  }
  ReplicaPass prefill(double prompts, double new_tokens, double context) const override {
    return run(views_.prefill, views_.prefill_device, prompts, new_tokens, context);
  }
  ReplicaPass decode(double requests, double context, double new_tokens) const override {
    // A few tokens a sequence are attended to as a prompt is.
    const auto& model = new_tokens > 1 ? views_.prefill : views_.decode;
    return run(model, views_.decode_device, requests, new_tokens, context);
  }
  double capacity(double tokens, double kv_share) const override {
    const auto m = memory_at(views_, plan(views_.plan.ep, 1, tokens));
    const Data<> rest = m.capacity - (m.total - m.kv_cache);
    if (rest <= Data<>() || m.kv_cache <= Data<>()) return 0;
    return views_.plan.ep * std::floor(kv_share * rest / m.kv_cache);
  }
  Data<> cache(double tokens) const override {
    return memory_at(views_, plan(views_.plan.ep, 1, tokens)).kv_cache * views_.plan.tp * views_.plan.pp;
  }

 private:
  [[nodiscard]] Plan<> plan(double sequences, double new_tokens, double context) const {
    Plan<> p = views_.plan;
    p.batch = sequences;
    p.new_tokens = new_tokens;
    p.context = context;
    return p;
  }
  [[nodiscard]] ReplicaPass run(const ModelView<>& model, const Device<>& device, double sequences, double new_tokens,
                                double context) const {
    OpList<> ops;
    const auto pass = pass_time(model, plan(sequences, new_tokens, context), device, views_.links, ops);
    return {pass.total, pass.cost};
  }

  ServingViews<> views_;
};

/// The formulas that a student does by hand.
class TextbookPasses final : public PassTimes {
 public:
  TextbookPasses(const In& in, Notes& notes) : in_(in), views_(prepare_textbook_serving(serving_of(in), notes)) {
    detail::warn_of_unpriced(in, {"fleet"}, notes);  // no collectives are counted
    if (in.weight_bits) views_.weights = views_.weights * (*in.weight_bits / 8.0 / bytes_per_element(precision()));
  }
  ReplicaPass prefill(double prompts, double new_tokens, double context) const override {
    return {answer(prompts, new_tokens, context).ttft};
  }
  ReplicaPass decode(double requests, double context, double /*new_tokens*/) const override {
    return {answer(requests, 1, context).itl};  // bound by memory: tokens that are checked together are free
  }
  double capacity(double tokens, double kv_share) const override {
    const Data<> rest = views_.capacity * views_.devices - views_.weights, one = cache(tokens);
    if (rest <= Data<>()) return 0;
    // Without a shape no cache is counted (noted with the views) and any number fits.
    return one > Data<>() ? std::floor(kv_share * rest / one) : 65536;
  }
  Data<> cache(double tokens) const override {
    return in_.workload->has_shape() ? kv_cache_bytes(*in_.workload, tokens, 1, in_.kv_precision.value_or(precision())) : Data<>();
  }

 private:
  [[nodiscard]] Precision precision() const { return in_.precision.value_or(in_.hardware->compute.default_precision); }
  [[nodiscard]] ServingAnswer<> answer(double sequences, double new_tokens, double context) const {
    TextbookServingViews<> v = views_;
    v.batch = sequences;
    v.prompt = v.chunk = new_tokens;
    v.cached = 0;
    v.chunks = 1;
    v.kv_cache = cache(context) * std::ceil(sequences);
    return textbook_serving_core(v);
  }

  In in_;
  TextbookServingViews<> views_;
};

}  // namespace

ServingViews<> serving_views(const In& in, Notes& notes) {
  ServingViews<> v = prepare_serving(serving_of(in), notes);
  if (in.weight_bits) v.plan.weight_bytes = *in.weight_bits / 8.0 * unit::B / unit::param;
  return v;
}

std::unique_ptr<PassTimes> pass_times(const In& in, Fidelity fidelity, std::optional<Time<>> prefill_issue, Notes& notes) {
  if (fidelity == Fidelity::textbook) return std::make_unique<TextbookPasses>(in, notes);
  return std::make_unique<OperatorPasses>(in, prefill_issue, notes);
}

ServingEngine engine_or_generic(const ServingEngine* engine, Fidelity fidelity, Notes& notes) {
  if (fidelity == Fidelity::textbook) {
    if (engine != nullptr) notes.warn("textbook fidelity prices no engine: no host time, prompts mixed into steps");
    return {.name = "none"};
  }
  const ServingEngine& e = engine != nullptr ? *engine : standard_zoo().at<ServingEngine>("generic");
  if (engine == nullptr) notes.assume("engine", e.name, "the class of engines; name yours for its host time and scheduling");
  if (!notes.wanted()) return e;
  for_each_field<ServingEngine>([&]<class M>(const Field<ServingEngine, M>& row) {
    const auto name = fmt::format("engine.{}.{}", e.name, row.name);
    const std::string source = e.entry != nullptr ? e.entry->source_of(row.name).ref : "given";
    if constexpr (std::is_same_v<M, bool>) notes.assume(name, e.*row.member ? "yes" : "no", source);
    else if constexpr (detail::is_optional_v<M>) {
      if (e.*row.member) notes.assume(name, *(e.*row.member), source);
    }
    else if constexpr (!std::is_same_v<M, std::string>) notes.assume(name, e.*row.member, source);
  });
  return e;
}

}  // namespace mlsysim

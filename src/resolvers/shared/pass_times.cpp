// Prices the passes of a replica.

#include "resolvers/shared/figures.hpp"

#include <mlsysim/estimate/detail/steady.hpp>
#include <mlsysim/estimate/memory_account.hpp>
#include <mlsysim/reflect/take_fields.hpp>
#include <mlsysim/resolvers/defaults.hpp>
#include <mlsysim/resolvers/detail/pass_times.hpp>
#include <mlsysim/resolvers/detail/settle.hpp>
#include <mlsysim/specs/serving_engine.hpp>
#include <mlsysim/timing/fill.hpp>
#include <mlsysim/zoo/loader.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

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
  if (!fidelity_model_for(in.fidelity, *in.workload, quiet).prices_engines()) {
    out.engine = nullptr;  // who asks for the engine says what becomes of it
    out.execution.reset();
    if (in.execution) notes.warn("textbook fidelity does not price execution: operator fidelity does");
  }
  out.draft_model = nullptr;
  out.draft_acceptance_decay.reset();
  out.acceptance_length.reset();
  return out;
}

/// The entry, along what a runtime extends, that states a figure; else its own.
const Entry& stating(const ServingEngine& engine, std::string_view figure) {
  for (const auto* e = &engine; e != nullptr && e->entry != nullptr; e = e->extends)
    if (e->entry->figure(figure) != nullptr) return *e->entry;
  return *engine.entry;
}

}  // namespace

ReplicaPasses<> pass_times(const InFlightBatchingModel::Inputs& in, const ServingEngine& engine,
                           Notes& notes) {
  return replica_passes(settle(serving_of(in, engine, notes), notes));
}

std::pair<ReplicaPasses<>, Data<>> draft_pass_times(const InFlightBatchingModel::Inputs& in,
                                                    const ServingEngine& engine,
                                                    const ReplicaPasses<>& passes) {
  Notes quiet;  // the model's own passes have said what is assumed
  auto asked = serving_of(in, engine, quiet);
  asked.draft_model = in.draft_model;
  asked.draft_acceptance_decay = in.draft_acceptance_decay;
  asked.acceptance_length = in.acceptance_length;
  const auto serving = settle(asked, quiet);
  auto draft = detail::draft_passes(serving, passes);
  const Data<> weights = detail::draft_weights(serving, draft);
  return {std::move(draft), weights};
}

CacheSettings cache_settings(const StatedCache& stated, const ServingEngine& engine,
                             const HardwareNode& hardware, const Plan<>& plan, const ModelView<>& model,
                             Notes& notes) {
  if (stated.kv_share) return {.share = *stated.kv_share};
  const auto capacity = hardware.memory.capacity;
  if (!engine.memory || !capacity) return {.share = detail::number("catalogue.serving.kv_share", notes)};
  const EngineMemoryRule& rule = *engine.memory;
  const double tokens = stated.pass_tokens.value_or(detail::batched_tokens(rule, *capacity));
  const bool latent = std::ranges::any_of(
      model.shape().mixers, [](const auto& m) { return std::holds_alternative<LatentView<>>(m.rule); });
  const double share = stated.bytes ? 1
                                    : stated.fraction.value_or(detail::engine_share(
                                          rule, {*capacity, tokens, plan.tp, plan.tp, latent}));
  // The engine keeps its margin where it places the layers itself.
  const bool placed = stated.fraction || stated.bytes || plan.offload_weights > 0 || plan.offload_experts > 0;
  if (notes.wanted() && !stated.fraction && !stated.bytes)
    notes.assume("kv_share", share, fmt::format("{} of {}, zoo/runtimes", rule.knob, engine.name));
  return {.share = share,
          .rule = {.margin = placed ? Data<>() : rule.margin.value_or(Data<>()),
                   .stated = stated.bytes.value_or(Data<>()),
                   .pass_tokens = tokens,
                   .spare_tokens = rule.blocks_without * rule.block_tokens,
                   .known = true,
                   .share_of = rule.share_of}};
}

const ServingEngine& usual_engine(const HardwareNode& hardware, std::string UsualRuntimes::*use) {
  const Zoo& zoo = standard_zoo();
  const DeviceClass* c = &class_of(hardware, conventions_or_standard(nullptr));
  while ((c->runtimes.*use).empty()) c = c->like != nullptr ? c->like : &zoo.at<DeviceClass>("device");
  return zoo.at<ServingEngine>(c->runtimes.*use);
}

/// Notes what an engine states.
static void note_stated(const ServingEngine& e, Notes& notes) {
  for_each_field<ServingEngine>([&]<class M>(const Field<ServingEngine, M>& row) {
    if constexpr (!HasFields<typename detail::unwrap<M>::type>) {
      const auto name = fmt::format("engine.{}.{}", e.name, row.name);
      const std::string source = e.entry != nullptr ? stating(e, row.name).source_of(row.name).ref : "given";
      if constexpr (std::is_same_v<M, bool>)
        notes.assume(name, e.*row.member ? "yes" : "no", source);
      else if constexpr (std::is_same_v<M, std::optional<Time<>>>) {
        if (e.*row.member) notes.assume(name, *(e.*row.member), source);
      } else if constexpr (std::is_same_v<M, Time<>> || std::is_same_v<M, double>)
        notes.assume(name, e.*row.member, source);
    }
  });
}

ServingEngine engine_or_usual(const ServingEngine* engine, const HardwareNode& hardware,
                              const FidelityModel& fidelity_model, Notes& notes) {
  if (!fidelity_model.prices_engines()) {
    if (engine != nullptr)
      notes.warn("textbook fidelity prices no engine: no host time, prompts mixed into steps");
    return {.name = "none"};
  }
  const ServingEngine& e = engine != nullptr ? *engine : usual_engine(hardware);
  if (engine == nullptr)
    notes.assume("engine", e.name, "usual on such devices; name yours for its host time and scheduling");
  if (!notes.wanted()) return e;
  // The entry of one zoo stays as it is, and so do its notes. Plugins may bring another zoo.
  static const ServingEngine& usual = standard_zoo().at<ServingEngine>("generic");
  if (&e != &usual) {
    note_stated(e, notes);
    return e;
  }
  static const auto known = [] {
    NoteBook book;
    Notes found(book);
    note_stated(usual, found);
    return book.assumptions;
  }();
  for (const auto& a : known) notes.assume(a);
  return e;
}

}  // namespace mlsysim

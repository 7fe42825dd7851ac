#include <mlsysim/answer/scenario_law.hpp>

#include "scenario_numbers.hpp"

#include <mlsysim/tape/record.hpp>

namespace mlsysim {
namespace {

constexpr LawInfo kScenario{
    .id = "Scenario", .equation = "scorecard = f(scenario, device, network, facility, model)", .source = ""};
constexpr LawShape kShape{&kScenario, &describe<ScenarioInputs<>>, &describe<ScenarioResults<>>};

Tape record_scenario(const ScenarioShape& s) {
  return record_tape(leaf_count<ScenarioInputs<>>, [&](std::span<const Recorded> leaves) {
    ScenarioInputs<Recorded> in;
    write_leaves(in, [&](std::size_t i) { return leaves[i]; });
    const auto out = detail::recorded_call<ScenarioResults<Recorded>>(
        &kShape, in, [&](const ScenarioInputs<Recorded>& given) { return scenario_numbers(s, given); });
    const auto found = detail::recorded_leaves(out);
    return std::vector<Recorded>(found.begin(), found.end());
  });
}

/// A law that holds its own tape.
struct RecordedScenario : ScenarioLaw {
  Tape tape_;
};

}  // namespace

std::string scenario_key(const ScenarioShape& s) {
  std::string key;
  const auto put = [&](const auto& x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
  const auto put_structure = [&](const Structure& p) {
    for (const int x : {static_cast<int>(p.architecture), static_cast<int>(p.attention),
                        static_cast<int>(p.kernel), static_cast<int>(p.phase),
                        static_cast<int>(p.recomputed.bits), static_cast<int>(p.schedule), p.zero_stage})
      put(x);
    for (const bool x : {p.causal, p.moe, p.linear, p.delta_attention, p.indexed, p.windowed,
                         p.sequence_parallel, p.offloads, p.narrow, p.dropout, p.biased, p.fused,
                         p.per_operator, p.known, p.attends, p.drafting, p.per_token, p.prefetch})
      put(x);
  };
  put(s.kind);
  put(s.pricing);
  put_structure(s.prefill);
  put_structure(s.decode);
  put_structure(s.draft);
  for (const bool x : {s.generates, s.drafts, s.sequences, s.has_power, s.has_price, s.has_tokens,
                       s.has_layers, s.has_heads, s.part_of_node, s.sharded, s.apart, s.spills})
    put(x);
  put(s.chunks);
  put(s.division);
  for (const auto& layer : s.layers)
    for_each_field<ConvLayer>([&](const auto& row) {
      using M = std::remove_cvref_t<decltype(layer.*(row.member))>;
      if constexpr (std::is_same_v<M, std::optional<double>>)
        put((layer.*(row.member)).value_or(-1.0));
      else
        put(layer.*(row.member));
    });
  return key;
}

std::shared_ptr<const ScenarioLaw> record_scenario_law(const ScenarioShape& s) {
  auto law = std::make_shared<RecordedScenario>();
  law->tape_ = record_scenario(s);
  law->info = kScenario;
  const auto inputs = describe<ScenarioInputs<>>(), results = describe<ScenarioResults<>>();
  law->inputs.assign(inputs.begin(), inputs.end());
  law->results.assign(results.begin(), results.end());
  law->recorded = [](const void* self) -> const Tape& {
    return static_cast<const RecordedScenario*>(self)->tape_;
  };
  // The law is its own state and must not keep itself alive.
  law->self = std::shared_ptr<const void>(law.get(), [](const void*) {});
  const Tape& tape = law->tape_;
  const Recording& r = tape.recording();
  std::vector<bool> live(tape.size());
  for (std::size_t i = 0; i < tape.results(); ++i) {
    if (tape.fixed(tape.output(i))) continue;
    law->reported.push_back(static_cast<std::uint16_t>(i));
    live[tape.output(i)] = true;
  }
  for (std::size_t n = tape.size(); n-- > 0;)
    if (live[n]) for_each_operand(r, r.nodes[n], [&](std::uint32_t o) { live[o] = true; });
  law->matters.resize(tape.inputs());
  for (std::size_t n = 0; n < tape.size(); ++n)
    if (live[n] && r.nodes[n].op == TapeOp::input) law->matters[r.nodes[n].a] = true;
  return law;
}

std::string_view reported_name(std::string_view path) {
  for (const std::string_view table : {"feasibility.", "serving.", "training.", "inference.", "macro."})
    if (path.starts_with(table)) return path.substr(table.size());
  return path;
}

std::size_t ScenarioLaw::result(std::string_view name) const {
  for (const auto i : reported)
    if (reported_name(results[i].name) == name) return i;
  return LawEntry::result(name);
}

std::vector<double> scenario_leaves(const ScenarioInputs<>& in) {
  std::vector<double> out;
  out.reserve(leaf_count<ScenarioInputs<>>);
  read_leaves(in, [&](std::size_t, double x) { out.push_back(x); });
  return out;
}

}  // namespace mlsysim

#include <mlsysim/engine/scenario_laws.hpp>

#include <array>
#include <list>
#include <mutex>

namespace mlsysim {

std::shared_ptr<const ScenarioLaw> scenario_law(const ScenarioShape& s) {
  // A tape takes some hundred kilobytes.
  constexpr std::size_t most = 64;
  static std::mutex mutex;
  static std::list<std::pair<std::string, std::shared_ptr<const ScenarioLaw>>> known;
  const std::string key = scenario_key(s);
  {
    const std::lock_guard lock(mutex);
    for (auto at = known.begin(); at != known.end(); ++at)
      if (at->first == key) {
        known.splice(known.begin(), known, at);
        return at->second;
      }
  }
  auto law = record_scenario_law(s);
  const std::lock_guard lock(mutex);
  known.emplace_front(key, law);
  if (known.size() > most) known.pop_back();
  return law;
}

std::string_view input_name(std::string_view path, ScenarioKind kind) {
  // Members of the plan that a training scenario names itself: by the same name, or by another.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> named{
      {{"overlap", "overlap_efficiency"},
       {"recomputed", "recomputed_share"},
       {"steal", "overlap_slowdown"},
       {"trainable", "trainable_fraction"}}};
  constexpr std::string_view plan = "plan.";
  for (const std::string_view limit : {"plan.power_cap", "plan.clock_limit"})
    if (path == limit) return limit.substr(plan.size());
  if (kind == ScenarioKind::training && path.starts_with(plan)) {
    const auto member = path.substr(plan.size());
    for (const auto& [name, field] : named)
      if (member == name) return field;
    // Where nobody states how uneven ranks are, the plan has 0, which a scenario has not.
    if (member != "rank_imbalance" && find_field(describe<Scenario>(), member) != nullptr) return member;
  }
  // The figures of Conventions have one name wherever they act.
  for (const std::string_view prefix : {"run.", "hardware."})
    if (path.starts_with(prefix) &&
        (prefix == "run." || path.substr(prefix.size()).starts_with("conventions.")))
      return path.substr(prefix.size());
  return path;
}

Derivation derive_scenario(const ScenarioLaw& law, ScenarioKind kind, std::span<const double> in,
                           std::size_t result, std::span<const std::string> open) {
  auto d = derive_result(law, in, result, open);
  const auto publish = [](std::string& name, std::string_view known) {
    if (known.size() != name.size() || known != name) name = std::string(known);
  };
  auto& whole = d.records.front();
  for (auto& v : whole.inputs) publish(v.name, input_name(v.name, kind));
  for (auto& v : whole.results) publish(v.name, reported_name(v.name));
  for (auto& n : d.nodes) publish(n.name, n.op == "input" ? input_name(n.name, kind) : reported_name(n.name));
  return d;
}

}  // namespace mlsysim

#include <mlsysim/engine/scenario_laws.hpp>

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

}  // namespace mlsysim

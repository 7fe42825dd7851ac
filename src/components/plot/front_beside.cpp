// Intervals of the points of a front.

#include <mlsysim/plot/front_beside.hpp>

#include "detail/point_scenario.hpp"

#include <mlsysim/explore/ask/intervals.hpp>
#include <mlsysim/explore/space/space.hpp>
#include <mlsysim/specs/zoo.hpp>

namespace mlsysim {
namespace {

Subject subject_at(const Space& space, std::uint64_t index) {
  Subject s = space.bind(index / space.inner());
  for (const auto& c : space.columns(s)) s.point[c.input] = c.values[index / c.stride % c.values.size()];
  return s;
}

}  // namespace

std::vector<std::optional<FrontBand>> front_bands(const ExploreAnswer& answer, const Space& space,
                                                  const Scenario& scenario, int level) {
  (void)interval_level(level);
  std::vector<std::optional<FrontBand>> out(answer.front.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto& f = answer.front[i];
    const auto subject = subject_at(space, f.index);
    std::vector<std::string> names;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto* r = find_field(subject.entry.results, answer.objectives[k].text);
      if (r != nullptr) names.emplace_back(r->name);
    }
    if (names.size() < 2) continue;
    const auto of = interval_subject(detail::scenario_at(scenario, space, f.index));
    FrontBand band;
    bool measured = true;
    for (const auto& n : intervals(subject, of, names, level)) {
      const std::size_t k = n.result == names[0] ? 0 : 1;
      band.low[k] = n.lower, band.high[k] = n.upper;
      measured = measured && n.model.has_value();
    }
    if (measured && band.high[0] > 0 && band.high[1] > 0) out[i] = band;
  }
  return out;
}

}  // namespace mlsysim

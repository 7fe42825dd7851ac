// Where no point of a space fits: what would make one of them fit.

#include "questions.hpp"

#include <mlsysim/engine/evaluator.hpp>
#include <mlsysim/report/detail/verdict.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace mlsysim::cli {
namespace {

/// The scorecard of a point; nothing where the space varies more than a scenario states, or gives no answer.
std::optional<SystemEvaluation> card_at(ScenarioRequest request, const Space& space, std::uint64_t index) {
  const auto rows = space.rows_at(index);
  for (std::size_t a = 0; a < rows.size(); ++a) {
    const auto& axis = space.axes()[a];
    for (std::size_t k = 0; k < axis.names.size(); ++k) {
      if (axis.names[k] == "hardware" && request.targets.size() > 1)
        request.targets[1] = axis.text(rows[a], k);
      else if (find_field(describe<Scenario>(), axis.names[k]) != nullptr)
        request.fields[axis.names[k]] = axis.text(rows[a], k);
      else
        return std::nullopt;
    }
  }
  try {
    return SystemEvaluator::evaluate(scenario_of(request).scenario);
  } catch (const Error&) {  // a point that is no plan
    return std::nullopt;
  }
}

/// "accelerators 8192, batch_size 16"
std::string point_words(const Space& space, std::uint64_t index) {
  const auto rows = space.rows_at(index);
  std::vector<std::string> out;
  for (std::size_t a = 0; a < rows.size(); ++a)
    out.push_back(fmt::format("{} {}", space.axes()[a].title(), space.axes()[a].label(rows[a])));
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

std::string what_fits(const ScenarioRequest& request, const Space& space) {
  std::string out;
  double least = HUGE_VAL;
  for (const std::uint64_t index : {std::uint64_t{0}, space.size() - 1}) {
    const auto card = card_at(request, space, index);
    if (!card || card->remedies.empty()) continue;
    const auto* used = card->find("feasibility.memory_used");
    if (used == nullptr || !(used->number() < least)) continue;
    least = used->number();
    std::vector<std::string> changes;
    for (const auto& r : card->remedies) changes.push_back(as_options(r.change));
    out = fmt::format("{} fits with {}", point_words(space, index), fmt::join(changes, ", or "));
  }
  return out;
}

}  // namespace mlsysim::cli

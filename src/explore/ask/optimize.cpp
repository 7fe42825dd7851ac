#include <mlsysim/explore/ask/optimize.hpp>

#include <fmt/format.h>

namespace mlsysim {

ExploreAnswer optimize(const Space& space, const Question& question, const ExploreOptions& options) {
  if (question.objectives.size() != 1)
    throw InputError({.id = "mlsysim.explore.047",
                      .message = "an optimum has one objective",
                      .key = "objectives",
                      .found = fmt::format("{}", question.objectives.size()),
                      .expected = "one of minimize and maximize",
                      .hint = "pareto answers several at once"});
  return explore(space, question, options);
}

ExploreAnswer pareto(const Space& space, const Question& question, const ExploreOptions& options) {
  if (question.objectives.size() < 2)
    throw InputError({.id = "mlsysim.explore.048",
                      .message = "a front has at least two objectives",
                      .key = "objectives",
                      .found = fmt::format("{}", question.objectives.size()),
                      .expected = "two or more of minimize and maximize",
                      .hint = "optimize answers one"});
  return explore(space, question, options);
}

ExploreAnswer sweep(const Space& space, const Question& question, ExploreOptions options) {
  options.strategy = Strategy::exhaustive;
  return explore(space, question, options);
}

}  // namespace mlsysim

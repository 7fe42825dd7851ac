#include <mlsysim/engine/plan_assertion.hpp>

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/near_miss.hpp>

#include <fmt/format.h>

#include <exception>

namespace mlsysim {
namespace {

/// A bound in the dimension of the metric; a bare number counts in the unit that the metric is documented in.
AnyQuantity bound_of(const Metric& metric, const std::string& text, const PlanAssertion& a,
                     AssertionResult& result) {
  auto q = AnyQuantity::parse(text, a.where);
  if (q.exponents() == metric.exps) return q;
  if (q.dimensionless() && !metric.unit.empty()) {
    result.note =
        fmt::format("the bare number {} was read in {}, the unit of {}", text, metric.unit.view(), a.metric);
    return AnyQuantity::parse(fmt::format("{} {}", format_exact(q.base()), metric.unit.view()), a.where);
  }
  throw DimensionError({.id = "mlsysim.engine.049",
                        .message = fmt::format("the bound on '{}' has the wrong unit", a.metric),
                        .key = a.metric,
                        .found = fmt::format("'{}', {}", text, dimension_name(q.exponents())),
                        .expected = dimension_name(metric.exps),
                        .hint = metric.unit.empty()
                                    ? std::string("leave the unit out")
                                    : fmt::format("write it in {} or a compatible unit", metric.unit.view()),
                        .where = a.where});
}

/// The number of the scorecard that an assertion speaks of. @throws LookupError
const Metric& asserted_metric(const PlanAssertion& a, const SystemEvaluation& evaluation) {
  const Metric* metric = evaluation.find(a.metric);
  if (metric != nullptr && std::holds_alternative<double>(metric->value)) return *metric;
  std::vector<std::string> names;
  std::string skipped;
  for (const auto* level : evaluation.levels()) {
    const auto prefix = level->level_name + ".";
    if (level->status == EvaluationLevel::Status::skipped && a.metric.starts_with(prefix))
      skipped = fmt::format("the level {} was skipped: {}", level->level_name, level->summary.str());
    for (const auto& m : level->metrics)
      if (std::holds_alternative<double>(m.value)) names.push_back(prefix + m.name);
  }
  throw LookupError(
      {.id = "mlsysim.engine.050",
       .message = metric != nullptr ? fmt::format("the metric '{}' is not a number", a.metric)
                                    : fmt::format("the scorecard has no metric '{}'", a.metric),
       .key = a.metric,
       .found = metric != nullptr ? fmt::format("'{}'", metric->text()) : fmt::format("'{}'", a.metric),
       .expected = skipped.empty() ? fmt::format("one of {}", fmt::join(names, ", ")) : skipped,
       .hint = did_you_mean(a.metric, names),
       .where = a.where});
}

AssertionResult compared(const PlanAssertion& a, const Metric& metric, AssertionResult::Bound bound) {
  const bool at_least = bound == AssertionResult::Bound::min;
  AssertionResult result{.metric = a.metric, .bound = bound};
  const auto limit = bound_of(metric, at_least ? a.min_text : a.max_text, a, result);
  const auto found = AnyQuantity::from_base(std::get<double>(metric.value), metric.exps);
  result.limit = limit.dimensionless() ? pretty(limit.base()) : pretty(limit);
  result.found = metric.text();
  result.passed = at_least ? found >= limit : found <= limit;
  return result;
}

}  // namespace

std::vector<AssertionResult> check_assertions(std::span<const PlanAssertion> assertions,
                                              const SystemEvaluation& evaluation) {
  std::vector<AssertionResult> out;
  std::vector<ErrorFacts> problems;
  std::exception_ptr only;
  for (const auto& a : assertions) {
    for (const auto bound : {AssertionResult::Bound::min, AssertionResult::Bound::max}) {
      if ((bound == AssertionResult::Bound::min ? a.min_text : a.max_text).empty()) continue;
      try {
        out.push_back(compared(a, asserted_metric(a, evaluation), bound));
      } catch (const Error& error) {
        only = std::current_exception();
        problems.push_back(error.facts());
        if (dynamic_cast<const LookupError*>(&error) != nullptr) break;  // both bounds speak of one metric
      }
    }
  }
  if (problems.size() == 1) std::rethrow_exception(only);
  if (!problems.empty())
    throw ErrorList({.id = problems.front().id,
                     .message = fmt::format("{} assertions cannot be checked", problems.size()),
                     .key = problems.front().key,
                     .where = problems.front().where},
                    problems);
  return out;
}

}  // namespace mlsysim

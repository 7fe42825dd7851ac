// Every resolver of the catalogue, at the example of its page, asked by the tools: no point may end a
// question.

#include "sample_problems.hpp"

#include <support/catch.hpp>
#include <support/resolver_examples.hpp>

#include <mlsysim/explore/ask/compare.hpp>
#include <mlsysim/explore/ask/sensitivity.hpp>
#include <mlsysim/explore/ask/solve.hpp>
#include <mlsysim/explore/ask/uncertainty.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace mlsysim;
using namespace mlsysim::test;

namespace {

/// Searches within a resolver take seconds; thousands of their calls take minutes.
bool quick(const Resolver& r) { return r.info().tier != Tier::optimizer; }
/// A resolver that differentiates at every call takes milliseconds a call: of the zoo's numbers behind it
/// every eighth one moves.
std::size_t stride_of_figures(const Resolver& r) { return r.info().name == "SensitivitySolver" ? 8 : 1; }

Record tail(double per_second, double replicas = 1) {
  const auto model = ResolverRegistry::standard().share("TailLatencyModel");
  Record in(*model, Side::inputs);
  in.set("arrival_rate", RequestRate<>::from_base(per_second))
      .set("service_latency", 50 * unit::ms)
      .set("num_replicas", replicas);
  return in;
}

Subject subject_of_tail(double per_second) {
  const auto in = tail(per_second);
  return subject_of(ResolverRegistry::standard().share("TailLatencyModel"), in.data());
}

}  // namespace

TEST_CASE("every resolver answers what its results hang on, backwards and over a sweep", "[explore][every]") {
  int asked = 0;
  for (const auto& r : resolvers()) {
    if (!quick(*r)) continue;
    INFO(r->info().name);
    const Record in = example(*r);
    const Subject s = subject_of(r, in.data());
    if (s.entry.inputs.empty()) continue;
    const auto here = s.entry(s.point);
    // Over the figures of the zoo once, for the first result; over the resolver's own inputs for every
    // result.
    std::vector<std::string> own, once;
    std::size_t figures = 0;
    for (const auto& f : s.entry.inputs) {
      const bool of_resolver = f.name.find('.') == std::string::npos;
      if (of_resolver) own.push_back(f.name);
      // Sizes of a model are no levers unless they are named.
      const bool size = f.name.starts_with("workload.") || f.name.starts_with("draft_model.");
      if (of_resolver || (!size && figures++ % stride_of_figures(*r) == 0)) once.push_back(f.name);
    }
    const bool every = stride_of_figures(*r) == 1;
    bool all = true;
    for (std::size_t k = 0; k < here.size(); ++k) {
      const FieldInfo& result = s.entry.results[k];
      INFO(result.name);
      if (!std::isfinite(here[k])) continue;
      if (own.empty() && !all) continue;
      const auto report = sensitivity(s, result.name,
                                      {.inputs = !all    ? own
                                                 : every ? std::vector<std::string>()
                                                         : once});
      CHECK(report.levers.size() == (all ? once : own).size());
      all = false;
      for (const auto& l : report.levers) {
        INFO(l.words);
        CHECK_FALSE(l.words.empty());
        CHECK_THAT(l.words, !ContainsSubstring(" nan"));
        CHECK_FALSE(std::isnan(l.reach()));
      }
      ++asked;
    }
    // The first result with a number, solved for every input and swept over every input.
    const auto first =
        std::find_if(here.begin(), here.end(), [](double x) { return std::isfinite(x) && x > 0; });
    REQUIRE(first != here.end());
    const FieldInfo& result = s.entry.results[static_cast<std::size_t>(first - here.begin())];
    const std::string half =
        result.unit.empty()
            ? format_exact(0.5 * *first)
            : fmt::format("{} {}",
                          format_exact(
                              0.5 * AnyQuantity::from_base(*first, result.exps).in(std::string(result.unit))),
                          result.unit);
    for (std::size_t i = 0; i < std::min(s.point.size(), own.size() + 3); ++i) {
      const FieldInfo& input = s.entry.inputs[i];
      INFO(input.name);
      if (input.kind == ValueKind::flag) continue;
      if (!input.integral) {
        // Counts of a million values are tried one by one.
        const auto answer = solve(s, fmt::format("{} <= {}", result.name, half), input.name);
        CHECK((answer.feasible() || !answer.why()->reason.empty()));
      }
      const double x = s.point[i];
      const FieldRange range = base_range(input);
      SpaceAxis axis{.names = {input.name}, .rows = {}, .labels = {}};
      for (const double to : {x, 2 * x, 3 * x + 1})
        if (to <= range.high) axis.rows.push_back({DynamicValue(Value(to), input.exps)});
      const Space space(problem_of(r, in.data()), {axis});
      const auto swept = explore(space, minimize(result.name));
      CHECK(swept.evaluated + swept.skipped == static_cast<double>(axis.rows.size()));
      CHECK(swept.evaluated >= 1);
    }
  }
  CHECK(asked > 150);
}

TEST_CASE("a plan that contradicts itself costs its point, with the reason", "[explore][every]") {
  const auto model = ResolverRegistry::standard().share("ServingModel");
  Record in(*model, Side::inputs);
  const Zoo& zoo = standard_zoo();
  in.set("workload", &zoo.at<Workload>("Llama3_70B"))
      .set("hardware", &zoo.at<HardwareNode>("H100"))
      .set("tp_size", 8.0);
  const Space space(problem_of(model, in.data()), {axis("ep_size=1,2")});
  const auto answer = explore(space, minimize("itl"));
  CHECK(answer.evaluated == 1);
  REQUIRE(answer.skip_reasons.size() == 1);
  CHECK_THAT(answer.skip_reasons[0].first, ContainsSubstring("no experts"));
  // Nothing was asked about experts, so that nothing is said against them.
  const auto r = sensitivity(subject_of(model, in.data()), "ttft");
  for (const auto& l : r.levers)
    if (l.input == "ep_size") CHECK_THAT(l.words, ContainsSubstring("can take no other value"));
}

TEST_CASE("results that some points do not have", "[explore][every]") {
  const auto busy = subject_of_tail(10), overloaded = subject_of_tail(30);
  CHECK(sensitivity(busy, "p99_latency").levers.front().reach() > 0);
  CHECK_THROWS_WITH(sensitivity(overloaded, "p99_latency"),
                    ContainsSubstring("'p99_latency' has no value here"));
  const auto rate = solve(busy, "p99_latency <= 500 ms", "arrival_rate").value();
  CHECK(rate.value > 10);
  CHECK(rate.value < 20);
  CHECK_THROWS_WITH(compare(busy, overloaded, "p99_latency"),
                    ContainsSubstring("'p99_latency' of the second is no finite number"));
  const auto u = uncertainty(
      busy,
      {.figures = {UncertainFigure::parse("service_latency = normal 5 %")}, .results = {}, .samples = 256});
  CHECK(u.not_finite == 0);
  const auto model = ResolverRegistry::standard().share("TailLatencyModel");
  // One server is overloaded, two are not: the first point is no answer and no end of the search.
  const auto in = tail(30);
  const Space space(problem_of(model, in.data()), {axis("num_replicas=1..16")});
  const auto best = explore(space, minimize("p99_latency"));
  CHECK(best.not_finite == 1);
  CHECK(best.best.at(0).labels.at(0) == "16");
}

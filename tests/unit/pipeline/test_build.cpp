#include "samples.hpp"

#include <mlsysim/resolver_api/dynamic_resolver.hpp>

#include "support/catch.hpp"

using namespace mlsysim;
using namespace sample;

namespace {

std::string problems_of(const PipelineBuilder& b) {
  try {
    (void)b.build();
  } catch (const PipelineBuildError& e) {
    return e.what();
  }
  return "it was built";
}

}  // namespace

TEST_CASE("stages run in the order of their data, listing order breaks ties", "[pipeline]") {
  const auto p = PipelineBuilder("carbon")
                     .stage(CarbonModel{})
                     .stage(BandwidthSolver{})
                     .stage(EnergyModel{})
                     .stage(PowerModel{})
                     .given("fleet")
                     .given("model")
                     .given("target_latency")
                     .given("duration_days", 30)
                     .build();
  CHECK(p.stages() ==
        std::vector<std::string>{"BandwidthSolver", "PowerModel", "EnergyModel", "CarbonModel"});
  CHECK(p.given() == std::vector<std::string>{"fleet", "workload", "target_latency", "duration_days"});
}

TEST_CASE("all problems are reported at once", "[pipeline]") {
  ResolverRegistry registry;
  registry.add<PowerModel>();
  const auto text = problems_of(PipelineBuilder("bad")
                                    .registry(registry)
                                    .stage(BandwidthSolver{})
                                    .stage(EnergyModel{})
                                    .stage("PowrModel")
                                    .given("fleat")
                                    .given("target_latncy"));
  CHECK_THAT(text, ContainsSubstring("pipeline 'bad' cannot be built: 7 problems"));
  CHECK_THAT(text, ContainsSubstring("there is no resolver 'PowrModel'") &&
                       ContainsSubstring("did you mean 'PowerModel'?"));
  CHECK_THAT(text, ContainsSubstring("stage 'BandwidthSolver' misses its input 'workload'"));
  CHECK_THAT(text, ContainsSubstring("stage 'BandwidthSolver' misses its input 'target_latency'") &&
                       ContainsSubstring("did you mean 'target_latncy'?"));
  CHECK_THAT(text, ContainsSubstring("stage 'EnergyModel' misses its input 'power'") &&
                       ContainsSubstring("PowerModel could produce it"));
  CHECK_THAT(text, ContainsSubstring("misses its input 'duration_days'"));
  CHECK_THAT(text, ContainsSubstring("no stage uses the given 'fleat'"));
  CHECK_THAT(text, ContainsSubstring("no stage uses the given 'target_latncy'") &&
                       ContainsSubstring("did you mean 'target_latency'?"));
}

TEST_CASE("an object that would imply the input is advised", "[pipeline]") {
  CHECK_THAT(problems_of(PipelineBuilder().stage(PowerModel{})), ContainsSubstring("a node would imply it"));
}

TEST_CASE("two producers of a key need a choice", "[pipeline]") {
  PipelineBuilder b;
  b.stage(PowerModel{}).stage(PowerModel{}).stage(EnergyModel{}).given("hardware").given("duration_days", 1);
  CHECK_THAT(problems_of(b),
             ContainsSubstring("input 'power' of stage 'EnergyModel' has several producers") &&
                 ContainsSubstring("PowerModel.power and PowerModel_2.power") &&
                 ContainsSubstring(".link(\"PowerModel.power\", \"EnergyModel.power\")"));
  b.link("PowerModel_2.power", "EnergyModel.power");
  CHECK(b.build().stages() == std::vector<std::string>{"PowerModel", "PowerModel_2", "EnergyModel"});
  PipelineBuilder both;
  both.stage(PowerModel{}).stage(EnergyModel{}).given("hardware").given("power").given("duration_days", 1);
  CHECK_THAT(problems_of(both),
             ContainsSubstring("PowerModel.power and given 'power'") && ContainsSubstring("1 problem\n"));
}

TEST_CASE("links are checked at both ends and in their dimension", "[pipeline]") {
  PipelineBuilder b;
  b.stage(BandwidthSolver{})
      .stage(EnergyModel{})
      .given("workload")
      .given("target_latency")
      .given("duration_days", 1);
  auto wrong = b;
  CHECK_THAT(problems_of(wrong.link("BandwidthSolver.bandwidth", "EnergyModel.power")),
             ContainsSubstring("cannot be linked to input 'power'") && ContainsSubstring("bandwidth [B/s]") &&
                 ContainsSubstring("power [W]"));
  auto ends = b;
  ends.link("BandwidthSolvr.bandwidth", "EnergyModel.power")
      .link("BandwidthSolver.bandwith", "EnergyModel.pue");
  CHECK_THAT(problems_of(ends), ContainsSubstring("did you mean 'BandwidthSolver'?") &&
                                    ContainsSubstring("did you mean 'bandwidth'?") &&
                                    ContainsSubstring("2 problems"));
  auto twice = b;
  twice.given("power").link("power", "EnergyModel.power").link("power", "EnergyModel.power");
  CHECK_THAT(problems_of(twice), ContainsSubstring("'EnergyModel.power' is linked twice"));
  auto value = b;
  CHECK_THAT(problems_of(value.given("power", 3 * unit::ms)),
             ContainsSubstring("given 'power' cannot be used as") && ContainsSubstring("time [s]"));
}

TEST_CASE("a cycle is shown with its chain", "[pipeline]") {
  const auto text = problems_of(PipelineBuilder().stage(ForthModel{}).stage(BackModel{}));
  CHECK_THAT(text, ContainsSubstring("the stages form a cycle: ") &&
                       ContainsSubstring("ForthModel.hfu -> BackModel.hfu") &&
                       ContainsSubstring("BackModel.mfu -> ForthModel.mfu"));
  // A stage beside the cycle is not part of the chain.
  const auto more = problems_of(PipelineBuilder()
                                    .stage(StepModel{}, "After")
                                    .link("ForthModel.hfu", "After.hfu")
                                    .stage(ForthModel{})
                                    .stage(BackModel{})
                                    .link("BackModel.mfu", "ForthModel.mfu"));
  CHECK_THAT(more, ContainsSubstring("form a cycle") && !ContainsSubstring("After.hfu"));
}

TEST_CASE("names of stages", "[pipeline]") {
  CHECK_THAT(
      problems_of(PipelineBuilder().stage(PowerModel{}, "P").stage(PowerModel{}, "P").given("hardware")),
      ContainsSubstring("two stages are called 'P'") && ContainsSubstring("\"P_2\""));
  CHECK_THAT(problems_of(PipelineBuilder().stage("PowerModel")),
             ContainsSubstring("no registry to look it up in"));
  CHECK_THAT(problems_of(PipelineBuilder()), ContainsSubstring("a pipeline needs stages"));
  // An explicit name that looks like an automatic one is left alone.
  const auto p = PipelineBuilder()
                     .stage(PowerModel{})
                     .stage(PowerModel{})
                     .stage(PowerModel{}, "PowerModel_2")
                     .given("hardware")
                     .build();
  CHECK(p.stages() == std::vector<std::string>{"PowerModel", "PowerModel_3", "PowerModel_2"});
}

TEST_CASE("chains of implications, shortest first", "[pipeline]") {
  const auto& t = AdapterTable::standard();
  const auto grid = t.chains_to("grid");
  REQUIRE(grid.size() == 3);
  CHECK(grid[0].size() == 1);
  CHECK(grid[0][0]->from == "fleet");
  CHECK(grid[1][0]->from == "datacenter");
  CHECK(grid[2].size() == 2);
  CHECK(t.chains_to("hardware").size() == 2);
  CHECK(t.chains_to("workload").empty());
  AdapterTable loop;
  loop.add({"a", "b", "b", nullptr}).add({"b", "a", "a", nullptr});
  CHECK(loop.chains_to("a").size() == 1);
}

TEST_CASE("the graph as text, DOT, Mermaid and JSON", "[pipeline]") {
  const auto p = PipelineBuilder("say \"hi\"")
                     .stage(PowerModel{})
                     .stage(EnergyModel{})
                     .given("fleet")
                     .given("duration_days", 1)
                     .build();
  CHECK_THAT(p.show(), ContainsSubstring("hardware <- given 'fleet' -> node -> hardware") &&
                           ContainsSubstring("power <- PowerModel.power") &&
                           ContainsSubstring("pue <- default (hyperscale average)"));
  CHECK_THAT(p.to_dot(), ContainsSubstring("digraph \"say \\\"hi\\\"\"") &&
                             ContainsSubstring("s0 -> s1 [label=\"power\"]"));
  CHECK_THAT(p.to_mermaid(), ContainsSubstring("g0 -- \"fleet -> node -> hardware\" --> s0"));
  CHECK_THAT(p.to_json(),
             ContainsSubstring("\"resolver\": \"EnergyModel\"") && ContainsSubstring("\"given\": \"fleet\""));
}

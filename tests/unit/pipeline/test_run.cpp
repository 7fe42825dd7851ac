#include "samples.hpp"

#include <mlsysim/resolver_api/dynamic_resolver.hpp>

#include "support/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

using namespace mlsysim;
using namespace sample;

namespace {

Pipeline carbon_pipeline() {
  return PipelineBuilder("carbon")
      .stage(PowerModel{})
      .stage(EnergyModel{})
      .stage(CarbonModel{})
      .given("fleet")
      .given("duration_days", 30)
      .build();
}

/// 700 W for 30 days at PUE 1.1
const double kJoule = 700.0 * 1.1 * 30 * 86400;

struct Diary : Callback {
  std::vector<std::string> seen;
  bool angry = false;
  [[nodiscard]] std::string name() const override { return "recorder"; }
  void note(const std::string& what) {
    seen.push_back(what);
    if (angry) throw std::runtime_error("callback is angry");
  }
  void on_pipeline_start(const Run& run) override { note("start " + run.pipeline().name()); }
  void on_pipeline_end(const Run&, double) override { note("end"); }
  void on_stage_start(const StageEvent& e) override { note("> " + std::string(e.stage)); }
  void on_stage_end(const StageEvent& e) override {
    note("< " + std::string(e.stage) + " " + std::to_string(e.resolver.outputs().size()) +
         (e.seconds > 0 ? " timed" : ""));
  }
  void on_skip(const StageEvent& e) override {
    note("skip " + std::string(e.stage) + " because " + std::string(e.reason));
  }
  void on_error(const StageEvent& e) override {
    note("error " + std::string(e.stage) + (e.error ? " held" : ""));
  }
  void on_infeasible(const StageEvent& e) override {
    note("infeasible " + std::string(e.stage) + ": " + e.why->reason);
  }
};

}  // namespace

TEST_CASE("a run gives typed results, by stage and by key", "[pipeline]") {
  const World world;
  const auto results = carbon_pipeline().run({{"fleet", &world.fleet}});
  CHECK_THAT(results.get<EnergyModel>().energy.base(), WithinRel(kJoule, 1e-12));
  CHECK(results["EnergyModel"]["energy"] == DynamicValue(results.get<EnergyModel>().energy));
  CHECK(results.value("EnergyModel.energy") == results.value("energy"));
  CHECK_THAT(results.get<CarbonModel>().carbon_footprint.in(unit::kgCO2e),
             WithinRel(kJoule / 3.6e6 * 0.02, 1e-12));
  CHECK(results.value("duration_days") == DynamicValue(30));
  CHECK_THROWS_WITH(results["EnergyModl"], ContainsSubstring("did you mean 'EnergyModel'?"));
  CHECK_THROWS_WITH(results["EnergyModel"]["enrgy"], ContainsSubstring("did you mean 'energy'?"));
  CHECK_THROWS_WITH(results.value("enrgy"), ContainsSubstring("did you mean 'energy'?"));
  CHECK_THROWS_WITH(results.get<BandwidthSolver>(), ContainsSubstring("no stage of this type"));
}

TEST_CASE("implied objects: the nearest that is there", "[pipeline]") {
  World world;
  Run run(carbon_pipeline());
  run.set("fleet", &world.fleet).execute();
  const double clean = run.get<CarbonModel>().carbon_footprint.base();
  Fleet dirty = world.fleet;
  dirty.grid = &world.dirty;
  run.set("fleet", &dirty).execute();
  CHECK_THAT(run.get<CarbonModel>().carbon_footprint.base() / clean, WithinRel(45.0, 1e-12));
  Fleet nowhere = world.fleet;
  nowhere.datacenter = nullptr;
  run.set("fleet", &nowhere)
      .execute();  // an optional input falls back to its default, which the model states
  CHECK_THAT(run.get<CarbonModel>().carbon_footprint.base() / clean, WithinRel(24.0, 1e-12));
  Fleet empty = world.fleet;
  empty.node = nullptr;
  run.set("fleet", &empty);
  CHECK_THROWS_WITH(run.execute(), ContainsSubstring("input 'hardware' is absent") &&
                                       ContainsSubstring("in stage 'PowerModel'"));
  run.set("fleet", &world.fleet).execute();
  CHECK(run.get<CarbonModel>().carbon_footprint.base() == clean);
}

TEST_CASE("only what lies downstream of a change runs again", "[pipeline]") {
  const World world;
  Run run(carbon_pipeline());
  run.set("fleet", &world.fleet).execute();
  CHECK(run.report().executed == 3);
  run.execute();
  CHECK(run.report().executed == 0);
  run.set("duration_days", 60).execute();
  CHECK(run.report().executed == 2);
  CHECK_THAT(run.get<EnergyModel>().energy.base(), WithinRel(2 * kJoule, 1e-12));
  run.set("duration_days", 60).execute();
  CHECK(run.report().executed == 0);
}

TEST_CASE("values are checked where they enter", "[pipeline]") {
  const World world;
  Run run(carbon_pipeline());
  CHECK_THROWS_WITH(run.execute(), ContainsSubstring("no value for 'fleet'"));
  CHECK_THROWS_WITH(run.set("flet", &world.fleet), ContainsSubstring("did you mean 'fleet'?"));
  run.set("fleet", &world.fleet).set("duration_days", 4000);
  CHECK_THROWS_AS(run.execute(), DomainError);
  run.set("duration_days", 3 * unit::d);
  CHECK_THROWS_AS(run.execute(), DimensionError);
  run.set("duration_days", "long");
  CHECK_THROWS_AS(run.execute(), InputError);
  run.set("duration_days", std::nan(""));
  CHECK_THROWS_AS(run.execute(), DomainError);
  run.set("duration_days", 30).execute();
  CHECK_THAT(run.get<EnergyModel>().energy.base(), WithinRel(kJoule, 1e-12));
  // The range of an input also holds for what another stage gives.
  World cold;
  cold.hardware.power.tdp = -5 * unit::W;
  run.set("fleet", &cold.fleet);
  CHECK_THROWS_WITH(run.execute(),
                    ContainsSubstring("input 'power'") && ContainsSubstring("in stage 'EnergyModel'"));
}

TEST_CASE("infeasible is a value; what needs it is skipped with the reason", "[pipeline]") {
  World world;
  world.hardware.power.tdp.reset();
  Diary recorder;
  Run run(carbon_pipeline());
  run.set("fleet", &world.fleet).execute({.callbacks = {&recorder}});
  CHECK(run["PowerModel"].status() == StageStatus::infeasible);
  CHECK(run["PowerModel"].why()->smallest_change == "a device with a TDP");
  CHECK(run["EnergyModel"].status() == StageStatus::skipped);
  CHECK(run["CarbonModel"].reason() == "'EnergyModel' was skipped: 'PowerModel' is infeasible: H has no TDP");
  CHECK_THROWS_WITH(run.get<CarbonModel>(), ContainsSubstring("H has no TDP"));
  CHECK(recorder.seen ==
        std::vector<std::string>{
            "start carbon", "> PowerModel", "infeasible PowerModel: H has no TDP",
            "skip EnergyModel because 'PowerModel' is infeasible: H has no TDP",
            "skip CarbonModel because 'EnergyModel' was skipped: 'PowerModel' is infeasible: H has no TDP",
            "end"});
  World good;
  run.set("fleet", &good.fleet).execute();
  CHECK(run["CarbonModel"].ok());
  CHECK(run["CarbonModel"].reason().empty());
}

TEST_CASE("an error keeps its type, names its stage, and spares the rest", "[pipeline]") {
  const auto p = PipelineBuilder()
                     .stage(StepModel{})
                     .stage(PowerModel{})
                     .stage(EnergyModel{})
                     .given("hfu")
                     .given("hardware")
                     .given("duration_days", 1)
                     .build();
  const World world;
  Diary recorder;
  Run run(p);
  run.set("hfu", -1).set("hardware", &world.hardware);
  CHECK_THROWS_AS(run.execute({.callbacks = {&recorder}}), DomainError);
  CHECK(run["StepModel"].status() == StageStatus::failed);
  CHECK(run["EnergyModel"].ok());
  CHECK(run.report().stage_failures.at(0).who == "StepModel");
  CHECK_THAT(run.report().stage_failures.at(0).what, ContainsSubstring("in stage 'StepModel'"));
  CHECK(recorder.seen.back() == "end");
  CHECK(std::find(recorder.seen.begin(), recorder.seen.end(), "error StepModel held") != recorder.seen.end());
  CHECK_THROWS_AS(run.execute(), DomainError);  // it is tried again, not forgotten
  CHECK_NOTHROW(run.set("hfu", 1).execute());
}

namespace {

/// Answers, but above one with less than it should, and above two outside of what it knows; below zero it has
/// a remark.
struct Coarse : Model<Coarse> {
  static constexpr bool thread_safe = true;
  struct Inputs {
    double hfu;
    MLSYSIM_FIELDS(Inputs, hfu)
  };
  struct Result {
    double mfu;
    MLSYSIM_FIELDS(Result, mfu)
  };
  Result solve(const Inputs& in, Notes& notes) const {
    if (in.hfu > 1) notes.warn("a coarser rule stood in");
    if (in.hfu > 2) notes.warn([] { return "beyond two"; }, BreakReason::out_of_domain);
    if (in.hfu < 0) notes.remark("no effect below zero: hfu");
    return {1 - in.hfu};
  }
};

/// Stages and reasons of breaks.
struct BreakDiary : Callback {
  std::vector<std::string> seen;
  void on_break(const BreakEvent& e) override {
    seen.push_back(fmt::format("{} {}: {} {}, {}", e.at.stage, name_of(e.at.status), about(e.why).severity,
                               name_of(e.why), e.at.reason.substr(0, e.at.reason.find('\n'))));
  }
};

}  // namespace

TEST_CASE("a stage without a full answer is a break, also where it is ok", "[pipeline]") {
  const auto p = PipelineBuilder()
                     .stage(Coarse{})
                     .stage(PowerModel{})
                     .stage(EnergyModel{})
                     .given("hfu")
                     .given("hardware")
                     .given("duration_days", 1)
                     .build();
  World world;
  world.hardware.power.tdp.reset();
  for (const unsigned threads : {1U, 2U}) {
    BreakDiary diary;
    Run run(p);
    run.set("hfu", 2).set("hardware", &world.hardware);
    run.execute({.callbacks = {&diary}, .threads = threads});
    CHECK(run["Coarse"].ok());
    std::sort(diary.seen.begin(), diary.seen.end());
    CHECK(diary.seen ==
          std::vector<std::string>{"Coarse ok: degraded approximation, a coarser rule stood in",
                                   "PowerModel infeasible: error infeasible_constraint, H has no TDP"});
    const auto breaks = run.breaks();
    REQUIRE(breaks.size() == 2);
    CHECK(breaks[0].stage == "Coarse");
    CHECK(breaks[0].why == BreakReason::approximation);
    CHECK(run.to_json().find("\"complete\": false") != std::string::npos);
  }
  const World good;
  Run run(p);
  run.set("hfu", 1).set("hardware", &good.hardware).execute();
  CHECK(run.breaks().empty());
  CHECK(run.to_json().find("\"complete\": true") != std::string::npos);
}

TEST_CASE("a remark is no break: the answer is complete, and the remark is among its warnings",
          "[pipeline]") {
  const auto p = PipelineBuilder().stage(Coarse{}).given("hfu").build();
  for (const unsigned threads : {1U, 2U}) {
    BreakDiary diary;
    Run run(p);
    run.set("hfu", -1).execute({.callbacks = {&diary}, .threads = threads});
    CHECK(diary.seen.empty());
    CHECK(run.breaks().empty());
    CHECK(run.to_json().find("\"complete\": true") != std::string::npos);
    CHECK(run.to_json().find("no effect below zero") != std::string::npos);
    run.set("hfu", 3).execute({.callbacks = {&diary}, .threads = threads});
    CHECK(diary.seen == std::vector<std::string>{"Coarse ok: degraded approximation, a coarser rule stood in",
                                                 "Coarse ok: degraded out_of_domain, beyond two"});
    CHECK(run.breaks().size() == 2);
  }
}

TEST_CASE("a run may end with the first stage that has no answer", "[pipeline]") {
  const auto p =
      PipelineBuilder().stage(PowerModel{}).stage(Coarse{}).given("hfu", 1).given("hardware").build();
  World world;
  world.hardware.power.tdp.reset();
  Run run(p);
  run.set("hardware", &world.hardware).execute();
  CHECK(run["Coarse"].ok());
  for (const unsigned threads : {1U, 2U}) {
    Run first(p);
    first.set("hardware", &world.hardware).execute({.threads = threads, .fail_fast = true});
    // Stages of one level run side by side: what has begun ends.
    CHECK((first["Coarse"].status() == StageStatus::skipped) == (threads == 1));
  }
}

TEST_CASE("a warm chain that fails in the middle says so, and recovers", "[pipeline]") {
  Run run(chain(4));
  run.set("S0.hfu", 1).execute();
  run.set("S0.hfu", 2).execute();
  run.set("S0.hfu", 999.5);
  CHECK_THROWS_WITH(run.execute(), ContainsSubstring("in stage 'S1'"));
  CHECK(run["S0"].ok());
  CHECK(run["S1"].status() == StageStatus::failed);
  CHECK(run["S3"].status() == StageStatus::skipped);
  CHECK(run.report().executed == 2);
  run.set("S0.hfu", 3).execute();
  CHECK(run.report().executed == 4);
  CHECK(run.value("S3.mfu") == DynamicValue(7));
  CHECK(run.execute().report().executed == 0);
}

TEST_CASE("a callback that throws is named and changes nothing", "[pipeline]") {
  const World world;
  Diary calm, angry;
  angry.angry = true;
  const Supplied values[] = {{"fleet", &world.fleet}};
  const auto with = carbon_pipeline().run(values, {.callbacks = {&angry, &calm}});
  const auto without = carbon_pipeline().run(values, {});
  CHECK(with.to_json() == without.to_json());
  REQUIRE(with.report().callback_failures.size() == 8);
  CHECK(with.report().callback_failures[0].who == "recorder");
  CHECK(with.report().callback_failures[1].event == "on_stage_start");
  CHECK(with.report().callback_failures[1].what == "callback is angry");
  CHECK(calm.seen == angry.seen);
  CHECK(calm.seen[2] == "< PowerModel 1 timed");
  CHECK_THROWS_AS(
      carbon_pipeline().run(values, {.callbacks = {&angry}, .callback_faults = CallbackFaults::raise}),
      PipelineError);
}

TEST_CASE("threads give the same answer in the same order", "[pipeline]") {
  PipelineBuilder b;
  b.given("A0.hfu", 0).given("B0.hfu", 10);
  for (const char* line : {"A", "B"}) {
    for (int i = 0; i < 4; ++i) {
      b.stage(StepModel{}, line + std::to_string(i));
      if (i > 0) b.link(line + std::to_string(i - 1) + ".mfu", line + std::to_string(i) + ".hfu");
    }
  }
  const auto p = b.build();
  Diary one, two;
  const auto serial = p.run(std::span<const Supplied>{}, {.callbacks = {&one}});
  const auto parallel = p.run(std::span<const Supplied>{}, {.callbacks = {&two}, .threads = 2});
  CHECK(serial.to_json() == parallel.to_json());
  CHECK(parallel.value("B3.mfu") == DynamicValue(14));
  CHECK(parallel.report().executed == 8);
  CHECK(one.seen.size() == two.seen.size());
}

TEST_CASE("a cancelled run skips what has not started", "[pipeline]") {
  CancelToken stop;
  stop.cancel();
  Run run(chain(2));
  run.set("S0.hfu", 1).execute({.cancel = &stop});
  CHECK(run["S0"].reason() == "the run was cancelled");
  CHECK(run.execute()["S1"].ok());
}

TEST_CASE("explain shows where a number came from", "[pipeline]") {
  const World world;
  const auto run = carbon_pipeline().run({{"fleet", &world.fleet}});
  const auto text = run.explain("carbon_footprint");
  CHECK_THAT(text, ContainsSubstring("from stage 'CarbonModel' (model CarbonModel)") &&
                       ContainsSubstring("\n  energy = "));
  CHECK_THAT(text, ContainsSubstring("law: energy = power * pue * duration") &&
                       ContainsSubstring("duration_days = 30 (given)") &&
                       ContainsSubstring("pue = 1.1 (default: hyperscale average)") &&
                       ContainsSubstring("hardware = hardware 'H' (given 'fleet' -> node -> hardware)") &&
                       ContainsSubstring("assumed load = 1 (full load all day)"));
  CHECK(run.explain("duration_days") == "duration_days = 30 (given)\n");
  CHECK_THROWS_AS(run.explain("nothing"), LookupError);
  CHECK(run.assumptions("EnergyModel").size() == 2);
  CHECK_THAT(run.show(), ContainsSubstring("PowerModel: ok\n  power = 700 W"));
}

TEST_CASE("resolvers made at run time are stages like any other", "[pipeline]") {
  // What a class in Python becomes: values in, values out, dimensions known when they arrive.
  ResolverInfo info;
  info.name = "Doubler";
  info.origin = "Python";
  auto doubler = std::make_shared<DynamicResolver>(
      info, std::vector<DynamicField>{{.name = "energy"}},
      std::vector<DynamicField>{{.name = "facility_energy"}},
      [](std::span<const DynamicValue> in, SolveContext&) -> DynamicAnswer {
        return std::vector<DynamicValue>{{std::get<double>(in[0].value) * 2, in[0].exps}};
      });
  struct Tail : Model<Tail> {
    struct Inputs {
      Energy<> facility_energy;
      MLSYSIM_FIELDS(Inputs, facility_energy)
    };
    struct Result {
      Energy<> best;
      static constexpr auto fields() { return rows(field(&Result::best, "best", "J", "energy")); }
    };
    Result solve(const Inputs& in) const { return {in.facility_energy}; }
  };
  const World world;
  const auto p = PipelineBuilder()
                     .stage(Tail{})
                     .stage(doubler)
                     .stage(EnergyModel{})
                     .stage(PowerModel{})
                     .given("node")
                     .given("duration_days", 30)
                     .build();
  const auto run = p.run({{"node", &world.node}});
  CHECK_THAT(run.get<Tail>().best.base(), WithinRel(2 * kJoule, 1e-12));
  // A dimension that turns out wrong is an error of the stage that receives it.
  auto liar = std::make_shared<DynamicResolver>(
      info, std::vector<DynamicField>{}, std::vector<DynamicField>{{.name = "facility_energy"}},
      [](std::span<const DynamicValue>, SolveContext&) -> DynamicAnswer {
        return std::vector<DynamicValue>{DynamicValue(3 * unit::s)};
      });
  const auto wrong = PipelineBuilder().stage(Tail{}).stage(liar).build();
  CHECK_THROWS_WITH(wrong.run({}), ContainsSubstring("time [s]") && ContainsSubstring("in stage 'Tail'"));
  // Exceptions of the host arrive unchanged.
  auto thrower = std::make_shared<DynamicResolver>(
      info, std::vector<DynamicField>{}, std::vector<DynamicField>{{.name = "x"}},
      [](std::span<const DynamicValue>, SolveContext&) -> DynamicAnswer {
        throw std::out_of_range("host error");
      });
  CHECK_THROWS_AS(PipelineBuilder().stage(thrower).build().run({}), std::out_of_range);
}

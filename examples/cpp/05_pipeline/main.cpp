// Three resolvers joined by the names of what they give and need; one asked where its number came from.
#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/units/unit.hpp>

#include <cstdio>

using namespace mlsysim;

struct PowerModel : Model<PowerModel> {
  struct Inputs {
    const HardwareNode* hardware;
    const Fleet* fleet;
    MLSYSIM_FIELDS(Inputs, hardware, fleet)
  };
  struct Result {
    Power<> power;
    MLSYSIM_FIELDS(Result, power)
  };
  Outcome<Result> solve(const Inputs& in) const {
    if (!in.hardware->power.tdp)
      return Infeasible{in.hardware->name + " has no TDP", "a device with a TDP", {}};
    return Result{*in.hardware->power.tdp * in.fleet->total_accelerators()};
  }
};

struct EnergyModel : Model<EnergyModel> {
  static constexpr std::string_view law = "energy = power * pue * duration";
  struct Inputs {
    Power<> power;
    double duration_days;
    double pue = 1.1;
    static constexpr auto fields() {
      return rows(field(&Inputs::power, key::power).positive(),
                  field(&Inputs::duration_days, key::duration_days),
                  field(&Inputs::pue, key::pue).defaulted("example"));
    }
  };
  struct Result {
    Energy<> facility_energy;
    MLSYSIM_FIELDS(Result, facility_energy)
  };
  Result solve(const Inputs& in) const { return {in.power * in.pue * (in.duration_days * unit::d)}; }
};

struct CarbonModel : Model<CarbonModel> {
  struct Inputs {
    Energy<> facility_energy;
    const GridProfile* grid;
    MLSYSIM_FIELDS(Inputs, facility_energy, grid)
  };
  struct Result {
    Carbon<> carbon_footprint;
    MLSYSIM_FIELDS(Result, carbon_footprint)
  };
  Result solve(const Inputs& in) const { return {in.facility_energy * in.grid->carbon_intensity}; }
};

struct Printer : Callback {
  void on_stage_end(const StageEvent& e) override { std::printf("done: %s\n", std::string(e.stage).c_str()); }
};

int main() {
  HardwareNode h100;
  h100.name = "H100";
  h100.power.tdp = 700 * unit::W;
  Node node;
  node.accelerator = &h100;
  node.accelerators_per_node = 8;
  GridProfile grid;
  grid.name = "Quebec";
  grid.carbon_intensity = 20 * unit::gCO2e / unit::kWh;
  Fleet fleet;
  fleet.name = "Small";
  fleet.node = &node;
  fleet.count = 32;
  fleet.grid = &grid;

  // Listed in any order: the names say what comes first. The fleet brings its hardware and its grid.
  const auto pipeline = PipelineBuilder("footprint")
                            .stage(CarbonModel{})
                            .stage(PowerModel{})
                            .stage(EnergyModel{})
                            .given("fleet")
                            .given("duration_days")
                            .build();
  Run run(pipeline);
  Printer printer;
  run.set("fleet", &fleet).set("duration_days", 30).execute({.callbacks = {&printer}});
  std::printf("%s", run.explain("carbon_footprint").c_str());

  run.set("duration_days", 60).execute();
  std::printf("60 days: %.0f kgCO2e, %zu stages ran\n",
              run.get<CarbonModel>().carbon_footprint.in(unit::kgCO2e), run.report().executed);
  h100.power.tdp.reset();
  run.set("fleet", &fleet).execute();
  std::printf("%s", run.show().c_str());

  try {
    (void)PipelineBuilder("broken").stage(CarbonModel{}).stage(EnergyModel{}).given("duration_day").build();
  } catch (const PipelineBuildError& error) {
    std::printf("%s\n", error.what());
  }
}

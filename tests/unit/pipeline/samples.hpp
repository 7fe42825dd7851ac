#pragma once
// Small resolvers with which the tests of this room build graphs.

#include <mlsysim/pipeline/builder.hpp>
#include <mlsysim/pipeline/run.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/specs/infrastructure.hpp>
#include <mlsysim/specs/system.hpp>
#include <mlsysim/specs/workload.hpp>
#include <mlsysim/units/unit.hpp>

namespace sample {

using namespace mlsysim;

/// workload, target_latency -> bandwidth
struct BandwidthSolver : Solver<BandwidthSolver> {
  static constexpr std::string_view source = "textbook";
  struct Inputs {
    const Workload* workload;
    Time<> target_latency;
    MLSYSIM_FIELDS(Inputs, workload, target_latency)
  };
  struct Result {
    Bandwidth<> bandwidth;
    MLSYSIM_FIELDS(Result, bandwidth)
  };
  Result solve(const Inputs& in) const { return {in.workload->size() / in.target_latency}; }
  Check verify(const Inputs& in, const Result& r) const {
    return {in.target_latency, in.workload->size() / r.bandwidth};
  }
};

/// hardware -> power; no TDP is an answer
struct PowerModel : Model<PowerModel> {
  static constexpr bool thread_safe = true;
  struct Inputs {
    const HardwareNode* hardware;
    MLSYSIM_FIELDS(Inputs, hardware)
  };
  struct Result {
    Power<> power;
    MLSYSIM_FIELDS(Result, power)
  };
  Outcome<Result> solve(const Inputs& in) const {
    if (!in.hardware->power.tdp)
      return Infeasible{in.hardware->name + " has no TDP", "a device with a TDP", {}};
    return Result{*in.hardware->power.tdp};
  }
};

/// power, duration_days, pue (default) -> energy
struct EnergyModel : Model<EnergyModel> {
  static constexpr std::string_view law = "energy = power * pue * duration";
  static constexpr bool thread_safe = true;
  struct Inputs {
    Power<> power;
    double duration_days;
    double pue = 1.1;
    static constexpr auto fields() {
      return rows(field(&Inputs::power, key::power).positive(),
                  field(&Inputs::duration_days, key::duration_days).within(0, 3650),
                  field(&Inputs::pue, key::pue).defaulted("hyperscale average").at_least(1));
    }
  };
  struct Result {
    Energy<> energy;
    MLSYSIM_FIELDS(Result, energy)
  };
  Result solve(const Inputs& in, Notes& notes) const {
    notes.assume("load", 1.0, "full load all day");
    return {in.power * in.pue * (in.duration_days * unit::d)};
  }
};

/// energy, grid (optional) -> carbon_footprint
struct CarbonModel : Model<CarbonModel> {
  struct Inputs {
    Energy<> energy;
    const GridProfile* grid = nullptr;
    static constexpr auto fields() {
      return rows(field(&Inputs::energy, key::energy),
                  field(&Inputs::grid, key::grid).defaulted("world average"));
    }
  };
  struct Result {
    Carbon<> carbon_footprint;
    MLSYSIM_FIELDS(Result, carbon_footprint)
  };
  Result solve(const Inputs& in) const {
    const auto intensity = in.grid != nullptr ? in.grid->carbon_intensity : 480 * unit::gCO2e / unit::kWh;
    return {in.energy * intensity};
  }
};

/// mfu -> throughput and throughput -> mfu: a loop when both stand in one pipeline
struct ForthModel : Model<ForthModel> {
  struct Inputs {
    double mfu;
    MLSYSIM_FIELDS(Inputs, mfu)
  };
  struct Result {
    double hfu;
    MLSYSIM_FIELDS(Result, hfu)
  };
  Result solve(const Inputs& in) const { return {in.mfu}; }
};
struct BackModel : Model<BackModel> {
  struct Inputs {
    double hfu;
    MLSYSIM_FIELDS(Inputs, hfu)
  };
  struct Result {
    double mfu;
    MLSYSIM_FIELDS(Result, mfu)
  };
  Result solve(const Inputs& in) const { return {in.hfu}; }
};

/// hfu -> hfu + 1, for chains and counting
struct StepModel : Model<StepModel> {
  static constexpr bool thread_safe = true;
  struct Inputs {
    double hfu;
    MLSYSIM_FIELDS(Inputs, hfu)
  };
  struct Result {
    double mfu;
    MLSYSIM_FIELDS(Result, mfu)
  };
  Result solve(const Inputs& in) const {
    if (in.hfu < 0 || in.hfu > 1000) throw DomainError({.id = "test", .message = "not in [0, 1000]"});
    return {in.hfu + 1};
  }
};

/// A chain of steps, each linked to the one before.
inline Pipeline chain(int stages) {
  PipelineBuilder b("chain");
  b.given("S0.hfu");
  for (int i = 0; i < stages; ++i) {
    b.stage(StepModel{}, "S" + std::to_string(i));
    if (i > 0) b.link("S" + std::to_string(i - 1) + ".mfu", "S" + std::to_string(i) + ".hfu");
  }
  return b.build();
}

/// A fleet in a datacenter, with everything behind it.
struct World {
  HardwareNode hardware;
  Node node;
  GridProfile grid, dirty;
  Datacenter datacenter;
  Fleet fleet;
  Workload llama;

  World() {
    hardware.name = "H";
    hardware.power.tdp = 700 * unit::W;
    node.name = "N";
    node.accelerator = &hardware;
    grid.name = "clean";
    grid.carbon_intensity = 20 * unit::gCO2e / unit::kWh;
    dirty.name = "coal";
    dirty.carbon_intensity = 900 * unit::gCO2e / unit::kWh;
    datacenter.name = "D";
    datacenter.grid = &grid;
    fleet.name = "F";
    fleet.node = &node;
    fleet.datacenter = &datacenter;
    llama.name = "llama8b";
    llama.parameters = 8.03 * unit::Gparam;
  }
  World(const World&) = delete;
};

}  // namespace sample

// Energy of a generated token on a device that reads all weights in each pass [J/token].
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/units/unit.hpp>

namespace {

using namespace mlsysim;

struct DecodeEnergy : Model<DecodeEnergy> {
  static constexpr std::string_view about = "Energy of a generated token";
  static constexpr std::string_view law =
      "energy_per_token = power.tdp * size / memory.bandwidth / batch_size";
  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    double batch_size = 1;
    static constexpr auto fields() {
      return rows(field(&Inputs::workload, key::workload), field(&Inputs::hardware, key::hardware),
                  field(&Inputs::batch_size, key::batch_size).defaulted("one request"));
    }
  };
  struct Result {
    Time<> pass_time;
    EnergyPerToken<> energy_per_token;
    static constexpr auto fields() {
      return rows(field(&Result::pass_time, "pass_time", "ms", "time of one pass"),
                  field(&Result::energy_per_token, "energy_per_token", "J/token", "energy of one token"));
    }
  };
  Result solve(const Inputs& in) const {
    // A figure that a device may lack is optional, and reading one that is not there gives anything at all.
    const auto& bandwidth = in.hardware->memory.bandwidth;
    const auto& tdp = in.hardware->power.tdp;
    if (!bandwidth || !tdp)
      throw InputError({.id = "course.a2.001",
                        .message = in.hardware->name + " lacks a figure",
                        .key = bandwidth ? "tdp" : "memory.bandwidth",
                        .found = "nothing",
                        .expected = bandwidth ? "power.tdp, its power limit" : "the bandwidth of its memory",
                        .hint = "choose a device that has it"});
    const Time<> pass = in.workload->size(Precision::fp16) / *bandwidth;
    return {.pass_time = pass, .energy_per_token = *tdp * pass / (in.batch_size * unit::token)};
  }
};

}  // namespace

MLSYSIM_PLUGIN(({.name = "a2-model", .space = "course", .version = "1.0.0", .threads = MLS_THREAD_SAFE})) {
  plugin.add<DecodeEnergy>();
}

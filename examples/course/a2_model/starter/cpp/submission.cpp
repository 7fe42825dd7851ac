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
    // Yours. in.workload->size(Precision::fp16) are the bytes of the weights; *in.hardware->memory.bandwidth
    // and
    // *in.hardware->power.tdp are figures that a device may lack: look before you read one.
    throw InputError(
        {.id = "course.a2.000", .message = "not written yet: DecodeEnergy of " + in.hardware->name});
  }
};

}  // namespace

MLSYSIM_PLUGIN(({.name = "a2-model", .space = "course", .version = "1.0.0", .threads = MLS_THREAD_SAFE})) {
  plugin.add<DecodeEnergy>();
}

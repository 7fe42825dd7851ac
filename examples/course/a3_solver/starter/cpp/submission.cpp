// The memory bandwidth that a latency needs [GB/s].
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>
#include <mlsysim/units/unit.hpp>

namespace {

using namespace mlsysim;

struct BandwidthForLatency : Solver<BandwidthForLatency> {
  static constexpr std::string_view about = "Memory bandwidth with which a pass takes a given time";
  static constexpr std::string_view law = "required_bw = (size + batch_size cache) / target_latency";
  struct Inputs {
    const Workload* workload = nullptr;
    const HardwareNode* hardware = nullptr;
    Time<> target_latency;
    double batch_size = 1;
    Data<> cache{};
    static constexpr auto fields() {
      return rows(field(&Inputs::workload, key::workload), field(&Inputs::hardware, key::hardware),
                  field(&Inputs::target_latency, key::target_latency),
                  field(&Inputs::batch_size, key::batch_size).defaulted("one request"),
                  field(&Inputs::cache, "cache", "MB", "of one request").non_negative().defaulted("none"));
    }
  };
  struct Result {
    Bandwidth<> required_bw;
    static constexpr auto fields() {
      return rows(field(&Result::required_bw, "required_bw", "GB/s", "bandwidth that meets the target"));
    }
  };
  Outcome<Result> solve(const Inputs& in) const {
    // Yours. in.hardware->compute.peak_flops() is the peak rate, *in.workload->parameters the count of
    // weights.
    return Infeasible{"not written yet: BandwidthForLatency of " + in.hardware->name, "", {}};
  }
};

}  // namespace

MLSYSIM_PLUGIN(({.name = "a3-solver", .space = "course", .version = "1.0.0", .threads = MLS_THREAD_SAFE})) {
  plugin.add<BandwidthForLatency>();
}

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
  static Data<> read_by(const Inputs& in) {
    return in.workload->size(Precision::fp16) + in.batch_size * in.cache;
  }
  Outcome<Result> solve(const Inputs& in) const {
    const auto work = 2.0 * in.batch_size * (unit::FLOP / unit::param) * *in.workload->parameters;
    const Time<> compute = work / in.hardware->compute.peak_flops();
    if (compute > in.target_latency)
      return Infeasible{"the arithmetic alone takes " + pretty(AnyQuantity(compute)) + ", longer than " +
                            pretty(AnyQuantity(in.target_latency)),
                        "a smaller batch, or a device with a higher peak rate",
                        {}};
    return Result{read_by(in) / in.target_latency};
  }
  Check verify(const Inputs& in, const Result& r) const {
    return {in.target_latency, read_by(in) / r.required_bw};
  }
};

}  // namespace

MLSYSIM_PLUGIN(({.name = "a3-solver", .space = "course", .version = "1.0.0", .threads = MLS_THREAD_SAFE})) {
  plugin.add<BandwidthForLatency>();
}

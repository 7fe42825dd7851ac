// A Model of your own: how much arithmetic a device gives per watt.
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/specs/hardware.hpp>
#include <mlsysim/units/unit.hpp>

#include <cstdio>

using namespace mlsysim;

struct PowerEfficiencyModel : Model<PowerEfficiencyModel> {
  struct Inputs {
    const HardwareNode* hardware;
    MLSYSIM_FIELDS(Inputs, hardware)
  };
  struct Result {
    Efficiency<> flops_per_watt;
    bool is_efficient;
    static constexpr auto fields() {
      return rows(field(&Result::flops_per_watt, "flops_per_watt", "TFLOP/s/W", "peak rate per watt"),
                  field(&Result::is_efficient, "is_efficient", "", "above 1 TFLOP/s/W"));
    }
  };
  Result solve(const Inputs& in) const {
    const auto tdp = in.hardware->power.tdp;
    if (!tdp) throw InputError({.message = in.hardware->name + " has no TDP", .key = "tdp"});
    const auto per_watt = in.hardware->compute.peak_flops() / *tdp;
    return {per_watt, per_watt > 1.0 * unit::TFLOP / unit::s / unit::W};
  }
};

int main() {
  HardwareNode h100;
  h100.name = "H100";
  h100.compute.dense[Precision::fp16] = 989 * unit::TFLOP / unit::s;
  h100.power.tdp = 700 * unit::W;
  const auto r = evaluate(PowerEfficiencyModel{}, {.hardware = &h100});
  std::printf("%.3f TFLOP/s/W, efficient: %s\n", r->flops_per_watt.in(unit::TFLOP / unit::s / unit::W),
              r->is_efficient ? "yes" : "no");
  try {
    h100.power.tdp.reset();
    (void)evaluate(PowerEfficiencyModel{}, {.hardware = &h100});
  } catch (const InputError& error) {
    std::printf("%s\n", error.what());
  }
}

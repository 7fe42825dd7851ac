// The bill of a job, in three stages.
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>

namespace {

using namespace mlsysim;

struct JobPower : Model<JobPower> {
  static constexpr std::string_view about = "Power of the devices of a job at their limit";
  struct Inputs {
    const HardwareNode* hardware = nullptr;
    double devices = 1;
    static constexpr auto fields() {
      return rows(field(&Inputs::hardware, key::hardware),
                  field(&Inputs::devices, "devices", "", "devices of the job").at_least(1).counted());
    }
  };
  struct Result {
    Power<> power;
    static constexpr auto fields() { return rows(field(&Result::power, key::power)); }
  };
  Outcome<Result> solve(const Inputs& in) const {
    // Yours: an Infeasible{reason, smallest change, {}} where *in.hardware->power.tdp is not there.
    return Infeasible{"not written yet: JobPower of " + in.hardware->name, "", {}};
  }
};

struct JobEnergy : Model<JobEnergy> {
  static constexpr std::string_view about = "Energy that the facility draws for a job";
  struct Inputs {
    Power<> power;
    Time<> duration;
    double pue = 1.1;
    static constexpr auto fields() {
      return rows(field(&Inputs::power, key::power),
                  field(&Inputs::duration, "duration", "d", "time of the job").non_negative(),
                  field(&Inputs::pue, key::pue).defaulted("a good facility"));
    }
  };
  struct Result {
    Energy<> facility_energy;
    static constexpr auto fields() { return rows(field(&Result::facility_energy, key::facility_energy)); }
  };
  Result solve(const Inputs& in) const {
    return {0.0 * in.power * in.duration};  // yours
  }
};

struct JobBill : Model<JobBill> {
  static constexpr std::string_view about = "What the electricity of a job costs";
  struct Inputs {
    Energy<> facility_energy;
    MoneyPerEnergy<> kwh_price;
    MLSYSIM_FIELDS(Inputs, facility_energy, kwh_price)
  };
  struct Result {
    Money<> bill;
    static constexpr auto fields() {
      return rows(field(&Result::bill, "bill", "USD", "cost of the electricity"));
    }
  };
  Result solve(const Inputs& in) const {
    return {0.0 * in.facility_energy * in.kwh_price};  // yours
  }
};

}  // namespace

MLSYSIM_PLUGIN(({.name = "a6-pipeline", .space = "course", .version = "1.0.0", .threads = MLS_THREAD_SAFE})) {
  plugin.add<JobPower>().add<JobEnergy>().add<JobBill>();
}

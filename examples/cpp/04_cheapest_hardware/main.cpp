// An Optimizer of your own: the cheapest device that is fast enough.
#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/specs/zoo.hpp>
#include <mlsysim/units/unit.hpp>

#include <cstdio>

using namespace mlsysim;

struct CheapestHardwareOptimizer : Optimizer<CheapestHardwareOptimizer> {
  struct Inputs {
    const Zoo* zoo;
    ComputeRate<> min_rate;
    MLSYSIM_FIELDS(Inputs, zoo, min_rate)
  };
  struct Result {
    SearchSummary search;
    Money<> cheapest_cost;
    std::string hardware_name;
    static constexpr auto fields() {
      return rows(field(&Result::search, "search", "", "what was tried"),
                  field(&Result::cheapest_cost, "cheapest_cost", "USD", "price of one device"),
                  field(&Result::hardware_name, "hardware_name", "", "the device"));
    }
  };
  std::optional<Result> solve(const Inputs& in, Search& search) const {
    const auto found = search.minimize(in.zoo->all<HardwareNode>(), [&](const HardwareNode& hw) -> Score {
      if (!hw.unit_cost) return {.skip = "no unit_cost"};
      return {*hw.unit_cost, {at_least("peak", hw.compute.peak_flops(), in.min_rate)}};
    });
    if (!found) return std::nullopt;
    return Result{found.summary, *found->unit_cost, found->name};
  }
};

int main() {
  Zoo zoo;
  const auto add = [&](const char* name, double tflops, std::optional<Money<>> cost) {
    HardwareNode hw;
    hw.compute.dense[Precision::fp16] = tflops * unit::TFLOP / unit::s;
    hw.unit_cost = cost;
    zoo.add(hw, {.kind = "hardware", .name = name});
  };
  add("Small", 65, 2000 * unit::USD);
  add("Middle", 165, 8000 * unit::USD);
  add("Large", 989, 30000 * unit::USD);
  add("Unpriced", 2000, {});

  const auto best =
      evaluate(CheapestHardwareOptimizer{}, {.zoo = &zoo, .min_rate = 100 * unit::TFLOP / unit::s});
  std::printf("%s for %.0f USD\n%s\n", best->hardware_name.c_str(), best->cheapest_cost.in(unit::USD),
              best->search.text().c_str());
  const auto none =
      evaluate(CheapestHardwareOptimizer{}, {.zoo = &zoo, .min_rate = 5 * unit::PFLOP / unit::s});
  if (!none) std::printf("%s\n", none.why()->text().c_str());
}

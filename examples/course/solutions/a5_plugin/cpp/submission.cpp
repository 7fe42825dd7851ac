// What a die costs [USD].
#include <mlsysim/plugin/mlsysim_plugin.hpp>
#include <mlsysim/resolver_api/contract.hpp>

#include <cmath>

namespace {

using namespace mlsysim;

struct DieCost : Model<DieCost> {
  static constexpr std::string_view about = "What a die costs";
  static constexpr std::string_view law =
      "die_cost = wafer_price / (dies * die_yield), die_yield = 1 / (1 + defects)^complexity";
  struct Inputs {
    Money<> wafer_price;
    double dies = 1, defects = 0, complexity = 10;
    static constexpr auto fields() {
      return rows(
          field(&Inputs::wafer_price, "wafer_price", "USD", "price of a processed wafer").within(0, 1e9),
          field(&Inputs::dies, "dies", "", "dies of a wafer").within(1, 1e6),
          field(&Inputs::defects, "defects", "", "mean number of defects of a die").within(0, 100),
          field(&Inputs::complexity, "complexity", "", "figure of the process")
              .within(0, 20)
              .defaulted("a 16 nm process"));
    }
  };
  struct Result {
    double die_yield = 1;
    Money<> die_cost;
    static constexpr auto fields() {
      return rows(field(&Result::die_yield, "die_yield", "", "share of the dies that work").within(0, 1),
                  field(&Result::die_cost, "die_cost", "USD", "wafer over working dies").non_negative());
    }
  };
  Result solve(const Inputs& in) const {
    const double die_yield = std::pow(1 + in.defects, -in.complexity);
    return {.die_yield = die_yield, .die_cost = in.wafer_price / (in.dies * die_yield)};
  }
};

}  // namespace

MLSYSIM_PLUGIN(({.name = "a5-plugin",
                 .space = "course",
                 .version = "1.0.0",
                 .summary = "What a die costs",
                 .license = "Apache-2.0",
                 .threads = MLS_THREAD_SAFE,
                 .flags = MLS_PLUGIN_UNLOADABLE | MLS_PLUGIN_FORK_SAFE})) {
  plugin.add<DieCost>();
}

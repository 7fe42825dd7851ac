// Rules that hold for every resolver: what is not known, where a PUE comes from, how long a sequence is.

#include "worked.hpp"

#include <mlsysim/resolver_api/evaluate.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/models/efficiency.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/optimizers/parallelism.hpp>
#include <mlsysim/resolvers/optimizers/placement.hpp>

#include <algorithm>

using namespace worked;
using Catch::Matchers::WithinRel;

namespace {

/// Eight devices whose price and manufacture nobody knows, 1 kW each.
struct Unpriced {
  HardwareNode hardware = device("H100");
  Node node;
  Fleet whole;

  Unpriced() : node(*fleet("Research_256").node), whole(fleet("Research_256")) {
    hardware.unit_cost.reset();
    hardware.embodied_carbon.reset();
    hardware.power.tdp = 1000.0 * unit::W;
    node.accelerator = &hardware;
    whole.node = &node;
    whole.count = 1;
  }
  Unpriced(const Unpriced&) = delete;
  Unpriced& operator=(const Unpriced&) = delete;
};

double assumptions(const NoteBook& book, std::string_view name) {
  return static_cast<double>(std::count_if(book.assumptions.begin(), book.assumptions.end(),
                                           [&](const auto& a) { return a.name == name; }));
}

}  // namespace

TEST_CASE("a price that is not known makes the total unknown", "[catalogue][economics]") {
  const Unpriced f;
  NoteBook book;
  Notes notes(book);
  EconomicsModel::Inputs in{.fleet = &f.whole, .duration_days = 10, .kwh_price = 0.1 * unit::USD / unit::kWh};
  const auto r = EconomicsModel{}.solve(in, notes);
  CHECK_FALSE(r.capex);
  CHECK_FALSE(r.opex_maintenance);
  CHECK_FALSE(r.total_opex);
  CHECK_FALSE(r.tco);
  // 8 kW for 240 h at a PUE of 1.12: 2150.4 kWh, 215.04 USD.
  CHECK_THAT(r.opex_energy.in(unit::USD), is(215.04));
  CHECK(says(book, "the cost is at least that of the electricity"));
  CHECK(says(book, "unit_cost"));
  // The footprint is that of the electricity, and says so.
  CHECK(says(book, "no manufacturing footprint"));
  // With a price of 10,950 USD over three years, 1095 d: 8 * 100 USD, 5 % of 87,600 USD a year, and the
  // electricity.
  in.unit_cost = 10950.0 * unit::USD;
  in.amortization_years = 3;
  const auto priced = EconomicsModel{}.solve(in);
  REQUIRE(priced.tco);
  CHECK_THAT(priced.capex->in(unit::USD), is(800));
  CHECK_THAT(priced.opex_maintenance->in(unit::USD), is(0.05 * 87600 * 10 / 365));
  CHECK_THAT(priced.tco->in(unit::USD), is(800 + 120 + 215.04));
}

TEST_CASE("manufacture that is not known is left out and said", "[catalogue][economics]") {
  const Unpriced f;
  NoteBook book;
  Notes notes(book);
  SustainabilityModel::Inputs in{.fleet = &f.whole, .duration_days = 10, .amortization_years = 3};
  const auto r = SustainabilityModel{}.solve(in, notes);
  CHECK_FALSE(r.embodied_carbon);
  CHECK(r.carbon_footprint == r.operational_carbon);
  CHECK(says(book, "at least"));
  in.embodied_carbon_per_device = 109.5 * unit::kgCO2e;  // 1 kg for ten days of three years
  CHECK_THAT(SustainabilityModel{}.solve(in).embodied_carbon->in(unit::kgCO2e), is(8));
}

TEST_CASE("placement without a price: the same region, no total", "[catalogue][placement]") {
  const Unpriced f;
  const auto r =
      evaluate(PlacementOptimizer{},
               PlacementOptimizer::Inputs{.fleet = &f.whole, .duration_days = 30, .regions = "Quebec,Iowa"});
  REQUIRE(r);
  CHECK_FALSE(r->tco);
  CHECK_FALSE(r->total_cost);
  CHECK(r->best_region == "Quebec");
}

TEST_CASE("PUE and WUE belong to a facility", "[catalogue][economics]") {
  const auto& zoo = standard_zoo();
  NoteBook book;
  Notes notes(book);
  // A grid alone has neither, so those of zoo/defaults.yaml stand in: 1.12, where the facility of that name
  // has 1.06.
  const SustainabilityModel::Inputs grid{
      .fleet = &fleet("Research_256"), .duration_days = 1, .grid = &zoo.at<GridProfile>("Quebec")};
  CHECK(SustainabilityModel{}.solve(grid, notes).pue == 1.12);
  CHECK(assumptions(book, "pue") == 1);
  CHECK(assumptions(book, "wue") == 1);
  auto facility = grid;
  facility.datacenter = &zoo.at<Datacenter>("Quebec_Facility");
  CHECK(SustainabilityModel{}.solve(facility).pue == 1.06);
  // The optimizer of places asks the same model.
  const auto place =
      evaluate(PlacementOptimizer{},
               PlacementOptimizer::Inputs{.fleet = grid.fleet, .duration_days = 1, .regions = "Quebec"});
  REQUIRE(place);
  CHECK(place->pue == 1.12);
}

TEST_CASE("a sequence is as long as the model takes where nobody says", "[catalogue]") {
  NoteBook book;
  Notes notes(book);
  // BERT takes 512 tokens.
  SingleNodeModel::Inputs in{.workload = &model("BERT_Base"), .hardware = &device("A100")};
  const auto usual = SingleNodeModel{}.solve(in, notes);
  CHECK(assumptions(book, "seq_len") == 1);
  in.seq_len = 512;
  CHECK(SingleNodeModel{}.solve(in).latency == usual.latency);
  EfficiencyModel::Inputs kernels{.workload = in.workload, .hardware = in.hardware};
  const double mfu = EfficiencyModel{}.solve(kernels).mfu;
  kernels.seq_len = 512;
  CHECK(EfficiencyModel{}.solve(kernels).mfu == mfu);
}

TEST_CASE("parallelism: textbook plans that DistributedModel rates better are found",
          "[catalogue][parallelism]") {
  ParallelismOptimizer::Inputs in{.workload = &model("Llama3_70B"),
                                  .fleet = &fleet("Research_256"),
                                  .batch_size = 256,
                                  .precision = Precision::bf16,
                                  .fidelity = Fidelity::textbook};
  const auto best = evaluate(ParallelismOptimizer{}, in);
  REQUIRE(best);
  // Interleaving and overlap are priced by the textbook: (pp - 1) / (v m) of a bubble, and a share of the
  // exchange.
  DistributedModel::Inputs plan{.workload = in.workload,
                                .fleet = in.fleet,
                                .batch_size = 256,
                                .precision = Precision::bf16,
                                .recomputation = best->recomputation,
                                .fidelity = Fidelity::textbook};
  for (const double tp : {1.0, 2.0, 4.0, 8.0})
    for (const double pp : {1.0, 2.0, 4.0, 8.0})
      for (const double v : {1.0, 2.0, 5.0})
        for (const double zero : {0.0, 3.0}) {
          plan.tp_size = tp;
          plan.pp_size = pp;
          plan.v_stages = v;
          plan.zero_stage = zero;
          plan.microbatch_count = tp * pp;
          const auto step = DistributedModel{}.solve(plan);
          if (step.feasible && (v == 1 || pp > 1))
            CHECK(step.step_latency >= best->best_step_time * (1 - 1e-12));
        }
}

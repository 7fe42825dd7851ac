#include "support/catch.hpp"

#include <mlsysim/physics/cost.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

TEST_CASE("total cost of 256 accelerators for 30 days", "[physics]") {
  // Purchase 256 * $30 000 = $7.68e6. Capital: over 3 years of 365 days, 30 days = $210 411. Energy: 136
  // 765.44 kWh at $0.12 = $16 411.9. Maintenance: 5 % a year, 30 / 365 = $31 561.6. Sum $258 384.
  const auto r = TotalCost::solve({.unit_cost = 30000 * u::USD,
                                   .devices = 256,
                                   .used_time = 30 * u::d,
                                   .lifetime = 3 * u::yr,
                                   .facility_energy = 136765.44 * u::kWh,
                                   .energy_price = 0.12 * u::USD / u::kWh});
  CHECK_THAT(r.capital.in(u::USD), WithinRel(210411.0, 1e-6));
  CHECK_THAT(r.energy_cost.in(u::USD), WithinRel(16411.9, 4e-6));
  CHECK_THAT(r.maintenance.in(u::USD), WithinRel(31561.6, 2e-6));
  CHECK_THAT(r.tco.in(u::USD), WithinRel(258384.0, 2e-6));
  CHECK_THAT((r.capital + r.energy_cost + r.maintenance).in(u::USD), WithinRel(r.tco.in(u::USD), 1e-15));
}

TEST_CASE("over its whole life a machine is paid once", "[physics]") {
  const auto r = CapitalCost::solve({.unit_cost = 350000 * u::USD,
                                     .devices = 4,
                                     .used_time = 5 * u::yr,
                                     .lifetime = 5 * u::yr,
                                     .infrastructure = 1.5});
  CHECK_THAT(r.purchase.in(u::USD), WithinRel(2.1e6, 1e-14));
  CHECK_THAT(r.capital.in(u::USD), WithinRel(2.1e6, 1e-14));
}

TEST_CASE("energy and maintenance alone", "[physics]") {
  CHECK_THAT(EnergyCost::solve({.facility_energy = 1 * u::MWh, .energy_price = 0.07 * u::USD / u::kWh})
                 .energy_cost.in(u::USD),
             WithinRel(70.0, 1e-13));
  CHECK_THAT(
      MaintenanceCost::solve({.purchase = 1e6 * u::USD, .used_time = 2 * u::yr}).maintenance.in(u::USD),
      WithinRel(1e5, 1e-13));
}

TEST_CASE("cost of a million tokens", "[physics]") {
  // 8 devices at $3 an hour give 10 000 token/s: 24 / 3.6e7 USD = $0.66667 per million; twice that at half
  // load.
  CostPerToken::Inputs<double> in{.cost_rate = 24 * u::USD / u::h,
                                  .token_throughput = 10000 * u::token / u::s};
  CHECK_THAT(CostPerToken::solve(in).cost_per_token.in(u::USD / u::Mtoken), WithinRel(2.0 / 3.0, 1e-13));
  in.utilization = 0.5;
  CHECK_THAT(CostPerToken::solve(in).cost_per_token.in(u::USD / u::Mtoken), WithinRel(4.0 / 3.0, 1e-13));
}

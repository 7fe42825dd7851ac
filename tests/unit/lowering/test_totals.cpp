// Sums over operators by hand: what grows with the blocks of a stage, and what is held once.

#include <mlsysim/lowering/totals.hpp>
#include <mlsysim/units/unit.hpp>

#include "support/catch.hpp"

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {

ListTotals<double> some() {
  ListTotals<double> t;
  t.dense_params = 2 * u::param;
  t.expert_params = 3 * u::param;
  t.work = 5 * u::FLOP;
  t.weight_work = 4 * u::FLOP;
  t.traffic = 7 * u::B;
  t.kept = 11 * u::B;
  t.block_again = 13 * u::B;
  t.live = 17 * u::B;
  t.state = 19 * u::B;
  return t;
}

}  // namespace

TEST_CASE("a stage of three blocks has three times what grows and once what is held", "[lowering]") {
  PlaceTotals<double> all;
  all.at[static_cast<std::size_t>(Place::block)] = some();
  all.at[static_cast<std::size_t>(Place::first)].traffic = 100 * u::B;
  all.at[static_cast<std::size_t>(Place::last)].traffic = 1000 * u::B;
  const auto middle = all.stage(0.0, 0.0, 3.0);
  CHECK(middle.dense_params == 6 * u::param);
  CHECK(middle.expert_params == 9 * u::param);
  CHECK(middle.work == 15 * u::FLOP);
  CHECK(middle.weight_work == 12 * u::FLOP);
  CHECK(middle.traffic == 21 * u::B);
  CHECK(middle.kept == 33 * u::B);
  CHECK(middle.state == 57 * u::B);
  CHECK(middle.block_again == 13 * u::B);
  CHECK(middle.live == 17 * u::B);
  CHECK(all.stage(1.0, 0.0, 3.0).traffic == 121 * u::B);
  CHECK(all.stage(0.0, 1.0, 3.0).traffic == 1021 * u::B);
  CHECK(all.stage(0.0, 0.0, 0.0).live == 0 * u::B);
  // Half a block on average is a whole one where it is.
  CHECK(all.stage(0.0, 0.0, 0.5).block_again == 13 * u::B);
  CHECK(all.stage(0.0, 0.0, 0.5).kept == 5.5 * u::B);
}

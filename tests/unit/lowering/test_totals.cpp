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
  t.memory_bytes = 7 * u::B;
  t.saved_bytes = 11 * u::B;
  t.block_again = 13 * u::B;
  t.working_set = 17 * u::B;
  t.state = 19 * u::B;
  return t;
}

}  // namespace

TEST_CASE("a stage of three blocks has three times what grows and once what is held", "[lowering]") {
  PlaceTotals<double> all;
  all.at[static_cast<std::size_t>(StageScope::every_block)] = some();
  all.at[static_cast<std::size_t>(StageScope::first)].memory_bytes = 100 * u::B;
  all.at[static_cast<std::size_t>(StageScope::last)].memory_bytes = 1000 * u::B;
  const auto middle = all.stage(0.0, 0.0, 3.0);
  CHECK(middle.dense_params == 6 * u::param);
  CHECK(middle.expert_params == 9 * u::param);
  CHECK(middle.work == 15 * u::FLOP);
  CHECK(middle.weight_work == 12 * u::FLOP);
  CHECK(middle.memory_bytes == 21 * u::B);
  CHECK(middle.saved_bytes == 33 * u::B);
  CHECK(middle.state == 57 * u::B);
  CHECK(middle.block_again == 13 * u::B);
  CHECK(middle.working_set == 17 * u::B);
  CHECK(all.stage(1.0, 0.0, 3.0).memory_bytes == 121 * u::B);
  CHECK(all.stage(0.0, 1.0, 3.0).memory_bytes == 1021 * u::B);
  CHECK(all.stage(0.0, 0.0, 0.0).working_set == 0 * u::B);
  // Half a block on average is a whole one where it is.
  CHECK(all.stage(0.0, 0.0, 0.5).block_again == 13 * u::B);
  CHECK(all.stage(0.0, 0.0, 0.5).saved_bytes == 5.5 * u::B);
}

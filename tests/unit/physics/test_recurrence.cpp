#include "support/catch.hpp"

#include <mlsysim/physics/recurrence.hpp>

using namespace mlsysim;
namespace u = mlsysim::unit;

namespace {

/// A chain of eight launches of 2 us over 512 chunks of eight states, 1 GB at 1 TB/s aside, 132 units.
RecurrenceTime::Inputs<double> chain() {
  RecurrenceTime::Inputs<double> in{};
  in.launches = 8, in.rows = 64, in.chunks = 512, in.blocks = 8, in.units = 132;
  in.work = 1e9 * u::FLOP;
  in.aside = 1e9 * u::B, in.in_order = 2e8 * u::B, in.states = 0.5e9 * u::B;
  in.peak = 1e15 * (u::FLOP / u::s), in.bandwidth = 1e12 * (u::B / u::s);
  in.launch = 2e-6 * u::s, in.row = 1e-7 * u::s, in.step = 2e-6 * u::s;
  return in;
}

double time_of(const RecurrenceTime::Inputs<double>& in) { return RecurrenceTime::solve(in).time.in(u::s); }

}  // namespace

TEST_CASE("recurrence: launches, rows, traffic and steps add up", "[physics]") {
  // 8 x 2 us + 64 x 0.1 us + 1.5 ms + 512 x 2 us
  CHECK_THAT(time_of(chain()), WithinRel(16e-6 + 6.4e-6 + 1.5e-3 + 1.024e-3, 1e-12));
  const auto r = RecurrenceTime::solve(chain());
  CHECK_THAT(r.overhead.base(), WithinRel(16e-6, 1e-12));
  CHECK_THAT(r.memory.base(), WithinRel(1.7e-3, 1e-12));
}

TEST_CASE("recurrence: states beyond the units wait for another wave", "[physics]") {
  auto in = chain();
  in.blocks = 132;
  CHECK_THAT(time_of(in), WithinRel(time_of(chain()), 1e-12));
  in.blocks = 133;
  CHECK_THAT(time_of(in) - time_of(chain()), WithinRel(1.024e-3, 1e-9));
}

TEST_CASE("recurrence: the sequential launch moves its arrays meanwhile", "[physics]") {
  auto in = chain();
  in.in_order = 4e9 * u::B;  // 4 ms, longer than its steps
  CHECK_THAT(time_of(in) - time_of(chain()), WithinRel(4e-3 - 1.024e-3, 1e-9));
  in.work = 7e12 * u::FLOP;  // 7 ms of products, longer than the 5.5 ms of traffic
  CHECK_THAT(time_of(in), WithinRel(22.4e-6 + 7e-3, 1e-12));
}

TEST_CASE("recurrence: without chunks one launch streams", "[physics]") {
  auto in = chain();
  in.launches = 1, in.rows = 0, in.chunks = 0;
  in.in_order = in.states = 0.0 * u::B;
  CHECK_THAT(time_of(in), WithinRel(2e-6 + 1e-3, 1e-12));
}

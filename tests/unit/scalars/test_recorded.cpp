#include <mlsysim/scalars/scalars.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <vector>

using namespace mlsysim;

namespace {

/// How many nodes of an operation were written down.
std::size_t count(const Recording& r, TapeOp op) {
  std::size_t n = 0;
  for (const auto& node : r.nodes) n += node.op == op ? 1 : 0;
  return n;
}

/// A recording of one result of two inputs.
template <class F> Recording recording_of(F f) {
  Recorder recorder;
  const Recorded x = recorder.input(), y = recorder.input();
  const Recorded out[] = {f(x, y)};
  return recorder.finish(out);
}

/// The constant that an expression came to; not a number where it left a node.
template <class F> double constant_of(F f) {
  const Recording r = recording_of(f);
  const TapeNode& node = r.nodes[r.outputs[0]];
  return node.op == TapeOp::constant ? r.constants[node.a] : std::nan("");
}

}  // namespace

TEST_CASE("without a recorder constants compute as doubles do", "[scalars]") {
  CHECK(Recorder::current() == nullptr);
  const Recorded x(3.0), y(4.0);
  const Recorded r = sqrt(x * x + y * y) + select(x < y, x, y) + ceil(x / y);
  CHECK(r.is_constant());
  CHECK(r.value == 9.0);
  CHECK(named("kept", r).value == 9.0);
}

TEST_CASE("arithmetic on constants leaves no node", "[scalars]") {
  const Recording r = recording_of([](const Recorded& x, const Recorded&) {
    const Recorded c = pow(Recorded(2.0), Recorded(3.0)) - 1.0;
    return x * min(c, Recorded(100.0));
  });
  CHECK(r.nodes.size() == 4);  // two inputs, the constant 7, the product
  CHECK(count(r, TapeOp::multiply) == 1);
  REQUIRE(r.constants.size() == 1);
  CHECK(r.constants[0] == 7.0);
  CHECK(r.inputs == 2);
}

TEST_CASE("equal operations and equal constants are written once", "[scalars]") {
  const Recording r = recording_of([](const Recorded& x, const Recorded& y) {
    return sqrt(x * y + 2.0) / (sqrt(y * x + 2.0) - 3.0 * (x * y + 2.0));
  });
  CHECK(count(r, TapeOp::multiply) == 2);  // x * y, whose operands may change places, and 3 times the sum
  CHECK(count(r, TapeOp::add) == 1);
  CHECK(count(r, TapeOp::sqrt) == 1);
  CHECK(r.constants.size() == 2);
  const Recording quotients =
      recording_of([](const Recorded& x, const Recorded& y) { return x / y + y / x; });
  CHECK(count(quotients, TapeOp::divide) == 2);
}

TEST_CASE("operands keep their order", "[scalars]") {
  const Recording r = recording_of([](const Recorded& x, const Recorded& y) { return y - x; });
  const TapeNode& node = r.nodes[r.outputs[0]];
  REQUIRE(node.op == TapeOp::subtract);
  CHECK(r.nodes[node.a].a == 1);
  CHECK(r.nodes[node.b].a == 0);
}

TEST_CASE("neutral constants leave the operand, and a product with 0 is 0", "[scalars]") {
  const auto kept = [](auto f) {
    const Recording r = recording_of(f);
    return r.nodes.size() == 2 && r.outputs[0] == 0;  // the first input itself
  };
  CHECK(kept([](const Recorded& x, const Recorded&) { return x + 0.0; }));
  CHECK(kept([](const Recorded& x, const Recorded&) { return 0.0 + x; }));
  CHECK(kept([](const Recorded& x, const Recorded&) { return x - 0.0; }));
  CHECK(kept([](const Recorded& x, const Recorded&) { return x * 1.0; }));
  CHECK(kept([](const Recorded& x, const Recorded&) { return x / 1.0; }));
  CHECK(kept([](const Recorded& x, const Recorded&) { return max(x, x); }));
  CHECK_FALSE(kept([](const Recorded& x, const Recorded&) { return 0.0 - x; }));
  CHECK_FALSE(kept([](const Recorded& x, const Recorded&) { return 1.0 / x; }));
  CHECK(constant_of([](const Recorded& x, const Recorded&) { return x * 0.0; }) == 0.0);
  CHECK(constant_of([](const Recorded& x, const Recorded&) { return 0.0 * x; }) == 0.0);
  CHECK(constant_of([](const Recorded& x, const Recorded&) { return 0.0 / x; }) == 0.0);
  // Not a number where a double is not one.
  CHECK(std::isnan(constant_of([](const Recorded& x, const Recorded&) { return x - x; })));
  CHECK(std::isnan(constant_of([](const Recorded& x, const Recorded&) { return x / x; })));
}

TEST_CASE("a select on a constant condition keeps one side", "[scalars]") {
  const Recording r = recording_of([](const Recorded& x, const Recorded& y) {
    return select(Recorded(1.0) < Recorded(2.0), x * 2.0, y * 3.0);
  });
  CHECK(count(r, TapeOp::select) == 0);
  CHECK(count(r, TapeOp::less) == 0);
  CHECK(r.nodes[r.outputs[0]].op == TapeOp::multiply);
  const Recording plain =
      recording_of([](const Recorded& x, const Recorded& y) { return select(false, x, y); });
  CHECK(plain.outputs[0] == 1);
  const Recording equal_sides =
      recording_of([](const Recorded& x, const Recorded& y) { return select(x < y, y, y); });
  CHECK(equal_sides.outputs[0] == 1);
}

TEST_CASE("conditions are nodes and combine", "[scalars]") {
  const Recording r = recording_of([](const Recorded& x, const Recorded& y) {
    return select(!(x < y) || (x == 3.0 && y != 1.0), x, 1.0);
  });
  const TapeNode& chosen = r.nodes[r.outputs[0]];
  REQUIRE(chosen.op == TapeOp::select);
  REQUIRE(r.nodes[chosen.a].op == TapeOp::either);
  CHECK(r.nodes[r.nodes[chosen.a].a].op == TapeOp::negation);
  CHECK(r.nodes[r.nodes[chosen.a].b].op == TapeOp::both);
  CHECK(count(r, TapeOp::equal) == 1);
  CHECK(count(r, TapeOp::not_equal) == 1);
  // A value compared with itself is decided.
  CHECK(constant_of([](const Recorded& x, const Recorded&) { return select(x < x, 5.0, 6.0); }) == 6.0);
  CHECK(constant_of([](const Recorded& x, const Recorded&) { return select(x >= x, 5.0, 6.0); }) == 5.0);
}

TEST_CASE("a name goes to its node, and to none where there is a constant", "[scalars]") {
  const Recording r = recording_of([](const Recorded& x, const Recorded& y) {
    return named("twice", x * 2.0) - named("nothing", Recorded(4.0)) * y;
  });
  REQUIRE(r.names.size() == 1);
  CHECK(r.names[0].name == "twice");
  CHECK(r.names[0].call == 0);
  CHECK(r.nodes[r.names[0].node].op == TapeOp::multiply);
  CHECK(r.nodes[r.names[0].node].a == 0);
}

TEST_CASE("recorders nest and end", "[scalars]") {
  CHECK(Recorder::current() == nullptr);
  {
    Recorder outer;
    CHECK(Recorder::current() == &outer);
    const Recorded x = outer.input();
    {
      Recorder inner;
      CHECK(Recorder::current() == &inner);
      // A value of the outside becomes an input of the inside, once.
      const Recorded y = x * 2.0 + x;
      CHECK(y.depth == 2);
      REQUIRE(inner.captured().size() == 1);
      CHECK(identical(inner.captured()[0], x));
    }
    CHECK(Recorder::current() == &outer);
    CHECK((x + 1.0).depth == 1);
  }
  CHECK(Recorder::current() == nullptr);
}

TEST_CASE("a result may be an input or a constant", "[scalars]") {
  Recorder recorder;
  const Recorded x = recorder.input();
  const Recorded out[] = {Recorded(2.5), x, Recorded(2.5)};
  const Recording r = recorder.finish(out);
  REQUIRE(r.outputs.size() == 3);
  CHECK(r.outputs[0] == r.outputs[2]);
  CHECK(r.nodes[r.outputs[0]].op == TapeOp::constant);
  CHECK(r.constants[r.nodes[r.outputs[0]].a] == 2.5);
  CHECK(r.nodes[r.outputs[1]].op == TapeOp::input);
}

TEST_CASE("a recording of thousands of operations still shares the equal ones", "[scalars]") {
  const auto chain = [](const Recorded& x) {
    Recorded y = x;
    for (int i = 0; i < 3000; ++i) y = y * x + static_cast<double>(i + 1);
    return y;
  };
  const Recording r =
      recording_of([&](const Recorded& x, const Recorded&) { return chain(x) / (chain(x) + 1.0); });
  CHECK(count(r, TapeOp::multiply) == 3000);
  CHECK(count(r, TapeOp::add) == 3001);
}

TEST_CASE("operations mean on numbers what laws on double compute", "[scalars]") {
  const double nan = std::nan("");
  const auto same = [](double p, double q) {
    return std::isnan(p) ? std::isnan(q) : p == q && std::signbit(p) == std::signbit(q);
  };
  const std::pair<double, double> pairs[] = {{0.0, -0.0}, {-0.0, 0.0}, {nan, 1.0},
                                             {1.0, nan},  {2.0, 3.0},  {3.0, 2.0}};
  for (const auto& [a, b] : pairs) {
    CAPTURE(a, b);
    CHECK(same(compute(TapeOp::max, a, b), mlsysim::max(a, b)));
    CHECK(same(compute(TapeOp::min, a, b), mlsysim::min(a, b)));
    CHECK(compute(TapeOp::less, a, b) == (a < b ? 1.0 : 0.0));
    CHECK(compute(TapeOp::less_equal, a, b) == (a <= b ? 1.0 : 0.0));
    CHECK(compute(TapeOp::equal, a, b) == (a == b ? 1.0 : 0.0));
    CHECK(compute(TapeOp::not_equal, a, b) == (a != b ? 1.0 : 0.0));
  }
  CHECK(compute(TapeOp::both, 1.0, 0.0) == 0.0);
  CHECK(compute(TapeOp::either, 1.0, 0.0) == 1.0);
  CHECK(compute(TapeOp::negation, 1.0) == 0.0);
  CHECK(compute(TapeOp::select, 0.0, 5.0, 6.0) == 6.0);
}

TEST_CASE("quantities of recorded values mix with plain quantities and numbers", "[scalars]") {
  const Recording r = recording_of([](const Recorded& x, const Recorded&) {
    const auto size = Data<Recorded>::from_base(x);
    const auto rate = Bandwidth<>::from_base(2.0);
    return max(size / rate * 2, Time<>::from_base(9.0)).base();
  });
  const TapeNode& node = r.nodes[r.outputs[0]];
  CHECK(node.op == TapeOp::max);
  CHECK(count(r, TapeOp::divide) == 1);
  CHECK(count(r, TapeOp::multiply) == 1);
}

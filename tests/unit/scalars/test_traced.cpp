#include <mlsysim/scalars/traced.hpp>

#include "support/catch.hpp"

using namespace mlsysim;

TEST_CASE("outside laws a traced value computes as double and keeps no source", "[scalars]") {
  const Traced x(3.0), y(4.0);
  const Traced r = sqrt(x * x + y * y) + select(x < y, x, y) + ceil(x / y);
  CHECK(r.value == 9.0);
  CHECK(r.id == 0);
}

TEST_CASE("the chosen value of min, max and select keeps its source", "[scalars]") {
  const Traced a(1.0, 11), b(2.0, 22);
  CHECK(max(a, b).id == 22);
  CHECK(min(a, b).id == 11);
  CHECK(select(a > b, a, b).id == 22);
  CHECK((a + b).id == 0);
}

TEST_CASE("operations on nodes are recorded with their operands", "[scalars]") {
  Trace trace;
  const TraceScope recording(trace);
  const Traced x(3.0, trace.add_leaf(TraceOp::input, 3.0, 0));
  const Traced r = named("twice", x * 2.0) - select(!(x < 5.0) || x == 3.0, x, 1.0);
  CHECK(r.value == 3.0);
  const auto nodes = trace.nodes();
  const TraceNode& last = nodes.back();
  REQUIRE(last.op == TraceOp::subtract);
  const TraceNode& twice = nodes[last.operand[0]];
  CHECK(twice.op == TraceOp::multiply);
  REQUIRE(trace.names().size() == 1);
  CHECK(trace.names()[0].name == "twice");
  CHECK(trace.names()[0].node == last.operand[0]);
  CHECK(twice.value == 6.0);
  CHECK(nodes[twice.operand[1]].op == TraceOp::constant);
  CHECK(nodes[twice.operand[1]].value == 2.0);
  const TraceNode& chosen = nodes[last.operand[1]];
  CHECK(chosen.op == TraceOp::select);
  CHECK(nodes[chosen.operand[0]].op == TraceOp::either);
  CHECK(nodes[chosen.operand[0]].value == 1.0);
}

TEST_CASE("scopes nest and end", "[scalars]") {
  CHECK(detail::current_trace == nullptr);
  Trace outer, inner;
  {
    const TraceScope a(outer);
    {
      const TraceScope b(inner);
      CHECK(detail::current_trace == &inner);
    }
    CHECK(detail::current_trace == &outer);
  }
  CHECK(detail::current_trace == nullptr);
}

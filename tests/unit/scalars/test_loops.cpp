#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/tape/tape.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <array>
#include <cmath>
#include <tuple>
#include <vector>

using namespace mlsysim;

namespace {

/// `f(x, y)` at a point, by its recording.
template <class F> Tape tape_of(F f) {
  return record_tape(2, [&](std::span<const Recorded> in) { return std::vector<Recorded>{f(in[0], in[1])}; });
}

double at(const Tape& tape, double x, double y) { return tape(std::vector<double>{x, y})[0]; }

}  // namespace

TEST_CASE("repeat counts a fraction as a whole round and nothing below one", "[scalars]") {
  const auto add = [](double s, double k) { return s + k + 1.0; };
  CHECK(repeat(3.0, 0.0, add) == 6.0);
  CHECK(repeat(2.5, 0.0, add) == 6.0);
  CHECK(repeat(0.0, 7.0, add) == 7.0);
  CHECK(repeat(-4.0, 7.0, add) == 7.0);
  CHECK(repeat(4, 0.0, add) == 10.0);
}

TEST_CASE("repeat refuses counts above its bound and counts that are no number", "[scalars]") {
  const auto same = [](double s, double) { return s; };
  CHECK_THROWS_WITH(repeat<10>(11.0, 0.0, same), ContainsSubstring("found 11 rounds, expected at most 10"));
  CHECK_THROWS_AS(repeat(std::nan(""), 0.0, same), DomainError);
  const auto recorded_same = [](const Recorded& s, const Recorded&) { return s; };
  CHECK_THROWS_AS(repeat<10>(Recorded(11.0), Recorded(0.0), recorded_same), DomainError);
  // The bound holds at every point of the tape as well.
  const Tape tape = tape_of([](const Recorded& n, const Recorded& x) {
    return repeat<10>(n, x, [](const Recorded& s, const Recorded&) { return s + 1.0; });
  });
  CHECK(at(tape, 10, 0) == 10.0);
  CHECK_THROWS_WITH(at(tape, 11, 0), ContainsSubstring("found 11 rounds, expected at most 10"));
  CHECK_THROWS_AS(at(tape, std::nan(""), 0), DomainError);
}

TEST_CASE("a constant count unrolls the loop", "[scalars]") {
  const Tape tape = tape_of([](const Recorded& x, const Recorded& y) {
    return repeat(Recorded(3.0), y, [&](const Recorded& s, const Recorded& k) { return s * x + k; });
  });
  CHECK(tape.recording().loops.empty());
  CHECK(at(tape, 2.0, 5.0) == ((5.0 * 2.0 + 0.0) * 2.0 + 1.0) * 2.0 + 2.0);
}

TEST_CASE("a recorded count is one node with the body inside", "[scalars]") {
  const auto law = []<class T>(const T& n, const T& x) {
    return repeat(n, T(1.0), [&](const T& s, const T& k) { return s * 0.5 + x + k; }) * 2.0;
  };
  const Tape tape = tape_of([&](const Recorded& n, const Recorded& x) { return law(n, x); });
  REQUIRE(tape.recording().loops.size() == 1);
  const TapeLoop& loop = tape.recording().loops[0];
  CHECK(loop.initial.size() == 1);
  CHECK(loop.captured.size() == 1);
  CHECK(loop.bound == kRepeatBound);
  CHECK(loop.body.outputs.size() == 1);
  for (const double n : {-1.0, 0.0, 1.0, 2.5, 3.0, 40.0}) {
    CAPTURE(n);
    CHECK(at(tape, n, 0.3) == law(n, 0.3));
  }
}

TEST_CASE("the state of repeat may have parts", "[scalars]") {
  const auto law = []<class T>(const T& n, const T& x) {
    using Pair = std::tuple<T, Time<T>>;
    const auto [a, t] = repeat(n, Pair{T(1.0), Time<T>()}, [&](const Pair& s, const T&) {
      return Pair{std::get<0>(s) * 2.0, std::get<1>(s) + Time<T>::from_base(x) * std::get<0>(s)};
    });
    return a * 1000.0 + t.base();
  };
  const Tape tape = tape_of([&](const Recorded& n, const Recorded& x) { return law(n, x); });
  REQUIRE(tape.recording().loops.size() == 1);
  CHECK(tape.recording().loops[0].initial.size() == 2);
  CHECK(at(tape, 3, 1.5) == 8000.0 + 1.5 * 7);
  CHECK(at(tape, 1, 1.5) == law(1.0, 1.5));
  const auto third = repeat(2.0, std::array<double, 2>{1, 2}, [](const std::array<double, 2>& s, double) {
    return std::array<double, 2>{s[1], s[0] + s[1]};
  });
  CHECK(third == std::array<double, 2>{3, 5});
}

TEST_CASE("a loop inside a loop uses values of every level outside", "[scalars]") {
  const auto law = []<class T>(const T& n, const T& x) {
    const T outside = x * x;
    return repeat(n, T(0.0), [&](const T& sum_so_far, const T& k) {
      const T here = outside + k;
      // The inner count, its start and its body take the round, the state, `here` and two values of the
      // outside.
      return repeat(k + 1.0, sum_so_far,
                    [&](const T& s, const T& j) { return s * 0.9 + here * x + outside / (j + 1.0) + k; });
    });
  };
  const Tape tape = tape_of([&](const Recorded& n, const Recorded& x) { return law(n, x); });
  REQUIRE(tape.recording().loops.size() == 1);
  const TapeLoop& outer = tape.recording().loops[0];
  REQUIRE(outer.body.loops.size() == 1);
  CHECK(outer.captured.size() == 2);  // x and its square, each once
  for (const double n : {0.0, 1.0, 2.0, 5.0}) {
    CAPTURE(n);
    CHECK(at(tape, n, 1.7) == law(n, 1.7));
  }
}

TEST_CASE("an inner loop may run on a count of the outside", "[scalars]") {
  const auto law = []<class T>(const T& n, const T& m) {
    return repeat(n, T(1.0), [&](const T& s, const T&) {
      return repeat(m, s, [&](const T& inner, const T&) { return inner + n; });
    });
  };
  const Tape tape = tape_of([&](const Recorded& n, const Recorded& m) { return law(n, m); });
  CHECK(at(tape, 3, 4) == 1 + 3 * 4 * 3);
  CHECK(at(tape, 3, 4) == law(3.0, 4.0));
  CHECK(at(tape, 0, 4) == 1.0);
}

TEST_CASE("sum adds from left to right", "[scalars]") {
  CHECK(sum(1e16, 1.0, 1.0) == (1e16 + 1.0) + 1.0);
  CHECK(sum(std::array<double, 3>{1, 2, 3}) == 6.0);
  CHECK(sum(Time<>::from_base(1), Time<>::from_base(2)).base() == 3.0);
}

TEST_CASE("ceil_div of quantities counts blocks", "[scalars]") {
  CHECK(ceil_div(Data<>::from_base(10), Data<>::from_base(4)) == 3.0);
  const Tape tape = tape_of([](const Recorded& x, const Recorded& y) {
    return ceil_div(Data<Recorded>::from_base(x), Data<Recorded>::from_base(y));
  });
  CHECK(at(tape, 10, 4) == 3.0);
  CHECK(at(tape, 8, 4) == 2.0);
}

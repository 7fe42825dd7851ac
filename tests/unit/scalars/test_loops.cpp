#include <mlsysim/scalars/scalars.hpp>
#include <mlsysim/units/error.hpp>

#include "support/catch.hpp"

#include <array>
#include <tuple>

using namespace mlsysim;

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
  CHECK_THROWS_AS(repeat<10>(Batch<2>(11.0), Batch<2>(0.0), [](Batch<2> s, double) { return s; }), DomainError);
  Batch<4> late(1.0);
  late.lane[3] = std::nan("");
  CHECK_THROWS_AS(repeat<10>(late, Batch<4>(0.0), [](Batch<4> s, double) { return s; }), DomainError);
}

TEST_CASE("the state of repeat may have parts", "[scalars]") {
  using Pair = std::tuple<Batch<2>, Time<Batch<2>>>;
  Batch<2> n;
  n.lane[0] = 1;
  n.lane[1] = 3;
  const auto [a, t] = repeat(n, Pair{1.0, Time<Batch<2>>()}, [](const Pair& s, double) {
    return Pair{std::get<0>(s) * 2.0, std::get<1>(s) + Time<Batch<2>>::from_base(1.5)};
  });
  CHECK(a.lane[0] == 2.0);
  CHECK(a.lane[1] == 8.0);
  CHECK(t.base().lane[0] == 1.5);
  CHECK(t.base().lane[1] == 4.5);
}

TEST_CASE("sum adds from left to right", "[scalars]") {
  CHECK(sum(1e16, 1.0, 1.0) == (1e16 + 1.0) + 1.0);
  CHECK(sum(std::array<double, 3>{1, 2, 3}) == 6.0);
  CHECK(sum(Time<>::from_base(1), Time<>::from_base(2)).base() == 3.0);
}

TEST_CASE("ceil_div of quantities counts blocks", "[scalars]") {
  CHECK(ceil_div(Data<>::from_base(10), Data<>::from_base(4)) == 3.0);
  CHECK(ceil_div(Data<Interval>::from_base({9, 12}), Data<>::from_base(4)).high == 3.0);
}

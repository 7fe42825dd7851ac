#include <mlsysim/scalars/batch.hpp>
#include <mlsysim/scalars/loops.hpp>
#include <mlsysim/units/quantity.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cstdint>
#include <vector>

using namespace mlsysim;

namespace {

/// Every operation of the overload set once.
template <class T>
T everything(const T& x, const T& y) {
  const T a = x * y + x / y - y;
  const T b = max(a, x) + min(a, y) + abs(x - y) + clamp(x, 0.5, 2);
  const T c = ceil(x) + floor(y) + ceil_div(x, y) + sqrt(x + y);
  const T d = pow(x, y * 0.1) + log(y) + log2(x + 1.0) + exp(-y);
  const T e = select(x > y, a, b) + select(x <= y && !(y < 1.0), 1.0, c) + select(x == y || x != y, c, d);
  return sum(a, b, c, d, e) + repeat(ceil(y), T(1.0), [&](const T& s, double k) { return s * 0.5 + x + k; });
}

}  // namespace

TEST_CASE("every lane computes what the double law computes, bit for bit", "[scalars]") {
  for (int round = 0; round < 50; ++round) {
    Batch<> x, y;
    for (int i = 0; i < 8; ++i) {
      x.lane[i] = 0.01 + 0.37 * (round * 8 + i);
      y.lane[i] = 7.3 / (1.0 + round) + 0.11 * i;
    }
    const Batch<> r = everything(x, y);
    for (int i = 0; i < 8; ++i)
      CHECK(std::bit_cast<std::uint64_t>(r.lane[i]) ==
            std::bit_cast<std::uint64_t>(everything(x.lane[i], y.lane[i])));
  }
}

TEST_CASE("lanes keep min and max of zeros and NaN as double does", "[scalars]") {
  const double nan = std::nan("");
  for (const auto& [a, b] : {std::pair{0.0, -0.0}, {-0.0, 0.0}, {nan, 1.0}, {1.0, nan}}) {
    const auto same = [](double p, double q) { return std::bit_cast<std::uint64_t>(p) == std::bit_cast<std::uint64_t>(q); };
    CHECK(same(max(Batch<2>(a), Batch<2>(b)).lane[1], mlsysim::max(a, b)));
    CHECK(same(min(Batch<2>(a), Batch<2>(b)).lane[1], mlsysim::min(a, b)));
  }
}

TEST_CASE("masks combine lane by lane", "[scalars]") {
  Batch<4> x;
  for (int i = 0; i < 4; ++i) x.lane[i] = i;
  const Batch<4> r = select(x > 0.0 && (x < 2.0 || x == 3.0) && !(x != x), 1.0, 0.0);
  CHECK(r.lane[0] == 0.0);
  CHECK(r.lane[1] == 1.0);
  CHECK(r.lane[2] == 0.0);
  CHECK(r.lane[3] == 1.0);
  CHECK(any(x > 2.0));
  CHECK_FALSE(all(x > 2.0));
}

TEST_CASE("quantities of lanes mix with plain quantities and numbers", "[scalars]") {
  Data<Batch<4>> size = Data<Batch<4>>::from_base(Batch<4>(6.0));
  const Bandwidth<> rate = Bandwidth<>::from_base(2.0);
  CHECK((size / rate * 2).base().lane[3] == 6.0);
  CHECK(max(size, Data<>::from_base(9.0)).base().lane[0] == 9.0);
}

TEST_CASE("a loop runs each lane for its own count", "[scalars]") {
  Batch<4> n;
  for (int i = 0; i < 4; ++i) n.lane[i] = i;
  const auto r = repeat(n, Batch<4>(1.0), [](const Batch<4>& s, double) { return s * 2.0; });
  for (int i = 0; i < 4; ++i) CHECK(r.lane[i] == std::exp2(i));
}

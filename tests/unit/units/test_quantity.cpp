#include <mlsysim/units/quantity.hpp>
#include <mlsysim/units/unit.hpp>

#include "support/catch.hpp"

#include <type_traits>

using namespace mlsysim;
using namespace mlsysim::literals;

namespace {

// Zero overhead, and nothing converts by accident.
static_assert(sizeof(Bandwidth<>) == sizeof(double));
static_assert(std::is_trivially_copyable_v<Bandwidth<>>);
static_assert(!std::is_convertible_v<double, Time<>>);
static_assert(!std::is_convertible_v<Time<>, double>);
static_assert(!std::is_convertible_v<Time<>, Data<>>);

// Products find the named dimension, and the bare scalar where none is left.
static_assert(std::is_same_v<decltype(80_GB / 1_s), Bandwidth<>>);
static_assert(std::is_same_v<decltype(80_GB / 3_GB), double>);
static_assert(std::is_same_v<decltype(1_W * 1_s), Energy<>>);
static_assert(std::is_same_v<decltype(1_TFLOP / 1_s / 1_W), Efficiency<>>);
static_assert(std::is_same_v<decltype(1.0 / (2_ms)), Frequency<>>);
static_assert(std::is_same_v<decltype(sqrt(1_s * 1_s)), Time<>>);

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Ordered = requires(A a, B b) {
  a < b;
};
static_assert(Addable<Time<>, Time<>>);
static_assert(!Addable<Params<>, Tokens<>>);
static_assert(!Addable<Time<>, double>);
static_assert(!Ordered<Time<>, Data<>>);

}  // namespace

TEST_CASE("a quantity is one number in the base unit", "[units]") {
  CHECK((3.5 * unit::ms).base() == 3.5e-3);
  CHECK((3.5 * unit::ms).in(unit::us) == 3500.0);
  CHECK((80 * unit::GiB).base() == 85899345920.0);
  CHECK((8 * unit::bit).base() == 1.0);
  CHECK((1 * unit::kWh).in(unit::J) == 3.6e6);
  CHECK((3.35 * unit::TB / unit::s).base() == (3.35 * (unit::TB / unit::s)).base());
}

TEST_CASE("arithmetic of quantities is arithmetic of their numbers", "[units]") {
  CHECK((2_s + 500_ms).base() == 2.5);
  CHECK((2_s - 500_ms).base() == 1.5);
  CHECK((-(2_s)).base() == -2.0);
  CHECK((3.0 * 2_s).base() == 6.0);
  CHECK((2_s / 4).base() == 0.5);
  CHECK(160_GB / 80_GB == 2.0);
  auto t = 1_s;
  t += 1_s;
  t *= 3;
  t -= 2_s;
  t /= 2;
  CHECK(t == 2_s);
}

TEST_CASE("the overload set works on quantities by value", "[units]") {
  CHECK(min(1_s, 20_ms) == 20_ms);
  CHECK(max(1_s, 20_ms) == 1_s);
  CHECK(clamp(5_s, 1_s, 2_s) == 2_s);
  CHECK(clamp(500_ms, 1_s, 2_s) == 1_s);
  CHECK(select(true, 1_s, 2_s) == 1_s);
  CHECK(select(false, 1_s, 2_s) == 2_s);
  CHECK(abs(-(1_s)) == 1_s);
  CHECK(sqrt(4_s * 1_s) == 2_s);
  CHECK(named("x", 4_s) == 4_s);
  CHECK(ceil_div(10, 4) == 3.0);
}

TEST_CASE("units multiply exactly", "[units]") {
  constexpr auto per_hour = unit::USD / unit::h;
  CHECK(per_hour.mul == 1.0);
  CHECK(per_hour.div == 3600.0);
  constexpr auto rate = unit::Gbit / unit::s;
  CHECK(rate.mul == 125e6);
  CHECK(rate.div == 1.0);
  constexpr auto energy = unit::kW * unit::h;
  CHECK(energy.mul == unit::kWh.mul);
}

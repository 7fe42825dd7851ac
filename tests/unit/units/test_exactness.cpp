#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include "../../../src/units/detail/decimal.hpp"
#include "../../../src/units/detail/exponent_sum.hpp"
#include "support/catch.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <random>
#include <string>

using namespace mlsysim;

namespace {

const UnitRegistry& units() { return UnitRegistry::standard(); }

/// A double of any size and sign; every bit pattern of the fraction is as likely as any other.
double random_double(std::mt19937_64& random, int low, int high) {
  const auto bits = random();
  const auto exponent = std::uniform_int_distribution<int>(low, high)(random);
  const double fraction = 1.0 + static_cast<double>(bits >> 12) * 0x1p-52;
  return std::ldexp(bits & 1 ? -fraction : fraction, exponent);
}

bool identical(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

TEST_CASE("every unit round-trips every double, bit for bit", "[units][exact]") {
  std::mt19937_64 random(20240917);
  int done = 0, wrong = 0;
  const auto names = units().spellings();
  REQUIRE(names.size() > 100);
  for (const auto& name : names) {
    const auto exps = units().parse_unit(name).exps;
    for (int i = 0; i < 200; ++i) {
      const double base = random_double(random, i < 150 ? -60 : -1000, i < 150 ? 100 : 900);
      const auto q = AnyQuantity::from_base(base, exps);
      const std::string text = format_exact(q, name);
      const auto back = units().parse(text);
      ++done;
      if (!identical(back.base(), base) || !(back == q)) {
        ++wrong;
        UNSCOPED_INFO(name << ": " << text);
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(done == static_cast<int>(names.size()) * 200);
}

TEST_CASE("compound units and base units round-trip too", "[units][exact]") {
  std::mt19937_64 random(7);
  for (const char* name : {"USD/h", "USD/TB/month", "GiB/min", "gCO2e/kWh", "L/kWh", "pJ/bit", "Gbit/s",
                           "TFLOP/s/W", "USD/Mtoken", "B/s^2", "Wh/request", "1/yr", "yr/GiB", "min^3"}) {
    const auto exps = units().parse_unit(name).exps;
    for (int i = 0; i < 500; ++i) {
      const auto q = AnyQuantity::from_base(random_double(random, -300, 300), exps);
      const std::string in_unit = format_exact(q, name), in_base = format_exact(q);
      REQUIRE(identical(units().parse(in_unit).base(), q.base()));
      REQUIRE(identical(units().parse(in_base).base(), q.base()));
    }
  }
}

TEST_CASE("extremes of double round-trip", "[units][exact]") {
  for (const double x : {5e-324, 2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308, 0.1,
                         0.0, -0.0, 9007199254740993.0, 1e23}) {
    for (const char* name : {"s", "us", "min", "yr"}) {
      const auto q = AnyQuantity::from_base(x, dim::time::exps);
      CAPTURE(x, name);
      CHECK(identical(units().parse(format_exact(q, name)).base(), x));
    }
    CHECK(identical(units().parse(format_exact(x)).base(), x));
  }
}

TEST_CASE("a decimal prefix is folded, so the result is the correctly rounded decimal", "[units][exact]") {
  CHECK(units().parse("3.35 TB/s").base() == 3.35e12);
  std::mt19937_64 random(11);
  for (int i = 0; i < 3000; ++i) {
    const auto digits = std::to_string(random() % 100000000);
    const int point = static_cast<int>(random() % digits.size());
    const std::string number = digits.substr(0, static_cast<std::size_t>(point)) + "." +
                               digits.substr(static_cast<std::size_t>(point));
    for (const auto& [unit, tail] : {std::pair{" ns", "e-9"}, {" ms", "e-3"}, {" us", "e-6"}})
      REQUIRE(units().parse(number + unit).base() == std::strtod((number + tail).c_str(), nullptr));
    REQUIRE(units().parse(number + " TB").base() == std::strtod((number + "e12").c_str(), nullptr));
    REQUIRE(units().parse(number + " %").base() == std::strtod((number + "e-2").c_str(), nullptr));
  }
}

TEST_CASE("whole-number factors are exact before the one rounding", "[units][exact]") {
  // k/1000 h is exactly 36 k / 10 s, whose decimal the C library rounds correctly.
  for (long k = 1; k < 200000; k += 37) {
    const std::string hours = std::to_string(k) + "e-3 h", seconds = std::to_string(36 * k) + "e-1";
    REQUIRE(units().parse(hours).base() == std::strtod(seconds.c_str(), nullptr));
  }
  // The same through digits that do not fit into 64 bits: exact multiplication of the digit string.
  for (long k = 1000001; k < 1200000; k += 3701) {
    const std::string zeros(25, '0');
    const std::string hours = std::to_string(k) + zeros + "1e-40 h";
    const std::string seconds = std::to_string(3600 * k) + zeros.substr(3) + "3600e-40";
    REQUIRE(units().parse(hours).base() == std::strtod(seconds.c_str(), nullptr));
  }
  CHECK(units().parse("0.7 min").base() == 42.0);
  CHECK(units().parse("0.1 GiB").base() == 107374182.4);
  CHECK(units().parse("0.1 bit").base() == 0.0125);
  CHECK(units().parse("1 B/h").base() == 1.0 / 3600.0);
  CHECK(units().parse("0.1 USD/kWh").base() == 1.0 / 3.6e7);
}

TEST_CASE("exact texts are short where a short one exists", "[units][exact]") {
  CHECK(format_exact(units().parse("3.35 TB/s"), "GB/s") == "3350 GB/s");
  CHECK(format_exact(units().parse("80 GiB"), "GiB") == "80 GiB");
  CHECK(format_exact(units().parse("0.1 ms"), "us") == "100 us");
  CHECK(format_exact(units().parse("0.3 h"), "h") == "0.3 h");
  CHECK(format_exact(0.1) == "0.1");
  CHECK(format_exact(1e21) == "1e21");
  CHECK(format_exact(123456789.0) == "123456789");
  CHECK(format_exact(1.5e-5) == "0.000015");
  CHECK(format_exact(1.5e-7) == "1.5e-7");
  CHECK(format_exact(-0.0) == "-0");
}

TEST_CASE("what parse reads, str writes back", "[units][exact]") {
  for (const char* text : {"3.350 TB/s", "1e-3 s", "+5 s", "80GiB", "12%", "400 Gb/s", "0.5"}) {
    CHECK(units().parse(text).str() == text);
    const auto q = units().parse(text);
    CHECK(units().parse(format_exact(q)) == q);
  }
}

TEST_CASE("scales combine exactly or not at all", "[units][exact]") {
  const UnitScale hour = detail::make_scale(3600, 1, 0), bit = detail::make_scale(1, 8, 0);
  CHECK(hour == UnitScale{36, 1, 2});
  const auto product = [](UnitScale a, const UnitScale& b, int power) {
    const bool fits = detail::accumulate(a, b, power);
    return fits ? a : UnitScale{0, 0, 0};
  };
  CHECK(product(hour, hour, -1) == UnitScale{1, 1, 0});
  CHECK(product(bit, bit, -1) == UnitScale{1, 1, 0});
  CHECK(detail::factors(product(bit, hour, 1)).mul == 450.0);
  CHECK(product({}, hour, 2) == UnitScale{1296, 1, 4});
  CHECK(product({}, UnitScale{999999999999999989ULL, 1, 0}, 2) == UnitScale{0, 0, 0});
  const auto f = detail::factors(UnitScale{1, 8, 9});
  CHECK(f.mul == 125e6);
  CHECK(f.div == 1.0);
  const auto wide = detail::factors(UnitScale{36, 1, -50});  // 9 / 2.5e49
  CHECK(wide.mul == 9.0);
  CHECK_THAT(wide.div, WithinRel(2.5e49, 1e-15));
}

TEST_CASE("exponents add lane by lane, and leave their range with notice", "[units][exact]") {
  std::mt19937_64 random(5);
  const auto any = [&random] {
    Exponents e;
    for (auto* x : {&e.time, &e.data, &e.work, &e.token, &e.sample, &e.request, &e.param, &e.money, &e.carbon,
                    &e.energy, &e.water})
      *x = static_cast<std::int8_t>(static_cast<int>(random() % 128) - 64 + (random() % 40 == 0 ? 60 : 0));
    return e;
  };
  const auto lanes = [](const Exponents& e) {
    return std::array<int, 11>{e.time,  e.data,  e.work,   e.token,  e.sample, e.request,
                               e.param, e.money, e.carbon, e.energy, e.water};
  };
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const Exponents a = any(), b = any();
    const int sign = i % 2 == 0 ? 1 : -1;
    bool inside = true;
    std::array<int, 11> sum{};
    for (std::size_t k = 0; k < sum.size(); ++k) {
      sum[k] = lanes(a)[k] + sign * lanes(b)[k];
      inside = inside && sum[k] >= -127 && sum[k] <= 127;
    }
    Exponents out;
    REQUIRE(detail::combine_exponents(out, a, b, sign) == inside);
    if (inside) REQUIRE(lanes(out) == sum);
    refused += inside ? 0 : 1;
  }
  CHECK(refused > 1000);
  CHECK(refused < 19000);
}

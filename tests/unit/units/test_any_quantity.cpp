#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/unit.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include "support/catch.hpp"

#include <limits>
#include <string>
#include <type_traits>

using namespace mlsysim;
using namespace mlsysim::literals;

namespace {

static_assert(std::is_convertible_v<Time<>, AnyQuantity>);
static_assert(!std::is_convertible_v<double, AnyQuantity>);
static_assert(std::is_same_v<decltype(AnyQuantity().as<dim::none>()), double>);
static_assert(std::is_same_v<decltype(AnyQuantity().as<dim::time>()), Time<>>);

AnyQuantity q(std::string_view text) { return AnyQuantity::parse(text); }

template <class F> std::string failure(F&& f) {
  try {
    (void)f();
  } catch (const DimensionError& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a quantity keeps what was written", "[units][any]") {
  const auto a = AnyQuantity::parse("  1 TFLOPs/s / W ", {"f.yaml", 4, 9});
  CHECK(a.text() == "1 TFLOPs/s / W");
  CHECK(a.unit() == "TFLOPs/s / W");
  CHECK(a.number() == 1.0);
  CHECK(a.base() == 1e12);
  CHECK(a.str() == "1 TFLOPs/s / W");
  CHECK(a.where().text() == "f.yaml:4:9");
  CHECK(q("0.10 ms").str() == "0.10 ms");
  CHECK(q("+0.1 ms").number() == 0.1);
  CHECK(q("0.1 ms").in("ms") == 0.1);
  CHECK(q("80GiB").unit() == "GiB");
  CHECK(q("0.5").unit().empty());
  CHECK(q("5 s").where().text().empty());
}

TEST_CASE("a computed quantity is written in base units", "[units][any]") {
  const AnyQuantity a = 80_GB;
  CHECK(a.text().empty());
  CHECK(a.unit() == "B");
  CHECK(a.number() == 80e9);
  CHECK(a.str() == "8e10 B");
  CHECK(AnyQuantity(0.25).str() == "0.25");
  CHECK((q("700 W") * q("2 s")).str() == "1400 J");
}

TEST_CASE("conversion", "[units][any]") {
  CHECK(q("3.35 TB/s").in("GB/s") == 3350.0);
  CHECK(q("1 kWh").in("J") == 3.6e6);
  CHECK(q("90 min").in("h") == 1.5);
  CHECK(q("12 %").in("") == 0.12);
  const auto a = q("3.35 TB/s").to("GB/s");
  CHECK(a.str() == "3350 GB/s");
  CHECK(a.unit() == "GB/s");
  CHECK(a.number() == 3350.0);
  CHECK(a == q("3.35 TB/s"));
  CHECK(q("0.12").to("%").str() == "12 %");
  CHECK(q("12 %").to("").str() == "0.12");
  CHECK(q("12 %").to("").unit().empty());
  CHECK(q("1 Gbps").to("Mbps").str() == "1000 Mbit/s");
  CHECK(AnyQuantity::parse("5 s", {"f", 1, 1}).to("ms").where().file == "f");
  CHECK_THAT(failure([] { return q("5 s").to("GB"); }), ContainsSubstring("mlsysim.unit.019") &&
                                                            ContainsSubstring("'5 s' (time [s])") &&
                                                            ContainsSubstring("'GB' (data [B])"));
  CHECK_THAT(failure([] { return q("0.5").in("GB"); }), ContainsSubstring("mlsysim.unit.019"));
  CHECK_THROWS_AS(q("5 s").in("TFLOPS"), UnitError);
}

TEST_CASE("the dimension is checked at the border", "[units][any]") {
  CHECK(q("3.35 TB/s").as<dim::bandwidth>().base() == 3.35e12);
  CHECK(q("700 W").as<dim::power>() == 700_W);

  const std::string error = failure([] {
    return AnyQuantity::parse("2 TB", {"chips.yaml", 7, 20}).as<dim::bandwidth>();
  });
  CHECK(error ==
        "chips.yaml:7:20: a quantity has the wrong dimension; found '2 TB' (data [B]), expected bandwidth "
        "[B/s]; did you mean '2 TB/s'? [mlsysim.unit.013]");
  CHECK_THAT(failure([] { return q("80").as<dim::data>(); }),
             ContainsSubstring("found '80' without a unit, expected data [B]") &&
                 ContainsSubstring("e.g. '80 GB'") && ContainsSubstring("mlsysim.unit.014"));
  CHECK_THAT(failure([] { return q("12 %").as<dim::data>(); }), ContainsSubstring("mlsysim.unit.013"));
  CHECK_THAT(failure([] { return q("5 ms").as<dim::none>(); }),
             ContainsSubstring("mlsysim.unit.015") && ContainsSubstring("leave the unit out"));
  CHECK_THAT(failure([] { return q("5 TFLOP/s").as<dim::work>(); }),
             ContainsSubstring("did you mean '5 TFLOP'?"));
  CHECK_THAT(failure([] { return q("5 TFLOP").as<dim::compute_rate>(); }),
             ContainsSubstring("did you mean '5 TFLOP/s'?"));
  CHECK_THAT(failure([] { return q("3 kW").as<dim::energy>(); }), ContainsSubstring("did you mean '3 kWh'?"));
  CHECK_THAT(failure([] { return q("3 kWh").as<dim::power>(); }), ContainsSubstring("did you mean '3 kW'?"));
  CHECK_THAT(failure([] { return q("7B").as<dim::params>(); }),
             ContainsSubstring("did you mean '7 Gparam'?"));
  CHECK_THAT(failure([] { return q("3 USD").as<dim::money_rate>(); }),
             ContainsSubstring("did you mean '3 USD/h'?") || ContainsSubstring("'3 USD/s'?"));
  CHECK_THAT(failure([] { return q("3 USD").as<dim::time>(); }),
             ContainsSubstring("write for example '1 ms'"));
  CHECK_THAT(failure([] { return AnyQuantity(80_GB).as<dim::time>(); }),
             ContainsSubstring("'80 GB' (data [B])"));
}

TEST_CASE("arithmetic checks dimensions at run time", "[units][any]") {
  CHECK((q("80 GB") / q("2 TB/s")).as<dim::time>().base() == Approx(0.04).epsilon(1e-15));
  CHECK((q("80 GB") / q("40 GB")).as<dim::none>() == 2.0);
  CHECK((q("80 GB") + q("20 GB")).as<dim::data>() == 100_GB);
  CHECK((q("80 GB") - q("20 GB")).as<dim::data>() == 60_GB);
  CHECK((2.0 * q("3 s") / 4.0).base() == 1.5);
  CHECK((1.0 / q("4 s")).as<dim::frequency>().base() == 0.25);
  CHECK((-q("3 s")).base() == -3.0);
  CHECK(q("3 s").power(2).exponents() == Exponents{.time = 2});
  CHECK(q("2 s").power(-2).base() == 0.25);
  CHECK(q("2 s").power(0).dimensionless());
  CHECK((q("2 TB/s") * (3_s)).as<dim::data>() == 6_TB);  // with a typed quantity
  CHECK((3_s * q("2 TB/s")).as<dim::data>() == 6_TB);
  CHECK((q("3 s") + 2_s).base() == 5.0);
  CHECK_THAT(failure([] { return q("70 Gparam") + q("2 Mtoken"); }),
             ContainsSubstring("mlsysim.unit.016") && ContainsSubstring("'70 Gparam' (params [param])") &&
                 ContainsSubstring("'2 Mtoken' (tokens [token])") && ContainsSubstring("to add"));
  CHECK_THAT(failure([] { return q("1 s") - q("1 Hz"); }), ContainsSubstring("inverse"));
  auto big = q("1 s").power(127);
  CHECK_THAT(failure([&] { return big * q("1 s"); }), ContainsSubstring("mlsysim.unit.017"));
  CHECK_THAT(failure([&] { return big.power(-2); }), ContainsSubstring("mlsysim.unit.017"));
  CHECK_THAT(failure([] { return q("1 s").power(1000000); }), ContainsSubstring("mlsysim.unit.017"));
}

TEST_CASE("comparisons", "[units][any]") {
  CHECK(q("1000 ms") == q("1 s"));
  CHECK(q("1 s") != q("1 B"));
  CHECK(q("0") != q("0 s"));
  CHECK(q("1 ms") < q("1 s"));
  CHECK(q("1 s") > 5_ms);
  CHECK(q("1 s") >= q("1000 ms"));
  CHECK(q("1 s") <= q("1000 ms"));
  CHECK_FALSE(q("1 s") < q("1000 ms"));
  CHECK_THAT(failure([] { return q("1 s") < q("1 B"); }), ContainsSubstring("to compare"));
  CHECK_THAT(failure([] { return q("1 s") >= q("1 B"); }), ContainsSubstring("mlsysim.unit.016"));
}

TEST_CASE("what is not finite is not written", "[units][any]") {
  const auto infinite = q("1 s") / 0.0;
  CHECK_THROWS_WITH(infinite.str(), ContainsSubstring("mlsysim.unit.018"));
  CHECK_THROWS_AS(infinite.to("ms"), UnitError);
  CHECK_THROWS_AS((infinite - infinite).str(), UnitError);
}

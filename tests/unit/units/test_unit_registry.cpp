#include <mlsysim/units/unit.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include "support/catch.hpp"

#include <set>
#include <string>

using namespace mlsysim;

namespace {

std::string refusal(UnitRegistry& registry, const UnitDef& unit) {
  try {
    registry.add(unit);
  } catch (const UnitError& e) {
    return e.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("unit constants and the table agree", "[units][registry]") {
  int checked = 0;
  const auto check = [&checked](std::string_view name, auto constant) {
    const auto text = UnitRegistry::standard().parse_unit(name);
    CAPTURE(name);
    CHECK(text.mul == constant.mul);
    CHECK(text.div == constant.div);
    CHECK(text.spelling == name);
    const bool same = text.exps == []<class D>(Unit<D>) { return D::exps; }(constant);
    CHECK(same);
    ++checked;
  };
  // clang-format off
#define CONSTANT(NAME) check(#NAME, unit::NAME);
  CONSTANT(ns) CONSTANT(us) CONSTANT(ms) CONSTANT(s) CONSTANT(min) CONSTANT(h) CONSTANT(d) CONSTANT(month)
  CONSTANT(yr) CONSTANT(B) CONSTANT(kB) CONSTANT(MB) CONSTANT(GB) CONSTANT(TB) CONSTANT(PB) CONSTANT(KiB)
  CONSTANT(MiB) CONSTANT(GiB) CONSTANT(TiB) CONSTANT(bit) CONSTANT(kbit) CONSTANT(Mbit) CONSTANT(Gbit)
  CONSTANT(Tbit) CONSTANT(FLOP) CONSTANT(kFLOP) CONSTANT(MFLOP) CONSTANT(GFLOP) CONSTANT(TFLOP)
  CONSTANT(PFLOP) CONSTANT(EFLOP) CONSTANT(ZFLOP) CONSTANT(token) CONSTANT(ktoken) CONSTANT(Mtoken)
  CONSTANT(Gtoken) CONSTANT(Ttoken) CONSTANT(sample) CONSTANT(request) CONSTANT(param) CONSTANT(Mparam)
  CONSTANT(Gparam) CONSTANT(Tparam) CONSTANT(USD) CONSTANT(kUSD) CONSTANT(MUSD) CONSTANT(gCO2e)
  CONSTANT(kgCO2e) CONSTANT(tCO2e) CONSTANT(pJ) CONSTANT(nJ) CONSTANT(uJ) CONSTANT(mJ) CONSTANT(J)
  CONSTANT(kJ) CONSTANT(MJ) CONSTANT(GJ) CONSTANT(Wh) CONSTANT(kWh) CONSTANT(MWh) CONSTANT(GWh) CONSTANT(L)
  CONSTANT(mL) CONSTANT(W) CONSTANT(mW) CONSTANT(kW) CONSTANT(MW) CONSTANT(GW) CONSTANT(Hz) CONSTANT(kHz)
  CONSTANT(MHz) CONSTANT(GHz)
#undef CONSTANT
      // clang-format on
      check("%", unit::percent);
  CHECK(checked == 73);

  // Products too.
  const auto text = UnitRegistry::standard().parse_unit("USD/kWh");
  constexpr auto code = unit::USD / unit::kWh;
  CHECK(text.mul == code.mul);
  CHECK(text.div == code.div);
}

TEST_CASE("the shipped table is complete and unambiguous", "[units][registry]") {
  const auto& units = UnitRegistry::standard();
  CHECK(units.units().size() == 24);
  const auto names = units.spellings();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const auto& unit : units.units()) {
    CHECK_FALSE(unit.meaning.empty());
    if (!unit.binary.empty()) CHECK(unit.exps == dim::data::exps);  // binary prefixes on B and bit only
  }
  CHECK(units.parse_unit("GiB").mul == 1073741824.0);
  CHECK(units.parse_unit("PiB").mul == 1125899906842624.0);
  CHECK(units.parse_unit("Kibit").mul == 128.0);
  CHECK(units.parse_unit("OP").exps == units.parse_unit("FLOP").exps);
}

TEST_CASE("a copy may be extended, the shipped table stays", "[units][registry]") {
  UnitRegistry mine = UnitRegistry::standard();
  mine.add({"wafer", {.sample = 1}, 60, 1, "k", "", "a wafer of 60 dies"});
  mine.add_alias({"wafers", "wafer"});
  mine.add_refusal({"waf", "write 'wafer'"});
  CHECK(mine.parse("2 kwafer").base() == 120000.0);
  CHECK(mine.parse("2 wafers/s").in("wafer/s", mine) == 2.0);
  CHECK(mine.parse("2 wafers").to("sample", mine).str() == "120 sample");
  CHECK_THROWS_AS(mine.parse("2 waf"), UnitError);
  CHECK_THROWS_AS(UnitRegistry::standard().parse("2 wafer"), UnitError);
  const UnitRegistry copy = mine;
  CHECK(copy.parse("1 wafer").base() == 60.0);

  UnitRegistry empty;
  CHECK(empty.parse("5").base() == 5.0);
  CHECK_THROWS_AS(empty.parse("5 s"), UnitError);
}

TEST_CASE("a spelling is defined once", "[units][registry]") {
  UnitRegistry r = UnitRegistry::standard();
  const auto before = r.spellings();
  r.add(r.units()[6]);  // the very same unit: no change
  CHECK(r.spellings() == before);
  CHECK_THAT(refusal(r, {"B", {.data = 1}, 2, 1, "", "", "other"}),
             ContainsSubstring("mlsysim.unit.011") && ContainsSubstring("data [B]"));
  CHECK_THAT(refusal(r, {"Gbps", {.data = 1}, 2, 1, "", "", "other"}),
             ContainsSubstring("alias of 'Gbit/s'"));
  CHECK_THAT(refusal(r, {"TFLOPS", {.data = 1}, 2, 1, "", "", "other"}), ContainsSubstring("refused"));
  // "in" with the prefix "m" is the minute; then nothing of the unit may stay behind.
  CHECK_THAT(refusal(r, {"in", {.data = 1}, 2, 1, "km", "", "other"}), ContainsSubstring("'min'"));
  CHECK_THROWS_AS(r.parse_unit("kin"), UnitError);
  CHECK(r.spellings() == before);
  CHECK_THROWS_AS(r.add_alias({"GB", "B"}), UnitError);
  CHECK_THROWS_AS(r.add_refusal({"GB", "no"}), UnitError);
}

TEST_CASE("malformed definitions are refused", "[units][registry]") {
  UnitRegistry r;
  const auto id = ContainsSubstring("mlsysim.unit.012");
  CHECK_THAT(refusal(r, {"", {}, 1, 1, "", "", "x"}), id);
  CHECK_THAT(refusal(r, {"2x", {}, 1, 1, "", "", "x"}), id);
  CHECK_THAT(refusal(r, {"a/b", {}, 1, 1, "", "", "x"}), id);
  CHECK_THAT(refusal(r, {"a", {}, 0.5, 1, "", "", "x"}), id);
  CHECK_THAT(refusal(r, {"a", {}, 1, 0, "", "", "x"}), id);
  CHECK_THAT(refusal(r, {"a", {}, 1e300, 1, "", "", "x"}), id);
  CHECK_THAT(refusal(r, {"a", {}, 1, 1, "q", "", "x"}), id);
  CHECK_THAT(refusal(r, {"a", {}, 1, 1, "kk", "", "x"}), id);
  CHECK_THAT(refusal(r, {"a", {}, 1, 1, "", "k", "x"}), id);
  CHECK_THAT(refusal(r, {"a", {}, 1, 1, "", "", ""}), id);
  CHECK_THROWS_AS(r.add_alias({"a b c", "s"}), UnitError);
  CHECK_THROWS_AS(r.add_alias({"x", "nothing"}), UnitError);
  CHECK_THROWS_AS(r.add_refusal({"x", ""}), UnitError);
  CHECK(r.spellings().empty());
}

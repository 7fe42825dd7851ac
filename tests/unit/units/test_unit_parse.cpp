#include <mlsysim/units/unit.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include "support/catch.hpp"

#include <string>

using namespace mlsysim;
using namespace mlsysim::literals;

namespace {

const UnitRegistry& units() { return UnitRegistry::standard(); }

/// Id and text of the error that reading `text` raises; "none" where it is read.
std::string failure(std::string_view text) {
  try {
    (void)units().parse(text);
  } catch (const UnitError& e) {
    return e.what();
  }
  return "none";
}

struct Case {
  const char* text;
  const char* id;
  const char* part;
};

}  // namespace

TEST_CASE("quantities are read as they are written", "[units][parse]") {
  CHECK(units().parse("3.35 TB/s").as<dim::bandwidth>().base() == 3.35e12);
  CHECK(units().parse("80 GiB").as<dim::data>().base() == 80.0 * 1073741824.0);
  CHECK(units().parse("80GB").as<dim::data>() == 80_GB);
  CHECK(units().parse("1 TFLOPs/s / W").as<dim::efficiency>().base() == 1e12);
  CHECK(units().parse("100 TFLOPs/s").as<dim::compute_rate>().base() == 1e14);
  CHECK(units().parse("12 %").as<dim::none>() == 0.12);
  CHECK(units().parse("12%").as<dim::none>() == 0.12);
  CHECK(units().parse("0.5").as<dim::none>() == 0.5);
  CHECK(units().parse("400 Gb/s").as<dim::bandwidth>().base() == 5e10);
  CHECK(units().parse("400Gbps").as<dim::bandwidth>().base() == 5e10);
  CHECK(units().parse("1979 TOPS").as<dim::compute_rate>().base() == 1.979e15);
  CHECK(units().parse("1.8 L/kWh").as<dim::water_intensity>().base() == Approx(5e-7).epsilon(1e-15));
  CHECK(units().parse("3.4 kg CO2e").as<dim::carbon>().base() == 3400.0);
  CHECK(units().parse("2 pJ/bit").as<dim::energy_per_data>().base() == Approx(1.6e-11).epsilon(1e-15));
  CHECK(units().parse("6 FLOP/param/token").as<dim::work_per_param_token>().base() == 6.0);
  CHECK(units().parse("50 \xC2\xB5s").as<dim::time>().base() == 5e-5);
  CHECK(units().parse("5 1/s").as<dim::frequency>().base() == 5.0);
  CHECK(units().parse("3 s^-1").as<dim::frequency>().base() == 3.0);
  CHECK(units().parse("1 month").as<dim::time>().base() == 2592000.0);
  CHECK(units().parse("2 yr").as<dim::time>().base() == 63072000.0);
  CHECK(units().parse("1 tCO2e").as<dim::carbon>().base() == 1e6);
  CHECK(units().parse("1 EFLOP").as<dim::work>().base() == 1e18);
  CHECK(units().parse("1EFLOP").as<dim::work>().base() == 1e18);
  CHECK(units().parse("1e3B").as<dim::data>().base() == 1e3);
  CHECK(units().parse("5.184 USD/TB/month").exponents() == Exponents{.time = -1, .data = -1, .money = 1});
  CHECK(units().parse("5.184 USD/TB/month").base() == 2e-18);
}

TEST_CASE("number forms", "[units][parse]") {
  CHECK(units().parse(".5 s").base() == 0.5);
  CHECK(units().parse("5. s").base() == 5.0);
  CHECK(units().parse("+5 s").base() == 5.0);
  CHECK(units().parse("-5e-3 s").base() == -5e-3);
  CHECK(units().parse("1E+3 s").base() == 1000.0);
  CHECK(units().parse("  5\ts ").base() == 5.0);
  CHECK(units().parse("000012 s").base() == 12.0);
  CHECK(units().parse("0e99999 s").base() == 0.0);
  CHECK(units().parse("0.0000000000000000000000000000000000000012e40 s").base() == 12.0);
  CHECK(units().parse("123456789012345678901234567890 B").base() == 123456789012345678901234567890.0);
}

TEST_CASE("slash binds the next factor only, powers bind tightest", "[units][parse]") {
  CHECK(units().parse_unit("FLOP/param/token").exps == dim::work_per_param_token::exps);
  CHECK(units().parse_unit("FLOP / param * token").exps == Exponents{.work = 1, .token = 1, .param = -1});
  CHECK(units().parse_unit("B/s^2").exps == Exponents{.time = -2, .data = 1});
  CHECK(units().parse_unit("B * s ^ -2").exps == Exponents{.time = -2, .data = 1});
  CHECK(units().parse_unit("1/token").exps == Exponents{.token = -1});
  CHECK(units().parse_unit("").exps.dimensionless());
  CHECK(units().parse_unit("").mul == 1.0);
}

TEST_CASE("the canonical spelling has no aliases and no blanks", "[units][parse]") {
  const auto spelling = [](const char* text) { return units().parse_unit(text).spelling; };
  CHECK(spelling("TFLOPs / s / W") == "TFLOP/s/W");
  CHECK(spelling("Gbps") == "Gbit/s");
  CHECK(spelling("USD/Gbps") == "USD*s/Gbit");
  CHECK(spelling("Gbps^2") == "Gbit^2/s^2");
  CHECK(spelling("1/tokens") == "1/token");
  CHECK(spelling("s^-1*B") == "B/s");
  CHECK(spelling("kg CO2e / kWh") == "kgCO2e/kWh");
  CHECK(spelling("$/hour") == "USD/h");
  CHECK(spelling("KB") == "kB");
  CHECK(spelling("s*s") == "s*s");
  CHECK(spelling("") == "");
}

TEST_CASE("what cannot be read says why, and what to write", "[units][parse]") {
  const Case c = GENERATE(values<Case>({
      {"", "001", "empty"},
      {"   ", "001", "3.35 TB/s"},
      {"TB/s", "002", "'TB/s'"},
      {"~5 s", "002", "a number"},
      {"- 5 s", "002", "a number"},
      {"nan s", "003", "finite"},
      {"-inf s", "003", "finite"},
      {"Infinity", "003", "finite"},
      {"0x10 B", "003", "hexadecimal"},
      {"1_000 B", "003", "1500"},
      {"1,000 B", "003", "1500"},
      {"3,35 TB/s", "003", "1.5"},
      {"1e400 s", "004", "1e-308"},
      {"1e300 TB", "004", "in B"},
      {"1e-400 s", "004", "1e-308"},
      {"80 80 GB", "005", "one number"},
      {"1.2.3 s", "005", "one number"},
      {"5-10 ms", "005", "range"},
      {"5 -10 ms", "005", "range"},
      {"80 gb", "006", "did you mean 'GB' or 'Gbit'?"},
      {"2 tb/s", "006", "'TB'"},
      {"5 tflop/s", "006", "did you mean 'TFLOP'?"},
      {"5 TBs", "006", "did you mean 'TB/s'"},
      {"5 tokken", "006", "did you mean 'token'?"},
      {"5 zz", "006", "spellings()"},
      {"5 TFLOPS", "007", "'TFLOP/s' for a rate, or 'TFLOP' for an amount"},
      {"5 tflops", "006", "'TFLOP/s' for a rate, or 'TFLOP' for an amount"},
      {"5 FLOPS/W", "007", "for a rate"},
      {"5 kwh", "007", "'kWh'"},
      {"25 C", "007", "temperatures"},
      {"7 M", "007", "Gparam"},
      {"5 kb", "007", "'kB' (bytes) or 'kbit' (bits)"},
      {"5 g/kWh", "007", "gCO2e"},
      {"5 EUR/h", "007", "exchange rate"},
      {"5 (GB)", "008", "no parentheses"},
      {"5 GB/(s)", "008", "no parentheses"},
      {"5 GB s", "008", "'*' or '/'"},
      {"2 T tokens", "008", "did you mean 'Ttoken'?"},
      {"3 USD per h", "008", "'/' for 'per'"},
      {"5 GB//s", "008", "joined"},
      {"5 GB/", "008", "end of the text"},
      {"5 s**2", "008", "'^' for a power"},
      {"5 /s", "008", "1/s"},
      {"3/4", "008", "0.75"},
      {"5 1", "005", "one number"},
      {"5 s^x", "009", "whole number"},
      {"5 s^0", "009", "whole number"},
      {"5 s^2.5", "009", "whole number"},
      {"5 s^128", "009", "127"},
      {"5 s^100*s^100", "010", "127"},
      {"5 yr^9", "010", "smaller units"},
      {"5 s*s*s*s*s*s*s*s*s*s*s*s*s*s*s*s*s", "010", "16 factors"},
  }));
  const std::string error = failure(c.text);
  CAPTURE(c.text);
  CHECK_THAT(error, ContainsSubstring(std::string("[mlsysim.unit.") + c.id + "]"));
  CHECK_THAT(error, ContainsSubstring(c.part));
  CHECK_THAT(error, ContainsSubstring("; found ") && ContainsSubstring("expected "));
}

TEST_CASE("every refused spelling is refused with its own hint", "[units][parse]") {
  REQUIRE(units().refusals().size() > 30);
  for (const auto& refusal : units().refusals()) {
    const std::string error = failure("1 " + refusal.spelling);
    CHECK_THAT(error, ContainsSubstring("mlsysim.unit.007") && ContainsSubstring(refusal.hint));
  }
}

TEST_CASE("every alias reads as its canonical form", "[units][parse]") {
  REQUIRE(units().aliases().size() > 80);
  for (const auto& alias : units().aliases()) {
    const auto a = units().parse_unit(alias.spelling), b = units().parse_unit(alias.canonical);
    CAPTURE(alias.spelling, alias.canonical);
    CHECK(a.exps == b.exps);
    CHECK(a.scale == b.scale);
    CHECK(a.spelling == alias.canonical);
    CHECK(b.spelling == alias.canonical);
  }
}

TEST_CASE("an error carries the place, or a caret where there is none", "[units][parse]") {
  try {
    (void)units().parse("5 TFLOPS", {"chips.yaml", 12, 8});
    FAIL("read");
  } catch (const UnitError& e) {
    CHECK_THAT(e.what(), ContainsSubstring("chips.yaml:12:8: "));
    CHECK(e.facts().where.line == 12);
    CHECK(e.facts().excerpt.empty());
  }
  try {
    (void)units().parse("5 TFLOPS");
    FAIL("read");
  } catch (const UnitError& e) {
    CHECK(e.facts().excerpt == "  5 TFLOPS\n    ^");
  }
  CHECK_THAT(failure(std::string(1001, '1')), ContainsSubstring("mlsysim.unit.021"));
}

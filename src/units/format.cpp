#include <mlsysim/units/format.hpp>

#include "detail/decimal.hpp"
#include "detail/unit_faults.hpp"

#include <mlsysim/units/unit.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim {
namespace {

using detail::facts_of;
using detail::UnitFault;

void require_finite(double x) {
  if (!std::isfinite(x))
    throw UnitError(facts_of(UnitFault::not_finite, std::isnan(x) ? "nan" : "infinity", "a finite number",
                             "look for a division by zero where the quantity was computed"));
}

std::string joined(const std::string& number, std::string_view unit) {
  return unit.empty() ? number : number + " " + std::string(unit);
}

/// Throws, with all facts, where the unit is not one of the quantity.
void check_unit(const AnyQuantity& q, const UnitExpr& unit) {
  if (!(unit.exps == q.exponents())) (void)q.in(unit.spelling);
}

/// Units of one dimension from small to large, with what one of each is in the base unit.
struct Step {
  std::string unit;
  double mul, div, from;  // used from `from` [base unit] on
};
struct Ladder {
  Exponents exps;
  std::vector<Step> steps;
};

/// Each line is one dimension; the commonest way to write it, from small to large.
constexpr const char* kLadders[] = {
    "ns us ms s min h d yr",
    "B kB MB GB TB PB EB",
    "FLOP kFLOP MFLOP GFLOP TFLOP PFLOP EFLOP ZFLOP",
    "token ktoken Mtoken Gtoken Ttoken",
    "sample ksample Msample Gsample Tsample",
    "request krequest Mrequest Grequest Trequest",
    "param kparam Mparam Gparam Tparam",
    "USD kUSD MUSD GUSD",
    "ugCO2e mgCO2e gCO2e kgCO2e tCO2e ktCO2e MtCO2e",
    "pJ nJ uJ mJ J kJ MJ kWh MWh GWh TWh",
    "mL L kL ML",
    "1/s Hz kHz MHz GHz",
    "B/s kB/s MB/s GB/s TB/s PB/s EB/s",
    "FLOP/s kFLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s EFLOP/s ZFLOP/s",
    "token/s ktoken/s Mtoken/s Gtoken/s",
    "sample/s ksample/s Msample/s Gsample/s",
    "request/s krequest/s Mrequest/s",
    "USD/h kUSD/h MUSD/h",
    "uW mW W kW MW GW",
    "FLOP/B",
    "FLOP/J kFLOP/J MFLOP/J GFLOP/J TFLOP/J PFLOP/J",
    "B/param",
    "B/token kB/token MB/token GB/token",
    "B/sample kB/sample MB/sample GB/sample TB/sample",
    "FLOP/token kFLOP/token MFLOP/token GFLOP/token TFLOP/token PFLOP/token",
    "FLOP/sample kFLOP/sample MFLOP/sample GFLOP/sample TFLOP/sample PFLOP/sample",
    "ns/token us/token ms/token s/token",
    "nJ/token uJ/token mJ/token J/token kJ/token",
    "nJ/sample uJ/sample mJ/sample J/sample kJ/sample",
    "pJ/B nJ/B uJ/B mJ/B J/B",
    "pJ/FLOP nJ/FLOP uJ/FLOP mJ/FLOP J/FLOP",
    "USD/Mtoken",
    "USD/kWh",
    "USD/GB",
    "USD/tCO2e",
    "gCO2e/kWh",
    "ugCO2e/token mgCO2e/token gCO2e/token",
    "L/kWh",
};

std::vector<Ladder> make_ladders() {
  std::vector<Ladder> out;
  for (std::string_view line : kLadders) {
    Ladder ladder;
    while (!line.empty()) {
      const auto end = std::min(line.find(' '), line.size());
      const auto unit = UnitRegistry::standard().parse_unit(line.substr(0, end));
      ladder.exps = unit.exps;
      double from = unit.mul / unit.div;
      // Hours are read easily up to two days, days up to two years, and kWh only from one whole kWh on.
      if (unit.spelling == "d" || unit.spelling == "yr") from *= 2;
      ladder.steps.push_back({std::string(line.substr(0, end)), unit.mul, unit.div, from});
      line.remove_prefix(std::min(end + 1, line.size()));
    }
    out.push_back(std::move(ladder));
  }
  return out;
}

/// A dimension without a ladder: the base unit, its first factor prefixed where that is a plain byte or FLOP.
Ladder derived_ladder(const Exponents& exps) {
  const std::string base = canonical_unit(exps);
  Ladder ladder{exps, {{base, 1, 1, 1}}};
  const bool bytes = exps.data == 1, flops = exps.work == 1 && exps.data <= 0;
  if (!bytes && !flops) return ladder;
  for (const char prefix : std::string_view("kMGTP")) {
    const auto unit = UnitRegistry::standard().parse_unit(prefix + base);
    ladder.steps.push_back({prefix + base, unit.mul, unit.div, unit.mul / unit.div});
  }
  return ladder;
}

const Step& choose(const Ladder& ladder, double magnitude) {
  const Step* best = &ladder.steps.front();
  for (const auto& step : ladder.steps)
    if (magnitude >= step.from) best = &step;
  return *best;
}

}  // namespace

std::string format_exact(double number) {
  require_finite(number);
  return detail::exact_number(number, UnitScale{});
}

std::string format_exact(const AnyQuantity& q) {
  return joined(format_exact(q.base()), canonical_unit(q.exponents()));
}

std::string format_exact(const AnyQuantity& q, std::string_view unit) {
  return format_exact(q, unit, UnitRegistry::standard());
}

std::string format_exact(const AnyQuantity& q, std::string_view unit, const UnitRegistry& units) {
  const UnitExpr u = units.parse_unit(unit);
  if (!(u.exps == q.exponents())) (void)q.in(unit, units);  // throws, with all facts
  require_finite(q.base());
  return joined(detail::exact_number(q.base(), u.scale), u.spelling);
}

std::string pretty(double number, int digits) {
  if (digits < 1 || digits > 17)
    throw DomainError(facts_of(UnitFault::digits_range, std::to_string(digits), "1 to 17 digits", ""));
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  if (number == 0) return "0";
  return detail::text_of(detail::rounded_decimal(number, digits));
}

std::string pretty(const AnyQuantity& q, int digits) {
  if (q.dimensionless()) {
    // A whole number is a count, an index or a size: rounded, it would be another one. Beyond 2^53 all
    // doubles are whole.
    const bool count = std::abs(q.base()) < 0x1p53 && q.base() == std::trunc(q.base());
    auto rounded = pretty(q.base(), digits);
    return count && q.base() != 0 ? fmt::format("{:.0f}", q.base()) : rounded;
  }
  static const std::vector<Ladder> ladders = make_ladders();
  const Ladder* ladder = nullptr;
  for (const auto& l : ladders)
    if (l.exps == q.exponents()) ladder = &l;
  Ladder own;
  if (ladder == nullptr) {
    own = derived_ladder(q.exponents());
    ladder = &own;
  }
  if (q.base() == 0 || !std::isfinite(q.base()))
    return joined(pretty(q.base(), digits), canonical_unit(q.exponents()));
  // Round before choosing: 999.96 GB with 4 digits is 1 TB, not 1000 GB.
  if (digits < 1 || digits > 17) (void)pretty(q.base(), digits);  // throws
  const auto rounded = detail::value_of(detail::rounded_decimal(q.base(), digits)).value_or(q.base());
  const Step& step = choose(*ladder, std::abs(rounded));
  return joined(pretty(detail::to_base(q.base(), step.div, step.mul), digits), step.unit);
}

std::string pretty(const AnyQuantity& q, std::string_view unit, int digits) {
  const UnitExpr u = UnitRegistry::standard().parse_unit(unit);
  check_unit(q, u);
  return joined(pretty(detail::to_base(q.base(), u.div, u.mul), digits), u.spelling);
}

}  // namespace mlsysim

#include "detail/dimension_hint.hpp"

#include <mlsysim/units/format.hpp>
#include <mlsysim/units/unit_registry.hpp>

#include <vector>

namespace mlsysim::detail {
namespace {

constexpr std::string_view kPer[] = {"/s", "/token", "/param", "/sample", "/request",
                                     "/h", "/kWh",   "/GB",    "/W",      "/J"};

/// A usual unit of the dimension, for an example.
std::string usual_unit(const Exponents& e) {
  struct Usual {
    Exponents exps;
    const char* unit;
  };
  // clang-format off
  static constexpr Usual usual[] = {
      {dim::time::exps, "ms"},           {dim::data::exps, "GB"},           {dim::work::exps, "TFLOP"},
      {dim::bandwidth::exps, "GB/s"},    {dim::compute_rate::exps, "TFLOP/s"}, {dim::params::exps, "Gparam"},
      {dim::energy::exps, "kWh"},        {dim::carbon::exps, "kgCO2e"},     {dim::money_rate::exps, "USD/h"},
      {dim::money_per_energy::exps, "USD/kWh"}, {dim::carbon_intensity::exps, "gCO2e/kWh"},
      {dim::water_intensity::exps, "L/kWh"},    {dim::frequency::exps, "GHz"},
  };
  // clang-format on
  for (const auto& u : usual)
    if (u.exps == e) return u.unit;
  return canonical_unit(e);
}

bool fits(const std::string& unit, const Exponents& expected) {
  try {
    return UnitRegistry::standard().parse_unit(unit).exps == expected;
  } catch (const Error&) {
    return false;  // not even a unit: then it is no suggestion
  }
}

/// The nearest spellings of `unit` that somebody may have meant.
std::vector<std::string> variants(const std::string& unit) {
  std::vector<std::string> out;
  if (unit == "B") out.emplace_back("Gparam");  // "7B" is the size of a model more often than seven bytes
  if (unit.ends_with('W')) out.push_back(unit + "h");
  if (unit.ends_with("Wh")) out.push_back(unit.substr(0, unit.size() - 1));
  for (const auto per : kPer) out.push_back(unit + std::string(per));
  for (const auto per : kPer)
    if (const auto at = unit.rfind(per); at != std::string::npos)
      out.push_back(std::string(unit).erase(at, per.size()));
  return out;
}

}  // namespace

std::string dimension_hint(const AnyQuantity& found, const Exponents& expected) {
  const std::string text(found.text());
  const std::string unit = found.unit();
  const std::string number = text.empty() ? pretty(found.base(), 6) : pretty(found.number(), 17);
  if (expected.dimensionless())
    return found.text().empty() ? "divide by a quantity of the same dimension first" : "leave the unit out";
  if (found.dimensionless()) return "add the unit, e.g. '" + number + " " + usual_unit(expected) + "'";
  for (const auto& candidate : variants(unit))
    if (!candidate.empty() && fits(candidate, expected))
      return "did you mean '" + number + " " + candidate + "'?";
  return "write for example '1 " + usual_unit(expected) + "'";
}

}  // namespace mlsysim::detail

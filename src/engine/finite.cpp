#include <mlsysim/engine/detail/finite.hpp>

#include <mlsysim/resolver_api/dynamic_value.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <vector>

namespace mlsysim::detail {
namespace {

/// Inputs so far from everyday numbers that they may be why a result is not finite.
std::string extremes_of(const Scenario& s) {
  std::vector<std::string> out;
  for (const auto& f : describe<Scenario>()) {
    const Value value = f.read(&s);
    const auto* x = std::get_if<double>(&value);
    if (x == nullptr || *x == 0 || (std::fabs(*x) > 1e-12 && std::fabs(*x) < 1e18)) continue;
    out.push_back(fmt::format("{} = {}", f.name, DynamicValue(value, f.exps).text()));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace

void check_finite(std::string_view name, double value, const Scenario& scenario) {
  if (std::isfinite(value)) return;
  const std::string extremes = extremes_of(scenario);
  throw DomainError({.id = "mlsysim.engine.053",
                     .message = fmt::format("the scenario has no finite {}", name),
                     .key = std::string(name),
                     .found = fmt::format("{}{}{}", std::isnan(value) ? "no number" : "an infinite number",
                                          extremes.empty() ? "" : " with ", extremes),
                     .expected = "inputs whose results fit into a double",
                     .hint = extremes.empty() ? "look for an input that is many orders of magnitude off"
                                              : "give a number of a machine that could be built"});
}

}  // namespace mlsysim::detail

#include "resolvers/shared/power_limits.hpp"

#include <mlsysim/units/error.hpp>
#include <mlsysim/units/format.hpp>

#include <fmt/format.h>

namespace mlsysim::detail {

bool set_power_limits(Plan<>& plan, std::optional<Power<>> power_cap, double clock_limit,
                      const HardwareNode& hardware, const Conventions& conventions, Notes& notes) {
  if (!power_cap && clock_limit == 1) return false;
  const auto& power = hardware.power;
  if (!power.tdp)
    throw InputError({.id = "mlsysim.catalogue.141",
                      .message = "a limit of power or clock needs the power of the device",
                      .key = power_cap ? "power_cap" : "clock_limit",
                      .found = hardware.name + " without a TDP",
                      .expected = "a thermal design power",
                      .hint = "give the device power: {tdp: ...}"});
  const auto idle = power.idle_share(conventions.idle_fraction) * *power.tdp,
             least = power.tdp_min ? max(idle, *power.tdp_min) : idle;
  if (power_cap && (*power_cap <= idle || *power_cap < least))
    throw DomainError({.id = "mlsysim.catalogue.142",
                       .message = fmt::format("{} cannot be held to so little power", hardware.name),
                       .key = "power_cap",
                       .found = pretty(AnyQuantity(*power_cap), 3),
                       .expected = fmt::format(
                           "more than the {} that it draws without work{}", pretty(AnyQuantity(idle), 3),
                           power.tdp_min ? fmt::format(", and at least its lowest limit, {}",
                                                       pretty(AnyQuantity(*power.tdp_min), 3))
                                         : std::string()),
                       .hint = "raise power_cap"});
  if (power_cap && *power_cap > *power.tdp)
    notes.remark([&] {
      return fmt::format("no effect: power_cap of {}, where {} draws {} at most",
                         pretty(AnyQuantity(*power_cap), 3), hardware.name,
                         pretty(AnyQuantity(*power.tdp), 3));
    });
  if (!power.idle) notes.assume("idle_fraction", conventions.idle_fraction, kDefaults);
  plan.power_cap = power_cap.value_or(*power.tdp);
  plan.clock_limit = clock_limit;
  return true;
}

}  // namespace mlsysim::detail

#pragma once
/// A result that is not finite can neither be explained nor compared.

#include <mlsysim/reflect/describe.hpp>
#include <mlsysim/units/error.hpp>

#include <fmt/format.h>

#include <cmath>

namespace mlsysim::detail {

/// Lets a finite result pass. @throws DomainError of any other, which it names
inline void check_result(const FieldInfo& result, double value) {
  if (std::isfinite(value)) return;
  const bool none = std::isnan(value);
  throw DomainError(
      {.id = "mlsysim.explore.002",
       .message = fmt::format("'{}' {} here", result.name, none ? "has no value" : "is no finite number"),
       .key = result.name,
       .found = none ? "nothing" : fmt::format("{}", value),
       .expected = "a finite result",
       .hint = "check the inputs; a rate of zero makes times infinite, and a queue without a "
               "steady state has no latency",
       .reason = BreakReason::numeric});
}

}  // namespace mlsysim::detail

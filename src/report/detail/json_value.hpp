#pragma once
/// Values as JSON; numbers that are not finite become null.

#include <mlsysim/reflect/value.hpp>
#include <mlsysim/units/any_quantity.hpp>
#include <mlsysim/units/format.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <string_view>

namespace mlsysim::detail {

using Json = nlohmann::ordered_json;

[[nodiscard]] inline Json json_number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

/// The unit in which a value is shown: its own, else that of its dimension.
[[nodiscard]] inline std::string display_unit(std::string_view unit, const Exponents& exps) {
  return unit.empty() ? canonical_unit(exps) : std::string(unit);
}

/// A value in `unit` (the base unit where empty).
[[nodiscard]] inline Json json_value(const Value& value, const Exponents& exps, std::string_view unit) {
  if (const auto* x = std::get_if<double>(&value))
    return json_number(unit.empty() || !std::isfinite(*x) ? *x : AnyQuantity::from_base(*x, exps).in(unit));
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* o = std::get_if<ObjectRef>(&value)) return std::string(o->type);
  if (const auto* h = std::get_if<HostRef>(&value); h != nullptr && *h) return (*h)->text();
  return nullptr;
}

}  // namespace mlsysim::detail

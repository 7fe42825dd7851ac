#pragma once
/// Values as JSON; numbers that are not finite become null.

#include <mlsysim/table/value.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace mlsysim::detail {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json json_number(double x);
/// The unit in which a value is shown: its own, else that of its dimension.
[[nodiscard]] std::string display_unit(std::string_view unit, const Exponents& exps);
/// A value in `unit` (the base unit where empty).
[[nodiscard]] Json json_value(const Value& value, const Exponents& exps, std::string_view unit);
/// Two blanks of indentation and a last newline; text that is not UTF-8 is replaced rather than refused.
[[nodiscard]] std::string dumped(const Json& json);

}  // namespace mlsysim::detail

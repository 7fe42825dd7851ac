#pragma once
/// Advice for a quantity of the wrong dimension.

#include <mlsysim/units/any_quantity.hpp>

#include <string>

namespace mlsysim::detail {

/// "did you mean '2 TB/s'?" for '2 TB' where a bandwidth is due; an example of the right form otherwise.
[[nodiscard]] std::string dimension_hint(const AnyQuantity& found, const Exponents& expected);

}  // namespace mlsysim::detail

#pragma once
/// Cells as laws, and what a difference costs.

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/ops/regression/differences.hpp>

#include <memory>

namespace mlsysim::detail {

/// A resolver at inputs that are texts; what they point to lives with it. @throws LookupError, InputError,
/// ...
[[nodiscard]] std::shared_ptr<const Subject> resolver_subject(
    const std::string& resolver, const std::map<std::string, std::string>& inputs, const Zoo& zoo);
/// The change in a fleet's yearly cost for the same work: a longer time or a lower rate takes more of it.
/// Empty for numbers that are neither times nor rates.
[[nodiscard]] std::optional<Money<>> yearly(const std::optional<FleetPrice>& fleet,
                                            const Difference& difference);

}  // namespace mlsysim::detail

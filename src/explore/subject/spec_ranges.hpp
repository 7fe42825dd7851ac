#pragma once
// Ranges of the zoo behind the inputs of a resolver.

#include <mlsysim/explore/subject/subject.hpp>
#include <mlsysim/resolver_api/dynamic_value.hpp>

#include <span>
#include <vector>

namespace mlsysim::detail {

/// Ranges of the figures of the specs that the fields of a resolver point to.
/// @param inputs of the subject, with `point`, one number each
/// @param values of the resolver's `fields`, in their order
[[nodiscard]] std::vector<EstimatedFigure> spec_ranges(std::span<const FieldInfo> inputs,
                                                       std::span<const double> point,
                                                       std::span<const FieldInfo> fields,
                                                       std::span<const DynamicValue> values);

}  // namespace mlsysim::detail

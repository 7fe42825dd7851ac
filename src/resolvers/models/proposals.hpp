#pragma once
// Proposals of tokens that a pass verifies.

#include <mlsysim/resolvers/models/in_flight_batching.hpp>

namespace mlsysim::detail {

/// The draft layers of a model as a model of their own; embedding and head are the model's.
/// @throws InputError when it has none
[[nodiscard]] Workload own_draft(const Workload& w);
/// @throws DomainError when more tokens were measured than `drafted` ones and the verification's own
void check_acceptance_length(double length, double drafted);

}  // namespace mlsysim::detail

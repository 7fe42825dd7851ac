#pragma once
/// The resolvers of the catalogue. Those that ship are these and the solver that inverts scenarios:
/// `shipped_resolvers`.

#include <mlsysim/resolver_api/registry.hpp>

namespace mlsysim {

/// Adds models, solvers and optimizers.
void add_catalogue(ResolverRegistry& registry);
/// Adds every law of physics/laws.hpp.
void add_catalogue_laws(ResolverRegistry& registry);

}  // namespace mlsysim

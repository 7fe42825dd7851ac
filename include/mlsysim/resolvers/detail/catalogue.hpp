#pragma once
/// Adds the shipped resolvers to a registry: models, solvers, optimizers, and one resolver for each law.
///
/// `shipped_resolvers` holds these and the solver that inverts scenarios.
/// Example: after `add_catalogue(registry)`, `registry.find("ServingModel")` is not null. The law "Roofline"
/// is found only after `add_catalogue_laws(registry)`.

#include <mlsysim/resolver_api/registry.hpp>

namespace mlsysim {

/// Adds models, solvers and optimizers.
void add_catalogue(ResolverRegistry& registry);
/// Adds every law of physics/laws.hpp.
void add_catalogue_laws(ResolverRegistry& registry);

}  // namespace mlsysim

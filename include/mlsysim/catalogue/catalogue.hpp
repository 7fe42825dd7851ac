#pragma once
/// The resolvers of the catalogue. What ships is these and what asks them backwards: `shipped_resolvers`.

#include <mlsysim/resolve/registry.hpp>

namespace mlsysim {

/// Adds models, solvers and optimizers.
void add_catalogue(ResolverRegistry& registry);
/// Adds every law of physics/laws.hpp.
void add_catalogue_laws(ResolverRegistry& registry);

}  // namespace mlsysim

#pragma once
/// The registry `ResolverRegistry::standard()`: the resolvers that ship, or these and those of plugins.

#include <mlsysim/resolver_api/registry.hpp>

namespace mlsysim {

/// The resolvers that ship alone. Defined beside them, in the catalogue.
[[nodiscard]] const ResolverRegistry& shipped_resolvers();

/// From now on `ResolverRegistry::standard()` is this registry, on every thread. References to the registries
/// before stay valid: they are kept until the process ends, so this is for loading plugins and not for every
/// day.
void publish_resolvers(ResolverRegistry resolvers);

/// Resolvers that a host language defines, behind all others; this list takes the place of the one before.
/// One whose name is taken is left out.
void publish_host_resolvers(std::vector<std::shared_ptr<const Resolver>> own);

}  // namespace mlsysim

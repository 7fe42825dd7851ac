#pragma once
/// Sets which registry `ResolverRegistry::standard()` returns: shipped resolvers, plugins, and resolvers of
/// Python.
///
/// Example: after `publish_resolvers(r)`, `standard()` holds the resolvers of `r` and then those of the host
/// language. A resolver of the host language with the name of an earlier one is left out.

#include <mlsysim/resolver_api/registry.hpp>

namespace mlsysim {

/// The shipped resolvers alone.
[[nodiscard]] const ResolverRegistry& shipped_resolvers();

/// Replaces the resolvers of `standard()` on every thread, except those of the host language.
///
/// Earlier registries are kept until the process ends, because callers may hold references. Call it to load
/// plugins, not in a loop.
void publish_resolvers(ResolverRegistry resolvers);

/// Replaces the resolvers of the host language, which come last.
void publish_host_resolvers(std::vector<std::shared_ptr<const Resolver>> own);

}  // namespace mlsysim

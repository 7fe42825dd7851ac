#pragma once
/// Resolvers, for readers and programs.

#include <mlsysim/report/render_options.hpp>
#include <mlsysim/report/table.hpp>
#include <mlsysim/resolver_api/registry.hpp>

#include <string>

namespace mlsysim {

/// Name, tier, walls and purpose of every resolver.
[[nodiscard]] Table registry_table(const ResolverRegistry& registry);
/// Inputs, outputs, equation, source and fallacies of a resolver. JSON, schema "mlsysim/resolver@1".
[[nodiscard]] std::string render(const Resolver& resolver, const RenderOptions& options);

}  // namespace mlsysim

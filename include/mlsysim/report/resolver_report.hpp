#pragma once
/// Renders resolvers: a table of the registry, and one resolver with inputs, outputs, equation, source and
/// fallacies.
///
/// Example: the text of Roofline starts with "Roofline (model)" and the line
///   law      time = max(work / peak, traffic / bandwidth)

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

// The resolvers that ship: the catalogue, and the solver that inverts scenarios, which needs the tools
// above it.

#include <mlsysim/explore/ask/sensitivity_solver.hpp>
#include <mlsysim/resolver_api/detail/standard_registry.hpp>
#include <mlsysim/resolvers/detail/catalogue.hpp>

namespace mlsysim {

const ResolverRegistry& shipped_resolvers() {
  // Never freed: static objects of others may ask at their end.
  static const auto& registry = *[] {
    auto* r = new ResolverRegistry;
    add_catalogue(*r);
    r->add<SensitivitySolver>();
    add_catalogue_laws(*r);
    return r;
  }();
  return registry;
}

}  // namespace mlsysim

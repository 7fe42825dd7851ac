#include <mlsysim/physics/laws.hpp>
#include <mlsysim/resolvers/detail/catalogue.hpp>

namespace mlsysim {

void add_catalogue_laws(ResolverRegistry& registry) {
  for_each_law([&]<class L>() { registry.add<L>(); });
}

}  // namespace mlsysim

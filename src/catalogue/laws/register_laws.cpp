#include <mlsysim/catalogue/detail/catalogue.hpp>
#include <mlsysim/physics/laws.hpp>

namespace mlsysim {

void add_catalogue_laws(ResolverRegistry& registry) {
  for_each_law([&]<class L>() { registry.add<L>(); });
}

}  // namespace mlsysim

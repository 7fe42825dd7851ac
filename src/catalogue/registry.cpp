#include "detail/register_laws.hpp"

#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/economics.hpp>
#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/models/single_node.hpp>
#include <mlsysim/catalogue/models/sustainability.hpp>
#include <mlsysim/catalogue/models/training_memory.hpp>

namespace mlsysim {

const ResolverRegistry& ResolverRegistry::standard() {
  static const ResolverRegistry registry = [] {
    ResolverRegistry r;
    r.add<SingleNodeModel>();
    r.add<ServingModel>();
    r.add<TrainingMemoryModel>();
    r.add<DistributedModel>();
    r.add<SustainabilityModel>();
    r.add<EconomicsModel>();
    detail::add_laws_1(r);
    detail::add_laws_2(r);
    detail::add_laws_3(r);
    detail::add_laws_4(r);
    return r;
  }();
  return registry;
}

}  // namespace mlsysim

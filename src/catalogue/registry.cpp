#include "catalogue/laws/register_laws.hpp"

#include <mlsysim/catalogue/detail/catalogue.hpp>
#include <mlsysim/catalogue/models/checkpoint.hpp>
#include <mlsysim/catalogue/models/compilation.hpp>
#include <mlsysim/catalogue/models/compression.hpp>
#include <mlsysim/catalogue/models/continuous_batching.hpp>
#include <mlsysim/catalogue/models/data.hpp>
#include <mlsysim/catalogue/models/distributed.hpp>
#include <mlsysim/catalogue/models/economics.hpp>
#include <mlsysim/catalogue/models/efficiency.hpp>
#include <mlsysim/catalogue/models/in_flight_batching.hpp>
#include <mlsysim/catalogue/models/inference_pass.hpp>
#include <mlsysim/catalogue/models/inference_scaling.hpp>
#include <mlsysim/catalogue/models/moe_routing.hpp>
#include <mlsysim/catalogue/models/network_roofline.hpp>
#include <mlsysim/catalogue/models/orchestration.hpp>
#include <mlsysim/catalogue/models/reliability.hpp>
#include <mlsysim/catalogue/models/responsible_engineering.hpp>
#include <mlsysim/catalogue/models/scaling.hpp>
#include <mlsysim/catalogue/models/serving.hpp>
#include <mlsysim/catalogue/models/serving_capacity.hpp>
#include <mlsysim/catalogue/models/single_node.hpp>
#include <mlsysim/catalogue/models/sustainability.hpp>
#include <mlsysim/catalogue/models/tail_latency.hpp>
#include <mlsysim/catalogue/models/topology.hpp>
#include <mlsysim/catalogue/models/training_memory.hpp>
#include <mlsysim/catalogue/models/weight_streaming.hpp>
#include <mlsysim/catalogue/optimizers/batching.hpp>
#include <mlsysim/catalogue/optimizers/compilation.hpp>
#include <mlsysim/catalogue/optimizers/compression.hpp>
#include <mlsysim/catalogue/optimizers/parallelism.hpp>
#include <mlsysim/catalogue/optimizers/placement.hpp>
#include <mlsysim/catalogue/solvers/compilation.hpp>
#include <mlsysim/catalogue/solvers/synthesis.hpp>
#include <mlsysim/resolve/detail/standard_registry.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <utility>

namespace mlsysim {

namespace {

std::atomic<const ResolverRegistry*> published{nullptr};

/// What was published last: by plugins (or what ships), and by the host language.
struct Sources {
  std::mutex lock;
  ResolverRegistry base;
  std::vector<std::shared_ptr<const Resolver>> own;
  // Readers may hold references to any registry there ever was, so none is freed.
  std::deque<ResolverRegistry> kept;

  void publish() {
    ResolverRegistry all;
    for (const auto& r : base.all()) all.add(r);
    for (const auto& r : own)
      if (const auto& taken = all.all(); std::none_of(
              taken.begin(), taken.end(), [&](const auto& t) { return t->info().name == r->info().name; }))
        all.add(r);
    published.store(&kept.emplace_back(std::move(all)), std::memory_order_release);
  }
};

Sources& sources() {
  static auto& all = *[] {
    auto* s = new Sources;
    for (const auto& r : shipped_resolvers().all()) s->base.add(r);
    return s;
  }();
  return all;
}

}  // namespace

void add_catalogue(ResolverRegistry& r) {
  r.add<SingleNodeModel>();
  r.add<ServingModel>();
  r.add<TrainingMemoryModel>();
  r.add<DistributedModel>();
  r.add<SustainabilityModel>();
  r.add<EconomicsModel>();
  r.add<NetworkRooflineModel>();
  r.add<EfficiencyModel>();
  r.add<ContinuousBatchingModel>();
  r.add<InFlightBatchingModel>();
  r.add<TailLatencyModel>();
  r.add<ServingCapacityModel>();
  r.add<DataModel>();
  r.add<TransformationModel>();
  r.add<TopologyModel>();
  r.add<ScalingModel>();
  r.add<ReliabilityModel>();
  r.add<OrchestrationModel>();
  r.add<CheckpointModel>();
  r.add<InferencePassModel>();
  r.add<WeightStreamingModel>();
  r.add<InferenceScalingModel>();
  r.add<CompressionModel>();
  r.add<MoERoutingModel>();
  r.add<ResponsibleEngineeringModel>();
  r.add<CompilationModel>();
  r.add<SynthesisSolver>();
  r.add<GraphBreakSolver>();
  r.add<ParallelismOptimizer>();
  r.add<BatchingOptimizer>();
  r.add<PlacementOptimizer>();
  r.add<CompressionOptimizer>();
  r.add<CompileModeOptimizer>();
}

void add_catalogue_laws(ResolverRegistry& r) {
  detail::add_laws_1(r);
  detail::add_laws_2(r);
  detail::add_laws_3(r);
  detail::add_laws_4(r);
  detail::add_laws_5(r);
  detail::add_laws_6(r);
}

const ResolverRegistry& ResolverRegistry::standard() {
  const auto* registry = published.load(std::memory_order_acquire);
  return registry != nullptr ? *registry : shipped_resolvers();
}

void publish_resolvers(ResolverRegistry resolvers) {
  auto& all = sources();
  const std::lock_guard held(all.lock);
  all.base = std::move(resolvers);
  all.publish();
}

void publish_host_resolvers(std::vector<std::shared_ptr<const Resolver>> own) {
  auto& all = sources();
  const std::lock_guard held(all.lock);
  all.own = std::move(own);
  all.publish();
}

}  // namespace mlsysim

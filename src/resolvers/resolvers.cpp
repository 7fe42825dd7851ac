// The resolvers that ship: their order, and what each says about itself beyond the contract: its laws, and a
// call as an example.

#include "resolvers/laws/traced_laws.hpp"

#include <mlsysim/resolvers/detail/catalogue.hpp>
#include <mlsysim/resolvers/detail/once.hpp>
#include <mlsysim/resolvers/models/checkpoint.hpp>
#include <mlsysim/resolvers/models/compilation.hpp>
#include <mlsysim/resolvers/models/compression.hpp>
#include <mlsysim/resolvers/models/continuous_batching.hpp>
#include <mlsysim/resolvers/models/data.hpp>
#include <mlsysim/resolvers/models/distributed.hpp>
#include <mlsysim/resolvers/models/economics.hpp>
#include <mlsysim/resolvers/models/efficiency.hpp>
#include <mlsysim/resolvers/models/in_flight_batching.hpp>
#include <mlsysim/resolvers/models/inference_pass.hpp>
#include <mlsysim/resolvers/models/inference_scaling.hpp>
#include <mlsysim/resolvers/models/moe_routing.hpp>
#include <mlsysim/resolvers/models/network_roofline.hpp>
#include <mlsysim/resolvers/models/orchestration.hpp>
#include <mlsysim/resolvers/models/reliability.hpp>
#include <mlsysim/resolvers/models/responsible_engineering.hpp>
#include <mlsysim/resolvers/models/scaling.hpp>
#include <mlsysim/resolvers/models/serving.hpp>
#include <mlsysim/resolvers/models/serving_capacity.hpp>
#include <mlsysim/resolvers/models/single_node.hpp>
#include <mlsysim/resolvers/models/sustainability.hpp>
#include <mlsysim/resolvers/models/tail_latency.hpp>
#include <mlsysim/resolvers/models/topology.hpp>
#include <mlsysim/resolvers/models/training_memory.hpp>
#include <mlsysim/resolvers/models/weight_streaming.hpp>
#include <mlsysim/resolvers/optimizers/batching.hpp>
#include <mlsysim/resolvers/optimizers/compilation.hpp>
#include <mlsysim/resolvers/optimizers/compression.hpp>
#include <mlsysim/resolvers/optimizers/parallelism.hpp>
#include <mlsysim/resolvers/optimizers/placement.hpp>
#include <mlsysim/resolvers/solvers/compilation.hpp>
#include <mlsysim/resolvers/solvers/synthesis.hpp>
#include <mlsysim/resolvers/walls.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace mlsysim {
namespace {

using detail::Question;

/// Laws come from the tapes of what a resolver asks; those that it calls itself, in code that is not
/// recorded, are named. A test holds the names to the sources.
struct Shipped {
  void (*add)(ResolverRegistry&);
  std::string_view resolver;
  Question asks;
  std::string_view calls;  ///< ids, separated by blanks
  std::string_view example;
};

template <class R>
consteval Shipped shipped(Question asks, std::string_view calls, std::string_view example) {
  return {[](ResolverRegistry& registry) { registry.add<R>(); }, R::id, asks, calls, example};
}

constexpr Shipped kAll[] = {
    shipped<SingleNodeModel>(Question::inference | Question::node_step, "EnergyProportional",
                             "--workload ResNet50 --hardware A100 --batch-size 32 --precision fp16"),
    shipped<ServingModel>(
        Question::serving, "",
        "--workload Llama3_8B --hardware H100 --seq-len 2048 --output-tokens 256 --precision bf16"),
    shipped<TrainingMemoryModel>(
        Question::training_memory, "",
        "--workload Llama3_8B --hardware H100 --batch-size 8 --seq-len 2048 --precision bf16"),
    shipped<DistributedModel>(
        Question::training, "",
        "--workload Llama3_8B --fleet Research_256 --batch-size 512 --seq-len 2048 --precision bf16"),
    shipped<SustainabilityModel>(Question::macro, "",
                                 "--fleet Research_256 --duration-days 30 --grid Quebec"),
    shipped<EconomicsModel>(Question::macro, "", "--fleet Research_256 --duration-days 30 --grid Quebec"),
    shipped<NetworkRooflineModel>(
        Question::none, "Roofline DataParallelRoofline",
        "--workload Llama3_8B --fleet Research_256 --batch-size 1024 --precision bf16"),
    shipped<EfficiencyModel>(
        Question::kernels, "",
        "--workload Llama3_8B --hardware H100 --workload-type attention --precision bf16"),
    shipped<ContinuousBatchingModel>(
        Question::passes, "PagedTokens BatchedDecodeRate InFlightStep InFlightFirstToken",
        "--workload Llama3_8B --hardware H100 --max-seq-len 8192 --mean-request-tokens 2048 "
        "--max-batch-size 256 --precision bf16"),
    shipped<InFlightBatchingModel>(
        Question::passes,
        "InFlightStep PassUnderWay InFlightFirstToken PromptQueue TokenTimeSpread TokenTimeQuantile "
        "BurstFirstToken "
        "DecayingAcceptance "
        "QueueWait ErlangC "
        "WaitQuantile",
        "--workload Llama3_8B --hardware H100 --seq-len 1024 --output-tokens 256 --arrival-rate "
        "'8 request/s' --engine vllm --target-ttft '200 ms' --precision bf16"),
    shipped<TailLatencyModel>(Question::none, "QueueWait ErlangC WaitQuantile ResponseTail",
                              "--arrival-rate '300 request/s' --service-latency '10 ms' --num-replicas 4"),
    shipped<ServingCapacityModel>(
        Question::passes,
        "PagedTokens BatchedDecodeRate InFlightStep InFlightFirstToken QueueWait ErlangC WaitQuantile "
        "ResponseTail",
        "--workload Llama3_8B --hardware H100 --arrival-rate '20 request/s' --target-p99-latency '20 s' "
        "--max-seq-len 1024 --precision bf16"),
    shipped<DataModel>(Question::none, "CachedSupply",
                       "--data-rate '20 GB/s' --hardware H100 --fleet Research_256 --dataset-size '40 TB' "
                       "--cache-capacity '10 TB' --shared-bandwidth '100 GB/s'"),
    shipped<TransformationModel>(
        Question::none, "InputStall",
        "--batch-size 256 --sample-size '500 kB' --cpu-throughput '0.5 GB/s' --workers 16 "
        "--accelerator-step-time '100 ms'"),
    shipped<TopologyModel>(Question::none, "ClosBisection TorusBisection DragonflyBisection",
                           "--fabric InfiniBand_NDR --topology torus_3d --num-nodes 512"),
    shipped<ScalingModel>(Question::none,
                          "ChinchillaOptimal ChinchillaAllocation ChinchillaLoss TrainingWork LifetimeWork",
                          "--compute-budget '1e23 FLOP' --served-tokens '2 Ttoken'"),
    shipped<ReliabilityModel>(
        Question::none,
        "NodeMtbf ClusterMtbf FailureProbability YoungInterval DalyInterval FirstOrderGoodput "
        "CheckpointGoodput SpareCoverage",
        "--fleet Frontier_8K --job-duration '100 h' --spare-nodes 8"),
    shipped<OrchestrationModel>(
        Question::none, "QueueWait ErlangC WaitQuantile",
        "--fleet Research_256 --arrival-rate-jobs-per-day 12 --avg-job-duration '2 d' "
        "--accelerators-per-job 8"),
    shipped<CheckpointModel>(
        Question::none, "CheckpointCost YoungInterval DalyInterval",
        "--workload GPT3 --hardware H100 --fleet Research_256 --asynchronous true --precision bf16"),
    shipped<InferencePassModel>(Question::none, "Roofline OperatorLoad EnergyProportional",
                                "--workload DLRM --hardware H200 --batch-size 2048 --precision fp16"),
    shipped<WeightStreamingModel>(
        Question::none, "WeightStreamLayer ExpertLoad",
        "--workload Llama3_8B --hardware Cerebras_CS3 --seq-len 512 --batch-size 64 --precision fp16"),
    shipped<InferenceScalingModel>(
        Question::passes, "EnergyProportional",
        "--workload Llama3_8B --hardware H100 --reasoning-steps 16 --precision bf16"),
    shipped<CompressionModel>(Question::none, "CompressedWeights Roofline",
                              "--workload Llama3_8B --hardware H100 --target-bitwidth 4 --batch-size 8"),
    shipped<MoERoutingModel>(
        Question::none, "ExpertLoad AllToAll ProtocolAllToAll",
        "--workload Mixtral_8x7B --batch-size 8 --seq-len 512 --ep-size 8 --fleet Research_256"),
    shipped<ResponsibleEngineeringModel>(Question::node_step, "GaussianPrivacy",
                                         "--base-training-time '10 h' --epsilon 1"),
    shipped<CompilationModel>(
        Question::inference, "EagerStep CompiledStep CompileTime CompilePayback",
        "--workload Llama3_8B --hardware H100 --precision bf16 --breaks 23 --device-hour '2 USD'"),
    shipped<SynthesisSolver>(Question::kernels, "RequiredRates",
                             "--workload Llama3_8B --target-latency '10 ms' --precision bf16"),
    shipped<GraphBreakSolver>(
        Question::inference, "EagerStep CompiledStep",
        "--workload Llama3_8B --hardware H100 --precision bf16 --target-latency '16 ms'"),
    shipped<ParallelismOptimizer>(
        Question::training, "",
        "--workload Llama3_8B --fleet Research_256 --batch-size 512 --precision bf16"),
    shipped<BatchingOptimizer>(
        Question::passes, "QueueWait ErlangC WaitQuantile ResponseTail",
        "--workload Llama3_8B --hardware H100 --arrival-rate '5 request/s' --target-latency '10 s' "
        "--seq-len 512 --output-tokens 128 --num-replicas 4 --service-time-cv 0.1 --precision bf16"),
    shipped<PlacementOptimizer>(Question::macro, "", "--fleet Research_256 --duration-days 30"),
    shipped<CompressionOptimizer>(Question::none, "CompressedWeights Roofline",
                                  "--workload Llama3_8B --hardware H100 --size-limit '9 GB'"),
    shipped<CompileModeOptimizer>(Question::inference, "EagerStep CompiledStep CompileTime CompilePayback",
                                  "--workload Llama3_8B --hardware H100 --precision bf16 --steps 1000"),
    // It needs tools above the catalogue, and is registered with them.
    {nullptr, "SensitivitySolver", Question::inference, "",
     "--workload Llama3_8B --hardware H100 --batch-size 32"},
};

const Shipped* find(std::string_view resolver) {
  for (const auto& a : kAll)
    if (a.resolver == resolver) return &a;
  return nullptr;
}

}  // namespace

void add_catalogue(ResolverRegistry& registry) {
  for (const auto& s : kAll)
    if (s.add != nullptr) s.add(registry);
}

std::span<const std::string_view> laws_of(std::string_view resolver) {
  const Shipped* found = find(resolver);
  if (found == nullptr) return {};
  static std::array<detail::Once, std::size(kAll)> made;
  static std::array<std::vector<std::string_view>, std::size(kAll)> known;
  const auto at = static_cast<std::size_t>(found - kAll);
  made[at].call([&] {
    auto laws = detail::traced_laws(found->asks);
    for (std::string_view rest = found->calls; !rest.empty();) {
      const auto id = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), id.size() + 1));
      if (std::find(laws.begin(), laws.end(), id) == laws.end()) laws.push_back(id);
    }
    known[at] = std::move(laws);
  });
  return known[at];
}

std::string_view example_of(std::string_view resolver) {
  const auto* found = find(resolver);
  return found != nullptr ? found->example : std::string_view();
}

}  // namespace mlsysim

// What the resolvers of the catalogue say about themselves beyond the contract: their laws, and a call as an
// example.

#include <mlsysim/catalogue/models/checkpoint.hpp>
#include <mlsysim/catalogue/models/compression.hpp>
#include <mlsysim/catalogue/models/continuous_batching.hpp>
#include <mlsysim/catalogue/models/data.hpp>
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
#include <mlsysim/catalogue/models/serving_capacity.hpp>
#include <mlsysim/catalogue/models/tail_latency.hpp>
#include <mlsysim/catalogue/models/topology.hpp>
#include <mlsysim/catalogue/models/weight_streaming.hpp>
#include <mlsysim/catalogue/optimizers/batching.hpp>
#include <mlsysim/catalogue/optimizers/compression.hpp>
#include <mlsysim/catalogue/optimizers/parallelism.hpp>
#include <mlsysim/catalogue/optimizers/placement.hpp>
#include <mlsysim/catalogue/solvers/synthesis.hpp>
#include <mlsysim/catalogue/walls.hpp>
#include <mlsysim/resolve/registry.hpp>

#include <array>

namespace mlsysim {
namespace {

using Names = std::span<const std::string_view>;

struct About {
  std::string_view resolver;
  Names laws;
  std::string_view example;
};

template <class R> constexpr About about(std::string_view example) { return {R::id, R::laws, example}; }

constexpr std::array<std::string_view, 4> kSingleNode{"TextbookPass", "SoftRoofline", "MatmulTime",
                                                      "EnergyProportional"};
constexpr std::array<std::string_view, 5> kServing{"TextbookPrefillWork", "TextbookDecode", "KvCache",
                                                   "SpeculativeTokenTime", "AttentionWork"};
constexpr std::array<std::string_view, 3> kMemory{"TransformerActivations", "TrainingStateBytes",
                                                  "MixedPrecisionAdam"};
constexpr std::array<std::string_view, 4> kDistributed{"TextbookPass", "HierarchicalAllReduce",
                                                       "BubbleOverhead", "TrainingStateBytes"};
constexpr std::array<std::string_view, 3> kSustainability{"EnergyProportional", "CarbonFootprint",
                                                          "WaterUse"};
constexpr std::array<std::string_view, 2> kEconomics{"TotalCost", "CapitalCost"};

constexpr About kAll[] = {
    {"SingleNodeModel", kSingleNode, "--workload ResNet50 --hardware A100 --batch-size 32 --precision fp16"},
    {"ServingModel", kServing,
     "--workload Llama3_8B --hardware H100 --seq-len 2048 --output-tokens 256 --precision bf16"},
    {"TrainingMemoryModel", kMemory,
     "--workload Llama3_8B --hardware H100 --batch-size 8 --seq-len 2048 --precision bf16"},
    {"DistributedModel", kDistributed,
     "--workload Llama3_8B --fleet Research_256 --batch-size 512 --seq-len 2048 --precision bf16"},
    {"SustainabilityModel", kSustainability, "--fleet Research_256 --duration-days 30 --grid Quebec"},
    {"EconomicsModel", kEconomics, "--fleet Research_256 --duration-days 30 --grid Quebec"},
    about<NetworkRooflineModel>(
        "--workload Llama3_8B --fleet Research_256 --batch-size 1024 --precision bf16"),
    about<EfficiencyModel>("--workload Llama3_8B --hardware H100 --workload-type attention --precision bf16"),
    about<ContinuousBatchingModel>("--workload Llama3_8B --hardware H100 --max-seq-len 8192 "
                                   "--mean-request-tokens 2048 --max-batch-size 256 --precision bf16"),
    about<InFlightBatchingModel>("--workload Llama3_8B --hardware H100 --seq-len 1024 --output-tokens 256 --arrival-rate "
                                 "'8 request/s' --engine vllm --target-ttft '200 ms' --precision bf16"),
    about<TailLatencyModel>("--arrival-rate '300 request/s' --service-latency '10 ms' --num-replicas 4"),
    about<ServingCapacityModel>("--workload Llama3_8B --hardware H100 --arrival-rate '20 request/s' "
                                "--target-p99-latency '20 s' --max-seq-len 1024 --precision bf16"),
    about<DataModel>("--data-rate '20 GB/s' --hardware H100 --fleet Research_256 --dataset-size '40 TB' "
                     "--cache-capacity '10 TB' --shared-bandwidth '100 GB/s'"),
    about<TransformationModel>("--batch-size 256 --sample-size '500 kB' --cpu-throughput '0.5 GB/s' "
                               "--workers 16 --accelerator-step-time '100 ms'"),
    about<TopologyModel>("--fabric InfiniBand_NDR --topology torus_3d --num-nodes 512"),
    about<ScalingModel>("--compute-budget '1e23 FLOP' --served-tokens '2 Ttoken'"),
    about<ReliabilityModel>("--fleet Frontier_8K --job-duration '100 h' --spare-nodes 8"),
    about<OrchestrationModel>("--fleet Research_256 --arrival-rate-jobs-per-day 12 --avg-job-duration '2 d' "
                              "--accelerators-per-job 8"),
    about<CheckpointModel>(
        "--workload GPT3 --hardware H100 --fleet Research_256 --asynchronous true --precision bf16"),
    about<InferencePassModel>("--workload DLRM --hardware H200 --batch-size 2048 --precision fp16"),
    about<WeightStreamingModel>(
        "--workload Llama3_8B --hardware Cerebras_CS3 --seq-len 512 --batch-size 64 --precision fp16"),
    about<InferenceScalingModel>(
        "--workload Llama3_8B --hardware H100 --reasoning-steps 16 --precision bf16"),
    about<CompressionModel>("--workload Llama3_8B --hardware H100 --target-bitwidth 4 --batch-size 8"),
    about<MoERoutingModel>(
        "--workload Mixtral_8x7B --batch-size 8 --seq-len 512 --ep-size 8 --fleet Research_256"),
    about<ResponsibleEngineeringModel>("--base-training-time '10 h' --epsilon 1"),
    {"SensitivitySolver", kSingleNode, "--workload Llama3_8B --hardware H100 --batch-size 32"},
    about<SynthesisSolver>("--workload Llama3_8B --target-latency '10 ms' --precision bf16"),
    about<ParallelismOptimizer>(
        "--workload Llama3_8B --fleet Research_256 --batch-size 512 --precision bf16"),
    about<BatchingOptimizer>(
        "--workload Llama3_8B --hardware H100 --arrival-rate '5 request/s' --target-latency '10 s' --seq-len "
        "512 --output-tokens 128 --num-replicas 4 --service-time-cv 0.1 --precision bf16"),
    about<PlacementOptimizer>("--fleet Research_256 --duration-days 30"),
    about<CompressionOptimizer>("--workload Llama3_8B --hardware H100 --size-limit '9 GB'"),
};

const About* find(std::string_view resolver) {
  for (const auto& a : kAll)
    if (a.resolver == resolver) return &a;
  return nullptr;
}

}  // namespace

std::span<const std::string_view> laws_of(std::string_view resolver) {
  const auto* found = find(resolver);
  return found != nullptr ? found->laws : Names();
}

std::string_view example_of(std::string_view resolver) {
  const auto* found = find(resolver);
  return found != nullptr ? found->example : std::string_view();
}

}  // namespace mlsysim

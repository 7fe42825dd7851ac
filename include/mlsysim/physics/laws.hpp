#pragma once
/// The list of all laws of the physics component, for registries, documentation and tests.
///
/// A law is a struct with `info`, `Inputs`, `Result` and `solve`. `for_each_law` calls a function for each.
/// Example: AllLaws::size is 111, and Roofline comes first.

#include <mlsysim/physics/activations.hpp>
#include <mlsysim/physics/attention.hpp>
#include <mlsysim/physics/batching.hpp>
#include <mlsysim/physics/carbon.hpp>
#include <mlsysim/physics/collectives.hpp>
#include <mlsysim/physics/compilation.hpp>
#include <mlsysim/physics/compression.hpp>
#include <mlsysim/physics/cost.hpp>
#include <mlsysim/physics/data_path.hpp>
#include <mlsysim/physics/energy.hpp>
#include <mlsysim/physics/in_flight.hpp>
#include <mlsysim/physics/kv_cache.hpp>
#include <mlsysim/physics/leveled_collectives.hpp>
#include <mlsysim/physics/matmul.hpp>
#include <mlsysim/physics/memory.hpp>
#include <mlsysim/physics/operator_load.hpp>
#include <mlsysim/physics/pipeline_bubble.hpp>
#include <mlsysim/physics/power_cap.hpp>
#include <mlsysim/physics/protocols.hpp>
#include <mlsysim/physics/queueing.hpp>
#include <mlsysim/physics/recurrence.hpp>
#include <mlsysim/physics/reliability.hpp>
#include <mlsysim/physics/requirements.hpp>
#include <mlsysim/physics/resilience.hpp>
#include <mlsysim/physics/roofline.hpp>
#include <mlsysim/physics/routing.hpp>
#include <mlsysim/physics/scaling_laws.hpp>
#include <mlsysim/physics/small_kernels.hpp>
#include <mlsysim/physics/speculative.hpp>
#include <mlsysim/physics/textbook.hpp>
#include <mlsysim/physics/topology.hpp>
#include <mlsysim/physics/training.hpp>
#include <mlsysim/physics/utilisation.hpp>

#include <cstddef>

namespace mlsysim {

/// A list of laws as one type.
template <Law... L> struct LawList { static constexpr std::size_t size = sizeof...(L); };

/// The laws that ship. Add a new law here, and the identity tests run on it.
using AllLaws =
    LawList<Roofline, RidgePoint, AttainableRate, SoftRoofline, MatmulWork, TileWave, BurstRate, MatmulTime,
            AttentionWork, WindowedAttentionPairs, ChunkedAttentionPairs, AttentionTime, KvBytesPerToken,
            KvCache, MlaKvCache, PagedKv, PointToPoint, RingAllGather, RingReduceScatter, RingAllReduce,
            TreeAllReduce, DoubleBinaryTreeAllReduce, AllToAll, HierarchicalAllReduce, BusBandwidth,
            ProtocolRing, SwitchAllReduce, DirectAllReduce, ProtocolAllToAll, FlightLimitedRate, LeveledRing,
            LeveledTree, LeveledSwitch, TorusAllToAll, BubbleOverhead, BubbleFraction, TransformerActivations,
            TrainingStateBytes, MixedPrecisionAdam, TrainingWork, DecodeWork, ChinchillaOptimal, TrainingTime,
            ModelFlopsUtilisation, HardwareFlopsUtilisation, ExpectedAcceptedTokens, DecayingAcceptance,
            EagerStep, CompiledStep, CompileTime, CompilePayback, SpeculativeTokenTime, EnergyProportional,
            ClosPower, EnergyPerOperation, OperatorLoad, CappedClock, FacilityEnergy, OperationalCarbon,
            EmbodiedCarbon, CarbonFootprint, WaterUse, CapitalCost, EnergyCost, MaintenanceCost, TotalCost,
            CostPerToken, ClusterMtbf, FailureProbability, YoungInterval, CheckpointGoodput, TextbookPass,
            TextbookPrefillWork, TextbookDecode, ErlangC, QueueWait, WaitQuantile, ResponseTail,
            ChinchillaLoss, ChinchillaAllocation, LifetimeWork, PagedTokens, BatchedDecodeRate, InFlightStep,
            PassUnderWay, InFlightFirstToken, PromptQueue, TokenTimeSpread, TokenTimeQuantile,
            BurstFirstToken, WeightStreamLayer, ClosBisection, TorusBisection, DragonflyBisection,
            CachedSupply, InputStall, SmallKernelTime, ConvolutionTime, RecurrenceTime, CompressedWeights,
            ExpertLoad, TouchedExperts, DistinctParts, FullestRank, NodeMtbf, DalyInterval, FirstOrderGoodput,
            SpareCoverage, CheckpointCost, RequiredRates, DataParallelRoofline, GaussianPrivacy>;

/// Calls `f.template operator()<L>()` for each law of a list, in order.
template <class F, Law... L> constexpr void for_each_law(LawList<L...> /*list*/, F&& f) {
  (f.template operator()<L>(), ...);
}

/// Calls `f` for every law that ships: `for_each_law([]<class L>() { ... })`.
template <class F> constexpr void for_each_law(F&& f) { for_each_law(AllLaws{}, f); }

}  // namespace mlsysim

from collections.abc import Sequence
from typing import Any

from ._mlsysim import Quantity
from .base import ForwardModel

def names() -> list[str]: ...

class Slope:
    kind: str
    right: float
    left: float
    value: float | None
    elasticity: float | None

class Inverse:
    outcome: str
    solutions: list[tuple[Any, Any]]
    reachable: tuple[Any, Any]
    residual: float | None
    @property
    def value(self) -> Any: ...

class _Law(ForwardModel):
    @classmethod
    def batch(cls, out: dict[str, Any] | None = ..., **columns: Any) -> dict[str, Any]: ...
    @classmethod
    def gradient(cls, **values: Any) -> dict[tuple[str, str], Slope]: ...
    @classmethod
    def bounds(cls, **ranges: Any) -> dict[str, tuple[Any, Any]]: ...
    @classmethod
    def invert(cls, free: str, result: str, equals: Any = ..., at_most: Any = ..., at_least: Any = ...,
               **values: Any) -> Inverse: ...
    @classmethod
    def explain(cls, open: str | Sequence[str] = ..., **values: Any) -> str: ...

# Generated below by bindings/python/make_stubs.py.

from .results import (
    AllToAllResult, AttainableRateResult, AttentionTimeResult, AttentionWorkResult, BatchedDecodeRateResult,
    BubbleFractionResult, BubbleOverheadResult, BurstFirstTokenResult, BurstRateResult, BusBandwidthResult,
    CachedSupplyResult, CapitalCostResult, CappedClockResult, CarbonFootprintResult, CheckpointCostResult,
    CheckpointGoodputResult, ChinchillaAllocationResult, ChinchillaLossResult, ChinchillaOptimalResult,
    ChunkedAttentionPairsResult, ClosBisectionResult, ClosPowerResult, ClusterMtbfResult,
    CompilePaybackResult, CompiledStepResult, CompressedWeightsResult, CostPerTokenResult, DalyIntervalResult,
    DataParallelRooflineResult, DecayingAcceptanceResult, DecodeWorkResult, DirectAllReduceResult,
    DistinctPartsResult, DoubleBinaryTreeAllReduceResult, DragonflyBisectionResult, EagerStepResult,
    EmbodiedCarbonResult, EnergyCostResult, EnergyPerOperationResult, EnergyProportionalResult, ErlangCResult,
    ExpectedAcceptedTokensResult, ExpertLoadResult, FacilityEnergyResult, FailureProbabilityResult,
    FirstOrderGoodputResult, FlightLimitedRateResult, FullestRankResult, GaussianPrivacyResult,
    HardwareFlopsUtilisationResult, HierarchicalAllReduceResult, InFlightFirstTokenResult, InFlightStepResult,
    InputStallResult, KvBytesPerTokenResult, KvCacheResult, LeveledRingResult, LeveledSwitchResult,
    LeveledTreeResult, LifetimeWorkResult, MaintenanceCostResult, MatmulTimeResult, MatmulWorkResult,
    MixedPrecisionAdamResult, MlaKvCacheResult, ModelFlopsUtilisationResult, NodeMtbfResult,
    OperationalCarbonResult, OperatorLoadResult, PagedKvResult, PagedTokensResult, PointToPointResult,
    ProtocolAllToAllResult, ProtocolRingResult, QueueWaitResult, RequiredRatesResult, ResponseTailResult,
    RidgePointResult, RingAllGatherResult, RingAllReduceResult, RingReduceScatterResult, RooflineResult,
    SoftRooflineResult, SpareCoverageResult, SpeculativeTokenTimeResult, SwitchAllReduceResult,
    TextbookDecodeResult, TextbookPassResult, TextbookPrefillWorkResult, TileWaveResult, TorusAllToAllResult,
    TorusBisectionResult, TotalCostResult, TrainingStateBytesResult, TrainingTimeResult, TrainingWorkResult,
    TransformerActivationsResult, TreeAllReduceResult, WaitQuantileResult, WaterUseResult,
    WeightStreamLayerResult, WindowedAttentionPairsResult, YoungIntervalResult,
)
class Roofline(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, traffic: Quantity | str, peak: Quantity | str, bandwidth: Quantity | str,
    ) -> RooflineResult: ...
class RidgePoint(_Law):
    @staticmethod
    def solve(peak: Quantity | str, bandwidth: Quantity | str) -> RidgePointResult: ...
class AttainableRate(_Law):
    @staticmethod
    def solve(
        peak: Quantity | str, bandwidth: Quantity | str, arithmetic_intensity: Quantity | str,
    ) -> AttainableRateResult: ...
class SoftRoofline(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, traffic: Quantity | str, peak: Quantity | str, bandwidth: Quantity | str,
    ) -> SoftRooflineResult: ...
class MatmulWork(_Law):
    @staticmethod
    def solve(
        m: float, n: float, k: float, count: float, a_bytes: Quantity | str, b_bytes: Quantity | str,
        c_bytes: Quantity | str,
    ) -> MatmulWorkResult: ...
class TileWave(_Law):
    @staticmethod
    def solve(
        m: float, n: float, count: float, tile_m: float, tile_n: float, units: float,
    ) -> TileWaveResult: ...
class BurstRate(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, peak: Quantity | str, burst: float, burst_time: Quantity | str,
    ) -> BurstRateResult: ...
class MatmulTime(_Law):
    @staticmethod
    def solve(
        m: float, n: float, k: float, count: float, traffic: Quantity | str, tile_m: float, tile_n: float,
        units: float, split_depth: float, peak: Quantity | str, bandwidth: Quantity | str,
        launch: Quantity | str, wave: Quantity | str, split: Quantity | str,
    ) -> MatmulTimeResult: ...
class AttentionWork(_Law):
    @staticmethod
    def solve(
        batch: float, heads: float, kv_heads: float, qk_dim: float, v_dim: float, new_tokens: float,
        past_tokens: float, causal: float, io_bytes: Quantity | str, kv_bytes: Quantity | str,
    ) -> AttentionWorkResult: ...
class WindowedAttentionPairs(_Law):
    @staticmethod
    def solve(new_tokens: float, past_tokens: float, window: float) -> WindowedAttentionPairsResult: ...
class ChunkedAttentionPairs(_Law):
    @staticmethod
    def solve(new_tokens: float, past_tokens: float, chunk: float) -> ChunkedAttentionPairsResult: ...
class AttentionTime(_Law):
    @staticmethod
    def solve(
        copies: float, group: float, new_tokens: float, keys: float, reach: float, whole_keys: float,
        pair_work: Quantity | str, pair_softmax: Quantity | str, traffic: Quantity | str, tile: float,
        block_tile: float, units: float, peak: Quantity | str, bandwidth: Quantity | str,
        launch: Quantity | str, block: Quantity | str, block_rows: Quantity | str, least_step: Quantity | str,
        split: Quantity | str,
    ) -> AttentionTimeResult: ...
class KvBytesPerToken(_Law):
    @staticmethod
    def solve(
        layers: float, kv_heads: float, head_dim: float, element_bytes: Quantity | str,
    ) -> KvBytesPerTokenResult: ...
class KvCache(_Law):
    @staticmethod
    def solve(
        layers: float, kv_heads: float, head_dim: float, element_bytes: Quantity | str, seq_len: float,
        batch_size: float,
    ) -> KvCacheResult: ...
class MlaKvCache(_Law):
    @staticmethod
    def solve(
        layers: float, kv_lora_rank: float, rope_head_dim: float, element_bytes: Quantity | str,
        seq_len: float, batch_size: float,
    ) -> MlaKvCacheResult: ...
class PagedKv(_Law):
    @staticmethod
    def solve(
        kv_per_token: Quantity | str, seq_len: float, batch_size: float, page_tokens: float,
    ) -> PagedKvResult: ...
class PointToPoint(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, bandwidth: Quantity | str, alpha: Quantity | str,
    ) -> PointToPointResult: ...
class RingAllGather(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, alpha: Quantity | str,
    ) -> RingAllGatherResult: ...
class RingReduceScatter(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, alpha: Quantity | str,
    ) -> RingReduceScatterResult: ...
class RingAllReduce(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, alpha: Quantity | str,
    ) -> RingAllReduceResult: ...
class TreeAllReduce(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, alpha: Quantity | str,
    ) -> TreeAllReduceResult: ...
class DoubleBinaryTreeAllReduce(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, alpha: Quantity | str,
        latency_factor: float | None = ..., bandwidth_factor: float | None = ...,
    ) -> DoubleBinaryTreeAllReduceResult: ...
class AllToAll(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, alpha: Quantity | str,
    ) -> AllToAllResult: ...
class HierarchicalAllReduce(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks_per_node: float, nodes: float, bandwidth_intra: Quantity | str,
        bandwidth_inter: Quantity | str, alpha_intra: Quantity | str, alpha_inter: Quantity | str,
    ) -> HierarchicalAllReduceResult: ...
class BusBandwidth(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, passes: float, time: Quantity | str,
    ) -> BusBandwidthResult: ...
class ProtocolRing(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, passes: float, bandwidth: Quantity | str,
        launch: Quantity | str, hop: Quantity | str, sync: Quantity | str, low_latency_share: float,
        share: float, copy_ratio: float,
    ) -> ProtocolRingResult: ...
class SwitchAllReduce(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, start: Quantity | str, share: float,
    ) -> SwitchAllReduceResult: ...
class DirectAllReduce(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, start: Quantity | str,
        hop: Quantity | str, second: Quantity | str, share: float,
    ) -> DirectAllReduceResult: ...
class ProtocolAllToAll(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, bandwidth: Quantity | str, launch: Quantity | str,
        hop: Quantity | str, sync: Quantity | str, pair_share: float, share: float, copy_ratio: float,
    ) -> ProtocolAllToAllResult: ...
class FlightLimitedRate(_Law):
    @staticmethod
    def solve(
        bandwidth: Quantity | str, in_flight: Quantity | str, latency: Quantity | str,
    ) -> FlightLimitedRateResult: ...
class LeveledRing(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, passes: float, start: Quantity | str, round: Quantity | str,
        narrowest: Quantity | str,
    ) -> LeveledRingResult: ...
class LeveledTree(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, inner: float, nodes: float, start: Quantity | str, climb: Quantity | str,
        link: Quantity | str, way: Quantity | str, bandwidth_factor: float | None = ...,
    ) -> LeveledTreeResult: ...
class LeveledSwitch(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, inner: float, nodes: float, crossings: float, start: Quantity | str,
        climb: Quantity | str, link: Quantity | str, way: Quantity | str,
    ) -> LeveledSwitchResult: ...
class TorusAllToAll(_Law):
    @staticmethod
    def solve(
        message: Quantity | str, ranks: float, ways: float, bandwidth: Quantity | str,
    ) -> TorusAllToAllResult: ...
class BubbleOverhead(_Law):
    @staticmethod
    def solve(
        pp_size: float, microbatch_count: float, v_stages: float | None = ...,
    ) -> BubbleOverheadResult: ...
class BubbleFraction(_Law):
    @staticmethod
    def solve(
        pp_size: float, microbatch_count: float, v_stages: float | None = ...,
    ) -> BubbleFractionResult: ...
class TransformerActivations(_Law):
    @staticmethod
    def solve(
        seq_len: float, batch_size: float, hidden: float, heads: float, element_bytes: Quantity | str,
        tp_size: float | None = ..., sequence_parallel: float | None = ...,
    ) -> TransformerActivationsResult: ...
class TrainingStateBytes(_Law):
    @staticmethod
    def solve(
        params: Quantity | str, weight_bytes: Quantity | str, gradient_bytes: Quantity | str,
        optimizer_bytes: Quantity | str, dp_size: float | None = ..., zero_stage: float | None = ...,
    ) -> TrainingStateBytesResult: ...
class MixedPrecisionAdam(_Law):
    @staticmethod
    def solve(params: Quantity | str) -> MixedPrecisionAdamResult: ...
class TrainingWork(_Law):
    @staticmethod
    def solve(params: Quantity | str, tokens: Quantity | str) -> TrainingWorkResult: ...
class DecodeWork(_Law):
    @staticmethod
    def solve(params: Quantity | str, tokens: Quantity | str) -> DecodeWorkResult: ...
class ChinchillaOptimal(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, tokens_per_param: Quantity | str | None = ...,
    ) -> ChinchillaOptimalResult: ...
class TrainingTime(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, devices: float, peak: Quantity | str, mfu: float,
    ) -> TrainingTimeResult: ...
class ModelFlopsUtilisation(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, devices: float, peak: Quantity | str, time: Quantity | str,
    ) -> ModelFlopsUtilisationResult: ...
class HardwareFlopsUtilisation(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, recomputed: Quantity | str, devices: float, peak: Quantity | str,
        time: Quantity | str,
    ) -> HardwareFlopsUtilisationResult: ...
class ExpectedAcceptedTokens(_Law):
    @staticmethod
    def solve(draft_acceptance_rate: float, draft_tokens: float) -> ExpectedAcceptedTokensResult: ...
class DecayingAcceptance(_Law):
    @staticmethod
    def solve(
        draft_acceptance_rate: float, draft_acceptance_decay: float, draft_tokens: float,
    ) -> DecayingAcceptanceResult: ...
class EagerStep(_Law):
    @staticmethod
    def solve(
        kernels: float, dispatch: Quantity | str, device: Quantity | str, syncs: float, sync: Quantity | str,
    ) -> EagerStepResult: ...
class CompiledStep(_Law):
    @staticmethod
    def solve(
        breaks: float, kernels: float, graph_launches: float, launch: Quantity | str, guard: Quantity | str,
        resume: Quantity | str, between: float, dispatch: Quantity | str, device: Quantity | str,
        boundary: Quantity | str, bandwidth: Quantity | str, sync_share: float, sync: Quantity | str,
    ) -> CompiledStepResult: ...
class CompilePayback(_Law):
    @staticmethod
    def solve(
        eager: Quantity | str, compiled: Quantity | str, compile_time: Quantity | str, recompiles: float,
    ) -> CompilePaybackResult: ...
class SpeculativeTokenTime(_Law):
    @staticmethod
    def solve(
        draft_time: Quantity | str, verify_time: Quantity | str, draft_acceptance_rate: float,
        draft_tokens: float,
    ) -> SpeculativeTokenTimeResult: ...
class EnergyProportional(_Law):
    @staticmethod
    def solve(
        tdp: Quantity | str, utilization: float, time: Quantity | str, idle_fraction: float | None = ...,
    ) -> EnergyProportionalResult: ...
class ClosPower(_Law):
    @staticmethod
    def solve(ports: float, port_power: Quantity | str, radix: float | None = ...) -> ClosPowerResult: ...
class EnergyPerOperation(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, traffic: Quantity | str, energy_per_work: Quantity | str,
        energy_per_data: Quantity | str, static_power: Quantity | str, time: Quantity | str,
    ) -> EnergyPerOperationResult: ...
class OperatorLoad(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, traffic: Quantity | str, peak: Quantity | str, bandwidth: Quantity | str,
        work_draw: float | None = ..., traffic_draw: float | None = ...,
    ) -> OperatorLoadResult: ...
class CappedClock(_Law):
    @staticmethod
    def solve(
        clocked: Quantity | str, fixed: Quantity | str, work_load: Quantity | str,
        traffic_load: Quantity | str, tdp: Quantity | str, power_cap: Quantity | str,
        clock_limit: float | None = ..., idle_fraction: float | None = ..., memory_share: float | None = ...,
        knee: float | None = ...,
    ) -> CappedClockResult: ...
class FacilityEnergy(_Law):
    @staticmethod
    def solve(energy: Quantity | str, pue: float) -> FacilityEnergyResult: ...
class OperationalCarbon(_Law):
    @staticmethod
    def solve(
        facility_energy: Quantity | str, carbon_intensity: Quantity | str,
    ) -> OperationalCarbonResult: ...
class EmbodiedCarbon(_Law):
    @staticmethod
    def solve(
        device_carbon: Quantity | str, devices: float, used_time: Quantity | str, lifetime: Quantity | str,
    ) -> EmbodiedCarbonResult: ...
class CarbonFootprint(_Law):
    @staticmethod
    def solve(
        energy: Quantity | str, pue: float, carbon_intensity: Quantity | str, device_carbon: Quantity | str,
        devices: float, used_time: Quantity | str, lifetime: Quantity | str,
    ) -> CarbonFootprintResult: ...
class WaterUse(_Law):
    @staticmethod
    def solve(energy: Quantity | str, wue: Quantity | str) -> WaterUseResult: ...
class CapitalCost(_Law):
    @staticmethod
    def solve(
        unit_cost: Quantity | str, devices: float, used_time: Quantity | str, lifetime: Quantity | str,
        infrastructure: float | None = ...,
    ) -> CapitalCostResult: ...
class EnergyCost(_Law):
    @staticmethod
    def solve(facility_energy: Quantity | str, energy_price: Quantity | str) -> EnergyCostResult: ...
class MaintenanceCost(_Law):
    @staticmethod
    def solve(
        purchase: Quantity | str, used_time: Quantity | str, annual_maintenance: float | None = ...,
    ) -> MaintenanceCostResult: ...
class TotalCost(_Law):
    @staticmethod
    def solve(
        unit_cost: Quantity | str, devices: float, used_time: Quantity | str, lifetime: Quantity | str,
        facility_energy: Quantity | str, energy_price: Quantity | str, infrastructure: float | None = ...,
        annual_maintenance: float | None = ...,
    ) -> TotalCostResult: ...
class CostPerToken(_Law):
    @staticmethod
    def solve(
        cost_rate: Quantity | str, token_throughput: Quantity | str, utilization: float | None = ...,
    ) -> CostPerTokenResult: ...
class ClusterMtbf(_Law):
    @staticmethod
    def solve(part_mtbf: Quantity | str, parts: float) -> ClusterMtbfResult: ...
class FailureProbability(_Law):
    @staticmethod
    def solve(time: Quantity | str, mtbf: Quantity | str) -> FailureProbabilityResult: ...
class YoungInterval(_Law):
    @staticmethod
    def solve(checkpoint_time: Quantity | str, mtbf: Quantity | str) -> YoungIntervalResult: ...
class CheckpointGoodput(_Law):
    @staticmethod
    def solve(
        interval: Quantity | str, checkpoint_time: Quantity | str, restart_time: Quantity | str,
        mtbf: Quantity | str,
    ) -> CheckpointGoodputResult: ...
class TextbookPass(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, weights: Quantity | str, efficiency: float, activation_share: float,
        peak: Quantity | str, bandwidth: Quantity | str, layer_overhead: Quantity | str,
        dispatch: Quantity | str, batch_size: float | None = ..., layers: float | None = ...,
        passes: float | None = ..., gathered: Quantity | str | None = ...,
    ) -> TextbookPassResult: ...
class TextbookPrefillWork(_Law):
    @staticmethod
    def solve(
        params: Quantity | str, layers: float, width: float, new_tokens: float, context: float,
        batch_size: float | None = ...,
    ) -> TextbookPrefillWorkResult: ...
class TextbookDecode(_Law):
    @staticmethod
    def solve(
        weights: Quantity | str, kv_cache: Quantity | str, bandwidth: Quantity | str,
        layer_overhead: Quantity | str, layers: float,
    ) -> TextbookDecodeResult: ...
class ErlangC(_Law):
    @staticmethod
    def solve(servers: float, load: float) -> ErlangCResult: ...
class QueueWait(_Law):
    @staticmethod
    def solve(
        servers: float, utilization: float, service_time: Quantity | str, arrival_cv: float | None = ...,
        service_cv: float | None = ...,
    ) -> QueueWaitResult: ...
class WaitQuantile(_Law):
    @staticmethod
    def solve(wait_probability: float, wait_given: Quantity | str, quantile: float) -> WaitQuantileResult: ...
class ResponseTail(_Law):
    @staticmethod
    def solve(
        time: Quantity | str, wait_probability: float, wait_given: Quantity | str,
        service_time: Quantity | str, service_cv: float | None = ...,
    ) -> ResponseTailResult: ...
class ChinchillaLoss(_Law):
    @staticmethod
    def solve(
        params: Quantity | str, tokens: Quantity | str, irreducible: float, params_coefficient: float,
        tokens_coefficient: float, params_exponent: float, tokens_exponent: float,
    ) -> ChinchillaLossResult: ...
class ChinchillaAllocation(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, params_coefficient: float, tokens_coefficient: float, params_exponent: float,
        tokens_exponent: float,
    ) -> ChinchillaAllocationResult: ...
class LifetimeWork(_Law):
    @staticmethod
    def solve(
        params: Quantity | str, tokens: Quantity | str, served_tokens: Quantity | str,
    ) -> LifetimeWorkResult: ...
class PagedTokens(_Law):
    @staticmethod
    def solve(scale: float, page_tokens: float, max_tokens: float) -> PagedTokensResult: ...
class BatchedDecodeRate(_Law):
    @staticmethod
    def solve(
        batch_size: float, weights: Quantity | str, kv_per_request: Quantity | str, bandwidth: Quantity | str,
    ) -> BatchedDecodeRateResult: ...
class InFlightStep(_Law):
    @staticmethod
    def solve(
        decode_pass: Quantity | str, added: Quantity | str, prompts_per_step: float,
    ) -> InFlightStepResult: ...
class InFlightFirstToken(_Law):
    @staticmethod
    def solve(
        mean_pass: Quantity | str, pass_cv: float, own_pass: Quantity | str, late: Quantity | str,
        crowd: float | None = ..., busy: float | None = ...,
    ) -> InFlightFirstTokenResult: ...
class BurstFirstToken(_Law):
    @staticmethod
    def solve(prompt: Quantity | str, requests: float, together: float) -> BurstFirstTokenResult: ...
class WeightStreamLayer(_Law):
    @staticmethod
    def solve(
        layer_weights: Quantity | str, bandwidth: Quantity | str, work_per_sample: Quantity | str,
        batch_size: float, peak: Quantity | str, efficiency: float, dispatch: Quantity | str,
    ) -> WeightStreamLayerResult: ...
class ClosBisection(_Law):
    @staticmethod
    def solve(
        bandwidth: Quantity | str, nodes: float, oversubscription: float | None = ...,
    ) -> ClosBisectionResult: ...
class TorusBisection(_Law):
    @staticmethod
    def solve(
        bandwidth: Quantity | str, nodes: float, dimensions: float, rows_cut: float | None = ...,
    ) -> TorusBisectionResult: ...
class DragonflyBisection(_Law):
    @staticmethod
    def solve(bandwidth: Quantity | str, nodes: float) -> DragonflyBisectionResult: ...
class CachedSupply(_Law):
    @staticmethod
    def solve(
        cache_bandwidth: Quantity | str, remote_bandwidth: Quantity | str, host_bandwidth: Quantity | str,
        hit_ratio: float,
    ) -> CachedSupplyResult: ...
class InputStall(_Law):
    @staticmethod
    def solve(
        batch_size: float, sample_size: Quantity | str, worker_rate: Quantity | str, step: Quantity | str,
        workers: float | None = ..., overlap: float | None = ...,
    ) -> InputStallResult: ...
class CompressedWeights(_Law):
    @staticmethod
    def solve(
        params: Quantity | str, bits: float, sparsity: float | None = ..., index_bits: float | None = ...,
        scale_bits: float | None = ..., group: float | None = ...,
    ) -> CompressedWeightsResult: ...
class ExpertLoad(_Law):
    @staticmethod
    def solve(experts: float, top_k: float, tokens: float) -> ExpertLoadResult: ...
class DistinctParts(_Law):
    @staticmethod
    def solve(
        experts: float, top_k: float, groups: float, limited_groups: float, parts: float,
    ) -> DistinctPartsResult: ...
class FullestRank(_Law):
    @staticmethod
    def solve(experts: float, top_k: float, tokens: float, ranks: float) -> FullestRankResult: ...
class NodeMtbf(_Law):
    @staticmethod
    def solve(
        accelerators: float, accelerator_mtbf: Quantity | str, nics: float, nic_mtbf: Quantity | str,
        psus: float, psu_mtbf: Quantity | str, other_rate: Quantity | str,
    ) -> NodeMtbfResult: ...
class DalyInterval(_Law):
    @staticmethod
    def solve(checkpoint_time: Quantity | str, mtbf: Quantity | str) -> DalyIntervalResult: ...
class FirstOrderGoodput(_Law):
    @staticmethod
    def solve(
        interval: Quantity | str, checkpoint_time: Quantity | str, restart_time: Quantity | str,
        mtbf: Quantity | str, lost_share: float | None = ...,
    ) -> FirstOrderGoodputResult: ...
class SpareCoverage(_Law):
    @staticmethod
    def solve(
        nodes: float, node_mtbf: Quantity | str, repair_time: Quantity | str, spares: float,
    ) -> SpareCoverageResult: ...
class CheckpointCost(_Law):
    @staticmethod
    def solve(
        size: Quantity | str, writers: float, writer_bandwidth: Quantity | str, shared_limit: Quantity | str,
        snapshot: Quantity | str, interval: Quantity | str, asynchronous: float,
    ) -> CheckpointCostResult: ...
class RequiredRates(_Law):
    @staticmethod
    def solve(
        work: Quantity | str, traffic: Quantity | str, time: Quantity | str, efficiency: float,
        memory_share: float | None = ...,
    ) -> RequiredRatesResult: ...
class DataParallelRoofline(_Law):
    @staticmethod
    def solve(
        params: Quantity | str, tokens: Quantity | str, element_bytes: Quantity | str, devices: float,
        peak: Quantity | str, efficiency: float, bandwidth: Quantity | str,
    ) -> DataParallelRooflineResult: ...
class GaussianPrivacy(_Law):
    @staticmethod
    def solve(sampling_rate: float, steps: float, noise_multiplier: float) -> GaussianPrivacyResult: ...

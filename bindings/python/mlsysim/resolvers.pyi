from typing import Any

from ._mlsysim import Quantity
from .base import BaseOptimizer, BaseResolver, BaseSolver, ForwardModel
from .specs import Conventions, Datacenter, Fleet, GridProfile, HardwareNode, NetworkFabric, Node, ServingEngine, Workload

__all__: list[str]

def resolver_class(name: str) -> type[BaseResolver]: ...

# Generated below by bindings/python/make_stubs.py.

from .results import (
    BatchingResult, CheckpointResult, CompilationResult, CompileModeResult, CompressionOptimizerResult,
    CompressionResult, ContinuousBatchingResult, DataResult, DistributedResult, EconomicsResult,
    EfficiencyResult, GraphBreakResult, InFlightBatchingResult, InferencePassResult, InferenceScalingResult,
    MoERoutingResult, NetworkRooflineResult, OrchestrationResult, ParallelismResult, PerformanceProfile,
    PlacementResult, ReliabilityResult, ResponsibleEngineeringResult, ScalingResult, SensitivityResult,
    ServingCapacityResult, ServingResult, SustainabilityResult, SynthesisResult, TailLatencyResult,
    TopologyResult, TrainingMemoryResult, TransformationResult, WeightStreamingResult,
)
class SingleNodeModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        batch_size: float | None = ..., precision: str | None = ..., efficiency: float | None = ...,
        is_training: bool | None = ..., seq_len: float | None = ..., zero_stage: float | None = ...,
        dp_size: float | None = ..., recomputation: str | None = ..., optimizer: str | None = ...,
        power_cap: Quantity | str | None = ..., clock_limit: float | None = ..., execution: str | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> PerformanceProfile: ...
class ServingModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        seq_len: float | None = ..., batch_size: float | None = ..., output_tokens: float | None = ...,
        precision: str | None = ..., weight_format: str | None = ..., weight_bits: float | None = ...,
        kv_precision: str | None = ..., efficiency: float | None = ..., tp_size: float | None = ...,
        pp_size: float | None = ..., ep_size: float | None = ..., collective_algorithm: str | None = ...,
        dispatch_precision: str | None = ..., expert_copies: str | None = ...,
        expert_overlap: str | None = ..., rank_imbalance: float | None = ...,
        cached_prefix_len: float | None = ..., prefill_chunk_tokens: float | None = ...,
        chunked_prefill: bool | None = ..., engine: ServingEngine | str | None = ...,
        decode_hardware: HardwareNode | str | None = ..., network_bandwidth: Quantity | str | None = ...,
        draft_model: Workload | str | None = ..., draft_acceptance_rate: float | None = ...,
        draft_tokens: float | None = ..., draft_acceptance_decay: float | None = ...,
        acceptance_length: float | None = ..., fleet: Fleet | str | None = ...,
        power_cap: Quantity | str | None = ..., clock_limit: float | None = ..., execution: str | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> ServingResult: ...
class TrainingMemoryModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        batch_size: float | None = ..., seq_len: float | None = ..., precision: str | None = ...,
        weight_format: str | None = ..., tp_size: float | None = ..., pp_size: float | None = ...,
        dp_size: float | None = ..., ep_size: float | None = ..., expert_tp_size: float | None = ...,
        cp_size: float | None = ..., schedule: str | None = ..., v_stages: float | None = ...,
        gradient_accumulation_steps: float | None = ..., zero_stage: float | None = ...,
        shard_size: float | None = ..., recomputation: str | None = ..., recomputed_share: float | None = ...,
        sequence_parallel: bool | None = ..., attention_kernel: str | None = ..., dropout: bool | None = ...,
        kernel_fusion: bool | None = ..., gradient_precision: str | None = ..., optimizer: str | None = ...,
        moment_precision: str | None = ..., trainable_fraction: float | None = ...,
        lora_rank: float | None = ..., lora_modules: str | None = ..., fused_loss: bool | None = ...,
        offload_weights: float | None = ..., offload_activations: float | None = ...,
        offload_states: float | None = ..., fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> TrainingMemoryResult: ...
class DistributedModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., fleet: Fleet | str = ..., model: Workload | str = ...,
        batch_size: float | None = ..., seq_len: float | None = ..., precision: str | None = ...,
        weight_format: str | None = ..., efficiency: float | None = ..., tp_size: float | None = ...,
        pp_size: float | None = ..., ep_size: float | None = ..., expert_tp_size: float | None = ...,
        cp_size: float | None = ..., schedule: str | None = ..., v_stages: float | None = ...,
        gradient_accumulation_steps: float | None = ..., zero_stage: float | None = ...,
        shard_size: float | None = ..., recomputation: str | None = ..., recomputed_share: float | None = ...,
        sequence_parallel: bool | None = ..., attention_kernel: str | None = ..., dropout: bool | None = ...,
        kernel_fusion: bool | None = ..., gradient_precision: str | None = ..., optimizer: str | None = ...,
        moment_precision: str | None = ..., trainable_fraction: float | None = ...,
        lora_rank: float | None = ..., lora_modules: str | None = ..., fused_loss: bool | None = ...,
        offload_weights: float | None = ..., offload_activations: float | None = ...,
        offload_states: float | None = ..., collective_algorithm: str | None = ...,
        dispatch_precision: str | None = ..., expert_copies: str | None = ...,
        expert_overlap: str | None = ..., rank_imbalance: float | None = ...,
        microbatch_size: float | None = ..., microbatch_count: float | None = ...,
        backward_prefetch: bool | None = ..., overlap_efficiency: float | None = ...,
        overlap_slowdown: float | None = ..., tp_overlap: float | None = ...,
        congestion_factor: float | None = ..., straggler_factor: float | None = ...,
        power_cap: Quantity | str | None = ..., clock_limit: float | None = ..., execution: str | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> DistributedResult: ...
class SustainabilityModel(ForwardModel):
    @staticmethod
    def solve(
        fleet: Fleet | str, duration_days: float, datacenter: Datacenter | str | None = ...,
        grid: GridProfile | str | None = ..., mfu: float | None = ..., utilization: float | None = ...,
        embodied_carbon_per_device: Quantity | str | None = ..., amortization_years: float | None = ...,
        host_power: Quantity | str | None = ..., network_power: Quantity | str | None = ...,
        conventions: Conventions | None = ...,
    ) -> SustainabilityResult: ...
class EconomicsModel(ForwardModel):
    @staticmethod
    def solve(
        fleet: Fleet | str, duration_days: float, kwh_price: Quantity | str | None = ...,
        datacenter: Datacenter | str | None = ..., grid: GridProfile | str | None = ...,
        mfu: float | None = ..., utilization: float | None = ..., unit_cost: Quantity | str | None = ...,
        amortization_years: float | None = ..., infrastructure_multiplier: float | None = ...,
        host_power: Quantity | str | None = ..., network_power: Quantity | str | None = ...,
        conventions: Conventions | None = ...,
    ) -> EconomicsResult: ...
class NetworkRooflineModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., fleet: Fleet | str = ..., model: Workload | str = ...,
        batch_size: float | None = ..., seq_len: float | None = ..., precision: str | None = ...,
        efficiency: float | None = ..., fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> NetworkRooflineResult: ...
class EfficiencyModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        workload_type: str | None = ..., use_flash_attention: bool | None = ...,
        batch_size: float | None = ..., seq_len: float | None = ..., precision: str | None = ...,
        efficiency: float | None = ..., fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> EfficiencyResult: ...
class ContinuousBatchingModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., max_seq_len: float = ...,
        model: Workload | str = ..., mean_request_tokens: float | None = ...,
        output_tokens: float | None = ..., max_batch_size: float | None = ...,
        prefill_chunk_tokens: float | None = ..., page_tokens: float | None = ...,
        engine: ServingEngine | str | None = ..., execution: str | None = ..., precision: str | None = ...,
        weight_format: str | None = ..., weight_bits: float | None = ..., kv_precision: str | None = ...,
        efficiency: float | None = ..., tp_size: float | None = ..., pp_size: float | None = ...,
        ep_size: float | None = ..., collective_algorithm: str | None = ...,
        dispatch_precision: str | None = ..., expert_copies: str | None = ...,
        expert_overlap: str | None = ..., rank_imbalance: float | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> ContinuousBatchingResult: ...
class InFlightBatchingModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        seq_len: float | None = ..., output_tokens: float | None = ...,
        arrival_rate: Quantity | str | None = ..., concurrency: float | None = ...,
        max_batch_size: float | None = ..., num_requests: float | None = ...,
        equal_lengths: bool | None = ..., cached_prefix_len: float | None = ...,
        prefill_chunk_tokens: float | None = ..., page_tokens: float | None = ...,
        engine: ServingEngine | str | None = ..., execution: str | None = ..., kv_share: float | None = ...,
        precision: str | None = ..., weight_format: str | None = ..., weight_bits: float | None = ...,
        kv_precision: str | None = ..., efficiency: float | None = ..., tp_size: float | None = ...,
        pp_size: float | None = ..., ep_size: float | None = ..., collective_algorithm: str | None = ...,
        dispatch_precision: str | None = ..., expert_copies: str | None = ...,
        expert_overlap: str | None = ..., rank_imbalance: float | None = ...,
        draft_model: Workload | str | None = ..., draft_acceptance_rate: float | None = ...,
        draft_tokens: float | None = ..., draft_acceptance_decay: float | None = ...,
        acceptance_length: float | None = ..., prefill_replicas: float | None = ...,
        prefill_tp_size: float | None = ..., prefill_ep_size: float | None = ...,
        decode_hardware: HardwareNode | str | None = ..., network_bandwidth: Quantity | str | None = ...,
        target_ttft: Quantity | str | None = ..., target_itl: Quantity | str | None = ...,
        fleet: Fleet | str | None = ..., power_cap: Quantity | str | None = ...,
        clock_limit: float | None = ..., fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> InFlightBatchingResult: ...
class TailLatencyModel(ForwardModel):
    @staticmethod
    def solve(
        arrival_rate: Quantity | str, service_latency: Quantity | str, num_replicas: float | None = ...,
        service_time_cv: float | None = ..., arrival_cv: float | None = ...,
        target_latency: Quantity | str | None = ..., fidelity: str | None = ...,
    ) -> TailLatencyResult: ...
class ServingCapacityModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ...,
        arrival_rate: Quantity | str = ..., target_p99_latency: Quantity | str = ...,
        model: Workload | str = ..., target_p99_ttft: Quantity | str | None = ...,
        target_itl: Quantity | str | None = ..., max_seq_len: float | None = ...,
        mean_request_tokens: float | None = ..., output_tokens: float | None = ...,
        max_batch_size: float | None = ..., prefill_chunk_tokens: float | None = ...,
        page_tokens: float | None = ..., engine: ServingEngine | str | None = ...,
        execution: str | None = ..., precision: str | None = ..., weight_format: str | None = ...,
        weight_bits: float | None = ..., kv_precision: str | None = ..., efficiency: float | None = ...,
        tp_size: float | None = ..., pp_size: float | None = ..., ep_size: float | None = ...,
        collective_algorithm: str | None = ..., dispatch_precision: str | None = ...,
        expert_copies: str | None = ..., expert_overlap: str | None = ..., rank_imbalance: float | None = ...,
        max_replicas: float | None = ..., service_time_cv: float | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> ServingCapacityResult: ...
class DataModel(ForwardModel):
    @staticmethod
    def solve(
        data_rate: Quantity | str, hardware: HardwareNode | str, fleet: Fleet | str | None = ...,
        dataset_size: Quantity | str | None = ..., cache_capacity: Quantity | str | None = ...,
        cache_bandwidth: Quantity | str | None = ..., shared_bandwidth: Quantity | str | None = ...,
        fidelity: str | None = ...,
    ) -> DataResult: ...
class TransformationModel(ForwardModel):
    @staticmethod
    def solve(
        sample_size: Quantity | str, cpu_throughput: Quantity | str, accelerator_step_time: Quantity | str,
        batch_size: float | None = ..., workers: float | None = ..., overlap: float | None = ...,
    ) -> TransformationResult: ...
class TopologyModel(ForwardModel):
    @staticmethod
    def solve(
        fabric: NetworkFabric | str | None = ..., fleet: Fleet | str | None = ..., topology: str | None = ...,
        num_nodes: float | None = ..., switch_ports: float | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> TopologyResult: ...
class ScalingModel(ForwardModel):
    @staticmethod
    def solve(
        compute_budget: Quantity | str | None = ..., device_time: Quantity | str | None = ...,
        target_model_size: Quantity | str | None = ..., served_tokens: Quantity | str | None = ...,
        fit: str | None = ..., fidelity: str | None = ...,
    ) -> ScalingResult: ...
class ReliabilityModel(ForwardModel):
    @staticmethod
    def solve(
        fleet: Fleet | str, job_duration: Quantity | str, checkpoint_time: Quantity | str | None = ...,
        recovery_time: Quantity | str | None = ..., checkpoint_interval: Quantity | str | None = ...,
        accelerator_mtbf: Quantity | str | None = ..., nic_mtbf: Quantity | str | None = ...,
        psu_mtbf: Quantity | str | None = ..., spare_nodes: float | None = ...,
        repair_time: Quantity | str | None = ..., fidelity: str | None = ...,
    ) -> ReliabilityResult: ...
class OrchestrationModel(ForwardModel):
    @staticmethod
    def solve(
        fleet: Fleet | str, arrival_rate_jobs_per_day: float, avg_job_duration: Quantity | str,
        accelerators_per_job: float | None = ..., duration_cv: float | None = ..., fidelity: str | None = ...,
    ) -> OrchestrationResult: ...
class CheckpointModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        fleet: Fleet | str | None = ..., optimizer: str | None = ..., precision: str | None = ...,
        checkpoint_interval: Quantity | str | None = ..., writers: float | None = ...,
        writer_bandwidth: Quantity | str | None = ..., shared_limit: Quantity | str | None = ...,
        asynchronous: bool | None = ..., fleet_mtbf: Quantity | str | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> CheckpointResult: ...
class InferencePassModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        batch_size: float | None = ..., precision: str | None = ..., efficiency: float | None = ...,
        denoising_steps: float | None = ..., conventions: Conventions | None = ...,
    ) -> InferencePassResult: ...
class WeightStreamingModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        seq_len: float | None = ..., batch_size: float | None = ..., phase: str | None = ...,
        precision: str | None = ..., efficiency: float | None = ...,
        injection_bandwidth: Quantity | str | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> WeightStreamingResult: ...
class InferenceScalingModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        reasoning_steps: float | None = ..., context_length: float | None = ...,
        tokens_per_step: float | None = ..., samples: float | None = ..., tp_size: float | None = ...,
        precision: str | None = ..., efficiency: float | None = ...,
        device_price: Quantity | str | None = ..., prefill_chunk_tokens: float | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> InferenceScalingResult: ...
class CompressionModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        method: str | None = ..., target_bitwidth: float | None = ..., sparsity: float | None = ...,
        sparsity_type: str | None = ..., baseline_precision: str | None = ..., weight_only: bool | None = ...,
        group_size: float | None = ..., student_share: float | None = ..., batch_size: float | None = ...,
        seq_len: float | None = ..., efficiency: float | None = ..., size_limit: Quantity | str | None = ...,
        max_accuracy_drop: float | None = ..., min_speedup: float | None = ...,
        require_hardware_support: bool | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> CompressionResult: ...
class MoERoutingModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., model: Workload | str = ..., batch_size: float | None = ...,
        seq_len: float | None = ..., precision: str | None = ..., ep_size: float | None = ...,
        routing_imbalance_factor: float | None = ..., fleet: Fleet | str | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> MoERoutingResult: ...
class ResponsibleEngineeringModel(ForwardModel):
    @staticmethod
    def solve(
        base_training_time: Quantity | str, epsilon: float | None = ..., delta: float | None = ...,
        min_subgroup_prevalence: float | None = ..., method: str | None = ..., microbatch: float | None = ...,
        device_batch: float | None = ..., seq_len: float | None = ..., workload: Workload | str | None = ...,
        hardware: HardwareNode | str | None = ..., precision: str | None = ...,
        sampling_rate: float | None = ..., steps: float | None = ..., error_rate: float | None = ...,
        detectable_gap: float | None = ..., fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> ResponsibleEngineeringResult: ...
class CompilationModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        batch_size: float | None = ..., precision: str | None = ..., seq_len: float | None = ...,
        dispatch: Quantity | str | None = ..., operators_per_kernel: float | None = ...,
        guard: Quantity | str | None = ..., resume: Quantity | str | None = ...,
        sync: Quantity | str | None = ..., sync_share: float | None = ..., between: float | None = ...,
        conventions: Conventions | None = ..., breaks: float | None = ...,
        compile_time: Quantity | str | None = ..., recompiles: float | None = ..., cached: float | None = ...,
        accelerators: float | None = ..., utilization: float | None = ...,
        device_hour: Quantity | str | None = ...,
    ) -> CompilationResult: ...
class SynthesisSolver(BaseSolver):
    @staticmethod
    def solve(
        workload: Workload | str = ..., target_latency: Quantity | str = ..., model: Workload | str = ...,
        batch_size: float | None = ..., seq_len: float | None = ..., precision: str | None = ...,
        efficiency: float | None = ..., fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> SynthesisResult: ...
class GraphBreakSolver(BaseSolver):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ...,
        target_latency: Quantity | str = ..., model: Workload | str = ..., batch_size: float | None = ...,
        precision: str | None = ..., seq_len: float | None = ..., dispatch: Quantity | str | None = ...,
        operators_per_kernel: float | None = ..., guard: Quantity | str | None = ...,
        resume: Quantity | str | None = ..., sync: Quantity | str | None = ...,
        sync_share: float | None = ..., between: float | None = ..., conventions: Conventions | None = ...,
        mode: str | None = ..., steps: float | None = ...,
    ) -> GraphBreakResult: ...
class ParallelismOptimizer(BaseOptimizer):
    @staticmethod
    def solve(
        workload: Workload | str = ..., fleet: Fleet | str = ..., batch_size: float = ...,
        model: Workload | str = ..., seq_len: float | None = ..., precision: str | None = ...,
        efficiency: float | None = ..., max_tp: float | None = ..., max_pp: float | None = ...,
        max_cp: float | None = ..., ep_size: float | None = ..., max_v_stages: float | None = ...,
        max_zero_stage: float | None = ..., recomputation: str | None = ...,
        overlap_efficiency: float | None = ..., tp_overlap: float | None = ..., optimizer: str | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> ParallelismResult: ...
class BatchingOptimizer(BaseOptimizer):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ...,
        arrival_rate: Quantity | str = ..., target_latency: Quantity | str = ..., model: Workload | str = ...,
        seq_len: float | None = ..., output_tokens: float | None = ..., num_replicas: float | None = ...,
        tp_size: float | None = ..., service_time_cv: float | None = ..., precision: str | None = ...,
        efficiency: float | None = ..., max_search_batch: float | None = ...,
        prefill_chunk_tokens: float | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> BatchingResult: ...
class PlacementOptimizer(BaseOptimizer):
    @staticmethod
    def solve(
        fleet: Fleet | str, duration_days: float, regions: str | None = ...,
        carbon_price: Quantity | str | None = ..., mfu: float | None = ..., utilization: float | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> PlacementResult: ...
class CompressionOptimizer(BaseOptimizer):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        baseline_precision: str | None = ..., batch_size: float | None = ..., seq_len: float | None = ...,
        size_limit: Quantity | str | None = ..., max_accuracy_drop: float | None = ...,
        min_speedup: float | None = ..., require_hardware_support: bool | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> CompressionOptimizerResult: ...
class CompileModeOptimizer(BaseOptimizer):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        batch_size: float | None = ..., precision: str | None = ..., seq_len: float | None = ...,
        dispatch: Quantity | str | None = ..., operators_per_kernel: float | None = ...,
        guard: Quantity | str | None = ..., resume: Quantity | str | None = ...,
        sync: Quantity | str | None = ..., sync_share: float | None = ..., between: float | None = ...,
        conventions: Conventions | None = ..., steps: float | None = ..., breaks: float | None = ...,
        compile_time: Quantity | str | None = ..., cached: float | None = ...,
    ) -> CompileModeResult: ...
class SensitivitySolver(BaseSolver):
    @staticmethod
    def solve(
        workload: Workload | str = ..., hardware: HardwareNode | str = ..., model: Workload | str = ...,
        mode: str | None = ..., batch_size: float | None = ..., seq_len: float | None = ...,
        accelerators: float | None = ..., precision: str | None = ..., efficiency: float | None = ...,
        perturbation: float | None = ..., fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> SensitivityResult: ...

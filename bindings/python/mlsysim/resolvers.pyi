from typing import Any

from ._mlsysim import Quantity
from .base import BaseOptimizer, BaseResolver, BaseSolver, ForwardModel
from .specs import Conventions, Datacenter, Fleet, GridProfile, HardwareNode, NetworkFabric, Node, Workload

__all__: list[str]

def resolver_class(name: str) -> type[BaseResolver]: ...

# Generated below by bindings/python/make_stubs.py.

from .results import (
    DistributedResult, EconomicsResult, PerformanceProfile, ServingResult, SustainabilityResult,
    TrainingMemoryResult,
)
class SingleNodeModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload = ..., hardware: HardwareNode = ..., model: Workload = ...,
        batch_size: float | None = ..., precision: str | None = ..., efficiency: float | None = ...,
        is_training: bool | None = ..., seq_len: float | None = ..., zero_stage: float | None = ...,
        dp_size: float | None = ..., recomputation: str | None = ..., optimizer: str | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> PerformanceProfile: ...
class ServingModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload = ..., hardware: HardwareNode = ..., model: Workload = ...,
        seq_len: float | None = ..., batch_size: float | None = ..., output_tokens: float | None = ...,
        precision: str | None = ..., kv_precision: str | None = ..., efficiency: float | None = ...,
        tp_size: float | None = ..., pp_size: float | None = ..., ep_size: float | None = ...,
        cached_prefix_len: float | None = ..., prefill_chunk_tokens: float | None = ...,
        decode_hardware: HardwareNode | None = ..., network_bandwidth: Quantity | str | None = ...,
        draft_model: Workload | None = ..., draft_acceptance_rate: float | None = ...,
        draft_tokens: float | None = ..., fleet: Fleet | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> ServingResult: ...
class TrainingMemoryModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload = ..., hardware: HardwareNode = ..., model: Workload = ...,
        batch_size: float | None = ..., seq_len: float | None = ..., precision: str | None = ...,
        optimizer: str | None = ..., recomputation: str | None = ..., tp_size: float | None = ...,
        pp_size: float | None = ..., dp_size: float | None = ..., ep_size: float | None = ...,
        zero_stage: float | None = ..., gradient_accumulation_steps: float | None = ...,
        trainable_fraction: float | None = ..., sequence_parallel: bool | None = ...,
        fidelity: str | None = ..., conventions: Conventions | None = ...,
    ) -> TrainingMemoryResult: ...
class DistributedModel(ForwardModel):
    @staticmethod
    def solve(
        workload: Workload = ..., fleet: Fleet = ..., model: Workload = ..., batch_size: float | None = ...,
        precision: str | None = ..., efficiency: float | None = ..., tp_size: float | None = ...,
        pp_size: float | None = ..., ep_size: float | None = ..., v_stages: float | None = ...,
        microbatch_count: float | None = ..., gradient_accumulation_steps: float | None = ...,
        zero_stage: float | None = ..., recomputation: str | None = ..., sequence_parallel: bool | None = ...,
        seq_len: float | None = ..., optimizer: str | None = ..., trainable_fraction: float | None = ...,
        overlap_efficiency: float | None = ..., congestion_factor: float | None = ...,
        straggler_factor: float | None = ..., fidelity: str | None = ...,
        conventions: Conventions | None = ...,
    ) -> DistributedResult: ...
class SustainabilityModel(ForwardModel):
    @staticmethod
    def solve(
        fleet: Fleet, duration_days: float, datacenter: Datacenter | None = ...,
        grid: GridProfile | None = ..., mfu: float | None = ..., utilization: float | None = ...,
        embodied_carbon_per_device: Quantity | str | None = ..., amortization_years: float | None = ...,
        conventions: Conventions | None = ...,
    ) -> SustainabilityResult: ...
class EconomicsModel(ForwardModel):
    @staticmethod
    def solve(
        fleet: Fleet, duration_days: float, kwh_price: Quantity | str | None = ...,
        datacenter: Datacenter | None = ..., grid: GridProfile | None = ..., mfu: float | None = ...,
        utilization: float | None = ..., unit_cost: Quantity | str | None = ...,
        amortization_years: float | None = ..., infrastructure_multiplier: float | None = ...,
        conventions: Conventions | None = ...,
    ) -> EconomicsResult: ...

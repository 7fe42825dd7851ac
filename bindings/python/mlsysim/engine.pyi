from collections.abc import Iterable, Sequence
from typing import Any

from ._mlsysim import Quantity
from .explore import Explanation
from .results import PerformanceProfile
from .specs import Fleet, HardwareNode, Workload

class Engine:
    @staticmethod
    def solve(model: Workload, hardware: HardwareNode, batch_size: float = ..., precision: str | None = ...,
              efficiency: float | None = ..., **options: Any) -> PerformanceProfile: ...
    @staticmethod
    def sweep(model: Workload, hardware_list: Iterable[HardwareNode], batch_sizes: Iterable[float] = ...,
              precisions: Iterable[str] = ..., efficiency: float | None = ..., **options: Any) -> list[dict[str, Any]]: ...

class EvaluationLevel:
    level_name: str
    status: str
    summary: str
    metrics: dict[str, Any]
    def __getitem__(self, metric: str) -> Any: ...

class OperatorRow:
    name: str
    group: str
    pass_: str
    limit: str
    count: float
    work: Quantity
    traffic: Quantity
    time: Quantity
    share: float

class SystemEvaluation:
    scenario_name: str
    workload: str
    hardware: str
    runtime: str
    guess: str
    mode: str
    fidelity: str
    feasibility: EvaluationLevel
    performance: EvaluationLevel
    macro: EvaluationLevel
    further: dict[str, EvaluationLevel]
    memory: dict[str, Quantity]
    remedies: list[tuple[str, str]]
    assumptions: list[tuple[str, str, str]]
    warnings: list[str]
    passed_all: bool
    def scorecard(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def units(self) -> dict[str, str]: ...
    def explain(self, metric: str, open: str | Sequence[str] = ...) -> Explanation: ...
    @property
    def explainable(self) -> list[str]: ...
    def operators(self, metric: str) -> list[OperatorRow]: ...
    def plot(self, kind: str = ..., result: str = ...) -> Any: ...
    def trace(self, result: str = ...) -> str: ...
    def report(self, path: str | None = ..., against: SystemEvaluation | None = ...) -> Any: ...

class SystemEvaluator:
    @staticmethod
    def evaluate(scenario_name: str, model_obj: Workload, hardware_obj: HardwareNode | None = ..., batch_size: float = ...,
                 precision: str | None = ..., efficiency: float | None = ..., fleet_obj: Fleet | None = ...,
                 nodes: int = ..., duration_days: float | None = ..., **options: Any) -> SystemEvaluation: ...
    @staticmethod
    def options() -> dict[str, tuple[str, str, str]]: ...

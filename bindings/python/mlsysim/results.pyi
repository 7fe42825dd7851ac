from typing import Any

from ._mlsysim import Quantity
from .specs import Fleet, HardwareNode, Workload

class SolverResult:
    def __init__(self, **values: Any) -> None: ...
    @classmethod
    def fields(cls) -> tuple[str, ...]: ...
    def dict(self) -> dict[str, Any]: ...
    def to_dict(self) -> dict[str, Any]: ...
    @property
    def assumptions(self) -> list[tuple[str, str, str]]: ...
    @property
    def warnings(self) -> list[str]: ...

class OptimizerResult(SolverResult):
    objective_value: Any
    best_config: Any
    total_searched: int

class Infeasible(SolverResult):
    resolver: str
    reason: str
    smallest_change: str
    facts: Any
    feasible: bool

class Skipped(SolverResult):
    stage: str
    reason: str
    feasible: bool

class _CoreResult(SolverResult):
    @property
    def verification(self) -> str: ...
    @property
    def inputs(self) -> dict[str, Any]: ...

def result_name(resolver: str) -> str: ...

# Generated below by bindings/python/make_stubs.py.

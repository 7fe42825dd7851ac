from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from ._mlsysim import Quantity
from .base import BaseResolver
from .results import Infeasible
from .specs import HardwareNode, Workload
from .widgets import Explorer

_Axes = Mapping[Any, Any] | str | PathLike[str]

def ask(what: Workload | str | BaseResolver | type[BaseResolver] | None = ..., hardware: HardwareNode | str | None = ..., **options: Any) -> Subject: ...

class Lever:
    input: str
    meaning: str
    unit: str
    value: Any
    slope: str
    elasticity: float | None
    elasticity_up: float
    elasticity_down: float
    lower: Any
    upper: Any
    at_lower: float
    at_upper: float
    ceiling: float
    matters_at: Any
    words: str
    def __init__(self, row: dict[str, Any]) -> None: ...

class _Answer:
    def __init__(self, text: str, data: dict[str, Any]) -> None: ...
    def to_dict(self) -> dict[str, Any]: ...

class Explanation(str):
    result: str
    value: Any
    handed_in: list[str]
    derivation: dict[str, Any]
    operators: list[dict[str, Any]]
    figures: list[dict[str, str]]
    assumptions: list[dict[str, str]]
    markdown: str
    latex: str
    def __new__(cls, data: str, text: str, markdown: str, latex: str) -> Explanation: ...
    def to_dict(self) -> dict[str, Any]: ...

class Sensitivity(_Answer):
    result: str
    method: str
    binding: str
    value: Any
    levers: list[Lever]
    assumptions: list[tuple[str, str, str]]
    warnings: list[str]
    def __init__(self, data: dict[str, Any], text: str) -> None: ...
    def __getitem__(self, name: str) -> Lever: ...
    def tornado(self) -> list[tuple[str, float, float]]: ...

class Difference(_Answer):
    result: str
    at_from: Any
    at_to: Any
    terms: list[tuple[str, Any, Any, Any, float]]
    def __init__(self, data: dict[str, Any], text: str) -> None: ...

class Uncertainty(_Answer):
    figures: list[str]
    bottleneck: str
    flips: float
    results: dict[str, dict[str, Any]]
    ranking: dict[str, Any] | None
    assumptions: list[tuple[str, str, str]]
    def __init__(self, data: dict[str, Any], text: str) -> None: ...
    def __getitem__(self, name: str) -> dict[str, Any]: ...

class Intervals(_Answer):
    intervals: dict[str, dict[str, Any]]
    def __init__(self, data: dict[str, Any], text: str) -> None: ...
    def __getitem__(self, name: str) -> dict[str, Any]: ...

class Solution(_Answer):
    feasible: bool
    free: str
    condition: str
    method: str
    value: Any
    at_value: Any
    ranges: list[tuple[Any, Any]]
    exhaustive: bool
    memory: str
    verification: str
    def __init__(self, data: dict[str, Any], text: str) -> None: ...

class Subject:
    def __init__(self, core: Any) -> None: ...
    @property
    def title(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    @property
    def inputs(self) -> dict[str, Any]: ...
    @property
    def results(self) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
    def describe(self) -> dict[str, tuple[str, str]]: ...
    def explain(self, result: str, open: str | Sequence[str] = ...) -> Explanation: ...
    def sensitivity(self, result: str, inputs: Iterable[str] = ..., step: float = ...) -> Sensitivity: ...
    def solve(self, condition: str, free: str, low: Quantity | str | None = ..., high: Quantity | str | None = ...) -> Solution | Infeasible: ...
    def compare(self, other: Subject, result: str) -> Difference: ...
    def uncertainty(self, figures: Mapping[str, str] = ..., results: str | Iterable[str] = ..., samples: int = ..., seed: int = ...,
                    coverage: float = ..., estimates: bool = ..., against: Subject | None = ...) -> Uncertainty: ...
    def intervals(self, results: str | Iterable[str] = ..., level: int = ...) -> Intervals: ...
    def probability_below(self, other: Subject, result: str, figures: Mapping[str, str] = ..., samples: int = ..., seed: int = ...,
                          estimates: bool = ...) -> float: ...
    def register_callback(self, callback: Any) -> Subject: ...
    def optimize(self, axes: _Axes, minimize: str | None = ..., maximize: str | None = ..., subject_to: str | Iterable[str] = ...,
                 show: str | Iterable[str] = ..., top: int = ..., **how: Any) -> Exploration: ...
    def pareto(self, axes: _Axes, minimize: str | Iterable[str] = ..., maximize: str | Iterable[str] = ...,
               subject_to: str | Iterable[str] = ..., show: str | Iterable[str] = ..., **how: Any) -> Exploration: ...
    def sweep(self, axes: _Axes, show: str | Iterable[str], subject_to: str | Iterable[str] = ..., anything: bool = ...,
              executor: Any = ..., shards: int | None = ..., progress: Any = ...) -> Sweep: ...
    def explore(self, result: str | None = ..., axes: Mapping[str, Any] | None = ..., show: str | Iterable[str] = ..., **more: Any) -> Explorer: ...
    def merge(self, parts: Sequence[Exploration]) -> Exploration: ...

class FoundPoint:
    index: int
    between: bool
    axes: dict[str, Any]
    labels: dict[str, str]
    objectives: dict[str, Any]
    shown: dict[str, Any]
    def __init__(self, row: dict[str, Any], units: dict[str, str], axes: dict[str, Any]) -> None: ...

class Exploration(_Answer):
    best: list[FoundPoint]
    front: list[FoundPoint]
    total: float
    evaluated: float
    feasible: float
    not_feasible: float
    skipped: float
    exactness: str
    complete: bool
    constraints: list[dict[str, Any]]
    skip_reasons: dict[str, float]
    certificate: dict[str, Any] | None
    histogram: dict[str, Any] | None
    infeasible: str | None
    method: str
    hypervolume: dict[str, Any] | None
    conflict: dict[str, Any] | None
    seconds: float
    state: str
    def __init__(self, answer: Any, question: Any) -> None: ...

class Sweep:
    columns: dict[str, Any]
    units: dict[str, str]
    feasible: Any
    skipped: list[tuple[int, str]]
    def __init__(self, data: dict[str, Any]) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def __contains__(self, name: object) -> bool: ...
    def __getitem__(self, name: str) -> Any: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_arrow(self) -> Any: ...
    def to_parquet(self, path: str | PathLike[str], overwrite: bool = ...) -> str | PathLike[str]: ...

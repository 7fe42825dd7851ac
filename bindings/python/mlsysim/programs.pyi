from collections.abc import Mapping, Sequence
from os import PathLike
from typing import NamedTuple

from .specs import Workload

class Operator(NamedTuple):
    name: str
    path: str
    kind: str
    times: float
    rows: float
    columns: float
    depth: float
    copies: float
    flops: float
    transcendentals: float
    line: int
    kernel: int
    operands: list[tuple[str, list[int]]]
    results: list[tuple[str, list[int]]]
    @property
    def macs(self) -> float: ...

class Program:
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def main_format(self) -> str: ...
    @property
    def open(self) -> list[str]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def unknown(self) -> dict[str, float]: ...
    @property
    def branches(self) -> list[tuple[str, float, float]]: ...
    @property
    def operators(self) -> list[Operator]: ...
    @property
    def totals(self) -> dict[str, float]: ...
    def workload(self) -> Workload: ...
    def graph(self, language: str = ..., depth: int = ...) -> str: ...

def read_program(
    path: str | PathLike[str], *, text: str | bytes | None = ..., dims: Mapping[str, float] | None = ...,
    trip_counts: Mapping[str, float] | None = ..., weights: Sequence[str] = ..., force: bool = ...,
) -> Program: ...
def stablehlo_text(path: str | PathLike[str]) -> str: ...

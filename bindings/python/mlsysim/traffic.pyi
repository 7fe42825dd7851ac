from os import PathLike
from typing import Any

from ._mlsysim import Quantity

class FittedLaw:
    law: str
    first: float
    second: float
    distance: float

class CountedSpread:
    count: float
    mean: float
    deviation: float
    cv: float
    min: float
    max: float
    p50: float
    p90: float
    p99: float
    laws: list[FittedLaw]
    @property
    def law(self) -> FittedLaw | None: ...
    @property
    def sampling_distance(self) -> float: ...

class RecordedTraffic:
    format: str
    source: str
    requests: float
    notes: list[str]
    prompt: CountedSpread
    answer: CountedSpread | None
    gaps: CountedSpread | None
    rate: Quantity | None
    arrivals: dict[str, Any] | None
    prefixes: dict[str, Any] | None
    concurrency: float | None
    def inputs(self, of: object = ...) -> dict[str, Any]: ...
    def to_dict(self) -> dict[str, Any]: ...

def read_traffic(path: str | PathLike[str], block_tokens: float = ..., characters_per_token: float | None = ...) -> RecordedTraffic: ...

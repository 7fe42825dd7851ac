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

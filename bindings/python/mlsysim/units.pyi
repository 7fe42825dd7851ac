from collections.abc import Sequence
from typing import Any, overload

from ._mlsysim import Quantity as Quantity
from .arrays import QuantityArray

class Unit(str):
    def __mul__(self, number: float) -> Quantity: ...  # type: ignore[override]
    def __rmul__(self, number: float) -> Quantity: ...  # type: ignore[override]

@overload
def q(value: str | float | Quantity, unit: str | None = ...) -> Quantity: ...
@overload
def q(value: Sequence[Any], unit: str | None = ...) -> QuantityArray: ...
@overload
def q(value: Any, unit: str | None = ...) -> Any: ...

Q_ = q

def spellings() -> list[str]: ...

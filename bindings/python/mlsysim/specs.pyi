from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ._mlsysim import Quantity

_S = TypeVar("_S", bound="_Spec")

class Provenance:
    entry: str
    figure: str | None
    authored: str | None
    kind: str
    ref: str | None
    citation: str | None
    url: str | None
    verified: str | None
    recorded: str | None
    note: str | None
    formula: str | None
    spread: float | None
    where: str | None

class _Spec:
    def to_dict(self) -> dict[str, Any]: ...
    def replace(self: _S, **changes: Any) -> _S: ...
    def provenance(self, figure: str = ...) -> Provenance | None: ...

# Generated below by bindings/python/make_stubs.py.

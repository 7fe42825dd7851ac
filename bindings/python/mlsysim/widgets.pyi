from collections.abc import Mapping
from typing import Any

from .explore import Subject
from .pictures import Picture

class Explorer:
    subject: Subject
    result: str
    shown: list[str]
    values: dict[str, Any]
    def __init__(self, subject: Subject, result: str | None = ..., axes: Mapping[str, Any] | None = ..., show: str | list[str] = ...) -> None: ...
    def set(self, **values: Any) -> Explorer: ...
    @property
    def results(self) -> dict[str, Any]: ...
    def plot(self, over: str | None = ...) -> Picture: ...
    @property
    def widget(self) -> Any: ...

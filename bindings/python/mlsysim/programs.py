"""Programs down to the operator: ONNX, StableHLO and MHLO text.

>>> import mlsysim
>>> program = mlsysim.read_program("model.onnx", dims={"batch": 8})
>>> program.totals["macs"]
>>> mlsysim.Engine.solve(program.workload(), mlsysim.Hardware.H100).latency
"""

from typing import NamedTuple

from . import _mlsysim as _core
from . import specs as _specs  # noqa: F401: gives the classes their Python side
from .files import _read_bytes

__all__ = ["Operator", "Program", "read_program", "stablehlo_text"]


class Operator(NamedTuple):
    """One operator, calls and loops around it expanded.

    `rows`, `columns`, `depth`, `copies` are the extents of a product or convolution, 0 for other operators; `flops`
    other arithmetic; shapes are (format, extents), an extent below 0 is the symbol -2 - extent. Operators with the
    same `kernel` run as one where chains are fused.
    """

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
    operands: list
    results: list

    @property
    def macs(self):
        """Multiply-adds of all its executions."""
        return self.rows * self.columns * self.depth * self.copies * self.times


class Program:
    """A program as a list of operators."""

    def __init__(self, core):
        self._core = core

    @property
    def name(self):
        """The file that it was read from."""
        return self._core.name

    @property
    def format(self):
        """What kind of file it is: "ONNX", "StableHLO text"."""
        return self._core.format

    @property
    def version(self):
        """Version as the file states it, empty where it states none."""
        return self._core.version

    @property
    def main_format(self):
        """The number format of most of its products: run it in this one to have it as it is written."""
        return self._core.main_format

    @property
    def open(self):
        """Sizes and trip counts that nothing bound."""
        return self._core.open

    @property
    def notes(self):
        """What the reader has to say."""
        return self._core.notes

    @property
    def unknown(self):
        """Operators and targets of calls without a rule: how often they occur."""
        return self._core.unknown

    @property
    def branches(self):
        """(name, least, most) multiply-adds of the sides of each branch; the list holds the side with the most."""
        return self._core.branches

    @property
    def operators(self):
        """The operators, in order."""
        return [Operator(*row) for row in self._core.operators]

    @property
    def totals(self):
        """Sums: operators, kernels, macs, flops, weights, weight_bytes, traffic, fused_traffic, peak_activations [B], ..."""
        return self._core.totals

    def workload(self):
        """The Workload. Raises InputError that lists what is open."""
        (spec,) = self._core.workload().values()
        return spec

    def graph(self, language="mermaid", depth=3):
        """The graph of its modules in Mermaid or "dot"; `depth` parts of their paths are shown."""
        if language not in ("mermaid", "dot"):
            raise ValueError(f"language is '{language}': expected mermaid or dot")
        return self._core.graph(language, depth)

    def __repr__(self):
        return f"<Program {self.name}: {self.format}, {len(self._core.operators)} operators>"


def read_program(path, *, text=None, dims=None, trip_counts=None, weights=(), force=False):
    """Reads a program from a file, or from `text` (str or bytes), the ending of `path` saying what it is.

    `dims` binds open sizes by name, `trip_counts` loops whose count depends on data, `weights` names arguments that
    are weights ("*": all but the last). Portable artifacts of StableHLO are read where jaxlib is installed. Raises
    InputError with file, line or node and what to do.
    """
    import os

    path = os.fspath(path)
    if text is None and path.endswith((".bc", ".mlirbc")):
        try:
            text = stablehlo_text(path)
        except ImportError:
            pass  # the reader says what is missing
    if isinstance(text, str):
        text = text.encode()
    return Program(_core._read_program(path, text, dict(dims or {}), dict(trip_counts or {}), list(weights), force))


def stablehlo_text(path):
    """The text of a portable artifact of StableHLO. Needs jaxlib (pip install jaxlib).

    Raises ImportError without it, and ValueError where it does not know the version.
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    data = _read_bytes(path, "a portable artifact")
    with ir.Context() as context:
        stablehlo.register_dialect(context)
        return str(stablehlo.deserialize_portable_artifact(context, data))

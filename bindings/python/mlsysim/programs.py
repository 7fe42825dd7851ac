r"""Model graphs at operator level: ONNX, StableHLO and MHLO.

>>> text = ("func.func @main(%a: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {\n"
...         " %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>\n"
...         " return %0 : tensor<4x8xf32> }")
>>> mlsysim.read_program("layer.mlir", text=text, weights=["arg1"]).totals["macs"] == 4 * 16 * 8
True
"""

from typing import NamedTuple

from . import _mlsysim as _core
from . import specs as _specs  # noqa: F401: gives the classes their Python side
from .files import _read_bytes

__all__ = ["Operator", "Program", "read_program", "stablehlo_text"]


class Operator(NamedTuple):
    """One operator of a program, with calls and loops expanded.

    Attributes
    ----------
    name, path, kind : str
        Operator, its place in the modules, and its kind.
    times : float
        Executions.
    rows, columns, depth, copies : float
        Extents of a product or convolution; 0 for other operators.
    flops, transcendentals : float
        Other arithmetic of one execution.
    line : int
        Line or node of the file.
    kernel : int
        Operators of one kernel run together where chains are fused.
    operands, results : list
        (format, extents) of the tensors. An extent below 0 is the symbol -2 - extent.
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
        """Multiply-adds of all executions."""
        return self.rows * self.columns * self.depth * self.copies * self.times


class Program:
    """Model graph as a list of operators; `read_program` makes it.

    Attributes
    ----------
    name, format, version : str
        File, its format ("ONNX", "StableHLO text") and version.
    operators : list of Operator
        The operators, in order.
    totals : dict
        Sums over the operators.
    open, notes, unknown
        Sizes without a value, notes of the reader, and operators without a rule.
    """

    def __init__(self, core):
        self._core = core

    @property
    def name(self):
        """File that the program was read from."""
        return self._core.name

    @property
    def format(self):
        """Format of the file: "ONNX", "StableHLO text"."""
        return self._core.format

    @property
    def version(self):
        """Version that the file states; empty if it states none."""
        return self._core.version

    @property
    def main_format(self):
        """Number format of most products. Evaluate the model in this precision to have it as it is written."""
        return self._core.main_format

    @property
    def open(self):
        """Sizes and trip counts without a value."""
        return self._core.open

    @property
    def notes(self):
        """Notes of the reader."""
        return self._core.notes

    @property
    def unknown(self):
        """{name: count} of operators and call targets without a rule."""
        return self._core.unknown

    @property
    def branches(self):
        """(name, least, most) multiply-adds of the sides of each branch. The list of operators has the side with the most."""
        return self._core.branches

    @property
    def operators(self):
        """Operators, in order."""
        return [Operator(*row) for row in self._core.operators]

    @property
    def totals(self):
        """Sums over the operators: operators, kernels, macs, flops, weights, weight_bytes, traffic, fused_traffic, peak_activations [B] and more."""
        return self._core.totals

    def workload(self):
        r"""Convert to a model.

        Returns
        -------
        Workload

        Raises
        ------
        InputError
            A size is open; the message lists all of them.

        Examples
        --------
        >>> text = ("func.func @main(%a: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {\n"
        ...         " %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>\n"
        ...         " return %0 : tensor<4x8xf32> }")
        >>> len(mlsysim.read_program("layer.mlir", text=text, weights=["arg1"]).workload().operators)
        1
        """
        (spec,) = self._core.workload().values()
        return spec

    def graph(self, language="mermaid", depth=3):
        r"""Draw the graph of the modules.

        Parameters
        ----------
        language : {"mermaid", "dot"}, default "mermaid"
            Language of the graph.
        depth : int, default 3
            Parts of the module paths to show.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            The language is not known.

        Examples
        --------
        >>> text = ("func.func @main(%a: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {\n"
        ...         " %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>\n"
        ...         " return %0 : tensor<4x8xf32> }")
        >>> mlsysim.read_program("layer.mlir", text=text).graph().startswith("flowchart")
        True
        """
        if language not in ("mermaid", "dot"):
            raise ValueError(f"language is '{language}': expected mermaid or dot")
        return self._core.graph(language, depth)

    def __repr__(self):
        return f"<Program {self.name}: {self.format}, {len(self._core.operators)} operators>"


def read_program(path, *, text=None, dims=None, trip_counts=None, weights=(), force=False):
    r"""Read a model graph.

    Parameters
    ----------
    path : path
        The file. Its ending says what it is, also with `text`.
    text : str or bytes, optional
        Content to read instead of the file.
    dims : dict, optional
        {name: extent} of open sizes.
    trip_counts : dict, optional
        {loop: count} of loops whose count depends on data.
    weights : iterable of str, optional
        Arguments that are weights; "*" means all but the last.
    force : bool, default False
        Whether a file of an unknown version is read anyway.

    Returns
    -------
    Program

    Raises
    ------
    InputError
        The file cannot be read; the message names line or node and what to do.

    Notes
    -----
    Portable artifacts of StableHLO need jaxlib.

    Examples
    --------
    >>> text = ("func.func @main(%a: tensor<?x16xf32>, %w: tensor<16x8xf32>) -> tensor<?x8xf32> {\n"
    ...         " %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<?x16xf32>, tensor<16x8xf32>) -> tensor<?x8xf32>\n"
    ...         " return %0 : tensor<?x8xf32> }")
    >>> read_program("layer.mlir", text=text, dims={"arg0.0": 4}, weights=["arg1"]).totals["weights"] == 16 * 8
    True
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
    """Convert a portable artifact of StableHLO to text.

    Parameters
    ----------
    path : path
        The artifact (.bc or .mlirbc).

    Returns
    -------
    str

    Raises
    ------
    ImportError
        jaxlib is not installed (pip install jaxlib).
    ValueError
        jaxlib does not know the version of the artifact.

    Examples
    --------
    >>> stablehlo_text("model.mlirbc").startswith("module")                                 # doctest: +SKIP
    True
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    data = _read_bytes(path, "a portable artifact")
    with ir.Context() as context:
        stablehlo.register_dialect(context)
        return str(stablehlo.deserialize_portable_artifact(context, data))

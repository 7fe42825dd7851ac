"""Laws, one class each: `mlsysim.laws.Roofline.solve(work="1 TFLOP", ...)`.

Besides `solve`, a law evaluates whole columns (`batch`), exact derivatives (`gradient`), ranges (`bounds`), inputs that meet a
target (`invert`) and derivations (`explain`). All of them come from one equation.

>>> ring = dict(message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us")
>>> mlsysim.laws.RingAllReduce.solve(**ring).time > mlsysim.q("1 ms")
True
"""

from . import _mlsysim as _core
from ._mlsysim import Quantity
from .errors import DimensionError, _input_error

__all__ = []  # filled by __getattr__


def _rows(cls):
    return cls._resolver.inputs


def _base_unit(row):
    return str(Quantity(1.0, row["unit"]).to_base().units) if row["unit"] else ""


def _base(row, value):
    """A number in the base unit of a field."""
    if isinstance(value, str):
        value = Quantity(value)
    if isinstance(value, Quantity):
        return value.m_as(_base_unit(row))
    if row["unit"]:
        raise _input_error(f"'{row['name']}' needs a unit", key=row["name"], found=f"the bare number {value!r}",
                           expected=f"a quantity in {row['unit']} or a compatible unit", kind=DimensionError,
                           id="mlsysim.python.130")
    return float(value)


def _point(cls, values):
    rows = {r["name"]: r for r in _rows(cls)}
    for name in values:
        if name not in rows:
            raise _input_error(f"{cls.__name__} takes no '{name}'", key=name, found=f"'{name}'",
                               expected=f"some of {', '.join(rows)}", hint=_core._did_you_mean(name, list(rows)),
                               id="mlsysim.python.131")
    out = []
    for name in _core._law_inputs(cls._resolver):
        row = rows[name]
        if values.get(name) is not None:
            out.append(values[name])
        elif row["required"]:
            raise _input_error(f"{cls.__name__} misses '{name}' ({row['meaning']})", key=name, found="nothing",
                               id="mlsysim.python.132")
        else:
            out.append(row["default"])
    return [(rows[n], v) for n, v in zip(_core._law_inputs(cls._resolver), out)]


def _number(row, value):
    if isinstance(value, str) and not row["unit"]:
        return float(value)
    return _base(row, value)


def _numbers(cls, values):
    return [_number(row, value) for row, value in _point(cls, values)]


def _quantity(row, base):
    return Quantity(base, _base_unit(row)).to(row["unit"]) if row["unit"] else base


_direct = {}  # law: its LawBatch


def _direct_batch(cls):
    from .arrays import QuantityArray

    _direct[cls] = made = _core._LawBatch(cls._resolver, QuantityArray)
    return made


def _batch(cls, out=None, **columns):
    """Evaluate the law for columns of inputs.

    Parameters
    ----------
    out : dict, optional
        {result: float64 array}: filled in place, in base units (seconds, bytes, ...). Only these results are computed.
    **columns
        A QuantityArray, or a float64 array for counts; a single value holds for all rows.

    Returns
    -------
    dict
        {result: QuantityArray or array}.

    Raises
    ------
    InputError
        A column is missing, unknown or of another length.
    DimensionError
        A column has no unit or one of another dimension.

    Examples
    --------
    >>> ring = dict(message="1 GB", ranks=8, alpha="5 us", bandwidth=mlsysim.q(["100 GB/s", "400 GB/s"]))
    >>> len(mlsysim.laws.RingAllReduce.batch(**ring)["time"])
    2
    """
    # Columns that are as the law takes them go straight through; the rest of this function converts and says what is wrong.
    answer = (_direct.get(cls) or _direct_batch(cls)).run(columns, out)
    if answer is not None:
        return answer
    import numpy as np

    from .arrays import QuantityArray

    inputs, points = [], None
    for row, value in _point(cls, columns):
        if isinstance(value, (list, tuple)):
            value = QuantityArray(value) if row["unit"] else np.asarray(value, dtype=np.float64)
        if isinstance(value, QuantityArray):
            column = value.m_as(_base_unit(row))
        elif getattr(value, "ndim", 0):
            if row["unit"]:
                raise _input_error(f"'{row['name']}' needs a unit", key=row["name"], found="an array without one",
                                   expected=f"Q_(array, '{row['unit']}')", kind=DimensionError, id="mlsysim.python.133")
            column = np.asarray(value, dtype=np.float64)
        else:
            inputs.append(_number(row, value))
            continue
        column = np.ascontiguousarray(column)
        if points is not None and len(column) != points:
            raise _input_error("columns of different length", key=row["name"], found=f"{len(column)} numbers",
                               expected=f"{points}, as in the others", id="mlsysim.python.134")
        points = len(column)
        inputs.append(column)
    points = 1 if points is None else points
    results = cls._resolver.outputs
    given = out or {}
    for name in given:
        if name not in {r["name"] for r in results}:
            raise _input_error(f"{cls.__name__} gives no '{name}'", key=name, found=f"'{name}'",
                               expected=f"some of {', '.join(r['name'] for r in results)}", id="mlsysim.python.135")
    buffers = [given[r["name"]] if r["name"] in given else np.empty(points) for r in results]
    _core._law_batch(cls._resolver, inputs, buffers, points)
    if out is not None:
        return given
    return {r["name"]: QuantityArray(b, _base_unit(r)) if r["unit"] else b for r, b in zip(results, buffers)}


def _gradient(cls, **values):
    """Compute the derivative of every result with respect to every input.

    Parameters
    ----------
    **values
        The inputs.

    Returns
    -------
    dict
        {(result, input): Slope}, in base units. At a kink the slopes of the two sides differ.

    Raises
    ------
    InputError
        An input is missing or unknown.

    Examples
    --------
    >>> ring = dict(message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="0 us")
    >>> round(mlsysim.laws.RingAllReduce.gradient(**ring)["time", "bandwidth"].elasticity, 9)
    -1.0
    """
    rows = _core._law_gradient(cls._resolver, _numbers(cls, values))
    return {(result, given): Slope(kind, right, left, value, elasticity)
            for result, given, kind, right, left, value, elasticity in rows}


class Slope:
    """Dependence of a result on an input, in base units.

    Attributes
    ----------
    kind : {"smooth", "kink", "step"}
        Form of the dependence.
    right, left : float
        Slopes of the two sides.
    value : float or None
        The slope; None at a kink.
    elasticity : float or None
        Relative change of the result per relative change of the input.
    """

    __slots__ = ("kind", "right", "left", "value", "elasticity")

    def __init__(self, *parts):
        for name, part in zip(self.__slots__, parts):
            setattr(self, name, part)

    def __repr__(self):
        return f"Slope({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


def _bounds(cls, **ranges):
    """Compute the range of each result for ranges of inputs.

    Parameters
    ----------
    **ranges
        A pair (low, high), or one value for a fixed input.

    Returns
    -------
    dict
        {result: (low, high)}. The range contains every value that the result can take.

    Raises
    ------
    InputError
        An input is missing or unknown.

    Examples
    --------
    >>> ring = dict(message="1 GB", ranks=8, bandwidth=("100 GB/s", "400 GB/s"), alpha="5 us")
    >>> low, high = mlsysim.laws.RingAllReduce.bounds(**ring)["time"]
    >>> low < high
    True
    """
    box = []
    for row, value in _point(cls, ranges):
        low, high = value if isinstance(value, (tuple, list)) else (value, value)
        box.append((_number(row, low), _number(row, high)))
    pairs = _core._law_bounds(cls._resolver, box)
    return {r["name"]: (_quantity(r, low), _quantity(r, high)) for r, (low, high) in zip(cls._resolver.outputs, pairs)}


def _invert(cls, free, result, equals=None, at_most=None, at_least=None, **values):
    """Find the input for which a result meets a target.

    Parameters
    ----------
    free : str
        The input to find.
    result : str
        The result with the target.
    equals, at_most, at_least : Quantity, str or float
        The target, one of the three.
    **values
        The other inputs.

    Returns
    -------
    Inverse
        Its `value` is the solution if there is exactly one.

    Raises
    ------
    InputError
        There is not exactly one target, or a name is not known.

    Examples
    --------
    >>> ring = dict(message="1 GB", ranks=8, alpha="5 us")
    >>> mlsysim.laws.RingAllReduce.invert("bandwidth", "time", equals="4 ms", **ring).outcome
    'unique'
    """
    targets = {k: v for k, v in (("equals", equals), ("at_most", at_most), ("at_least", at_least)) if v is not None}
    if len(targets) != 1:
        raise _input_error("one target is asked for", found=", ".join(targets) or "none",
                           expected="equals, at_most or at_least", id="mlsysim.python.136")
    (relation, target), = targets.items()
    rows = {r["name"]: r for r in _rows(cls)}
    results = {r["name"]: r for r in cls._resolver.outputs}
    for name, known in ((free, rows), (result, results)):
        if name not in known:
            raise _input_error(f"{cls.__name__} has no '{name}'", key=name, expected=f"one of {', '.join(known)}",
                               hint=_core._did_you_mean(name, list(known)), id="mlsysim.python.137")
    row = rows[free]
    values.setdefault(free, Quantity(1.0, row["unit"]) if row["unit"] else 1.0)
    answer = _core._law_inverse(cls._resolver, _numbers(cls, values), free, result, relation, _base(results[result], target))
    return Inverse(
        answer["outcome"],
        [(_quantity(row, low), _quantity(row, high)) for low, high, _, _ in answer["solutions"]],
        tuple(_quantity(results[result], x) for x in answer["reachable"]),
        max((s[3] for s in answer["solutions"]), default=None))


class Inverse:
    """Answer of `invert`.

    Attributes
    ----------
    outcome : {"unique", "several", "everywhere", "none", "undefined"}
        How many inputs meet the target.
    solutions : list
        (low, high) of each range of solutions.
    reachable : (Quantity, Quantity)
        Range of the result over all inputs.
    residual : float or None
        Largest relative error of a solution.
    """

    __slots__ = ("outcome", "solutions", "reachable", "residual")

    def __init__(self, *parts):
        for name, part in zip(self.__slots__, parts):
            setattr(self, name, part)

    @property
    def value(self):
        """The solution, if there is exactly one; otherwise raises SolverError."""
        if self.outcome != "unique":
            from .errors import SolverError

            raise _input_error("there is not exactly one solution", found=self.outcome, expected="unique",
                               hint="look at .outcome and .solutions", kind=SolverError, id="mlsysim.python.138")
        return self.solutions[0][0]

    def __repr__(self):
        return f"Inverse({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


def _explain(cls, open=(), **values):
    """Derive the results of the law.

    Parameters
    ----------
    open : str or iterable of str, optional
        Laws whose every operation is shown.
    **values
        The inputs.

    Returns
    -------
    str

    Raises
    ------
    InputError
        An input is missing or unknown.

    Examples
    --------
    >>> "RingAllReduce" in mlsysim.laws.RingAllReduce.explain(message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us")
    True
    """
    return _core._law_derivation(cls._resolver, _numbers(cls, values), [open] if isinstance(open, str) else list(open))


def _export(cls, *results, language="json", name="law"):
    """Write the law as a program that needs no library.

    Parameters
    ----------
    *results : str
        Results to compute; all of them without names.
    language : {"json", "c"}, default "json"
        "c" is one function `void NAME(const double *inputs, double *results)` in base units.
    name : str, default "law"
        Name of the function.

    Returns
    -------
    str
        The program. docs/reference/exported-programs.md describes the JSON.

    Examples
    --------
    >>> "void ring(" in mlsysim.laws.RingAllReduce.export("time", language="c", name="ring")
    True
    """
    return _core._law_export(cls._resolver, list(results), language, name)


_TOOLS = {
    "batch": classmethod(_batch), "gradient": classmethod(_gradient), "bounds": classmethod(_bounds),
    "invert": classmethod(_invert), "explain": classmethod(_explain),
    "export": classmethod(_export),
}


def __getattr__(name):
    if not name.startswith("_"):
        from .resolvers import _names, resolver_class

        names = _names(laws=True)
        if name in names:
            globals()[name] = cls = resolver_class(name)
            return cls
        hint = _core._did_you_mean(name, names)
        raise AttributeError(f"there is no law '{name}'" + (f"; {hint}" if hint else ""))
    raise AttributeError(name)


def __dir__():
    from .resolvers import _names

    return sorted([*_names(laws=True), "names"])


def names():
    """List the names of all laws.

    Returns
    -------
    list of str

    Examples
    --------
    >>> "Roofline" in names()
    True
    """
    from .resolvers import _names

    return _names(laws=True)

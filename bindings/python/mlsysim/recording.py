"""Laws written in Python: functions of quantities that are recorded once and then run like the shipped laws.

>>> @mlsysim.law(inputs={"work": "TFLOP", "traffic": "GB", "peak": "TFLOP/s", "bandwidth": "GB/s"}, results={"time": "ms"})
... def pass_time(work, traffic, peak, bandwidth):
...     return mlsysim.maximum(work / peak, traffic / bandwidth)
>>> pass_time.gradient(work="2 TFLOP", traffic="1 GB", peak="100 TFLOP/s", bandwidth="1 TB/s")["time", "work"].elasticity
1.0

The function is called once with symbolic values. They support + - * / **, comparisons, abs, math.floor, math.ceil and the functions
of this module; units are checked during the call. A choice that depends on a value is `where`. A function that uses `if` on a
value cannot be recorded. It is then called point by point, and its slopes are finite differences.
"""

import inspect
import math

from . import _mlsysim as _core
from ._mlsysim import Quantity
from .errors import DimensionError, InputError, _input_error

__all__ = ["law", "Law", "where", "minimum", "maximum", "ceil", "floor", "sqrt", "log", "log2", "exp"]


class _NotRecorded(Exception):
    """Why a function cannot be recorded."""


def _unit_of(unit):
    """One base unit of a dimension: a quantity, or 1.0 where there is none."""
    return Quantity(1.0, str(Quantity(1.0, unit).to_base().units)) if unit else 1.0


class _Recording:
    """Operations in the order in which they were done."""

    def __init__(self):
        self.nodes = []

    def add(self, unit, *node):
        self.nodes.append(node)
        return _Recorded(self, len(self.nodes) - 1, unit)

    def value(self, x):
        """A value of this recording: `x` itself, or a constant."""
        if isinstance(x, _Recorded):
            if x._to is not self:
                raise _NotRecorded("a value of another recording was used")
            return x
        x = _read(x)
        if isinstance(x, Quantity):
            base = x.to_base()
            return self.add(_dimension(Quantity(1.0, str(base.units)) if str(base.units) else 1.0), "constant", base.magnitude)
        if isinstance(x, (bool, int, float)) or hasattr(x, "__float__"):
            return self.add(1.0, "constant", float(x))
        raise TypeError(f"a {type(x).__name__} is no number or quantity")


def _dimension(unit):
    """A unit as it is written down: 1.0 where nothing is left of it."""
    return 1.0 if isinstance(unit, Quantity) and unit.dimensionless else unit


class _Value:
    """What has no value before a point is given."""

    __slots__ = ("_to", "_at")
    __array_ufunc__ = None  # numbers of numpy leave the arithmetic to this class

    def __init__(self, recording, at):
        self._to, self._at = recording, at

    def _no(self, *_):
        raise _NotRecorded("a value that hangs on the inputs was asked for its truth or for a plain number: use mlsysim.where instead of "
                           "if, and, or, not, min and max (mlsysim.minimum, mlsysim.maximum), and mlsysim.sqrt, log, exp instead of math's")

    __bool__ = __float__ = __int__ = __index__ = __iter__ = __len__ = __round__ = __trunc__ = _no
    __hash__ = None


class _Condition(_Value):
    """The outcome of a comparison; for `where`."""

    __slots__ = ()

    def __and__(self, other):
        return self._with("both", other)

    def __or__(self, other):
        return self._with("either", other)

    def __invert__(self):
        self._to.nodes.append(("negation", self._at))
        return _Condition(self._to, len(self._to.nodes) - 1)

    __rand__, __ror__ = __and__, __or__

    def _with(self, op, other):
        at = other._at if isinstance(other, _Condition) else self._to.add(1.0, "constant", 1.0 if other else 0.0)._at
        self._to.nodes.append((op, self._at, at))
        return _Condition(self._to, len(self._to.nodes) - 1)


def _operators(how, op):
    """An operator of a value with another, and of another with it."""
    return (lambda self, other: getattr(self, how)(op, self, self._other(other)),
            lambda self, other: getattr(self, how)(op, self._other(other), self))


class _Recorded(_Value):
    """A number of a recording with the base unit of its dimension."""

    __slots__ = ("_unit",)

    def __init__(self, recording, at, unit):
        super().__init__(recording, at)
        self._unit = unit

    def _other(self, other):
        if not isinstance(other, (_Recorded, Quantity, int, float)) and not hasattr(other, "__float__"):
            return None
        return self._to.value(other)

    def _same(self, op, left, right):
        """Of two values of one dimension, which is that of the outcome."""
        if left is None or right is None:
            return NotImplemented
        left._unit + right._unit  # refuses two dimensions, as quantities do
        return self._to.add(left._unit, op, left._at, right._at)

    def _compare(self, op, left, right):
        out = self._same(op, left, right)
        return out if out is NotImplemented else _Condition(out._to, out._at)

    def _scaled(self, op, left, right):
        if left is None or right is None:
            return NotImplemented
        unit = left._unit * right._unit if op == "multiply" else left._unit / right._unit
        return self._to.add(_dimension(unit), op, left._at, right._at)

    __add__, __radd__ = _operators("_same", "add")
    __sub__, __rsub__ = _operators("_same", "subtract")
    __mul__, __rmul__ = _operators("_scaled", "multiply")
    __truediv__, __rtruediv__ = _operators("_scaled", "divide")
    __lt__, __gt__ = _operators("_compare", "less")
    __le__, __ge__ = _operators("_compare", "less_equal")
    __eq__ = _operators("_compare", "equal")[0]
    __ne__ = _operators("_compare", "not_equal")[0]

    def __pow__(self, power):
        if isinstance(power, _Recorded):
            if self._unit != 1.0 or power._unit != 1.0:
                raise _input_error("a quantity cannot be raised to a power that varies", found="a dimension that hangs on a value",
                                   expected="a plain number as power, or both without unit", kind=DimensionError, id="mlsysim.python.223")
            return self._to.add(1.0, "pow", self._at, power._at)
        power = float(power)
        unit = 1.0 if self._unit == 1.0 else _dimension(self._unit ** (int(power) if power.is_integer() else power))
        return self._to.add(unit, "pow", self._at, self._to.value(power)._at)

    def __rpow__(self, base):
        return self._to.value(base) ** self

    def __neg__(self):
        return self._to.add(self._unit, "negate", self._at)

    def __pos__(self):
        return self

    def __abs__(self):
        return self._to.add(self._unit, "abs", self._at)

    def _plain(self, op):
        if self._unit != 1.0:
            raise _input_error(f"'{op}' takes a number without unit", found=f"a quantity in {self._unit.units}", expected="a ratio of two quantities",
                               hint="divide by one unit first", kind=DimensionError, id="mlsysim.python.224")
        return self._to.add(1.0, op, self._at)

    def __ceil__(self):
        return self._plain("ceil")

    def __floor__(self):
        return self._plain("floor")

    def to(self, unit):
        """Itself: units are a matter of display. Refuses a unit of another dimension."""
        self._unit + _unit_of(str(unit))
        return self

    def to_base(self):
        return self

    def m_as(self, unit):
        """The number of these units."""
        return self.to(unit) / Quantity(1.0, str(unit)) if str(unit) else self.to("")


def _read(x):
    """A quantity that may be given as a text."""
    return Quantity(x) if isinstance(x, str) else x


def _recording_of(*values):
    return next((v._to for v in values if isinstance(v, _Value)), None)


def where(condition, yes, no):
    """Select one of two values by a condition.

    Parameters
    ----------
    condition : comparison or bool
        Conditions are joined by & | ~.
    yes, no : Quantity, float or str
        Values of one dimension.

    Returns
    -------
    Quantity or float
        `yes` where the condition holds, else `no`.

    Examples
    --------
    >>> where(2 > 1, "3 ms", "4 ms") == mlsysim.q("3 ms")
    True
    """
    to = _recording_of(condition, yes, no)
    if to is None or not isinstance(condition, _Value):
        return _read(yes if condition else no)
    if not isinstance(condition, _Condition):
        raise _NotRecorded("where takes a comparison as its condition")
    a, b = to.value(yes), to.value(no)
    a._unit + b._unit
    return to.add(a._unit, "select", condition._at, a._at, b._at)


def _fold(op, plain, values):
    values = values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values
    to = _recording_of(*values)
    if to is None:
        return plain([_read(v) for v in values])
    out = to.value(values[0])
    for v in values[1:]:
        out = out._same(op, out, to.value(v))
    return out


def minimum(*values):
    """Find the smallest of several quantities.

    Parameters
    ----------
    *values : Quantity, float or str
        Values of one dimension, or one list of them.

    Returns
    -------
    Quantity or float

    Examples
    --------
    >>> minimum("2 ms", "1 s") == mlsysim.q("2 ms")
    True
    """
    return _fold("min", min, values)


def maximum(*values):
    """Find the largest of several quantities.

    Parameters
    ----------
    *values : Quantity, float or str
        Values of one dimension, or one list of them.

    Returns
    -------
    Quantity or float

    Examples
    --------
    >>> maximum("2 ms", "1 s") == mlsysim.q("1 s")
    True
    """
    return _fold("max", max, values)


_UNARY = """{about}

Parameters
----------
x : float or Quantity
    No unit; another one raises DimensionError.

Returns
-------
{kind}

Examples
--------
>>> {op}({at})
{found}
"""


def _unary(op, plain, about, at, found):
    def function(x):
        return x._plain(op) if isinstance(x, _Recorded) else plain(float(x))

    function.__name__ = function.__qualname__ = op
    function.__doc__ = _UNARY.format(about=about, kind="int" if "." not in found else "float", op=op, at=at, found=found)
    return function


ceil = _unary("ceil", math.ceil, "Round a number without unit up to a whole number.", 2.5, "3")
floor = _unary("floor", math.floor, "Round a number without unit down to a whole number.", 2.5, "2")
log = _unary("log", math.log, "Compute the natural logarithm of a number without unit.", 1, "0.0")
log2 = _unary("log2", math.log2, "Compute the logarithm to base 2 of a number without unit.", 8, "3.0")
exp = _unary("exp", math.exp, "Compute the exponential of a number without unit.", 0, "1.0")


def sqrt(x):
    """Compute the square root of a quantity and its unit.

    Parameters
    ----------
    x : Quantity or float
        Not negative.

    Returns
    -------
    Quantity or float

    Examples
    --------
    >>> sqrt(9)
    3.0
    """
    if isinstance(x, _Recorded):
        return x._to.add(1.0 if x._unit == 1.0 else _dimension(x._unit**0.5), "sqrt", x._at)
    return x**0.5 if isinstance(x, Quantity) and not x.dimensionless else math.sqrt(float(x))


class Results(dict):
    """Results of a law by name. `method` says how they were found ("exact" or differences)."""

    method = "exact"


class Law:
    """Law made from a function, with the methods of the laws of `mlsysim.laws`. `mlsysim.law` makes it; a call runs the function.

    Attributes
    ----------
    recorded, why : bool, str or None
        Whether the function was recorded, and why not.
    method : str
        How results are found.

    Examples
    --------
    >>> half = mlsysim.law({"work": "TFLOP", "peak": "TFLOP/s"}, {"time": "s"})(lambda work, peak: work / peak)
    >>> half.recorded, half.solve(work="4 TFLOP", peak="2 TFLOP/s").time == mlsysim.q("2 s")
    (True, True)
    """

    def __init__(self, function, inputs, results, name=None):  # rows; made by `law`
        self.__wrapped__, self.__doc__, self.__name__ = function, function.__doc__, name or function.__name__
        self._inputs, self._results = [dict(r) for r in inputs], [dict(r) for r in results]
        parameters = inspect.signature(function).parameters
        for row in self._inputs:
            if row["name"] not in parameters:
                raise _input_error(f"the function '{self.__name__}' takes no '{row['name']}'", key=row["name"], found=f"'{row['name']}'",
                                   expected=f"some of {', '.join(parameters)}", hint=_core._did_you_mean(row["name"], list(parameters)),
                                   id="mlsysim.python.225")
            default = parameters[row["name"]].default
            if row["default"] is None and default is not inspect.Parameter.empty:
                row["default"] = default
            if row["default"] is not None:
                value = _read(row["default"])
                row["default"] = value.m_as(str(_unit_of(row["unit"]).units)) if row["unit"] else float(value)
        self.why = None
        program, outputs = None, []
        recording = _Recording()
        try:
            given = {r["name"]: recording.add(_unit_of(r["unit"]), "input", i) for i, r in enumerate(self._inputs)}
            outputs = [recording.value(x) for x in self._listed(function(**given))]
        except (_NotRecorded, TypeError, AttributeError) as error:
            self.why = str(error)
        else:
            for row, out in zip(self._results, outputs):
                self._check(row, out._unit)
            program, outputs = recording.nodes, [x._at for x in outputs]
        self.recorded = self.why is None
        about = (inspect.getdoc(function) or self.__name__).split("\n")[0].rstrip(".")
        self._resolver = _core._python_law(self.__name__, about, f"{', '.join(r['name'] for r in self._results)} = {self.__name__}(...)", self._inputs,
                                           self._results, program, [] if self.why else outputs, None if self.recorded else self._plain)
        from .laws import _TOOLS
        from .resolvers import _make

        self._class = _make(self._resolver)
        for tool, function in _TOOLS.items():  # also where they take differences
            setattr(self._class, tool, function)
        self.method, self._slopes = _core._law_methods(self._resolver)

    def _check(self, row, unit):
        try:
            unit + _unit_of(row["unit"])
        except DimensionError:
            raise _input_error(f"'{row['name']}' of {self.__name__} has another dimension", key=row["name"],
                               found=f"a result in {unit.units}" if isinstance(unit, Quantity) else "a plain number", expected=row["unit"] or "a plain number",
                               kind=DimensionError, id="mlsysim.python.226") from None

    def _listed(self, answer):
        """What the function returned, one value a result."""
        if isinstance(answer, dict):
            odd = set(answer) ^ {r["name"] for r in self._results}
            if odd:
                raise _input_error(f"{self.__name__} returned other results than it states", found=", ".join(answer),
                                   expected=", ".join(r["name"] for r in self._results), id="mlsysim.python.227")
            return [answer[r["name"]] for r in self._results]
        values = list(answer) if isinstance(answer, (tuple, list)) else [answer]
        if len(values) != len(self._results):
            raise _input_error(f"{self.__name__} returned other results than it states", found=f"{len(values)} values",
                               expected=f"{len(self._results)}", id="mlsysim.python.227")
        return values

    def _plain(self, numbers):
        """One point, in base units."""
        given = {r["name"]: _unit_of(r["unit"]) * x for r, x in zip(self._inputs, numbers)}
        out = []
        for row, value in zip(self._results, self._listed(self.__wrapped__(**given))):
            value = _read(value)
            self._check(row, value)
            out.append(value.m_as(str(_unit_of(row["unit"]).units)) if row["unit"] else float(value))
        return out

    def __call__(self, *args, **given):
        return self.__wrapped__(*args, **given)

    def __getattr__(self, name):
        if name.startswith("__") or name == "_class":
            raise AttributeError(name)
        return getattr(self._class, name)

    def batch(self, out=None, **columns):
        """Evaluate the law for columns of inputs.

        Parameters
        ----------
        out : dict, optional
            {result: float64 array}: filled in place, in base units.
        **columns
            A QuantityArray, or a float64 array for counts; a single value holds for all rows.

        Returns
        -------
        Results
            {result: QuantityArray or array}; its `method` says how they were found.

        Examples
        --------
        >>> time = mlsysim.law({"work": "TFLOP", "peak": "TFLOP/s"}, {"time": "s"})(lambda work, peak: work / peak)
        >>> len(time.batch(work=mlsysim.q([1, 2], "TFLOP"), peak="1 TFLOP/s")["time"])
        2
        """
        return self._said(self._class.batch(out=out, **columns), self.method)

    def gradient(self, **values):
        """Compute the derivative of every result with respect to every input.

        Parameters
        ----------
        **values
            The inputs.

        Returns
        -------
        Results
            {(result, input): Slope}; its `method` says whether they are exact.

        Examples
        --------
        >>> time = mlsysim.law({"work": "TFLOP", "peak": "TFLOP/s"}, {"time": "s"})(lambda work, peak: work / peak)
        >>> time.gradient(work="2 TFLOP", peak="1 TFLOP/s")["time", "work"].elasticity
        1.0
        """
        return self._said(self._class.gradient(**values), self._slopes)

    def explain(self, open=(), **values):
        """Raise SolverError: the steps of a function in Python have no names.

        Parameters
        ----------
        open, **values
            As for a shipped law.

        Raises
        ------
        SolverError
            Always. `ask(law, ...).sensitivity(result)` shows which inputs matter, `export` every operation.

        Examples
        --------
        >>> time = mlsysim.law({"work": "TFLOP", "peak": "TFLOP/s"}, {"time": "s"})(lambda work, peak: work / peak)
        >>> time.explain(work="2 TFLOP", peak="1 TFLOP/s")
        Traceback (most recent call last):
        mlsysim.errors.SolverError: ...
        """
        from .errors import SolverError

        raise _input_error(f"{self.__name__} has no derivation", found="a law written in Python", expected="a law that ships, or a scenario",
                           hint="ask(law, ...).sensitivity(result) says what a result hangs on; export() shows every operation", kind=SolverError,
                           id="mlsysim.python.230")

    def export(self, *results, language="json", name="law"):
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

        Examples
        --------
        >>> time = mlsysim.law({"work": "TFLOP", "peak": "TFLOP/s"}, {"time": "s"})(lambda work, peak: work / peak)
        >>> "void seconds(" in time.export(language="c", name="seconds")
        True
        """
        return _core._law_export(self._resolver, list(results), language, name)

    @staticmethod
    def _said(found, method):
        out = Results(found)
        out.method = method
        return out

    def __repr__(self):
        return f"<law {self.__name__}, {self.method}>"


def _row(name, spec):
    """A field from its unit, or from a dict: unit, meaning, low, high, above, whole, default."""
    spec = {"unit": spec} if isinstance(spec, str) or spec is None else dict(spec)
    row = {"name": name, "unit": spec.pop("unit", "") or "", "meaning": spec.pop("meaning", ""), "low": spec.pop("low", None), "high": spec.pop("high", None),
           "open_low": False, "whole": spec.pop("whole", False), "default": spec.pop("default", None)}
    if "above" in spec:
        row["low"], row["open_low"] = spec.pop("above"), True
    if spec:
        known = ("unit", "meaning", "low", "high", "above", "whole", "default")
        odd = next(iter(spec))
        raise _input_error(f"a field has no '{odd}'", key=name, found=f"'{odd}'", expected=f"some of {', '.join(known)}",
                           hint=_core._did_you_mean(odd, list(known)), id="mlsysim.python.228")
    return row


def law(inputs, results, name=None):
    """Make a law of a function, as a decorator.

    Parameters
    ----------
    inputs, results : dict
        {name: unit}, "" for plain numbers, or {name: {"unit": "GB", "meaning": "...", "low": 0, "high": 1, "above": 0, "whole": True,
        "default": "1 GB"}}; the range is in that unit.
    name : str, optional
        Name of the law; by default that of the function.

    Returns
    -------
    callable
        Takes the function and returns a Law. The function takes the inputs by name and returns one value for each result, as a tuple
        or dict if there are several.

    Raises
    ------
    InputError
        A field is not known, or the function and the fields have different names.
    DimensionError
        The function returns a value of another dimension than its result has.

    Examples
    --------
    >>> @mlsysim.law(inputs={"work": "TFLOP", "peak": "TFLOP/s"}, results={"time": "ms"})
    ... def compute_time(work, peak):
    ...     return work / peak
    >>> compute_time.solve(work="2 TFLOP", peak="1 TFLOP/s").time == mlsysim.q("2 s")
    True
    """
    for what, given in (("inputs", inputs), ("results", results)):
        if not isinstance(given, dict) or not given:
            raise _input_error(f"a law states its {what}", key=what, found=repr(given), expected="{'time': 'ms'}", kind=InputError, id="mlsysim.python.229")
    rows = [[_row(key, spec) for key, spec in given.items()] for given in (inputs, results)]
    return lambda function: Law(function, *rows, name)

"""Results: immutable objects with named, typed fields.

A result of one's own lists its fields as annotations:

    class PowerEfficiencyResult(SolverResult):
        flops_per_watt: Quantity
        is_efficient: bool

Fields are checked against their types when the result is made.
"""

import sys

from . import _mlsysim as _core, compat
from ._mlsysim import Quantity
from .errors import _input_error

__all__ = ["Infeasible", "OptimizerResult", "Skipped", "SolverResult"]

_MISSING = object()
# What a field would hide, or be hidden by.
_TAKEN = ("fields", "dict", "to_dict", "assumptions", "warnings")


def _own_names(cls):
    """Fields that a class adds; their types may not be known yet."""
    if sys.version_info >= (3, 14):
        import annotationlib

        own = annotationlib.get_annotations(cls, format=annotationlib.Format.STRING)
    else:
        own = cls.__dict__.get("__annotations__", {})
    return [name for name, kind in own.items() if "ClassVar" not in str(kind)]


class SolverResult:
    """Base of results: an immutable object whose fields are the annotations of its class.

    Parameters
    ----------
    **values
        One value for each field. A value in the class body is the default of a field; each result gets a copy of a default list
        or dict.

    Raises
    ------
    InputError
        A field is missing, unknown or of the wrong type. An int is accepted as a float.

    Examples
    --------
    >>> class Price(mlsysim.SolverResult):
    ...     total: mlsysim.Quantity
    ...     paid: bool = False
    >>> Price(total=mlsysim.q("12 USD"))
    Price(total=12 USD, paid=False)
    """

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        for name in _own_names(cls):
            if name in _TAKEN:
                raise _input_error(
                    f"{cls.__name__} has a field by the name of a method of every result", key=name, found=f"'{name}'",
                    expected=f"another name than {', '.join(_TAKEN)}", hint=f"e.g. '{name}_' or 'my_{name}'",
                    id="mlsysim.python.116")

    def __init__(self, **values):
        cls = type(self)
        state = self.__dict__
        for name, kind in _field_types(cls).items():
            value = values.pop(name, _MISSING)
            if value is _MISSING:
                value = _default(cls, name)
                if value is _MISSING:
                    raise _input_error(
                        f"{cls.__name__} misses '{name}'", key=name, found="nothing", expected=_kind_name(kind),
                        id="mlsysim.python.110")
            state[name] = _checked(cls, name, kind, value)
        if values:
            extra = next(iter(values))
            raise _input_error(
                f"{cls.__name__} has no field '{extra}'", key=extra, found=f"'{extra}'",
                expected=f"some of {', '.join(_field_types(cls)) or 'no fields'}",
                hint=_core._did_you_mean(extra, list(_field_types(cls))), id="mlsysim.python.111")

    @classmethod
    def fields(cls):
        """List the names of the fields.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> mlsysim.OptimizerResult.fields()
        ('objective_value', 'best_config', 'total_searched')
        """
        return tuple(_field_types(cls))

    def dict(self):
        """Convert to a dict of values; nested results become dicts.

        Returns
        -------
        dict

        Examples
        --------
        >>> mlsysim.OptimizerResult(objective_value=1.5, best_config={}, total_searched=8).dict()["total_searched"]
        8
        """
        return {n: v.dict() if isinstance(v, SolverResult) else v for n, v in ((n, getattr(self, n)) for n in self.fields())}

    def to_dict(self):
        """Convert to plain data for JSON. Quantities become exact texts.

        Returns
        -------
        dict

        Examples
        --------
        >>> mlsysim.OptimizerResult(objective_value=mlsysim.q("2 ms"), best_config={}, total_searched=8).to_dict()["objective_value"]
        '2 ms'
        """
        return _jsonable(self.dict())

    @property
    def assumptions(self):
        """(name, value, source) of values that were not given; empty for resolvers in Python."""
        return []

    @property
    def warnings(self):
        """Limits of the answer, as sentences."""
        return []

    def __getattr__(self, name):
        return compat.member(self, name)

    def __setattr__(self, name, value):
        raise AttributeError(f"results are immutable: '{name}' of {type(self).__name__} cannot be set")

    def __delattr__(self, name):
        raise AttributeError(f"results are immutable: '{name}' of {type(self).__name__} cannot be deleted")

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return self.dict() == other.dict()

    def __hash__(self):
        return hash((type(self), tuple(getattr(self, n) for n in self.fields())))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{n}={_shown(getattr(self, n))}' for n in self.fields())})"

    def _repr_html_(self):
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(n)}</th><td style='text-align:left'>{escape(_shown(v))}</td></tr>"
            for n, v in _flat(self))
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return (_restore, (type(self), dict(self.__dict__)))


def _restore(cls, state):
    result = object.__new__(cls)
    result.__dict__.update(state)
    return result


def _flat(result, prefix=""):
    for name in result.fields():
        value = getattr(result, name)
        if isinstance(value, SolverResult):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _shown(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value) if isinstance(value, Quantity) else repr(value)


def _jsonable(value):
    if isinstance(value, Quantity):
        return str(value.units) and _exact(value) or value.magnitude
    if isinstance(value, dict):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "name", None) or str(value)


def _exact(quantity):
    return repr(quantity)[len("Quantity('"):-len("')")]


class OptimizerResult(SolverResult):
    """Result of a search.

    Attributes
    ----------
    objective_value : Quantity or float
        Value of the best design.
    best_config : Any
        The best design.
    total_searched : int
        Number of candidates, at least 0. An optimizer in Python counts them itself.

    Raises
    ------
    InputError
        The objective is not a number, or the count is negative.
    """

    objective_value: "Any"
    best_config: "Any"
    total_searched: int

    def __init__(self, **values):
        super().__init__(**values)
        if isinstance(self.objective_value, bool) or not (
                isinstance(self.objective_value, Quantity) or hasattr(self.objective_value, "__float__")):
            raise _input_error("the objective is no number", key="objective_value", found=repr(self.objective_value),
                               expected="a number or a quantity", id="mlsysim.python.112")
        if self.total_searched < 0:
            raise _input_error("a search looks at no less than nothing", key="total_searched",
                               found=str(self.total_searched), expected="a count", id="mlsysim.python.117")


class Infeasible(SolverResult):
    """Answer of a resolver that has no result. It is false in conditions.

    Attributes
    ----------
    resolver, reason : str
        The resolver, and why it has no result.
    smallest_change : str
        Change that would give a result.
    facts : Any
        Numbers behind the reason.
    feasible : bool
        False.
    """

    resolver: str
    reason: str
    smallest_change: str = ""
    facts: "Any" = None
    feasible: bool = False

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"{self.resolver} has no '{name}': {self.reason}")

    def __bool__(self):
        return False


class Skipped(SolverResult):
    """Answer of a stage that did not run because its input has no result. It is false in conditions.

    Attributes
    ----------
    stage, reason : str
        The stage, and why it did not run.
    feasible : bool
        False.
    """

    stage: str
    reason: str
    feasible: bool = False

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"'{self.stage}' has no '{name}': it was skipped, because {self.reason}")

    def __bool__(self):
        return False


# Types of fields -----------------------------------------------------------------------------------------------------

_types = {}


def _default(cls, name):
    value = getattr(cls, name, _MISSING)
    if isinstance(value, (list, dict, set, bytearray)):
        import copy

        return copy.deepcopy(value)  # or all results would share it
    return value


def _field_types(cls):
    """{field: type}, resolved when the first result of a class is made."""
    if cls not in _types:
        found = {}
        for base in reversed(cls.__mro__):
            if base is object or base is SolverResult:
                continue
            own = base.__dict__.get("__annotations__")
            if own is None and sys.version_info >= (3, 14):
                own = base.__annotations__
            for name, kind in (own or {}).items():
                if not name.startswith("_") and "ClassVar" not in str(kind):
                    found[name] = _resolved(base, name, kind) if isinstance(kind, str) else kind
        _types[cls] = found
    return _types[cls]


def _resolved(cls, name, text):
    if text in ("Any", "typing.Any"):
        return object
    scope = {"Quantity": Quantity, **vars(sys.modules.get(cls.__module__, sys))}
    try:
        return eval(text, scope)  # noqa: S307: the annotation of a class that runs anyway
    except Exception as error:
        raise _input_error(f"the type of '{name}' of {cls.__name__} cannot be found", key=name, found=f"'{text}'",
                           expected="a name known in its module", hint=str(error), id="mlsysim.python.113") from None


def _kind_name(kind):
    if getattr(kind, "__origin__", None) is not None:
        return str(kind).replace("typing.", "").replace("mlsysim._mlsysim.", "")
    return "a value" if kind is object else getattr(kind, "__name__", str(kind))


def _checked(cls, name, kind, value):
    fits, value = _fit(kind, value)
    if not fits:
        hint = "say the unit: Q_(number, unit)" if kind is Quantity and isinstance(value, (int, float)) else ""
        if kind is float and isinstance(value, Quantity):
            hint = "take .m_as(unit)"
        raise _input_error(f"'{name}' of {cls.__name__} has the wrong type", key=name,
                           found=f"{value!r} ({type(value).__name__})", expected=_kind_name(kind), hint=hint,
                           id="mlsysim.python.114")
    return value


def _fit(kind, value):
    """Whether a value is of a type, and the value as it is kept."""
    if kind is object or str(kind) == "typing.Any":
        return True, value
    if kind is None or kind is type(None):
        return value is None, value
    if kind is bool:
        is_flag = isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")
        return is_flag, bool(value) if is_flag else value
    if kind is float:
        is_number = not isinstance(value, (bool, str, Quantity)) and hasattr(value, "__float__")
        return is_number, float(value) if is_number else value
    if kind is int:
        is_count = not isinstance(value, bool) and hasattr(value, "__index__")
        return is_count, int(value) if is_count else value
    origin = getattr(kind, "__origin__", None)
    if str(origin) == "typing.Union" or type(kind).__name__ == "UnionType":
        for one in kind.__args__:
            fits, kept = _fit(one, value)
            if fits:
                return True, kept
        return False, value
    if str(origin) == "typing.Literal":
        return value in kind.__args__, value
    if hasattr(kind, "__metadata__"):  # Annotated
        return _fit(kind.__origin__, value)
    if origin is not None:
        if not isinstance(origin, type):
            return True, value
        return _fit_container(origin, getattr(kind, "__args__", ()), value) if isinstance(value, origin) else (False, value)
    return (isinstance(value, kind) if isinstance(kind, type) else True), value


def _fit_container(origin, kinds, value):
    """The same for what a container holds. Only plain containers are made anew, where that changes what they hold."""
    if not kinds or not isinstance(value, (list, tuple, set, frozenset, dict)):
        return True, value
    if isinstance(value, dict):
        each = [(_fit(kinds[0], k), _fit(kinds[-1], v)) for k, v in value.items()]
        if not all(k[0] and v[0] for k, v in each):
            return False, value
        kept = {k[1]: v[1] for k, v in each}
        changed = any(a is not b for a, b in zip(kept.values(), value.values())) or list(kept) != list(value)
    else:
        if isinstance(value, tuple) and issubclass(origin, tuple):
            if kinds[-1] is Ellipsis:
                kinds = kinds[:1] * len(value)
            elif kinds == ((),):
                kinds = ()
            if len(kinds) != len(value):
                return False, value
        else:
            kinds = kinds[:1] * len(value)
        each = [_fit(kind, v) for kind, v in zip(kinds, value)]
        if not all(fits for fits, _ in each):
            return False, value
        kept = [v for _, v in each]
        changed = any(a is not b for a, b in zip(kept, value))
    return True, type(value)(kept) if changed and type(value) in (list, tuple, set, frozenset, dict) else value


# Results of the compiled resolvers ------------------------------------------------------------------------------------

class _CoreResult(_core._Result, SolverResult):
    """Result of a compiled resolver; fields are converted when they are read."""

    _names = ()
    _resolver_name = ""
    _path = ""

    def __init__(self, *args, **values):
        raise _input_error(f"{type(self).__name__} is made by {self._resolver_name}.solve()", id="mlsysim.python.115")

    @classmethod
    def fields(cls):
        return cls._names

    @property
    def assumptions(self):
        """Defaults that were used and assumptions that were made: (name, value, source) each."""
        return _core._assumptions(self)

    @property
    def warnings(self):
        """What the answer should be read with."""
        return _core._warnings(self)

    @property
    def verification(self):
        """What came of putting the answer back into its equation, in words."""
        return _core._verification(self)

    @property
    def inputs(self):
        """The inputs of this result; empty for a result of a pipeline, a sweep or a pickle."""
        return _core._inputs(self)

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return self.dict() == other.dict() if self._path else _core._base_values(self) == _core._base_values(other)

    def __hash__(self):
        return hash((type(self), _core._base_values(self)))

    def __reduce__(self):
        return (_rebuild, (self._resolver_name, self._path, _core._base_values(self), self.assumptions, self.warnings))


def _rebuild(resolver, path, values, assumptions, warnings):
    from .resolvers import resolver_class

    cls = resolver_class(resolver).produces
    result = _core._rebuild(cls, _core._resolver(resolver), values, assumptions, warnings)
    for part in path.split(".") if path else ():
        result = getattr(result, part)
    return result


def _make_class(name, resolver, outputs, path=""):
    """The class of the results of a compiled resolver; nested structs get classes of their own."""
    prefix = path + "." if path else ""
    plain, nested, names = {}, {}, []
    for row in outputs:
        if not row["name"].startswith(prefix):
            continue
        own, dot, _ = row["name"][len(prefix):].partition(".")
        if own not in names:
            names.append(own)
        if dot:
            nested[own] = prefix + own
        else:
            plain[own] = row["name"]
    space = {"__doc__": f"Result of {resolver.name}: {resolver.about}." if not path else f"`{path}` of {resolver.name}.",
             "__module__": "mlsysim.results", "__slots__": (), "_names": tuple(names), "_resolver_name": resolver.name,
             "_path": path}
    for own, inner in nested.items():
        part = "MemoryBreakdown" if own == "memory" else "".join(w.capitalize() for w in own.split("_"))
        cls = _make_class(f"{name}_{part}", resolver, outputs, inner)
        space[own] = property(lambda self, cls=cls: _core._nested(self, cls), doc=f"`{inner}`")
    made = type(name, (_CoreResult,), space)
    _core._add_fields(made, resolver, plain)
    return made


# Names that differ from that of the resolver.
_RESULT_NAMES = {"SingleNodeModel": "PerformanceProfile", "CompressionOptimizer": "CompressionOptimizerResult"}


def result_name(resolver):
    """Return the name of the result class of a resolver.

    Parameters
    ----------
    resolver : str
        Name of the resolver.

    Returns
    -------
    str

    Examples
    --------
    >>> result_name("DistributedModel")
    'DistributedResult'
    """
    if resolver in _RESULT_NAMES:
        return _RESULT_NAMES[resolver]
    for tail in ("Model", "Solver", "Optimizer"):
        if resolver.endswith(tail):
            return resolver[: -len(tail)] + "Result"
    return resolver + "Result"


def __getattr__(name):
    if not name.startswith("_"):
        for resolver in _core._resolver_names():
            if result_name(resolver) == name:
                from .resolvers import resolver_class

                return resolver_class(resolver).produces
    raise AttributeError(f"module 'mlsysim.results' has no attribute '{name}'")

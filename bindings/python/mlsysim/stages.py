"""Resolvers of Python as the library takes them: stages of a graph, subjects of questions, entries of its registry."""

from . import _mlsysim as _core
from ._mlsysim import Quantity
from .base import BaseResolver, _defined
from .errors import _input_error
from .results import Infeasible, SolverResult, _field_types

__all__ = ["Stage", "also_text", "publish"]


def _kind_of(value):
    """(kind, unit) of a value as a field of the library."""
    if isinstance(value, bool):
        return "flag", ""
    if isinstance(value, (int, float)):
        return "number", ""
    if isinstance(value, Quantity):
        return ("quantity", str(value.units)) if str(value.units) else ("number", "")
    return "any", ""


_published = {}


def publish(reports=False):
    """Makes the classes of Python and of installed packages known to the library by name.

    They are then found by questions, scorecards and the command line as what ships is. One that cannot be a stage is left out,
    with a warning that says why. `reports`: what they raise becomes an error of the library, which the command line shows.
    """
    import warnings

    from .factory import _from_packages, _package_of

    packages = _from_packages()
    classes = {**packages, **_defined}
    if classes == _published:
        return
    own = []
    for name, cls in classes.items():
        origin = f"Python package {_package_of(name)}" if packages.get(name) is cls and _package_of(name) else "Python"
        try:
            own.append(Stage(cls).declared(origin, reports))
        except Exception as error:
            if name not in _published:
                warnings.warn(f"{name} cannot be used by name: {type(error).__name__}: {error}", stacklevel=3)
    _published.clear()
    _published.update(classes)
    _core._publish_resolvers(own)


def also_text(also):
    """The field `also` of a scenario: a text as it is, a class, a list of both, or {resolver: {input: value}}."""
    publish()
    if isinstance(also, str):
        return also
    calls = also.items() if isinstance(also, dict) else [(what, {}) for what in (also if isinstance(also, (list, tuple)) else [also])]
    return ", ".join(_call_text(what, inputs) for what, inputs in calls)


def _call_text(what, inputs):
    name = what if isinstance(what, str) else (what if isinstance(what, type) else type(what)).__name__
    if not inputs:
        return name
    given = ", ".join(f"{key}={getattr(value, 'name', None) or value}" for key, value in inputs.items())
    return f"{name}({given})"


class Stage:
    """A resolver of Python or of the library, as graphs, questions and scorecards take it."""

    def __init__(self, stage):
        if isinstance(stage, str):
            from .factory import ResolverFactory

            stage = ResolverFactory.get(stage)
        if isinstance(stage, type):
            stage = stage()
        self.stage = stage
        cls = type(stage)
        self.name = cls.__name__
        self.shipped = getattr(cls, "_core_solve", None) is not None and stage.solve is cls._core_solve
        if self.shipped:
            self.resolver = cls._resolver
            self.inputs = [(r["name"], r["required"]) for r in cls._resolver.inputs]
            self.outputs = [r["name"] for r in cls._resolver.outputs]
        else:
            self._read_python()

    def _read_python(self):
        import inspect

        stage, cls = self.stage, type(self.stage)
        for name in ("requires", "produces", "solve"):
            if not hasattr(stage, name):
                raise TypeError(f"{cls.__name__} is no resolver: it has no '{name}'; derive from BaseModel, BaseSolver or "
                                "BaseOptimizer, and give it 'requires', 'produces' and 'solve'")
        if not callable(stage.solve):
            raise TypeError(f"'solve' of {cls.__name__} is no method")
        parameters = inspect.signature(stage.solve).parameters.values()
        self.parameter_of, self.inputs, takes_all = {}, [], False
        self.counts = _counts(stage.solve)
        self.given, self.defaults = {}, {}
        for p in parameters:
            if p.kind is p.VAR_KEYWORD:
                takes_all = True
            elif p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL):
                raise TypeError(f"'{p.name}' of {cls.__name__}.solve() cannot be given by name")
            else:
                key = _core._canonical_key(p.name)
                self.parameter_of[key] = p.name
                self.inputs.append((key, p.default is p.empty))
                if p.default is not p.empty:
                    self.defaults[key] = p.default
        for name in stage.requires:
            key = _core._canonical_key(name)
            if key in self.parameter_of:
                continue
            if not takes_all:
                raise TypeError(f"{cls.__name__} requires '{name}', but its solve() does not take it; "
                                f"it takes {', '.join(p.name for p in parameters) or 'nothing'}")
            self.parameter_of[key] = name
            self.inputs.append((key, True))
        produces = stage.produces
        fields = _field_types(produces) if isinstance(produces, type) and issubclass(produces, SolverResult) else {}
        kinds = {float: "number", int: "number", bool: "flag", str: "text"}
        self.outputs = list(fields)
        self.output_kinds = [(n, kinds.get(k, "value")) for n, k in fields.items()]

    def solve(self, values):
        """The answer to values by the names of the library ("workload" also where a class says "model")."""
        if self.shipped:
            return self.stage.solve(**values)
        return self.stage.solve(**{self.parameter_of.get(key, key): value for key, value in values.items()})

    def build(self, instance):
        """The resolver of this stage for a graph: its inputs take what comes, with the dimension that it has."""
        if self.shipped:
            return self.resolver
        return self._resolver(instance, "Python", [(key, required, "any", "", None) for key, required in self.inputs],
                              self._declared_outputs())

    def _declared_outputs(self):
        return [(name, kind, "") for name, kind in self.output_kinds]

    def declared(self, origin, reports):
        """The resolver of this stage for the registry: kinds and units are those of annotations and defaults."""
        inputs = []
        for key, required in self.inputs:
            default = self.defaults.get(key)
            kind, unit = _kind_of(default)
            if key in self.counts:
                kind = "count"
            elif kind == "any":
                kind, unit = self._annotated(key)
            inputs.append((key, required, kind, unit, None if kind == "any" else default))
        return self._resolver(self.name, origin, inputs, self._declared_outputs(), reports)

    def _annotated(self, key):
        """(kind, unit) of an input without a default: float, bool or Annotated[Quantity, "kJ"], each also `| None`."""
        hint = _hints(self.stage.solve).get(self.parameter_of[key])
        for kind in (hint, *getattr(hint, "__args__", ())):
            if getattr(kind, "__origin__", None) is Quantity and hasattr(kind, "__metadata__"):
                return "quantity", str(kind.__metadata__[0])
        kinds = set(getattr(hint, "__args__", ())) - {type(None)} or {hint}
        return {float: "number", "float": "number", bool: "flag", "bool": "flag"}.get(kinds.pop() if len(kinds) == 1 else None, "any"), ""

    def typed(self, values):
        """The resolver of this stage for questions: a number or quantity that is given, or is a default, may be varied; results
        have the kinds and units that they have at these values."""
        values = {_core._canonical_key(name): value for name, value in values.items()}
        inputs = []
        for key, required in self.inputs:
            value = values.get(key, self.defaults.get(key))
            kind, unit = _kind_of(value)
            if kind == "number" and self.parameter_of[key] in self.counts:
                kind = "count"
            inputs.append((key, required, kind, unit, None if kind == "any" else self.defaults.get(key)))
        outputs = self._declared_outputs()
        if all(key in values for key, required in self.inputs if required):  # else the library says what is missing
            status, result, *_ = self._evaluator(self.name)({k: v for k, v in values.items() if k in self.parameter_of})
            if status == "ok":
                outputs = [(name, *_kind_of(getattr(result, name))) for name in self.outputs]
        return self._resolver(self.name, "Python", inputs, outputs)

    def _resolver(self, instance, origin, inputs, outputs, reports=False):
        about = next(iter((type(self.stage).__doc__ or "").strip().splitlines()), "")
        tier = self.stage.resolver_type() if isinstance(self.stage, BaseResolver) else "model"
        return _core._python_stage(self.name, tier, about, origin, inputs, outputs, self._evaluator(instance, reports))

    def _evaluator(self, instance, reports=False):
        stage, parameter_of, outputs = self.stage, self.parameter_of, self.outputs
        produces = stage.produces

        def evaluate(given):
            try:
                result = stage.solve(**{parameter_of[key]: self._as_given(key, value) for key, value in given.items()})
                if isinstance(result, Infeasible):
                    return ("infeasible", result.reason, result.smallest_change, dict(result.facts or {}))
                if isinstance(produces, type) and not isinstance(result, produces):
                    raise TypeError(f"{type(stage).__name__}.solve() gave a {type(result).__name__}; it produces "
                                    f"{produces.__name__}")
            except BaseException as error:
                if reports and isinstance(error, Exception):
                    return ("failed", type(error).__name__, str(error))
                _add_note(error, f"in stage '{instance}'")
                raise
            return ("ok", result, [getattr(result, name) for name in outputs])

        return evaluate

    def _as_given(self, key, value):
        """The graph knows numbers as floats in base units: what the caller gave comes back as it was, counts become ints."""
        own = self.given.get(key)
        if own is not None and not isinstance(own, (bool, str)):
            same_kind = isinstance(value, Quantity) if isinstance(own, Quantity) else isinstance(value, float) and hasattr(own, "__float__")
            if same_kind and own == value:
                value = own
        if isinstance(value, float) and self.parameter_of[key] in self.counts:
            if not value.is_integer():
                raise _input_error(f"'{self.parameter_of[key]}' of {self.name}.solve() is an int", key=key, found=str(value),
                                   expected="a whole number", id="mlsysim.python.153")
            value = int(value)
        return value


def _hints(function):
    """The annotations of the parameters."""
    import typing

    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # a name that only a type checker knows
        return getattr(function, "__annotations__", {})


def _counts(function):
    """Names of the parameters that are ints."""
    out = set()
    for name, kind in _hints(function).items():
        kinds = set(getattr(kind, "__args__", ())) or {kind}
        if kinds & {int, "int"} and kinds <= {int, "int", type(None)}:
            out.add(name)
    return out


def _add_note(error, note):
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.__notes__ = [*getattr(error, "__notes__", []), note]


def sweep(resolver, model, hardware_list, batch_sizes, precisions, options):
    """The rows of Engine.sweep for any resolver."""
    from .errors import Error

    stage = Stage(resolver)
    takes = dict(stage.inputs)
    rows = []
    for hardware in hardware_list:
        for batch in batch_sizes:
            for precision in precisions:
                row = {"hardware": hardware, "batch_size": batch, "precision": precision, "profile": None}
                point = {"workload": model, "hardware": hardware, "batch_size": batch, "precision": precision}
                known = {**{key: value for key, value in point.items() if key in takes}, **options}
                try:
                    row["profile"] = stage.solve(known)
                except Error as error:
                    row["skipped"] = str(error)
                rows.append(row)
    return rows

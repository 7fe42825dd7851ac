"""Pipelines: resolvers of C++ and Python on one typed graph."""

from . import _mlsysim as _core, compat
from ._mlsysim import Quantity
from .errors import PipelineError, _input_error
from .results import Infeasible, Skipped
from .stages import Stage

__all__ = ["Pipeline", "PipelineResults"]

_EVENTS = ("on_pipeline_start", "on_pipeline_end", "on_stage_start", "on_stage_end", "on_skip", "on_error", "on_infeasible",
           "on_progress", "on_break")


def _classes(name):
    from .resolvers import resolver_class

    return resolver_class(name).produces


class PipelineResults(dict):
    """{stage: result} in the order in which the stages ran.

    A stage without an answer has an Infeasible, one that was left out because of it a Skipped; both are false.
    """

    def __init__(self, rows, run):
        super().__init__(rows)
        self._run = run

    def value(self, key):
        """A value by key: a given one, or a result field that one stage has; "Stage.field" is never ambiguous."""
        return self._run.value(key)

    def explain(self, key):
        """Where a value came from: stage, law, source, and its inputs in turn."""
        return self._run.explain(key)

    def assumptions(self, stage):
        """Defaults and assumptions of a stage: (name, value, source) each."""
        return self._run.assumptions(stage)

    def warnings(self, stage):
        """What a stage warns of."""
        return self._run.warnings(stage)

    @property
    def breaks(self):
        """Stages without a full answer, as dicts with stage, reason, id, severity, text and hint: infeasible ones, and those whose
        answer rests on less than it should, once for each of their warnings."""
        return self._run.breaks()

    @property
    def complete(self):
        """Whether there is no break."""
        return not self.breaks

    def show(self):
        """All stages with their results as lines of text."""
        return self._run.show()

    def to_json(self):
        return self._run.to_json()

    def to_dict(self):
        return {stage: result.to_dict() if hasattr(result, "to_dict") else result for stage, result in self.items()}

    def __reduce__(self):
        return (dict, (dict(self),))

    def _repr_html_(self):
        return "".join(r._repr_html_() if hasattr(r, "_repr_html_") else f"<p>{stage}</p>" for stage, r in self.items())


class _Observer:
    """Passes events to the methods that a callback has, with those of the values that they take."""

    def __init__(self, callback, events=_EVENTS):
        self.name = type(callback).__name__
        self._methods = {}
        for event in events:
            method = getattr(callback, event, None)
            if method is not None:
                self._methods[event] = (method, _parameters(method))
        if not self._methods:
            raise TypeError(f"{self.name} observes nothing: it has none of the methods {', '.join(events)}")

    def listens(self, event):
        return event in self._methods

    def notify(self, event, values):
        method, parameters = self._methods[event]
        if parameters is None:
            method(**values)
            return
        # By name where a name is known; the other parameters get what is left, in the order of the documentation.
        named = {p.name for p in parameters} & values.keys()
        left = iter([v for k, v in values.items() if k not in named])
        positional, keywords = [], {}
        for p in parameters:
            if p.kind is p.VAR_KEYWORD:
                keywords.update({k: v for k, v in values.items() if k not in named})
            elif p.kind is p.VAR_POSITIONAL:
                positional.extend(left)
            elif p.kind is p.KEYWORD_ONLY:
                if p.name in named:
                    keywords[p.name] = values[p.name]
            elif p.name in named:
                positional.append(values[p.name])
            elif p.default is p.empty:
                positional.append(next(left, None))
            else:
                positional.append(p.default)
        method(*positional, **keywords)


def _parameters(function):
    """The parameters of a function; None where they cannot be seen."""
    import inspect

    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


class Pipeline:
    """Stages that hand their results on.

    Pipeline([DistributedModel(), MyModel(), EconomicsModel()]).run(model=..., fleet=..., duration_days=30)

    An input of a stage is met by a value of that name given to `run` ("model" means "workload"), by a result field of that
    name, or by what an object implies (a fleet supplies its hardware). Stages run in the order that this asks for; the
    order of the list only breaks ties. All problems are reported at once.
    """

    def __init__(self, resolvers, name="Pipeline"):
        stages = list(resolvers)
        if not stages:
            raise _input_error("a pipeline needs stages", found="an empty list", expected="at least one resolver",
                               id="mlsysim.python.150")
        self.name = name
        self._stages = [Stage(s) for s in stages]
        self._names = []
        for stage in self._stages:
            own, n = stage.name, 2
            while own in self._names:
                own, n = f"{stage.name}_{n}", n + 1
            self._names.append(own)
        self._links = []
        self._observers = []
        self._built = {}
        self._last = None
        self._resolvers = [(name, stage.build(name)) for name, stage in zip(self._names, self._stages)]

    # Wiring -----------------------------------------------------------------------------------------------------------

    def link(self, source, target):
        """Connects a result to an input: link("A.latency", "B.time"); a key given to `run` may be the source."""
        self._links.append((source, target))
        self._built.clear()
        return self

    def _graph(self, keys):
        keys = tuple(sorted(keys))
        if keys not in self._built:
            self._built[keys] = _core._build_pipeline(self.name, self._resolvers, list(keys), self._links)
        return self._built[keys]

    def _supposed_keys(self):
        """What a run would have to be given: inputs that no stage and no object supplies."""
        produced = {o for stage in self._stages for o in stage.outputs}
        linked = {target for _, target in self._links}
        needed = {key for name, stage in zip(self._names, self._stages) for key, required in stage.inputs
                  if required and key not in produced and f"{name}.{key}" not in linked}
        if "fleet" in needed:
            needed -= {"node", "hardware", "fabric", "grid", "datacenter"}
        elif "node" in needed:
            needed -= {"hardware"}
        return needed

    def _any_graph(self):
        return self._last[0] if self._last else self._graph(self._supposed_keys())

    # Running ----------------------------------------------------------------------------------------------------------

    def run(self, **values):
        """Runs all stages: {stage: result}. An exception of a stage comes out as it is, with the stage as a note."""
        given = {}
        for name, value in values.items():
            if value is None:
                continue
            key = _core._canonical_key(name)
            if key in given:
                raise _input_error(f"'{key}' is given twice", key=key, found=f"'{name}' and another name for it",
                                   expected="one of them", kind=PipelineError, id="mlsysim.python.151")
            given[key] = Quantity(value) if isinstance(value, str) and self._reads_quantity(key) else value
        try:
            graph = self._graph(given)
        except PipelineError:
            given = compat.pipeline_again([stage.name for stage in self._stages if stage.shipped], given)
            if given is None:
                raise
            graph = self._graph(given)
        for stage in self._stages:
            stage.given = given
        try:
            run = graph.execute(given, self._observers, _classes)
        finally:
            for stage in self._stages:
                stage.given = {}
        for who, event, what in run.callback_failures():
            import warnings

            warnings.warn(f"the callback {who}.{event} failed: {what}", RuntimeWarning, stacklevel=2)
        rows = []
        for stage, status, result, reason, change, facts in run.outcomes(_classes):
            if status == "infeasible":
                result = Infeasible(resolver=stage, reason=reason, smallest_change=change, facts=facts)
            elif status != "ok":
                result = Skipped(stage=stage, reason=reason)
            rows.append((stage, result))
        results = PipelineResults(rows, run)
        self._last = (graph, results)
        return results

    def _reads_quantity(self, key):
        """Whether Python stages want a quantity here: their annotation says so."""
        for stage in self._stages:
            if not stage.shipped and key in stage.parameter_of:
                kind = getattr(stage.stage.solve, "__annotations__", {}).get(stage.parameter_of[key])
                if kind is Quantity or kind == "Quantity":
                    return True
        return False

    def register_callback(self, callback):
        """Adds an observer with any of the methods on_pipeline_start, on_pipeline_end, on_stage_start, on_stage_end,
        on_skip, on_error, on_infeasible, on_progress, on_break.

        They get, in this order: pipeline_name, seconds (pipelines); stage_name, result, seconds (ends of stages); stage_name,
        reason (skips, errors, infeasible stages); stage_name, done, total, searched (progress; searched: candidates of an optimizer
        so far, else None); stage_name, reason, id, severity, text, hint (breaks: stages without a full answer; reason is one of a
        closed list, such as "missing_field", and id its number). Parameters of these names get them by name, others by position;
        what a method does not take is left out. One that raises is named in a RuntimeWarning and changes nothing.
        """
        self._observers.append(_Observer(callback))
        return self

    # Looking ----------------------------------------------------------------------------------------------------------

    def explain(self, key=None):
        """The stages and where each input comes from; with a key, where that value of the last run came from."""
        if key is None:
            return self.show()
        if self._last is None:
            raise _input_error("nothing to explain yet", found=f"explain('{key}') before a run",
                               hint="call run(...) first, or explain() for the structure", kind=PipelineError,
                               id="mlsysim.python.152")
        return self._last[1].explain(key)

    def show(self):
        return self._any_graph().show()

    def to_dot(self):
        """The graph for Graphviz."""
        return self._any_graph().to_dot()

    def to_mermaid(self):
        """The graph for Mermaid."""
        return self._any_graph().to_mermaid()

    def to_json(self):
        return self._any_graph().to_json()

    @property
    def stages(self):
        """Names of the stages in the order of the list."""
        return tuple(self._names)

    def __len__(self):
        return len(self._stages)

    def _repr_html_(self):
        from .notebook import table

        rows = ((name, stage.stage.resolver_type() if hasattr(stage.stage, "resolver_type") else "", ", ".join(key for key, required in stage.inputs if required),
                 ", ".join(stage.outputs)) for name, stage in zip(self._names, self._stages))
        return table(self.name, ("stage", "tier", "needs", "gives"), rows)

    def __repr__(self):
        return f"{self.name}({' -> '.join(self._names)})"

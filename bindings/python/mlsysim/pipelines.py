"""Pipelines: resolvers of C++ and Python that pass results to each other."""

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
    """Results of a run: {stage: result} in the order in which the stages ran.

    A stage without a result has an Infeasible, and one that needs its result a Skipped. Both are false in conditions.

    Attributes
    ----------
    complete : bool
        Whether every stage has a full answer.
    breaks : list of dict
        Stages without one.
    """

    def __init__(self, rows, run):
        super().__init__(rows)
        self._run = run

    def value(self, key):
        """Look up a value by key.

        Parameters
        ----------
        key : str
            A value given to `run`, a result field that one stage has, or "Stage.field".

        Returns
        -------
        Quantity, float, bool, str or object

        Raises
        ------
        LookupError
            There is no such value, or several stages have it.

        Examples
        --------
        >>> results = mlsysim.Pipeline(["SingleNodeModel"]).run(model="Llama3_8B", hardware="H100")
        >>> results.value("latency") == results["SingleNodeModel"].latency
        True
        """
        return self._run.value(key)

    def explain(self, key):
        """Trace a value back to its stage, law and source, and to the inputs of that stage.

        Parameters
        ----------
        key : str
            As in `value`.

        Returns
        -------
        str

        Raises
        ------
        LookupError
            There is no such value.

        Examples
        --------
        >>> results = mlsysim.Pipeline(["SingleNodeModel"]).run(model="Llama3_8B", hardware="H100")
        >>> "SingleNodeModel" in results.explain("latency")
        True
        """
        return self._run.explain(key)

    def assumptions(self, stage):
        """List the values that a stage assumed.

        Parameters
        ----------
        stage : str
            Name of the stage.

        Returns
        -------
        list
            (name, value, source).

        Examples
        --------
        >>> results = mlsysim.Pipeline(["SingleNodeModel"]).run(model="Llama3_8B", hardware="H100")
        >>> isinstance(results.assumptions("SingleNodeModel"), list)
        True
        """
        return self._run.assumptions(stage)

    def warnings(self, stage):
        """List the warnings of a stage.

        Parameters
        ----------
        stage : str
            Name of the stage.

        Returns
        -------
        list of str

        Examples
        --------
        >>> results = mlsysim.Pipeline(["SingleNodeModel"]).run(model="Llama3_8B", hardware="H100")
        >>> isinstance(results.warnings("SingleNodeModel"), list)
        True
        """
        return self._run.warnings(stage)

    @property
    def breaks(self):
        """Stages without a full answer, as dicts: stage, reason, id, severity, text and hint.

        An infeasible stage is one break. A stage with warnings has one break for each.
        """
        return self._run.breaks()

    @property
    def complete(self):
        """Whether there is no break."""
        return not self.breaks

    def show(self):
        """Format all stages with their results.

        Returns
        -------
        str

        Examples
        --------
        >>> results = mlsysim.Pipeline(["SingleNodeModel"]).run(model="Llama3_8B", hardware="H100")
        >>> "SingleNodeModel" in results.show()
        True
        """
        return self._run.show()

    def to_json(self):
        """Convert to JSON.

        Returns
        -------
        str

        Examples
        --------
        >>> import json
        >>> results = mlsysim.Pipeline(["SingleNodeModel"]).run(model="Llama3_8B", hardware="H100")
        >>> isinstance(json.loads(results.to_json()), dict)
        True
        """
        return self._run.to_json()

    def to_dict(self):
        """Convert to plain data for JSON.

        Returns
        -------
        dict
            {stage: dict}.

        Examples
        --------
        >>> list(mlsysim.Pipeline(["SingleNodeModel"]).run(model="Llama3_8B", hardware="H100").to_dict())
        ['SingleNodeModel']
        """
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
    """Run resolvers that pass results to each other.

    An input of a stage is a value of that name given to `run` ("model" means "workload"), a result field of that name, or implied by
    an object, as the hardware of a fleet. Stages run in the order of these dependencies; the order of the list breaks ties.

    Parameters
    ----------
    resolvers : iterable
        Classes, objects or names of resolvers, at least one.
    name : str, default "Pipeline"
        Name for messages.

    Raises
    ------
    InputError
        There are no stages.
    TypeError
        A stage is not a resolver.

    Examples
    --------
    >>> mlsysim.Pipeline(["DistributedModel", "EconomicsModel"]).stages
    ('DistributedModel', 'EconomicsModel')
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
        """Connect a result to an input of another name.

        Parameters
        ----------
        source : str
            "Stage.field", or a key given to `run`.
        target : str
            "Stage.input".

        Returns
        -------
        Pipeline
            The pipeline itself.

        Examples
        --------
        >>> pipeline = mlsysim.Pipeline(["SingleNodeModel"]).link("batch", "SingleNodeModel.batch_size")
        >>> bool(pipeline.run(model="Llama3_8B", hardware="H100", batch=4))
        True
        """
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
        """Run all stages.

        Parameters
        ----------
        **values
            Inputs by name. Texts are read as quantities where a stage takes one.

        Returns
        -------
        PipelineResults
            {stage: result}.

        Raises
        ------
        PipelineBuildError
            Inputs are missing, or links are ambiguous or circular. All problems are listed.
        Exception
            An exception of a stage, with the stage as a note.

        Examples
        --------
        >>> results = mlsysim.Pipeline(["SingleNodeModel"]).run(model="Llama3_8B", hardware="H100")
        >>> results["SingleNodeModel"].bottleneck
        'memory'
        """
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
        """Add an observer of runs.

        Parameters
        ----------
        callback : object
            Has any of these methods, which take any of their values by name, or in this order:
            on_pipeline_start, on_pipeline_end (pipeline_name, seconds); on_stage_start, on_stage_end (stage_name, result, seconds);
            on_skip, on_error, on_infeasible (stage_name, reason); on_progress (stage_name, done, total, searched);
            on_break (stage_name, reason, id, severity, text, hint), for stages without a full answer.

        Returns
        -------
        Pipeline
            The pipeline itself.

        Raises
        ------
        TypeError
            The object has none of the methods.

        Notes
        -----
        `searched` is the number of candidates of an optimizer so far, else None. `reason` of a break is from a closed list. An observer
        that raises is named in a RuntimeWarning, and the run goes on.

        Examples
        --------
        >>> class Names(list):
        ...     def on_stage_end(self, stage_name):
        ...         self.append(stage_name)
        >>> names = Names()
        >>> _ = mlsysim.Pipeline(["SingleNodeModel"]).register_callback(names).run(model="Llama3_8B", hardware="H100")
        >>> names
        ['SingleNodeModel']
        """
        self._observers.append(_Observer(callback))
        return self

    # Looking ----------------------------------------------------------------------------------------------------------

    def explain(self, key=None):
        """Explain the wiring, or trace a value of the last run.

        Parameters
        ----------
        key : str, optional
            A value, as in `PipelineResults.value`. Without one, the stages and the sources of their inputs.

        Returns
        -------
        str

        Raises
        ------
        PipelineError
            There was no run yet.
        LookupError
            There is no such value.

        Examples
        --------
        >>> "SingleNodeModel" in mlsysim.Pipeline(["SingleNodeModel"]).explain()
        True
        """
        if key is None:
            return self.show()
        if self._last is None:
            raise _input_error("nothing to explain yet", found=f"explain('{key}') before a run",
                               hint="call run(...) first, or explain() for the structure", kind=PipelineError,
                               id="mlsysim.python.152")
        return self._last[1].explain(key)

    def show(self):
        """Format the stages and the sources of their inputs.

        Returns
        -------
        str

        Examples
        --------
        >>> "SingleNodeModel" in mlsysim.Pipeline(["SingleNodeModel"]).show()
        True
        """
        return self._any_graph().show()

    def to_dot(self):
        """Write the graph for Graphviz.

        Returns
        -------
        str

        Examples
        --------
        >>> mlsysim.Pipeline(["SingleNodeModel"]).to_dot().startswith("digraph")
        True
        """
        return self._any_graph().to_dot()

    def to_mermaid(self):
        """Write the graph for Mermaid.

        Returns
        -------
        str

        Examples
        --------
        >>> mlsysim.Pipeline(["SingleNodeModel"]).to_mermaid().startswith("flowchart")
        True
        """
        return self._any_graph().to_mermaid()

    def to_json(self):
        """Write the graph as JSON.

        Returns
        -------
        str

        Examples
        --------
        >>> import json
        >>> isinstance(json.loads(mlsysim.Pipeline(["SingleNodeModel"]).to_json()), dict)
        True
        """
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

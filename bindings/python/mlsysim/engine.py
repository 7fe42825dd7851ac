"""Engine: one batch on one device, and sweeps. SystemEvaluator: the scorecard of a scenario."""

from functools import cache
from itertools import product
from operator import attrgetter

from . import _mlsysim as _core, compat
from ._mlsysim import Quantity
from .arguments import with_load
from .choices import Choice
from .errors import DomainError, Error, LookupError, _input_error
from .results import _jsonable

__path__ = []  # its parts have import paths of their own: mlsysim.engine.evaluation
__getattr__ = compat.attributes("engine")
__all__ = ["Engine", "EvaluationLevel", "OperatorRow", "SystemEvaluation", "SystemEvaluator"]


@cache
def _single_node():
    from .resolvers import resolver_class

    return resolver_class("SingleNodeModel")


class Engine:
    """Evaluate a model on one device."""

    @staticmethod
    def solve(model, hardware, batch_size=1, precision=None, efficiency=None, **options):
        """Estimate time, memory and energy of one batch on one device.

        Parameters
        ----------
        model : Workload or str
            The model, or its name in the zoo.
        hardware : HardwareNode or str
            The device.
        batch_size : int, default 1
            Samples or sequences of the batch, at least 1.
        precision : str, optional
            Number format, such as "fp16" or "fp8". By default "fp16", or the device's own default if it has no FP16 rate.
        efficiency : float, optional
            Share of the peak rate, above 0 and at most 1. By default 0.5 at textbook fidelity and the shares of the device at
            operator fidelity.
        **options
            Further inputs of `SingleNodeModel`, such as seq_len, is_training, fidelity and conventions.

        Returns
        -------
        PerformanceProfile
            latency [ms], throughput, bottleneck, memory [GB], energy [J]. A batch that does not fit has feasible = False;
            `assumptions` lists what was not given.

        Raises
        ------
        LookupError
            A name is not known, or the device has no rate at `precision`.
        DomainError
            An input is out of range.

        Examples
        --------
        >>> mlsysim.Engine.solve("Llama3_8B", "H100").bottleneck
        'memory'
        """
        asked = {"workload": model, "hardware": hardware, "batch_size": batch_size, "efficiency": efficiency, **options}
        try:
            return _single_node().solve(precision=precision or "fp16", **asked)
        except LookupError:
            if precision is not None:
                raise
            return _single_node().solve(**asked)

    @staticmethod
    def sweep(model, hardware_list, batch_sizes=(1,), precisions=("fp16",), efficiency=None, resolver=None, **options):
        """Evaluate every combination of hardware, batch size and precision, in this nesting order.

        Parameters
        ----------
        model : Workload
            The model.
        hardware_list : iterable of HardwareNode
            The devices.
        batch_sizes : iterable of int, default (1,)
            Batch sizes, at least 1.
        precisions : iterable of str, default ("fp16",)
            Number formats.
        efficiency : float, optional
            Share of the peak rate, above 0 and at most 1.
        resolver : class or object, optional
            Resolver to run instead of the scorecard, shipped or in Python. It gets those of workload, hardware, batch_size, precision
            and efficiency that it takes, and the options. Resolvers in Python are solved one point after another.
        **options
            Fields of a scenario, or inputs of the resolver.

        Returns
        -------
        list of dict
            hardware, batch_size, precision and profile: a SystemEvaluation, or the result of the resolver. A point that is refused,
            for example because the device has no rate at a precision, has profile None and the reason under "skipped".

        Raises
        ------
        DomainError
            A batch size or option is out of range.
        Error
            Every point is refused; the first refusal is raised.

        Examples
        --------
        >>> devices = [mlsysim.Hardware.H100, mlsysim.Hardware.A100]
        >>> len(mlsysim.Engine.sweep(mlsysim.Models.Llama3_8B, devices, batch_sizes=[1, 8]))
        4
        """
        if resolver is not None:
            from .stages import sweep

            return sweep(resolver, model, hardware_list, batch_sizes, precisions,
                         {**options, **({} if efficiency is None else {"efficiency": efficiency})})
        rows, refusals = [], []
        for hardware, batch, precision in product(hardware_list, batch_sizes, precisions):
            row = {"hardware": hardware.name, "batch_size": int(batch) if float(batch).is_integer() else batch,
                   "precision": precision, "profile": None}
            try:
                row["profile"] = SystemEvaluator.evaluate("sweep", model, hardware, batch, precision, efficiency, **options)
            except DomainError:  # no scenario has such a value
                raise
            except Error as refusal:
                row["skipped"] = refusal.facts.message
                refusals.append(refusal)
            rows.append(row)
        if refusals and len(refusals) == len(rows):
            raise refusals[0]
        return rows


class _Read:
    """What is made from `_core` when it is first read, and kept: most of an answer nobody looks at."""

    _parts = {}

    def __getattr__(self, name):
        make = self._parts.get(name)
        if make is None or "_core" not in self.__dict__:
            return compat.member(self, name)
        value = self.__dict__[name] = make(self.__dict__["_core"])
        return value

    def __dir__(self):
        return [*super().__dir__(), *(name for name in self._parts if not name.startswith("_"))]

    def __getstate__(self):
        for name in self._parts:
            getattr(self, name)
        return {name: value for name, value in self.__dict__.items() if name != "_core"}

    def __setstate__(self, state):
        self.__dict__.update(state)


def _values(rows):
    return {name: Choice(value) if isinstance(value, str) else value for name, value, _, _ in rows}


class EvaluationLevel(_Read):
    """One level of a scorecard: feasibility, performance, macro, or a resolver of `also`.

    `level["itl"]` is the value of one metric.

    Attributes
    ----------
    level_name : str
        Name of the level or resolver.
    status : {"PASS", "FAIL", "SKIPPED"}
        Verdict.
    summary : str
        Reason of the verdict.
    metrics : dict
        {name: value}.
    """

    _parts = {
        "level_name": lambda core: core.level_name, "status": lambda core: core.status, "summary": lambda core: core.summary,
        "metrics": lambda core: _values(core.rows()), "_rows": lambda core: core.rows(), "_texts": lambda core: core.texts(),
    }

    def __init__(self, core):
        self._core = core

    def __repr__(self):
        return f"EvaluationLevel({self.level_name!r}, {self.status!r}, {self.summary!r})"

    def __getitem__(self, metric):
        core = self.__dict__.get("_core")
        return self.metrics[metric] if core is None or "metrics" in self.__dict__ else core.value(metric)


class _Row(dict):
    """A flat row that also answers to names with a unit at the end: m_tco_usd is m_tco."""

    def __missing__(self, key):
        from . import compat

        return self[compat.row_key(key, self)]


class SystemEvaluation(_Read):
    """Scorecard of one scenario; `SystemEvaluator.evaluate` makes it.

    Attributes
    ----------
    feasibility, performance, macro : EvaluationLevel
        Memory; time and throughput; cost, energy and carbon.
    further : dict
        {resolver: EvaluationLevel} of the resolvers of `also`.
    passed_all : bool
        Whether no level fails.
    scenario_name, workload, hardware, mode, fidelity, load, lengths, runtime : str
        The settled scenario.
    guess : str
        Part of the shape of the model that is a guess.
    memory : dict
        {part: Quantity} of one device.
    remedies : list
        (change, effect) of changes that would make the model fit.
    assumptions : list
        (name, value, source) of values that were not given.
    warnings : list of str
        Limits of the answer.
    """

    _parts = {
        **{name: attrgetter(name) for name in ("scenario_name", "workload", "hardware", "mode", "fidelity", "load", "lengths", "runtime", "guess", "assumptions",
                                               "warnings", "remedies", "passed_all")},
        "feasibility": lambda core: EvaluationLevel(core.feasibility),
        "performance": lambda core: EvaluationLevel(core.performance),
        "macro": lambda core: EvaluationLevel(core.macro),
        "further": lambda core: {level.level_name: EvaluationLevel(level) for level in core.further},
        "memory": lambda core: _values(core.memory),
    }

    def __init__(self, core, asked):
        self._core, self._asked = core, asked

    def _levels(self):
        return (("f", self.feasibility), ("p", self.performance), ("m", self.macro), *self.further.items())

    def to_dict(self):
        """Flatten the scorecard to one row of plain values.

        Returns
        -------
        dict
            scenario, f_status, p_status, m_status, and metrics under f_, p_ and m_ as numbers in the units of `units`. Resolvers of
            `also` stand under their own names, such as acme/Model_time.

        Examples
        --------
        >>> mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").to_dict()["f_status"]
        'PASS'
        """
        out = _Row({"scenario": self.scenario_name})
        out.update({f"{prefix}_status": level.status for prefix, level in self._levels()})
        for prefix, level in self._levels():
            for name, value in level.metrics.items():
                out[f"{prefix}_{name}"] = value.magnitude if isinstance(value, Quantity) else value
        return out

    def units(self):
        """List the unit of each number of `to_dict`.

        Returns
        -------
        dict
            {name: unit}; empty for counts, fractions and texts.

        Examples
        --------
        >>> mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").units()["p_itl"]
        'ms'
        """
        return {f"{prefix}_{name}": unit for prefix, level in self._levels() for name, _, unit, _ in level._rows}

    def scorecard(self):
        """Format the levels as boxed text.

        Returns
        -------
        str

        Examples
        --------
        >>> "[PASS] performance" in mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").scorecard()
        True
        """
        lines = [f"{self.scenario_name}: {self.workload} on {self.hardware} ({self.mode}, {self.fidelity} fidelity)"]
        blocks = [lines]
        for _, level in self._levels():
            block = [f"[{level.status}] {level.level_name}" + (f": {level.summary}" if level.summary else "")]
            block += [f"    {meaning or name}: {text}" for (name, _, _, meaning), text in zip(level._rows, level._texts)]
            blocks.append(block)
        if self.remedies:
            blocks.append(["What would fit:", *(f"    {change}: {effect}" for change, effect in self.remedies)])
        if self.warnings:
            blocks.append(["Warnings:", *(f"    {w}" for w in self.warnings)])
        width = max(len(line) for block in blocks for line in block)
        rule = "+" + "-" * (width + 2) + "+"
        out = [rule]
        for block in blocks:
            out += [f"| {line.ljust(width)} |" for line in block] + [rule]
        return "\n".join(out)

    def explain(self, metric, open=()):
        """Derive a metric of the scorecard, equation by equation.

        Parameters
        ----------
        metric : str
            One of `explainable`.
        open : str or iterable of str, optional
            Laws whose every operation is shown.

        Returns
        -------
        Explanation
            A string with the derivation; its attributes are the parts.

        Raises
        ------
        LookupError
            There is no such metric.

        Examples
        --------
        >>> card = mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100")
        >>> card.explain("itl").value == card.performance["itl"]
        True
        """
        from .explore import Explanation

        return Explanation(_core._explain(self._asked, metric, [open] if isinstance(open, str) else list(open)))

    @property
    def explainable(self):
        """Names of the metrics that `explain` takes."""
        return _core._explainable(self._asked)

    def operators(self, metric):
        """List the operators of a forward pass, largest time first.

        Parameters
        ----------
        metric : str
            The time whose pass is listed, such as "itl" or "ttft".

        Returns
        -------
        list of OperatorRow

        Examples
        --------
        >>> rows = mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").operators("itl")
        >>> rows[0].time >= rows[1].time
        True
        """
        return [OperatorRow(*row) for row in _core._operator_table(self._asked, metric)]

    def plot(self, kind="waterfall", result=""):
        """Plot a part of the answer.

        Parameters
        ----------
        kind : str, default "waterfall"
            waterfall, roofline, timeline, schedule, memory, memory-schedule, memory-timeline, costs, carbon or tornado.
        result : str, optional
            The time to draw if there are several, such as ttft and itl.

        Returns
        -------
        Picture

        Examples
        --------
        >>> mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").plot("roofline").kind
        'roofline'
        """
        from .pictures import Picture

        return Picture(_core._scenario_picture(self._asked, kind, result))

    def trace(self, result=""):
        """Write the operators of a pass, or the schedule of a pipelined step, for chrome://tracing and Perfetto.

        Parameters
        ----------
        result : str, optional
            The time to trace if there are several, such as ttft and itl.

        Returns
        -------
        str
            JSON in the trace event format.

        Examples
        --------
        >>> "traceEvents" in mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").trace()
        True
        """
        return _core._chrome_trace(self._asked, result)

    def report(self, path=None, against=None):
        """Write one page with the answer, its limits, plots, assumptions and derivations.

        Parameters
        ----------
        path : path, optional
            A file that ends in .html or .md.
        against : SystemEvaluation, optional
            A second answer to compare with.

        Returns
        -------
        pathlib.Path or str
            The path; without one, the page as HTML.

        Examples
        --------
        >>> "<html" in mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").report()
        True
        """
        form = "md" if str(path or "").endswith(".md") else "html"
        page = _core._report_page(self._asked, None if against is None else against._asked, form)
        if path is None:
            return page
        import pathlib

        from .files import _write

        _write(path, page)
        return pathlib.Path(path)

    def _repr_html_(self):
        from html import escape

        def shown(level):
            return [(meaning or name, text) for (name, _, _, meaning), text in zip(level._rows, level._texts)] or [(level.summary, "")]

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(level.level_name)}</th><td>{escape(level.status)}</td>"
            f"<td style='text-align:left'>{escape(words)}</td><td>{escape(text)}</td></tr>"
            for _, level in self._levels() for words, text in shown(level))
        return f"<table><caption>{escape(self.scenario_name)}</caption>{rows}</table>"

    def __repr__(self):
        return (f"SystemEvaluation({self.scenario_name!r}, "
                + ", ".join(f"{level.level_name}={level.status}" for _, level in self._levels()) + ")")

    def __eq__(self, other):
        if type(self) is not type(other):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None

    def to_json(self):
        """Convert `to_dict` to JSON.

        Returns
        -------
        str

        Examples
        --------
        >>> '"f_status": "PASS"' in mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").to_json()
        True
        """
        import json

        return json.dumps({k: _jsonable(v) for k, v in self.to_dict().items()})


class OperatorRow:
    """One operator of a pass.

    Attributes
    ----------
    name, group, pass_ : str
        Operator, its part of the model, and its pass.
    limit : str
        Resource that limits it.
    count : float
        Executions in one pass.
    work, traffic, time : Quantity
        Arithmetic, memory traffic and time of all executions.
    share : float
        Share of the time of the pass.
    """

    __slots__ = ("name", "group", "pass_", "limit", "count", "work", "traffic", "time", "share")

    def __init__(self, *parts):
        for name, part in zip(self.__slots__, parts):
            setattr(self, name, part)

    def __repr__(self):
        return f"OperatorRow({', '.join(f'{n}={getattr(self, n)}' for n in self.__slots__)})"


class SystemEvaluator:
    """Evaluate a scenario on three levels: feasibility, performance and macro."""

    @staticmethod
    def evaluate(scenario_name, model_obj, hardware_obj=None, batch_size=1, precision=None, efficiency=None, fleet_obj=None,
                 nodes=1, duration_days=None, **options):
        """Estimate memory, speed, cost, energy and carbon of a scenario.

        Parameters
        ----------
        scenario_name : str
            Title of the answer.
        model_obj : Workload or str
            The model.
        hardware_obj : HardwareNode or str, optional
            The device; not needed with `fleet_obj`.
        batch_size : int, default 1
            Requests in flight, or samples of a training step; at least 1.
        precision : str, optional
            Number format.
        efficiency : float, optional
            Share of the peak rate, above 0 and at most 1.
        fleet_obj : Fleet, optional
            The fleet to run on.
        nodes : int, default 1
            Nodes of `hardware_obj`.
        duration_days : float, optional
            Days for cost and carbon; 30 by default.
        **options
            Fields of a scenario, such as mode, seq_len, output_tokens, accelerators, tp_size and fidelity; `options` lists them.

        Returns
        -------
        SystemEvaluation
            A scenario that does not fit is an answer with the status FAIL.

        Raises
        ------
        InputError
            The hardware or the number of nodes contradicts the fleet, or an option is not known or cannot be read.
        LookupError
            A name is not known.
        DomainError
            A value is out of range.

        Examples
        --------
        >>> card = mlsysim.SystemEvaluator.evaluate("chat", "Llama3_70B", "H100", accelerators=8)
        >>> card.passed_all, card.performance["itl"] < mlsysim.q("30 ms")
        (True, True)
        """
        asked = {"name": scenario_name, "workload": model_obj, "batch_size": batch_size, "precision": precision,
                 "efficiency": efficiency, "duration_days": duration_days, **options}
        if fleet_obj is not None:
            own = fleet_obj.node.accelerator
            if hardware_obj is not None and hardware_obj != own:
                raise _input_error("two kinds of hardware for one scenario", key="hardware_obj",
                                   found=f"'{hardware_obj.name}' beside a fleet of '{own.name}'",
                                   expected="the fleet alone, or hardware with `nodes`", id="mlsysim.python.160")
            if nodes not in (1, None, fleet_obj.count):
                raise _input_error("the fleet has another number of nodes", key="nodes", found=str(nodes),
                                   expected=str(fleet_obj.count), hint="use fleet_obj.replace(count=...)",
                                   id="mlsysim.python.161")
            asked["fleet"] = fleet_obj
        else:
            asked["hardware"] = hardware_obj
            if nodes is not None and nodes != 1:
                asked["node_count"] = nodes
        asked = with_load({k: v for k, v in asked.items() if v is not None})
        if "also" in asked:
            from .stages import also_text

            asked["also"] = also_text(asked["also"])
        return SystemEvaluation(_core._evaluate(asked), asked)

    @staticmethod
    def options():
        """List the fields of a scenario.

        Returns
        -------
        dict
            {field: (unit, meaning, source of its default)}.

        Examples
        --------
        >>> mlsysim.SystemEvaluator.options()["kwh_price"][0]
        'USD/kWh'
        """
        return {name: (unit, meaning, source) for name, unit, meaning, _, source in _core._scenario_fields()}

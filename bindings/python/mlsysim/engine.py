"""Engine: one answer, or many. SystemEvaluator: the scorecard of a scenario."""

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
    """The main entry for one device."""

    @staticmethod
    def solve(model, hardware, batch_size=1, precision=None, efficiency=None, **options):
        """Time, memory and energy of one batch on one device; a PerformanceProfile.

        Options are the inputs of SingleNodeModel: is_training, seq_len, zero_stage, dp_size, recomputation, optimizer,
        fidelity, conventions. Without `precision` it is FP16, or the device's default where it has no FP16 (`assumptions` says
        so). Without `efficiency`, textbook fidelity takes 0.5 and operator fidelity the device's own shares. What does not fit
        is an answer with feasible = False.
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
        """Every combination of hardware, batch size and precision, in that nesting order.

        A list of {hardware, batch_size, precision, profile}. The profile is the scorecard of the point, which
        `SystemEvaluator.evaluate` gives for the same options (the fields of a scenario). A point that is refused, such as a device
        without a rate at a precision, has profile None and the reason under "skipped". Where every point is refused, the first
        refusal is raised.

        With `resolver`, a class or an object of one, shipped or of one's own, the profile is its result; it gets those of
        workload (model), hardware, batch_size, precision and efficiency that it takes, and the options. Points of a class of
        Python are solved one after another, because Python runs one thread at a time.
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
    """One of the three levels, or a resolver of `also`: level_name, status (PASS, FAIL, SKIPPED), summary, metrics {name: value}."""

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
    """Answer to one scenario: feasibility, performance, macro.

    `further` has a level for each resolver of `also`, by its name. Beside them scenario_name, workload, hardware, mode, fidelity, runtime, guess (what of the model's shape is one), memory (parts of the memory of one device), remedies
    (what would make it fit), assumptions (name, value, source) and warnings.
    """

    _parts = {
        **{name: attrgetter(name) for name in ("scenario_name", "workload", "hardware", "mode", "fidelity", "load", "runtime", "guess", "assumptions",
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
        """One flat row: scenario, f_status, p_status, m_status, and metrics under f_, p_ and m_ as numbers in their units.

        Levels of `further` stand under their own names: acme/Model_status, acme/Model_time.
        """
        out = _Row({"scenario": self.scenario_name})
        out.update({f"{prefix}_status": level.status for prefix, level in self._levels()})
        for prefix, level in self._levels():
            for name, value in level.metrics.items():
                out[f"{prefix}_{name}"] = value.magnitude if isinstance(value, Quantity) else value
        return out

    def units(self):
        """Unit of each number of `to_dict`; empty for counts, fractions and texts."""
        return {f"{prefix}_{name}": unit for prefix, level in self._levels() for name, _, unit, _ in level._rows}

    def scorecard(self):
        """The three levels as boxed text."""
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
        """The derivation of any number of the scorecard, law by law; an Explanation, which as a string is its text."""
        from .explore import Explanation

        return Explanation(_core._explain(self._asked, metric, [open] if isinstance(open, str) else list(open)))

    @property
    def explainable(self):
        return _core._explainable(self._asked)

    def operators(self, metric):
        """The operators of a pass, largest time first: a list of OperatorRow."""
        return [OperatorRow(*row) for row in _core._operator_table(self._asked, metric)]

    def plot(self, kind="waterfall", result=""):
        """A Picture: waterfall, roofline, timeline, schedule, memory, memory-schedule, memory-timeline, costs, carbon or
        tornado.

        `result` is the time that is drawn where there are several, such as ttft and itl.
        """
        from .pictures import Picture

        return Picture(_core._scenario_picture(self._asked, kind, result))

    def trace(self, result=""):
        """The operators of a pass, or the schedule of a pipelined step, as JSON for chrome://tracing and Perfetto."""
        return _core._chrome_trace(self._asked, result)

    def report(self, path=None, against=None):
        """One page with the answer, what limits it, pictures, assumptions and derivations: written to `path`
        (.html or .md), or handed back as HTML. `against` is another SystemEvaluation to compare with."""
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
        import json

        return json.dumps({k: _jsonable(v) for k, v in self.to_dict().items()})


class OperatorRow:
    """One operator of a pass: name, group, pass_, limit, count, work, traffic, time, share."""

    __slots__ = ("name", "group", "pass_", "limit", "count", "work", "traffic", "time", "share")

    def __init__(self, *parts):
        for name, part in zip(self.__slots__, parts):
            setattr(self, name, part)

    def __repr__(self):
        return f"OperatorRow({', '.join(f'{n}={getattr(self, n)}' for n in self.__slots__)})"


class SystemEvaluator:
    """The three-level scorecard of a scenario."""

    @staticmethod
    def evaluate(scenario_name, model_obj, hardware_obj=None, batch_size=1, precision=None, efficiency=None, fleet_obj=None,
                 nodes=1, duration_days=None, **options):
        """Feasibility (memory), performance (time, throughput, bottleneck) and macro (cost, energy, carbon).

        With `fleet_obj` it runs on that fleet and `hardware_obj` may be left out; with `nodes` above one on as many nodes
        of `hardware_obj`. Options are the fields of a scenario: mode, seq_len, output_tokens, accelerators, tp_size,
        pp_size, ep_size, zero_stage, microbatch_count, grid, datacenter, fidelity and more (`SystemEvaluator.options()`).
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
        """{field of a scenario: (unit, meaning, where its default comes from)}."""
        return {name: (unit, meaning, source) for name, unit, meaning, _, source in _core._scenario_fields()}

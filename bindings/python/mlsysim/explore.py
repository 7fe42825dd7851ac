"""Questions about a scenario, a law or a model: what a number hangs on, and which input meets a condition.

>>> import mlsysim
>>> chat = mlsysim.ask(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, accelerators=8)
>>> chat.sensitivity("itl").levers[0].input
>>> chat.solve("itl <= 30 ms", "batch_size").value
"""

import json
import math
import os
import warnings

from . import _mlsysim as _core
from ._mlsysim import Quantity
from .answers import Difference, Explanation, Intervals, Lever, Sensitivity, Solution, Uncertainty, _Answer, _valued
from .arguments import _axes, _count, _figures, _name, _shard, _text, _texts, with_load
from .base import BaseResolver
from .errors import LookupError, _input_error
from .notebook import bar
from .stages import Stage, publish
from .results import Infeasible

__all__ = ["Difference", "Explanation", "Exploration", "FoundPoint", "Intervals", "Lever", "Sensitivity", "Solution", "Subject", "Sweep", "Uncertainty", "ask"]


def ask(what=None, hardware=None, **options):
    """A Subject: a workload on hardware (options are the fields of a scenario), or a resolver with its inputs.

    ask(Models.Llama3_70B, Hardware.H100, accelerators=8, batch_size=16)
    ask(Models.Llama3_8B, Systems.Clusters.Research_256, mode="train", batch_size=1024)     the same as fleet=
    ask("RingAllReduce", message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us")
    ask(ServingModel(), workload=Models.Llama3_70B, hardware=Hardware.H100, tp_size=8)
    ask(MyModel, hardware=Hardware.H100, efficiency=0.5)
    ask(Models.Llama3_8B, Hardware.H100, traffic_file="trace.jsonl")     what is not given is taken of recorded requests; see read_traffic

    A class of one's own is solved point by point, one after another (Python runs one thread at a time), and its slopes are
    differences: `subject.exact` is False. What is given as a number or a quantity, or has such a default, may be varied.
    """
    for name, text in {"what": what, "hardware": hardware, **options}.items():
        if isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text):
            raise _input_error(f"'{name}' is no text", key=name, found=ascii(text), expected="whole characters, no lone surrogates",
                               id="mlsysim.python.234")
    if "traffic_file" in options:
        from .traffic import with_traffic

        options = with_traffic(options, _resolver_of(what))
    if what is None:
        what = options.pop("model", None)
    if what is None:
        raise _input_error("there is no question", key="what", found="no model and no resolver", expected="a workload, or a resolver with its inputs",
                           hint="e.g. ask('Llama3_8B', 'H100')", id="mlsysim.python.311")
    subject = _subject_of(what, hardware, options)
    subject._asked = (what, hardware, options)
    return subject


def _subject_of(what, hardware, options):
    resolver = _resolver_of(what)
    if resolver is None and isinstance(what, str) and hardware is None and not {"hardware", "hardware_obj", "fleet"} & set(options):
        resolver = what  # a name beside no machine is that of a resolver
    options = dict(options) if resolver is not None else with_load(options)
    own = getattr(what, "_resolver", None) if type(what).__name__ == "Law" else None
    if own is not None:  # a law of one's own, which no registry knows
        return Subject(_core._ask_resolver(own, {**options, **({} if hardware is None else {"hardware": hardware})}))
    if resolver is not None:
        if hardware is not None:
            options["hardware"] = hardware
        if isinstance(resolver, Stage):
            resolver = resolver.typed(options)
            options = {_core._canonical_key(name): value for name, value in options.items()}
        return Subject(_core._ask_resolver(resolver, options))
    if "workload" in options:
        raise _input_error("the workload is given twice", key="workload", found=f"{what!r} and workload={options['workload']!r}",
                           expected="one of the two", hint="the first argument is the workload, or a resolver with its inputs",
                           id="mlsysim.python.179")
    machine = "fleet" if isinstance(hardware, _core.Fleet) else "hardware"
    if machine in options and hardware is not None:
        raise _input_error("the machine is given twice", key=machine, found=f"{hardware!r} and {machine}={options[machine]!r}", expected="one of the two",
                           id="mlsysim.python.283")
    asked = {"workload": what, machine: hardware, **options}
    return Subject(_core._ask_scenario({k: v for k, v in asked.items() if v is not None}))


def _asked_again(what, hardware, options):
    return ask(what, hardware, **options)


def _resolver_of(what):
    """Name of a resolver or law of the library, or the Stage of one of Python; None for what is no resolver."""
    if isinstance(what, str):
        publish()
        from .factory import ResolverFactory

        known = ResolverFactory.list_available().get(what)
        if known is None:  # a law, a name that is nearly one, or a model
            names = _core._resolver_names()
            return what if what in names or _core._did_you_mean(what, names) else None
        what = known
    kind = what if isinstance(what, type) else type(what)
    if not issubclass(kind, BaseResolver):
        return None
    core = getattr(kind, "_resolver", None)
    return Stage(what) if core is None else core.name


class Subject:
    """A scenario or resolver that questions are asked about; made by `ask`."""

    def __init__(self, core):
        self._core = core
        self._asked = None
        self._observers = []

    def register_callback(self, callback):
        """Adds an observer with the method on_sweep: how far `sweep`, `optimize` and `pareto` are.

        It gets, in this order or by name: title (what is swept), done, total [points], seconds_left [s]; done is total once, at the
        end. One that raises is named in a RuntimeWarning, is not called again, and changes nothing.
        """
        from .pipelines import _Observer

        self._observers.append(_Observer(callback, ("on_sweep",)))
        return self

    def _told(self, progress):
        """A function for the progress of a sweep that tells the observers, too, and one for its end."""
        watching, last = list(self._observers), None

        def tell(done, total, seconds_left):
            nonlocal last
            last = done
            for observer in tuple(watching):
                try:
                    observer.notify("on_sweep", {"title": self.title, "done": done, "total": total, "seconds_left": seconds_left})
                except Exception as error:
                    watching.remove(observer)
                    warnings.warn(f"the callback {observer.name}.on_sweep failed: {error}", RuntimeWarning, stacklevel=3)

        def told(done, total, rate, seconds_left):
            tell(done, total, seconds_left)
            if progress is not None:
                progress(done, total, rate, seconds_left)

        def end(total):
            if last != total:
                tell(total, total, 0.0)

        return (told if watching else progress), end

    def __reduce__(self):
        # Asked again where it is unpickled: what it is made of belongs to one process.
        what, hardware, options = self._asked
        return _asked_again, (what, hardware, options)

    @property
    def title(self):
        return self._core.title

    @property
    def exact(self):
        """Whether derivatives and bounds are exact; otherwise they are differences, and answers say so."""
        return self._core.exact

    @property
    def inputs(self):
        """{name: value} of everything that may vary, the zoo's figures included."""
        return {name: value for name, value, _, _ in self._core.inputs}

    @property
    def results(self):
        """{name: value} at these inputs, of what is finite; an Infeasible where a resolver has no answer to them."""
        why = self._core.infeasible
        if why is not None:
            name, reason, change, facts = why
            return Infeasible(resolver=name, reason=reason, smallest_change=change, facts=facts)
        found = {name: value for name, value, _, _ in self._core.results}
        return {name: value for name, value in found.items() if math.isfinite(getattr(value, "magnitude", value))}

    def __getattr__(self, name):
        """A result by its name: ask(...).itl."""
        if name.startswith("_"):
            raise AttributeError(name)
        found, name = self.results, _core._canonical_name(name)
        if isinstance(found, Infeasible):
            raise AttributeError(f"there is no {name} here: {found.reason}")
        if name not in found:
            near = _core._did_you_mean(name, [*found, *(n for n in dir(type(self)) if not n.startswith("_"))])
            raise AttributeError(f"the subject has no result '{name}'{'; ' + near if near else ''}")
        return found[name]

    def __dir__(self):
        found = self.results
        return [*super().__dir__(), *(() if isinstance(found, Infeasible) else found)]

    def export(self, *results, language="json", name="law"):
        """The scenario, or the resolver that is a law, as a program that needs no library: see mlsysim.laws.

        Each input carries the value that it has here.
        """
        return self._core.export(list(results), language, name)

    def describe(self):
        """{name: (unit, meaning)} of inputs and results."""
        return {name: (unit, meaning) for name, _, unit, meaning in [*self._core.inputs, *self._core.results]}

    def explain(self, result, open=()):
        """Where any result comes from, law by law; an Explanation. `open` names laws whose every operation is kept."""
        return Explanation(self._core.explain(result, [open] if isinstance(open, str) else list(open)))

    def sensitivity(self, result, inputs=(), step=0.1):
        """Exact elasticities, one-sided at kinks, of a result; a Sensitivity. Without `inputs`, of all but the model's sizes."""
        data, text = self._core.sensitivity(_name("result", result), _texts(inputs), step)
        return Sensitivity(json.loads(data), text)

    def solve(self, condition, free, low=None, high=None):
        """The value of input `free` at which a condition such as "itl <= 30 ms" is met; a Solution or an Infeasible."""
        data, text = self._core.solve(_name("condition", condition), _name("free", free), _text(low), _text(high))
        data = json.loads(data)
        if not data["feasible"]:
            return Infeasible(resolver="solve", reason=data["reason"], smallest_change=data["smallest_change"], facts=data["facts"])
        return Solution(data, text)

    def compare(self, other, result):
        """Why a result differs from that of another Subject: a Difference, whose terms add up to the whole."""
        data, text = self._core.compare(_core_of("other", other), _name("result", result))
        return Difference(json.loads(data), text)

    def uncertainty(self, figures=(), results=(), samples=4096, seed=1, coverage=0.9, estimates=True, against=None):
        """Spread of results whose figures are uncertain; an Uncertainty.

        `figures` maps names to texts: {"hardware.efficiency.memory": "+-5 %", "kwh_price": "uniform 0.05 USD/kWh..0.2 USD/kWh"}.
        Distributions: normal SPREAD, lognormal SPREAD, uniform LOW..HIGH, triangular LOW..HIGH, +-N %. Figures of the zoo
        that state a range vary in it as well, unless estimates=False; `assumptions` lists them. `against`, another
        Subject, adds `ranking`: the probability that the first result stays below that of the other.
        """
        data, text = self._core.uncertainty(_figures(figures), _texts(results), _count("samples", samples), _count("seed", seed), coverage,
                                            estimates, None if against is None else _core_of("against", against))
        return Uncertainty(json.loads(data), text)

    def intervals(self, results=(), level=80):
        """Results with the interval in which `level` (50, 80 or 95) percent of measurements are to be expected; Intervals.

        Without `results`, those that tables measure. Ranges of the zoo's figures (`zoo_ranges`) and what the model itself
        missed on the nearest measured groups (`model_error`, None where no table measures such a number) are told apart;
        `lower` and `upper` hold both. Of a resolver that is given objects of the zoo as of a scenario.
        """
        data, text = self._core.intervals(_texts(results), _count("level", level))
        return Intervals(json.loads(data), text)

    def probability_below(self, other, result, figures=(), samples=4096, seed=1, estimates=True):
        """Probability that a result stays below that of another Subject, figures of one name moving together."""
        return self._core.probability_below(_core_of("other", other), _name("result", result), _figures(figures),
                                            _count("samples", samples), _count("seed", seed), estimates)

    def optimize(self, axes, minimize=None, maximize=None, subject_to=(), show=(), top=1, **how):
        """The best points of a space for one objective; an Exploration.

        `axes` maps names to values: a list, a range, a text such as "1..64*2" or "1 TB/s..8 TB/s:64"; a tuple of names
        maps to a list of tuples; "@devices.yaml" is the list of that file. A path instead of the map is a YAML file of
        axes. Names are fields of the scenario (hardware, precision, tp_size, ...) or inputs of the
        subject ("hardware.memory.bandwidth"). Constraints are texts: "ttft <= 500 ms".
        Further keywords: strategy ("automatic", "exhaustive", "branch-and-bound", "gradient", "evolutionary"), threads,
        shard=(k, n), histogram, anything (also what does not fit), evaluations and seed (of gradient and evolutionary),
        progress (True for a bar, or called with done, total, rate, seconds_left), executor and shards (see `sweep`; with
        "branch-and-bound" a shard is told the best value known when it is sent). Ctrl-C raises KeyboardInterrupt, with the
        Exploration of what was found until then as its `partial`.
        """
        return self._search("optimize", axes, minimize, maximize, subject_to, show, top, **how)

    def pareto(self, axes, minimize=(), maximize=(), subject_to=(), show=(), **how):
        """The points of a space that nothing beats in all objectives at once; an Exploration with a `front`."""
        return self._search("pareto", axes, minimize, maximize, subject_to, show, 1, **how)

    def explore(self, result=None, axes=None, show=(), **more):
        """Sliders over inputs, with the results and a curve: an Explorer. In a notebook this needs ipywidgets.

        `axes` are those of `sweep`; names without a dot may be keywords: explore("itl", batch_size="1..64*2"). Without any the batch
        size varies, and the figures that the result hangs on most, from half to double.
        """
        from .widgets import Explorer

        return Explorer(self, result, {**(axes or {}), **more} or None, show)

    def sweep(self, axes, show, subject_to=(), anything=False, executor=None, shards=None, progress=None, interval=0):
        """Every point of a space, as a Sweep: columns of axis values and of the results in `show`.

        `feasible` marks the points that meet `subject_to`, fit in memory and divide the devices, as `optimize` counts them;
        with anything=True it marks `subject_to` alone. No point is left out.

        `interval` (50, 80 or 95) adds two columns for each result of `show` that tables measure, NAME_lower and NAME_upper: the ends of the
        interval in which that percentage of measurements are to be expected, as `intervals` gives them at the point.

        `executor` computes the points: any concurrent.futures.Executor, the Client of Dask, or the module ray after
        ray.init(). The space is divided into `shards` (four for each worker by default), the subject goes to a worker once,
        and what a lost worker had is computed again; the answer is the same to the byte whatever the number of either.
        `progress` is called with done, total, rate and seconds_left [points, points/s, s] as shards come back; True shows a bar.
        """
        question = (_axes(axes), _texts(subject_to), _texts(show), anything, _count("interval", interval))
        progress, end = self._told(bar() if progress is True else progress)
        if executor is None:
            found = Sweep([self._core.rows(*question, 1, 1)])
        else:
            from . import scale

            found = Sweep(scale.run(executor, self, "rows", question, shards, progress))
        end(float(len(found)))
        return found

    def merge(self, parts):
        """Joins the Explorations of all shards of one question into the answer of one run."""
        parts = [parts] if isinstance(parts, Exploration) else list(parts)
        strange = [type(p).__name__ for p in parts if not isinstance(p, Exploration)]
        if strange or not parts:
            raise _input_error("there are no parts to join", key="parts", found=", ".join(strange) or "an empty list",
                               expected="the Explorations of all shards", hint="optimize(..., shard=(1, 4)) gives the first of four",
                               id="mlsysim.python.173")
        question = parts[0]._question
        return Exploration(self._core.merge(*question, [p.state for p in parts]), question)

    def _search(self, question_of, axes, minimize, maximize, subject_to, show, top, strategy="automatic", threads=0, shard=(1, 1), histogram=None,
                anything=False, evaluations=20000, seed=1, progress=None, executor=None, shards=None):
        objectives = [("minimize", t) for t in _texts(minimize)] + [("maximize", t) for t in _texts(maximize)]
        question = (_axes(axes), objectives, _texts(subject_to), _texts(show), _count("top", top), histogram, anything)
        progress, end = self._told(bar() if progress is True else progress)
        part, parts = _shard(shard)
        if executor is not None:
            from . import scale

            scale.refuse_strategy(strategy, part, parts)
            if strategy == "branch-and-bound":
                best, _ = scale.bounded(executor, self, question, shards, progress)
                return Exploration(self._core.bounded_answer(*question, *best), question)
            states = scale.run(executor, self, "state", (question_of, question), shards, progress)
            found = Exploration(self._core.merge(*question, states), question)
            end(found.total)
            return found
        try:
            answer = self._core.search(question_of, *question, strategy, _count("threads", threads), part, parts,
                                       _count("evaluations", evaluations), _count("seed", seed), progress)
        except BaseException as stopped:  # Ctrl-C: what was found until then goes with it
            if hasattr(stopped, "answer"):
                stopped.partial = Exploration(stopped.answer, question)
                del stopped.answer
            raise
        found = Exploration(answer, question)
        end(found.total)
        return found

    def __repr__(self):
        return f"Subject({self.title!r})"

    def _repr_html_(self):
        from .notebook import table

        why = self._core.infeasible
        if why is not None:
            return table(self.title, ("no result", "what would change it"), [why[1:3]])
        rows = ((name, value, meaning) for name, value, _, meaning in self._core.results)
        return table(self.title, ("result", "value", "meaning"), rows, f"{len(self._core.inputs)} inputs may vary; .explore() has sliders")

    def _ipython_key_completions_(self):
        return list(self.inputs)


class FoundPoint:
    """One point of an answer: index, axes {name: value}, labels {axis: text}, objectives and shown {text: value}.

    `axes` has what was given: counts, quantities, texts, specs. Those of a scenario go back into it: ask(..., **point.axes).

    between is True where a search by slopes left the grid: index is then that of the nearest point of it.
    """

    __slots__ = ("index", "between", "axes", "labels", "objectives", "shown")

    def __init__(self, row, units, axes):
        self.index, self.between, self.labels, self.axes = row["index"], row["between"], row["axes"], axes
        self.objectives = {name: _valued(value, units[name]) for name, value in row["objectives"].items()}
        self.shown = {name: _valued(value, units[name]) for name, value in row["shown"].items()}

    def __repr__(self):
        return f"FoundPoint({self.index}, {self.labels}, {self.objectives})"


class Exploration(_Answer):
    """Answer to a search: best (or front), counts of points, constraints with their smallest relaxation, certificate.

    exactness is "enumerated" (every point), "proven" (bounds excluded the rest) or "heuristic" (it was stopped, or the
    strategy proves nothing; method says what was done). hypervolume {relative, base_units, ideal, reference} is that of
    a front. infeasible says in words why nothing is feasible, None where something is; conflict {constraints,
    relaxations, nearest} says which constraints exclude each other. state joins shards (Subject.merge).
    """

    def __init__(self, answer, question):
        data, text, self.seconds, self.state, self.infeasible, (best, front) = answer
        data = json.loads(data)
        super().__init__(text, data)
        self._question = question
        units = {row["text"]: row["unit"] for row in [*data["objectives"], *data["show"]]}
        self.best = [FoundPoint(row, units, axes) for row, axes in zip(data["best"], best)]
        self.front = [FoundPoint(row, units, axes) for row, axes in zip(data["front"], front)]
        for name in ("total", "evaluated", "feasible", "skipped", "exactness", "complete", "constraints", "skip_reasons"):
            setattr(self, name, data[name])
        self.not_feasible = data["infeasible"]
        self.certificate = data.get("certificate")
        self.histogram = data.get("histogram")
        self.method, self.hypervolume, self.conflict = data.get("method", ""), data.get("hypervolume"), data.get("conflict")

    def _rows(self):
        points = self.front or self.best
        if not points:
            return ("nothing is feasible", ("constraint", "relaxation"), ((c["text"], c["relaxation"]) for c in self.constraints), self.infeasible or "")
        axes, objectives, shown = points[0].labels, points[0].objectives, points[0].shown
        rows = ((*(p.labels[n] for n in axes), *(p.objectives[n] for n in objectives), *(p.shown[n] for n in shown)) for p in points)
        return ("front" if self.front else "best", (*axes, *objectives, *shown), rows,
                f"{self.total:.0f} points, {self.feasible:.0f} feasible; {self.exactness}")

    def plot(self):
        """The front over its first two objectives, as a Picture; of an answer with one objective its best points."""
        from .pictures import of_points

        points = self.front or self.best
        if not points or len(points[0].objectives) < 2:
            raise _input_error("only a front is drawn", key="plot", found=f"{len(points)} points with one objective",
                               expected="the answer of pareto", id="mlsysim.python.242")
        points = sorted(points, key=lambda p: _bare(list(p.objectives.values())[0]))
        x, y, *_ = points[0].objectives
        unit = {name: str(getattr(points[0].objectives[name], "units", "")) for name in (x, y)}
        labels = [", ".join(f"{k} {v}" for k, v in p.labels.items()) for p in points]
        return of_points("pareto", f"{y} against {x}", f"{len(points)} points of {self.total:.0f} that no other beats in all objectives.",
                         (x, unit[x], [_bare(p.objectives[x], unit[x]) for p in points]),
                         (y, unit[y], [_bare(p.objectives[y], unit[y]) for p in points]), [], labels)

    def __repr__(self):
        return f"Exploration({self.total:.0f} points, {self.feasible:.0f} feasible, {self.exactness})"


class Sweep:
    """Every point of a space: `columns` {name: numpy array}, `units` {name: unit}, `feasible`, `skipped` [(first point, reason)]."""

    def __init__(self, parts):
        import numpy as np

        data = parts[0]
        index = np.concatenate([np.arange(part["first"], part["first"] + part["points"]) for part in parts])
        self.columns, self.units, self.digest = {}, {}, data["digest"]
        for names, rows, stride in data["axes"]:
            at = index // stride % len(rows)
            for k, name in enumerate(names):
                values = [row[k] for row in rows]
                unit = str(values[0].units) if isinstance(values[0], Quantity) else ""
                self.columns[name] = np.array([v.m_as(unit) if unit else v for v in values])[at]
                self.units[name] = unit
        for k, (name, unit, _) in enumerate(data["shown"]):
            self.columns[name] = np.frombuffer(b"".join(part["shown"][k][2] for part in parts))
            self.units[name] = unit
        self.feasible = np.frombuffer(b"".join(part["feasible"] for part in parts), dtype=bool)
        self.skipped = [reason for part in parts for reason in part["skipped"]]

    def __len__(self):
        return len(self.feasible)

    def __iter__(self):
        """The points in order, each as {name: value}."""
        columns = {name: self[name] for name in self.columns}
        return ({name: column[k] for name, column in columns.items()} for k in range(len(self)))

    def __contains__(self, name):
        return name in self.columns

    def _ipython_key_completions_(self):
        return list(self.columns)

    def _repr_html_(self):
        from .notebook import table

        return table(f"{len(self)} points", tuple(self.columns), (tuple(row.values()) for row in self),
                     f"{int(self.feasible.sum())} feasible, {sum(1 for _ in self.skipped)} reasons to skip")

    def plot(self, x=None, y=None, series=None):
        """Column y over column x, feasible points alone, as a Picture: the last shown result over the first axis of numbers.

        `series` names a column whose values become lines of their own.
        """
        from .pictures import of_points

        names = list(self.columns)
        numbers = [n for n in names if self.columns[n].dtype.kind in "fiu"]
        x, y = x or (numbers[0] if numbers else None), y or next((n for n in reversed(numbers) if not n.endswith(("_lower", "_upper"))), None)
        for name in (x, y, *([series] if series else [])):
            if name not in self.columns:
                raise _input_error("there is no such column to draw", key="plot", found=repr(name), expected=", ".join(names),
                                   id="mlsysim.python.243")
        at = self.feasible
        of = [str(v) for v in self.columns[series][at]] if series else []
        return of_points("curve", f"{y} over {x}", f"{int(at.sum())} feasible points of {len(self)}.", (x, self.units[x], self.columns[x][at]),
                         (y, self.units[y], self.columns[y][at]), of, [])

    def __getitem__(self, name):
        """A column: a QuantityArray where it has a unit, else a numpy array."""
        from .arrays import QuantityArray

        if name not in self.units:
            raise _input_error("the sweep has no such column", key=str(name), found=repr(name), expected=f"one of {', '.join(self.columns)}",
                               hint=_core._did_you_mean(str(name), list(self.columns)), kind=LookupError, id="mlsysim.python.174")
        unit = self.units[name]
        return QuantityArray(self.columns[name], unit) if unit else self.columns[name]

    def to_dict(self):
        """{"name [unit]": numpy array}, ready for pandas.DataFrame, polars.DataFrame or pyarrow.table."""
        out = {f"{name} [{self.units[name]}]" if self.units[name] else name: column for name, column in self.columns.items()}
        out["feasible"] = self.feasible
        return out

    def to_pandas(self):
        """A pandas DataFrame; needs pandas."""
        return _needed("pandas", "pandas").DataFrame(self.to_dict())

    def to_polars(self):
        """A polars DataFrame; needs polars."""
        return _needed("polars", "polars").DataFrame(self.to_dict())

    def to_arrow(self):
        """A pyarrow Table; needs pyarrow. Units are in the names of the columns and in their metadata ("unit").

        The metadata of the table has the digest of what was asked, the zoo's figures included, and the version.
        """
        pa = _needed("pyarrow", "pyarrow")
        table = pa.table({name: pa.array(column) for name, column in self.to_dict().items()})
        units = [*self.units.values(), ""]
        fields = [f.with_metadata({"unit": unit}) if unit else f for f, unit in zip(table.schema, units)]
        from . import __version__

        return table.cast(pa.schema(fields, {"mlsysim.digest": self.digest, "mlsysim.version": __version__}))

    def __arrow_c_stream__(self, requested_schema=None):
        """The Arrow C stream, by which DuckDB, polars and others read a Sweep without a copy of their own; needs pyarrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path, overwrite=False, partition_by=()):
        """Writes a Parquet file and returns its path; needs pyarrow. A file that exists stays, unless `overwrite`.

        With `partition_by`, names of axes, `path` is a folder with a part for each of their values (name=value/part-0.parquet),
        as DuckDB and others read them: read_parquet('path/**/*.parquet', hive_partitioning = true).
        """
        if not overwrite and os.path.exists(path):
            raise _input_error("the file exists", found=f"'{os.fspath(path)}'", expected="a new file", hint="choose another name, or overwrite=True",
                               id="mlsysim.python.172")
        parquet = _needed("pyarrow.parquet", "pyarrow")
        if partition_by:
            parquet.write_to_dataset(self.to_arrow(), os.fspath(path), partition_cols=_texts(partition_by), existing_data_behavior="delete_matching",
                                     basename_template="part-{i}.parquet")
        else:
            parquet.write_table(self.to_arrow(), os.fspath(path))
        return path

    def __repr__(self):
        return f"Sweep({len(self)} points, {int(self.feasible.sum())} feasible: {', '.join(self.columns)})"


def _bare(value, unit=""):
    return value.m_as(unit) if unit and isinstance(value, Quantity) else value.magnitude if isinstance(value, Quantity) else value


def _needed(module, package):
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs the package {package}, which is not installed: pip install {package}") from error


def _core_of(what, other):
    if not isinstance(other, Subject):
        raise _input_error(f"'{what}' is another subject", key=what, found=f"{other!r} ({type(other).__name__})",
                           expected="a Subject", hint="make one by ask(...)", id="mlsysim.python.177")
    return other._core

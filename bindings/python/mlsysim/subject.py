"""Subject: what `ask` makes, and what it can be asked."""

import json
import math

from . import _mlsysim as _core
from .answers import Difference, Explanation, Intervals, Sensitivity, Solution, Uncertainty
from .arguments import _axes, _count, _figures, _name, _text, _texts
from .errors import _input_error
from .notebook import bar, told
from .results import Infeasible
from .spaces import Exploration, Sweep, _search

__all__ = ["Subject"]


class Subject:
    """Setup of a model on hardware, or resolver with its inputs, that answers questions. `ask` makes it.

    Results are attributes, such as `subject.itl`, with the units of `describe`.

    Examples
    --------
    >>> chat = mlsysim.ask("Llama3_70B", "H100", accelerators=8)
    >>> chat.exact, "itl" in chat.results
    (True, True)
    """

    def __init__(self, core):
        self._core = core
        self._asked = None
        self._observers = []

    def register_callback(self, callback):
        """Add an observer of the progress of `sweep`, `optimize` and `pareto`.

        Parameters
        ----------
        callback : object
            Has a method `on_sweep`, which takes any of title (what is swept), done, total [points] and seconds_left [s], by name or
            in this order. `done` equals `total` once, at the end.

        Returns
        -------
        Subject
            The subject itself.

        Raises
        ------
        TypeError
            The object has no method `on_sweep`.

        Notes
        -----
        An observer that raises is named in a RuntimeWarning and is not called again. The search goes on.

        Examples
        --------
        >>> class Watch:
        ...     def on_sweep(self, done, total):
        ...         self.share = done / total
        >>> watch = Watch()
        >>> chat = mlsysim.ask("Llama3_8B", "H100").register_callback(watch)
        >>> len(chat.sweep({"batch_size": [1, 2, 4]}, show="itl")), watch.share
        (3, 1.0)
        """
        from .pipelines import _Observer

        self._observers.append(_Observer(callback, ("on_sweep",)))
        return self

    def _told(self, progress):
        return told(self._observers, self.title, bar() if progress is True else progress)

    def __reduce__(self):
        from .explore import _asked_again

        # Asked again where it is unpickled: what it is made of belongs to one process.
        what, hardware, options = self._asked
        return _asked_again, (what, hardware, options)

    @property
    def title(self):
        """Title of the answer: the model and hardware, or the resolver."""
        return self._core.title

    @property
    def exact(self):
        """Whether derivatives and bounds are exact. Otherwise they are finite differences, and answers say so."""
        return self._core.exact

    @property
    def inputs(self):
        """{name: value} of every input that can vary, including parameters of the zoo such as hardware.memory.bandwidth."""
        return {name: value for name, value, _, _ in self._core.inputs}

    @property
    def results(self):
        """{name: value} of the finite results; an Infeasible if a resolver has no result for these inputs."""
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
        """Write the equations of the setup as a program that needs no library.

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
            The program. Each input has its value here as the default. docs/reference/exported-programs.md describes the JSON.

        Examples
        --------
        >>> ring = mlsysim.ask("RingAllReduce", message="1 GB", ranks=8, bandwidth="400 GB/s", alpha="5 us")
        >>> "void ring(" in ring.export("time", language="c", name="ring")
        True
        """
        return self._core.export(list(results), language, name)

    def describe(self):
        """List units and meanings of inputs and results.

        Returns
        -------
        dict
            {name: (unit, meaning)}.

        Examples
        --------
        >>> mlsysim.ask("Llama3_8B", "H100").describe()["itl"][0]
        'ms'
        """
        return {name: (unit, meaning) for name, _, unit, meaning in [*self._core.inputs, *self._core.results]}

    def explain(self, result, open=()):
        """Derive a result, equation by equation.

        Parameters
        ----------
        result : str
            Name of a result, such as "itl".
        open : str or iterable of str, optional
            Laws whose every operation is shown.

        Returns
        -------
        Explanation
            A string with the derivation; its attributes are the parts.

        Raises
        ------
        LookupError
            There is no such result.

        Examples
        --------
        >>> mlsysim.ask("Llama3_8B", "H100").explain("itl").result
        'itl'
        """
        return Explanation(self._core.explain(result, [open] if isinstance(open, str) else list(open)))

    def sensitivity(self, result, inputs=(), step=0.1):
        """Compute how much each input changes a result.

        Parameters
        ----------
        result : str
            Name of a result.
        inputs : iterable of str, optional
            Inputs to vary. Without any, all inputs except the sizes of the model.
        step : float, default 0.1
            Relative step of the finite changes, between 0 and 1 (exclusive).

        Returns
        -------
        Sensitivity
            Elasticities and relative changes, largest effect first.

        Raises
        ------
        LookupError
            There is no such result or input.
        DomainError
            The step is out of range.

        Notes
        -----
        Elasticities are exact derivatives, one for each side at a kink. For resolvers in Python they are finite differences.

        Examples
        --------
        >>> chat = mlsysim.ask("Llama3_70B", "H100", accelerators=8)
        >>> chat.sensitivity("itl")["hardware.memory.bandwidth"].elasticity < -0.5
        True
        """
        data, text = self._core.sensitivity(_name("result", result), _texts(inputs), step)
        return Sensitivity(json.loads(data), text)

    def solve(self, condition, free, low=None, high=None):
        """Find the value of an input at which a condition is met.

        Parameters
        ----------
        condition : str
            A result, a comparison (<=, >=, ==) and a value with unit: "itl <= 30 ms".
        free : str
            Name of the input to vary.
        low, high : str, Quantity or float, optional
            Ends of the search, in the unit of the input.

        Returns
        -------
        Solution or Infeasible
            The extreme value that meets the condition, with all ranges of solutions; an Infeasible (false) if there is none.

        Raises
        ------
        LookupError
            The condition or `free` has an unknown name.
        InputError
            The condition cannot be read.

        Examples
        --------
        >>> chat = mlsysim.ask("Llama3_70B", "H100", accelerators=8)
        >>> chat.solve("itl <= 15 ms", "batch_size").exhaustive
        True
        """
        data, text = self._core.solve(_name("condition", condition), _name("free", free), _text(low), _text(high))
        data = json.loads(data)
        if not data["feasible"]:
            return Infeasible(resolver="solve", reason=data["reason"], smallest_change=data["smallest_change"], facts=data["facts"])
        return Solution(data, text)

    def compare(self, other, result):
        """Attribute the difference of a result between two setups to their inputs.

        Parameters
        ----------
        other : Subject
            The setup to compare with.
        result : str
            Name of a result that both have.

        Returns
        -------
        Difference
            Contributions of the inputs, in the unit of the result. They add up to the whole difference.

        Examples
        --------
        >>> h100, b200 = (mlsysim.ask("Llama3_8B", name) for name in ("H100", "B200"))
        >>> h100.compare(b200, "itl").at_to == b200.itl
        True
        """
        data, text = self._core.compare(_core_of("other", other), _name("result", result))
        return Difference(json.loads(data), text)

    def uncertainty(self, figures=(), results=(), samples=4096, seed=1, coverage=0.9, estimates=True, against=None):
        """Sample uncertain parameters and compute the spread of the results.

        Parameters
        ----------
        figures : dict, optional
            {parameter: distribution}: {"hardware.efficiency.memory": "+-5 %"}. Distributions are normal SPREAD, lognormal SPREAD,
            uniform LOW..HIGH, triangular LOW..HIGH and +-N %.
        results : iterable of str, optional
            Results to sample; without any, all of them.
        samples : int, default 4096
            Number of samples, 16 to 2**24.
        seed : int, default 1
            Seed of the samples.
        coverage : float, default 0.9
            Share of the samples between `low` and `high`, between 0 and 1 (exclusive).
        estimates : bool, default True
            Whether parameters of the zoo that state a range vary too; `assumptions` lists them.
        against : Subject, optional
            Adds `ranking`: the probability that the first result stays below that of this setup.

        Returns
        -------
        Uncertainty
            Distribution of each result in its unit, and the share of each parameter in it.

        Raises
        ------
        InputError
            A distribution cannot be read, or samples or coverage are out of range.

        Examples
        --------
        >>> spread = mlsysim.ask("Llama3_8B", "H100").uncertainty({"hardware.efficiency.memory": "+-5 %"}, "itl", samples=256)
        >>> spread["itl"]["low"] < spread["itl"]["high"]
        True
        """
        data, text = self._core.uncertainty(_figures(figures), _texts(results), _count("samples", samples), _count("seed", seed), coverage,
                                            estimates, None if against is None else _core_of("against", against))
        return Uncertainty(json.loads(data), text)

    def intervals(self, results=(), level=80):
        """Compute the interval that should contain a share of measurements of each result.

        Parameters
        ----------
        results : iterable of str, optional
            Results; without any, those that measured tables have.
        level : {50, 80, 95}, default 80
            Percentage of measurements to contain.

        Returns
        -------
        Intervals
            `lower` and `upper` in the unit of the result. `zoo_ranges` is the part from uncertain parameters, `model_error` the part
            from errors on the nearest measured setups (None if no table measures the result).

        Raises
        ------
        InputError
            There is no such level.

        Examples
        --------
        >>> itl = mlsysim.ask("Llama3_70B", "H100", accelerators=8).intervals("itl")["itl"]
        >>> itl["lower"] < itl["value"] < itl["upper"]
        True
        """
        data, text = self._core.intervals(_texts(results), _count("level", level))
        return Intervals(json.loads(data), text)

    def probability_below(self, other, result, figures=(), samples=4096, seed=1, estimates=True):
        """Compute the probability that a result is lower than that of another setup.

        Parameters
        ----------
        other : Subject
            The setup to compare with. Parameters of one name vary together in both.
        result : str
            Name of a result that both have.
        figures : dict, optional
            {parameter: distribution}, as in `uncertainty`.
        samples : int, default 4096
            Number of samples, 16 to 2**24.
        seed : int, default 1
            Seed of the samples.
        estimates : bool, default True
            Whether parameters of the zoo that state a range vary too.

        Returns
        -------
        float
            Between 0 and 1.

        Examples
        --------
        >>> h100, b200 = (mlsysim.ask("Llama3_8B", name) for name in ("H100", "B200"))
        >>> b200.probability_below(h100, "itl", samples=256) > 0.5
        True
        """
        return self._core.probability_below(_core_of("other", other), _name("result", result), _figures(figures),
                                            _count("samples", samples), _count("seed", seed), estimates)

    def optimize(self, axes, minimize=None, maximize=None, subject_to=(), show=(), top=1, **how):
        """Search a space for the best points of one objective.

        Parameters
        ----------
        axes : dict or path
            {name: values}: fields of the scenario (hardware, precision, tp_size) or inputs ("hardware.memory.bandwidth"). Values are a
            list, a range, a text such as "1..64*2" or "1 TB/s..8 TB/s:64", or "@devices.yaml", the list in that file. A tuple of
            names takes a list of tuples. A path is a YAML file of axes.
        minimize, maximize : str
            The objective, one of the two.
        subject_to : str or iterable of str, optional
            Constraints such as "ttft <= 500 ms".
        show : str or iterable of str, optional
            Further results to compute at the best points.
        top : int, default 1
            Number of best points.
        strategy : {"automatic", "exhaustive", "branch-and-bound", "gradient", "evolutionary"}, default "automatic"
            The first three find the optimum of the space.
        threads : int, default 0
            Threads; 0 means all cores.
        shard : (int, int), default (1, 1)
            Part k of n of the space; `merge` joins the parts.
        histogram : str, optional
            Result whose distribution over the space is counted.
        anything : bool, default False
            Whether points that do not fit or do not divide the devices count as well.
        evaluations, seed : int, default 20000 and 1
            For "gradient" and "evolutionary"; 100 to 1e9 evaluations.
        progress : bool or callable, optional
            True shows a bar; a function is called with done, total, rate and seconds_left [points, points/s, s].
        executor, shards : optional
            Workers that compute the points, see `sweep`.

        Returns
        -------
        Exploration
            `best`, counts, the smallest relaxation of each constraint, and how the optimum was certified.

        Raises
        ------
        InputError, LookupError
            An axis, objective or constraint cannot be read or has an unknown name.
        KeyboardInterrupt
            On Ctrl-C; its `partial` is the Exploration of what was found until then.

        Examples
        --------
        >>> found = mlsysim.ask("Llama3_8B", "H100").optimize({"batch_size": [1, 2, 4, 8]}, minimize="itl")
        >>> found.total, found.best[0].axes
        (4.0, {'batch_size': 1})
        """
        return _search(self, "optimize", axes, minimize, maximize, subject_to, show, top, **how)

    def pareto(self, axes, minimize=(), maximize=(), subject_to=(), show=(), **how):
        """Search a space for the points that no other point beats in all objectives.

        Parameters
        ----------
        axes, subject_to, show
            As in `optimize`.
        minimize, maximize : str or iterable of str
            The objectives, two or more in total.
        **how
            Further keywords of `optimize`, such as strategy, shard and progress.

        Returns
        -------
        Exploration
            Its `front` has the points.

        Examples
        --------
        >>> chat = mlsysim.ask("Llama3_8B", "H100")
        >>> len(chat.pareto({"batch_size": [1, 8, 64]}, minimize=["itl", "cost_per_token"]).front) > 1
        True
        """
        return _search(self, "pareto", axes, minimize, maximize, subject_to, show, 1, **how)

    def explore(self, result=None, axes=None, show=(), **more):
        """Show sliders over inputs, with the results and a curve.

        Parameters
        ----------
        result : str, optional
            The main result; by default itl, step_latency, latency or ttft.
        axes : dict, optional
            Axes as in `optimize`. Without any, the batch size and the two device parameters that matter most, from half to double.
        show : str or iterable of str, optional
            Further results to show.
        **more
            Axes whose names have no dot.

        Returns
        -------
        Explorer
            Display needs ipywidgets; `set`, `results` and `plot` do not.

        Examples
        --------
        >>> mlsysim.ask("Llama3_8B", "H100").explore("itl", batch_size="1..8*2").set(batch_size=4).values
        {'batch_size': 4}
        """
        from .widgets import Explorer

        return Explorer(self, result, {**(axes or {}), **more} or None, show)

    def sweep(self, axes, show, subject_to=(), anything=False, executor=None, shards=None, progress=None, interval=0):
        """Evaluate every point of a space.

        Parameters
        ----------
        axes : dict or path
            Axes as in `optimize`.
        show : str or iterable of str
            Results to compute.
        subject_to : str or iterable of str, optional
            Constraints, which decide `feasible`. No point is left out.
        anything : bool, default False
            Whether `feasible` ignores memory and the division of the devices.
        executor : optional
            A concurrent.futures.Executor, a Dask Client, or the module ray after ray.init(). The result does not depend on it.
        shards : int, optional
            Parts of the space for the executor; four for each worker by default. Shards of a lost worker are computed again.
        progress : bool or callable, optional
            As in `optimize`.
        interval : {0, 50, 80, 95}, default 0
            If not 0, adds the columns NAME_lower and NAME_upper of the interval that should contain this percentage of measurements.

        Returns
        -------
        Sweep
            Columns of axis values and results.

        Examples
        --------
        >>> rows = mlsysim.ask("Llama3_8B", "H100").sweep({"batch_size": "1..8*2"}, show="itl")
        >>> [int(n) for n in rows["batch_size"]]
        [1, 2, 4, 8]
        """
        question = (_axes(axes), _texts(subject_to), _texts(show), anything, _count("interval", interval))
        progress, end = self._told(progress)
        if executor is None:
            found = Sweep([self._core.rows(*question, 1, 1)])
        else:
            from . import scale

            found = Sweep(scale.run(executor, self, "rows", question, shards, progress))
        end(float(len(found)))
        return found

    def merge(self, parts):
        """Join the answers of all shards of a search.

        Parameters
        ----------
        parts : iterable of Exploration
            Answers of `optimize` or `pareto` with shard=(1, n) to shard=(n, n).

        Returns
        -------
        Exploration
            The answer of one search over the whole space.

        Raises
        ------
        InputError
            The list is empty or has other objects.

        Examples
        --------
        >>> chat = mlsysim.ask("Llama3_8B", "H100")
        >>> parts = [chat.optimize({"batch_size": [1, 2, 4, 8]}, minimize="itl", shard=(k, 2)) for k in (1, 2)]
        >>> chat.merge(parts).total
        4.0
        """
        parts = [parts] if isinstance(parts, Exploration) else list(parts)
        strange = [type(p).__name__ for p in parts if not isinstance(p, Exploration)]
        if strange or not parts:
            raise _input_error("there are no parts to join", key="parts", found=", ".join(strange) or "an empty list",
                               expected="the Explorations of all shards", hint="optimize(..., shard=(1, 4)) gives the first of four",
                               id="mlsysim.python.173")
        question = parts[0]._question
        return Exploration(self._core.merge(*question, [p.state for p in parts]), question)

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


def _core_of(what, other):
    if not isinstance(other, Subject):
        raise _input_error(f"'{what}' is another subject", key=what, found=f"{other!r} ({type(other).__name__})",
                           expected="a Subject", hint="make one by ask(...)", id="mlsysim.python.177")
    return other._core

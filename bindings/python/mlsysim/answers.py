"""Answers of `Subject`: sensitivity, solution, difference, uncertainty, intervals and derivation."""

import json
from functools import cached_property

from ._mlsysim import Quantity

__all__ = ["Difference", "Explanation", "Intervals", "Lever", "Sensitivity", "Solution", "Uncertainty"]


def _valued(number, unit):
    return Quantity(number, unit) if unit and number is not None else number


class Lever:
    """Effect of one input on a result.

    Attributes
    ----------
    input, meaning, unit : str
        The input.
    value : Quantity or float
        Its value here.
    slope : {"smooth", "kink", "step"}
        Form of the dependence.
    elasticity : float or None
        Relative change of the result per relative change of the input; None at a kink.
    elasticity_up, elasticity_down : float
        Elasticities of the two sides.
    lower, upper : Quantity or float
        Changed values of the input.
    at_lower, at_upper : float
        Relative change of the result there.
    ceiling : float
        Relative change of the result however far the input goes.
    matters_at : Quantity or float
        Value at which an input without effect starts to have one.
    words : str
        The effect as a sentence.
    """

    __slots__ = ("input", "meaning", "unit", "value", "slope", "elasticity", "elasticity_up", "elasticity_down", "lower",
                 "upper", "at_lower", "at_upper", "ceiling", "matters_at", "words")

    def __init__(self, row):
        for name in self.__slots__:
            value = row[name]
            setattr(self, name, _valued(value, row["unit"]) if name in ("value", "lower", "upper", "matters_at") else value)

    def __repr__(self):
        return f"Lever({self.words!r})"


class _Answer:
    """Answer with the JSON of the command line behind it."""

    def __init__(self, text, data):
        self._text, self._data = text, data

    def to_dict(self):
        """The answer as plain data, ready for JSON."""
        return self._data

    def __str__(self):
        return self._text

    __repr__ = __str__

    def _repr_pretty_(self, printer, cycle):
        printer.text(self._text)

    def _rows(self):
        """(caption, columns, rows, a line below) of the answer as a table."""
        raise NotImplementedError

    def _repr_html_(self):
        from .notebook import table

        return table(*self._rows())


class Explanation(str):
    """Derivation of a result; as a string, its text.

    Attributes
    ----------
    result : str
        Name of the result.
    value : Quantity or float
        Its value.
    derivation : dict
        Tree of law calls: law, equation, source, inputs, results, operations, calls.
    operators : list
        Operators of the pass, if there is one.
    handed_in : list of str
        Values that are not derived.
    figures, assumptions : list
        Parameters with their sources, and values that were not given.
    markdown, latex : str
        The derivation in other formats.
    """

    def __new__(cls, core):
        out = super().__new__(cls, core.text())
        out._core = core
        return out

    # The other forms are several times the work of the text, and mostly nobody asks for them.
    _data = cached_property(lambda self: json.loads(self._core.json()))
    result = property(lambda self: self._data["metric"], doc="Name of the result.")
    value = property(lambda self: _valued(self._data["value"], self._data["unit"]), doc="Value of the result.")
    handed_in = property(lambda self: self._data["handed_in"], doc="Values that are not derived, as sentences.")
    derivation = property(lambda self: self._data["derivation"], doc="Tree of law calls as plain data.")
    operators = property(lambda self: self._data["operators"], doc="Operators of the pass, if there is one.")
    figures = property(lambda self: self._data["figures"], doc="Parameters with their sources.")
    assumptions = property(lambda self: self._data["assumptions"], doc="Values that were not given.")
    markdown = cached_property(lambda self: self._core.markdown())
    latex = cached_property(lambda self: self._core.latex())

    def to_dict(self):
        """Convert to plain data for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> mlsysim.ask("Llama3_8B", "H100").explain("itl").to_dict()["metric"]
        'itl'
        """
        return self._data

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))

    def _repr_markdown_(self):
        return self.markdown


class Sensitivity(_Answer):
    """Effects of inputs on a result, largest first. `sensitivity["batch_size"]` is one Lever.

    Attributes
    ----------
    result : str
        Name of the result.
    value : Quantity or float
        Its value.
    binding : str
        What limits the result.
    levers : list of Lever
        One for each input.
    method : str
        How slopes were computed.
    assumptions : list
        (name, value, source) of values that were not given.
    warnings : list of str
        Limits of the answer.
    """

    def __init__(self, data, text):
        super().__init__(text, data)
        self.result, self.method, self.binding = data["result"], data["method"], data["binding"]
        self.value = _valued(data["value"], data["unit"])
        self.levers = [Lever(row) for row in data["levers"]]
        self.assumptions = [(a["name"], a["value"], a["source"]) for a in data["assumptions"]]
        self.warnings = data["warnings"]

    def __getitem__(self, name):
        for lever in self.levers:
            if lever.input == name:
                return lever
        raise KeyError(name)

    def tornado(self):
        """List the bars of a tornado plot, longest first.

        Returns
        -------
        list
            (input, relative change of the result at the lower value, at the upper value).

        Examples
        --------
        >>> bars = mlsysim.ask("Llama3_8B", "H100").sensitivity("itl", inputs=["hardware.memory.bandwidth"]).tornado()
        >>> bars[0][1] > 0 > bars[0][2]
        True
        """
        return [(lever.input, lever.at_lower, lever.at_upper) for lever in self.levers]

    def _ipython_key_completions_(self):
        return [lever.input for lever in self.levers]

    def _rows(self):
        columns = ("input", "value", "elasticity", "at the lower value", "at the upper value", "in words")
        return (f"{self.result} = {self.value}", columns,
                ((v.input, v.value, v.elasticity, v.at_lower, v.at_upper, v.words) for v in self.levers), self.binding or "")

    def __repr__(self):
        return f"Sensitivity({self.result!r}, binding={self.binding!r})"


class Difference(_Answer):
    """Difference of a result between two setups.

    Attributes
    ----------
    result : str
        Name of the result.
    at_from, at_to : Quantity or float
        The result in the first and second setup.
    terms : list
        (input, from, to, part, share) of each input, largest first. The parts add up to at_to - at_from.
    """

    def __init__(self, data, text):
        super().__init__(text, data)
        self.result = data["result"]
        self.at_from, self.at_to = _valued(data["at_from"], data["unit"]), _valued(data["at_to"], data["unit"])
        self.terms = [(t["input"], _valued(t["from"], t["unit"]), _valued(t["to"], t["unit"]), _valued(t["part"], data["unit"]), t["share"])
                      for t in data["terms"]]

    def _rows(self):
        return (f"{self.result}: {self.at_from} -> {self.at_to}", ("input", "from", "to", "part", "share"), self.terms, "")

    def __repr__(self):
        return f"Difference({self.result!r}, {self.at_from} -> {self.at_to})"


class Uncertainty(_Answer):
    """Results with uncertain parameters. `uncertainty["itl"]` is the spread of one result.

    Attributes
    ----------
    results : dict
        {name: {value, mean, sd, low, median, high, linear_sd, outer_bounds, first_order, total}}. The last two are
        {parameter: share of the variance}.
    bottleneck : str
        Part of the time that is the longest.
    flips : float
        Share of the samples in which another part is the longest.
    ranking : dict or None
        other, result, probability_below and flips of `against`.
    assumptions : list
        (name, distribution, source) of ranges from the zoo.
    """

    def __init__(self, data, text):
        super().__init__(text, data)
        self.figures, self.bottleneck, self.flips = data["figures"], data["bottleneck"], data["flips"]
        self.ranking = data.get("ranking")
        self.assumptions = [(a["name"], a["value"], a["source"]) for a in data["assumptions"]]
        self.results = {}
        for row in data["results"]:
            out = {k: _valued(row[k], row["unit"]) for k in ("value", "mean", "sd", "low", "median", "high", "linear_sd")}
            bounds = row["outer_bounds"]
            out["outer_bounds"] = bounds and tuple(_valued(b, row["unit"]) for b in bounds)
            out["first_order"] = dict(zip(self.figures, row["first_order"]))
            out["total"] = dict(zip(self.figures, row["total"]))
            self.results[row["result"]] = out

    def __getitem__(self, name):
        return self.results[name]

    def _ipython_key_completions_(self):
        return list(self.results)

    def _rows(self):
        names = ("value", "mean", "sd", "low", "median", "high")
        return ("uncertainty", ("result", *names), ((r, *(row[n] for n in names)) for r, row in self.results.items()),
                f"limited by {self.bottleneck}; another part is the longest in {self.flips:.1%} of the samples" if self.bottleneck else "")


class Intervals(_Answer):
    """Intervals that should contain a share of measurements. `intervals["itl"]` is that of one result.

    Attributes
    ----------
    intervals : dict
        {name: {level, value, lower, upper, zoo_ranges, model_error, basis}}. zoo_ranges (low, high) is the part from uncertain
        parameters, model_error that from errors on measured setups or None. basis says how many rows were measured how near.
    """

    def __init__(self, data, text):
        super().__init__(text, data)
        self.intervals = {}
        for name, row in data["intervals"].items():
            out = {k: _valued(row[k], row["unit"]) for k in ("value", "lower", "upper")}
            for k in ("zoo_ranges", "model_error"):
                out[k] = row[k] and tuple(_valued(x, row["unit"]) for x in row[k])
            self.intervals[name] = {"level": row["level"], **out, "basis": row["basis"]}

    def __getitem__(self, name):
        return self.intervals[name]

    def _ipython_key_completions_(self):
        return list(self.intervals)

    def _rows(self):
        names = ("value", "lower", "upper", "basis")
        return ("intervals", ("result", *names), ((r, *(row[n] for n in names)) for r, row in self.intervals.items()), "")


class Solution(_Answer):
    """Input that meets a condition.

    Attributes
    ----------
    free : str
        Name of the input.
    value : Quantity or float
        Its extreme value that meets the condition.
    at_value : Quantity or float
        The result there.
    ranges : list
        (low, high) of all solutions.
    exhaustive : bool
        Whether no solution can be missing; `verification` has the evidence.
    memory : str
        What does not fit where the condition alone would go further.
    """

    feasible = True

    def __init__(self, data, text):
        super().__init__(text, data)
        self.free, self.condition, self.method = data["free"], data["condition"], data["method"]
        self.value = _valued(data["value"], data["unit"])
        self.at_value = _valued(data["at_value"], data["result_unit"])
        self.ranges = [(_valued(s["low"], data["unit"]), _valued(s["high"], data["unit"])) for s in data["solutions"]]
        self.exhaustive, self.verification, self.memory = data["exhaustive"], data["verification"], data.get("memory", "")

    def _rows(self):
        return (self.condition, (self.free, "result there", "exhaustive"), [(self.value, self.at_value, self.exhaustive)], self.memory)

    def __repr__(self):
        return f"Solution({self.free}={self.value}, {self.condition!r})"

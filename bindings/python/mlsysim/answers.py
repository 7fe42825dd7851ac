"""Answers to questions about one subject: what a number hangs on, how sure it is, which input meets a condition."""

import json
from functools import cached_property

from ._mlsysim import Quantity

__all__ = ["Difference", "Explanation", "Intervals", "Lever", "Sensitivity", "Solution", "Uncertainty"]


def _valued(number, unit):
    return Quantity(number, unit) if unit and number is not None else number


class Lever:
    """What one input does to a result.

    input, meaning, unit, value, slope ("smooth", "kink", "step"), elasticity (None at a kink), elasticity_up,
    elasticity_down, lower, upper (values of the input), at_lower, at_upper (relative change of the result there),
    ceiling (relative change however far the input goes), matters_at (where an input without effect starts to have one),
    words.
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
    """A derivation; as a string, its text.

    result, value, handed_in (what was not derived, in words), derivation (a tree of calls as plain data: law, equation,
    source, inputs, results, operations, calls), operators (of the pass, where there is one), figures, assumptions,
    markdown, latex.
    """

    def __new__(cls, core):
        out = super().__new__(cls, core.text())
        out._core = core
        return out

    # The other forms are several times the work of the text, and mostly nobody asks for them.
    _data = cached_property(lambda self: json.loads(self._core.json()))
    result = property(lambda self: self._data["metric"])
    value = property(lambda self: _valued(self._data["value"], self._data["unit"]))
    handed_in = property(lambda self: self._data["handed_in"])
    derivation = property(lambda self: self._data["derivation"])
    operators = property(lambda self: self._data["operators"])
    figures = property(lambda self: self._data["figures"])
    assumptions = property(lambda self: self._data["assumptions"])
    markdown = cached_property(lambda self: self._core.markdown())
    latex = cached_property(lambda self: self._core.latex())

    def to_dict(self):
        """The answer as plain data, ready for JSON."""
        return self._data

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))

    def _repr_markdown_(self):
        return self.markdown


class Sensitivity(_Answer):
    """What a result hangs on: result, value, method, binding (what limits it, in words), levers, largest effect first."""

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
        """[(input, relative change at the lower value, at the upper value)], longest bar first."""
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
    """Difference of a result between two subjects: at_from, at_to, terms [(input, from, to, part, share)], largest first."""

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
    """Results under uncertainty: results {name: {value, mean, sd, low, median, high, linear_sd, outer_bounds, first_order {figure: share},
    total {figure: share}}}, bottleneck, flips (share of the samples in which another part is the longest), ranking
    {other, result, probability_below, flips} or None, assumptions [(name, distribution, source)] that the zoo's ranges brought."""

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
    """Results with their intervals: intervals {name: {level, value, lower, upper, zoo_ranges (low, high), model_error (low, high) or
    None, basis}}; basis says on how many measured rows the model's error rests and how far they are."""

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
    """An input that meets a condition: free, value, at_value (the result there), ranges (low, high) of all solutions,
    exhaustive (none was missed), verification, memory (what does not fit where the condition alone would go further)."""

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

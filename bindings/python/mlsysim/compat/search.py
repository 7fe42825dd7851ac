"""Searches over functions of Python, and comparisons in words.

`Subject.optimize` searches far larger spaces with a proof; these serve those who have a function of their own.
"""

import itertools
import operator
import re

from ..errors import _input_error

__all__ = ["DSE", "DifferentialExplainer", "SearchSpace"]

_SIGNS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "<": operator.lt, ">": operator.gt}


def _value(result, path):
    for part in path.split("."):
        result = result[part] if isinstance(result, dict) else getattr(result, part)
    return result


class SearchSpace:
    """The space of a DSE: {name: values} as `parameters`."""

    def __init__(self, parameters):
        self.parameters = dict(parameters)


class DSE:
    """Every point of {name: values} through a function, the best by "minimize: path" or "maximize: path" of its result.

    Constraints are texts "path <= number" or "path <= 50 ms". A point whose result says that it is not feasible is left out; what
    the function raises goes to the caller.
    """

    def __init__(self, space, objective, constraints=None):
        found = re.fullmatch(r"\s*(minimize|maximize)\s*[:(]?\s*([\w.]+)\)?\s*", objective)
        if not found:
            raise _input_error("the objective cannot be read", key="objective", found=f"'{objective}'",
                               expected="'minimize: path' or 'maximize: path'", id="mlsysim.python.200")
        space = getattr(space, "parameters", space)
        self.space, (self.direction, self.metric) = dict(space), found.groups()
        self.constraints = [self._constraint(text) for text in constraints or ()]

    @staticmethod
    def _constraint(text):
        from ..units import Q_

        found = re.fullmatch(r"\s*([\w.]+)\s*(<=|>=|==|<|>)\s*(.+?)\s*", text)
        if not found:
            raise _input_error("the constraint cannot be read", key="constraints", found=f"'{text}'", expected="'path <= number'",
                               id="mlsysim.python.201")
        path, sign, limit = found.groups()
        limit = Q_(limit)
        return path, _SIGNS[sign], float(limit) if limit.dimensionless else limit

    def _kept(self, result):
        level = getattr(result, "feasibility", None)
        if getattr(level, "status", "PASS") == "FAIL" or getattr(result, "feasible", True) is False:
            return False
        return all(sign(_value(result, path), limit) for path, sign, limit in self.constraints)

    def search(self, function):
        """best_params, best_objective, best_result, and the five best points as top_candidates. ValueError where nothing is left."""
        found = []
        for values in itertools.product(*self.space.values()):
            point = dict(zip(self.space, values))
            result = function(point)
            if self._kept(result):
                found.append({"params": point, "objective_value": _value(result, self.metric), "result": result})
        if not found:
            raise _input_error("no point of the space meets the constraints", key="space", found=f"{len(found)} points that do",
                               expected="at least one", id="mlsysim.python.202")
        found.sort(key=lambda row: row["objective_value"], reverse=self.direction == "maximize")
        best = found[0]
        return {"best_params": best["params"], "best_objective": best["objective_value"], "best_result": best["result"],
                "top_candidates": found[:5]}


class DifferentialExplainer:
    """Why one profile is faster than another, in words; `ask(...).compare(...)` divides the difference among its causes."""

    @staticmethod
    def compare_performance(baseline, proposal):
        """Compare two profiles, as lines of text."""
        pair = [one["SingleNodeModel"] if isinstance(one, dict) else one for one in (baseline, proposal)]
        before, after = pair
        lines = [f"Speedup: {float(before.latency / after.latency):.2f}x", f"Baseline: limited by {before.bottleneck}",
                 f"Proposal: limited by {after.bottleneck}"]
        for part in ("latency_compute", "latency_memory", "latency_overhead"):
            lines.append(f"{part[len('latency_'):].capitalize()} time: {getattr(before, part)} -> {getattr(after, part)}")
        return "\n".join(lines)

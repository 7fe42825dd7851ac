"""What is kept of the answers to questions: numbers, and of long lists the entries by their names.

Below "relative" stand differences and shares of something else. They are of size one, and compared as such
(comparing.py): where two equal numbers are subtracted, the rest is rounding.
"""

import mlsysim

from recording import Numbers


def keep(answer, fields):
    """Fields with what the answer assumed; a refusal that is an answer is kept as it is."""
    if isinstance(answer, mlsysim.Infeasible):
        return answer
    return Numbers(fields(answer), getattr(answer, "assumptions", ()), getattr(answer, "warnings", ()))


def of_sensitivity(found):
    levers = {}
    for lever in found.levers:
        row = levers[lever.input] = {
            key: getattr(lever, key) for key in ("elasticity", "at_lower", "at_upper", "ceiling")}
        # Beside an elasticity the two of each side say nothing more.
        if lever.elasticity is None or lever.slope != "smooth":
            row.update({"slope": lever.slope, "up": lever.elasticity_up, "down": lever.elasticity_down})
    return {"value": found.value, "relative": levers}


def of_solution(found):
    return {"value": found.value, "at_value": found.at_value, "ranges": [list(pair) for pair in found.ranges],
            "exhaustive": found.exhaustive, "fits": not found.memory}


def of_difference(found):
    shares = {name: share for name, _, _, _, share in found.terms}
    return {"from": found.at_from, "to": found.at_to, "relative": shares}


def of_uncertainty(found):
    shares = {"flips": found.flips}
    out = {"bottleneck": found.bottleneck, "ranking": found.ranking, "relative": shares}
    for name, row in found.results.items():
        out[name] = {key: row[key] for key in ("value", "mean", "low", "median", "high", "outer_bounds")}
        shares[name] = {key: row[key] for key in ("first_order", "total")}
        for key in ("sd", "linear_sd"):
            if row[key] is not None:
                shares[name][key] = row[key] / row["value"]
    return out


def of_points(points):
    """Points by what they are, so that their order does not matter."""
    out = {}
    for point in points:
        name = ",".join(f"{axis}={label}" for axis, label in sorted(point.labels.items()))
        out[name] = {**point.objectives, **point.shown}
    return out


def of_search(found):
    counts = ("total", "feasible", "not_feasible", "skipped", "exactness")
    return {
        **{key: getattr(found, key) for key in counts},
        "infeasible": found.infeasible or "",
        "best": of_points(found.best),
        "front": of_points(found.front),
        "hypervolume": (found.hypervolume or {}).get("relative"),
        "relaxations": {row["text"]: row["relaxation"] for row in found.constraints},
    }


def of_explanation(found):
    """The value, how often each law was called, and what its results add up to."""
    laws = {}
    calls = [found.derivation]
    while calls:
        call = calls.pop()
        calls.extend(call.get("calls", ()))
        row = laws.setdefault(call["law"], {"calls": 0})
        row["calls"] += 1
        for result in call.get("results", ()):
            if isinstance(result.get("value"), (int, float)):
                row[result["name"]] = row.get(result["name"], 0) + result["value"]
    return {"value": found.value, "laws": laws}


def of_operators(rows):
    """Operators of one name and pass together."""
    out = {}
    for row in rows:
        one = out.setdefault(f"{row.pass_}.{row.name}", {"limit": row.limit, "count": 0, "time": None})
        one["count"] += row.count
        one["time"] = row.time if one["time"] is None else one["time"] + row.time
    return out

"""What is written down of an answer: flat fields with plain values, and what was assumed and warned of."""

import math

import mlsysim
from mlsysim import Quantity


def recorded(ask):
    """({fields, and where there are any assumptions and warnings}, {field: unit}) of an ask.

    Of one that is refused, the error's id and its message.
    """
    try:
        answer = ask.ask()
    except mlsysim.Error as error:
        return {"error": error.id, "message": str(error)}, {}
    # An exception that is none of the library's is a defect; its type is part of the answer all the same.
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}, {}
    units = {}
    out = {"fields": sorted_by_key(flat(fields_of(answer), units))}
    assumed = assumptions_of(answer) if ask.assumptions else {}
    if assumed:
        out["assumptions"] = sorted_by_key(assumed)
    if getattr(answer, "warnings", None):
        out["warnings"] = sorted(answer.warnings)
    return out, units


def sorted_by_key(fields):
    return dict(sorted(fields.items()))


def fields_of(answer):
    """The fields of any answer, nested as it has them."""
    if isinstance(answer, mlsysim.SystemEvaluation):
        return scorecard(answer)
    if isinstance(answer, mlsysim.SolverResult):
        return answer.dict()
    return answer.fields if isinstance(answer, Numbers) else answer


def scorecard(card):
    """The levels of a scorecard, called as in its `to_dict`, parts of the memory, and what would make it fit.

    Summaries say the same again in words and are left out.
    """
    out = {"mode": card.mode, "fidelity": card.fidelity}
    out.update({"memory": card.memory, "remedies": dict(card.remedies)})
    levels = {"f": card.feasibility, "p": card.performance, "m": card.macro, **card.further}
    for prefix, level in levels.items():
        out[f"{prefix}_status"] = level.status
        out.update({f"{prefix}_{name}": value for name, value in level.metrics.items()})
    return out


class Numbers:
    """Fields that an ask picked itself, and what the answer assumed."""

    def __init__(self, fields, assumptions=(), warnings=()):
        self.fields, self.assumptions, self.warnings = fields, assumptions, warnings


def assumptions_of(answer):
    """{name: value} of what was assumed; of two values of one name both. Inputs left out are none."""
    out = {}
    for name, text, _ in getattr(answer, "assumptions", None) or ():
        if text == "(absent)":
            continue
        out[name] = text if out.get(name, text) == text else f"{out[name]} | {text}"
    return out


def flat(fields, units, prefix=""):
    """Nested fields with dots in their names; quantities in base units, whose names are added to `units`."""
    out = {}
    for name, value in fields.items():
        name = f"{prefix}{name}"
        if isinstance(value, dict):
            out.update(flat(value, units, name + "."))
        elif isinstance(value, (list, tuple)):
            out.update(flat({str(i): item for i, item in enumerate(value)}, units, name + "."))
        else:
            if isinstance(value, Quantity):
                units[name] = str(value.to_base().units)
            out[name] = plain(value)
    return out


def plain(value):
    """A value of JSON from which the same double is read again."""
    if isinstance(value, Quantity):
        value = value.base
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            return repr(float(value))
        return int(value) if value == int(value) and abs(value) < 2**53 else float(value)
    return getattr(value, "name", None) or str(value)

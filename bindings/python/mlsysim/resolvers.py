"""Shipped resolvers, one class each. A class is made when it is first used."""

from . import _mlsysim as _core
from .base import BaseOptimizer, BaseSolver, ForwardModel

_BASES = {"model": ForwardModel, "solver": BaseSolver, "optimizer": BaseOptimizer}
_classes = {}


def _names(laws):
    return [n for n in _core._resolver_names() if _core._resolver(n).is_law == laws]


def resolver_class(name):
    """Return the class of a shipped resolver or law.

    Parameters
    ----------
    name : str
        Name of the class.

    Returns
    -------
    class
        Derived from ForwardModel, BaseSolver or BaseOptimizer.

    Raises
    ------
    LookupError
        There is no such resolver or law.

    Examples
    --------
    >>> resolver_class("ServingModel").produces.__name__
    'ServingResult'
    """
    if name not in _classes:
        _classes[name] = _make(_core._resolver(name))
    return _classes[name]


def _literal(row):
    """A default as Python would write it in a signature."""
    text = row["default"]
    if row["kind"] == "flag":
        return {"true": "True", "false": "False"}.get(text, "None")
    if row["kind"] == "number":
        try:
            return repr(int(float(text))) if float(text).is_integer() else repr(float(text))
        except ValueError:
            return "None"
    return repr(text) if text and text != "(absent)" and row["kind"] in ("quantity", "text", "choice") else "None"


def _range_words(row):
    """What a number must be, in words; empty where it may be anything."""
    low, high = row["low"], row["high"]
    if row["kind"] not in ("number", "quantity") or (low is None and high is None and not row["whole"]):
        return ""
    words = "whole, " if row["whole"] else ""
    if low is None:
        return words + f"at most {high:g}" if high is not None else words[:-2]
    if high is None:
        return words + (f"more than {low:g}" if row["open_low"] else f"at least {low:g}")
    return words + (f"more than {low:g}, at most {high:g}" if row["open_low"] else f"{low:g} to {high:g}")


def _type_words(row):
    """Unit, choices and range of a field, as numpydoc has them after its name."""
    unit = f"[{row['unit']}]" if row["unit"] else ""
    choices = f"{{{', '.join(row['choices'])}}}" if row["choices"] else ""
    return ", ".join(filter(None, [unit or choices or row["kind"], choices if unit else "", _range_words(row)]))


def _describe(row):
    default = "" if row["required"] else f" (default: {row['default_source'] or row['default']})"
    return f"{row['name']} : {_type_words(row)}\n    {row['meaning']}{default}"


def _section(title, lines):
    return ["", title, "-" * len(title), *lines]


def _first_line(core):
    if core.about:
        return f"{'Estimate' if core.tier == 'model' else 'Find'} {core.about}."
    *most, last = dict.fromkeys(r["name"].partition(".")[0] for r in core.outputs)
    return f"Compute {', '.join(most)} and {last}." if most else f"Compute {last}."


def _texts(core):
    from .results import result_name

    inputs, outputs = core.inputs, core.outputs
    lines = [_first_line(core)]
    lines += _section("Parameters", map(_describe, inputs))
    lines += _section("Returns", [result_name(core.name)])
    lines += [f"    {r['name']}{' [' + r['unit'] + ']' if r['unit'] else ''}: {r['meaning']}" for r in outputs]
    notes = [f"{title}: {text}" for title, text in (("Law", core.law), ("Source", core.source)) if text]
    if any(r["name"] == "workload" for r in inputs):
        notes.append("`model` means `workload`.")
    if notes:
        lines += _section("Notes", notes)
    signature = ", ".join(r["name"] if r["required"] else f"{r['name']}={_literal(r)}" for r in _in_order(inputs))
    return "\n".join(lines), f"solve($self, {signature})\n--\n\n"


def _in_order(inputs):
    """Rows as a signature may list them; beyond a default, required ones are keywords."""
    seen_default, out = False, []
    for row in inputs:
        if row["required"] and seen_default:
            return [r for r in inputs if r["required"]] + [r for r in inputs if not r["required"]]
        seen_default = seen_default or not row["required"]
        out.append(row)
    return out


def _make(core):
    from .results import Infeasible, _make_class, result_name

    def no_result(name, reason, change, facts):
        return Infeasible(resolver=name, reason=reason, smallest_change=change, facts=facts)

    base = _BASES[core.tier]
    doc, signature = _texts(core)
    produces = _make_class(result_name(core.name), core, core.outputs)
    solve = _core._solve_function(core, produces, no_result, signature + doc)
    space = {
        "__doc__": doc,
        "__module__": "mlsysim.laws" if core.is_law else "mlsysim.resolvers",
        "_resolver": core,
        "_core_solve": solve,
        "requires": tuple(r["name"] for r in core.inputs if r["required"]),
        "produces": produces,
        "walls": tuple(core.walls),
        "about": core.about,
        "law": core.law,
        "source": core.source,
        "solve": solve,
        "fallacies": classmethod(lambda cls: cls._resolver.fallacies),
        "schema": classmethod(_schema),
    }
    if core.is_law:
        from .laws import _TOOLS

        space.update(_TOOLS)
    import types

    return types.new_class(core.name, (base,), {"shipped": True}, lambda namespace: namespace.update(space))


def _schema(cls):
    """What the resolver takes and gives, with units, meanings, ranges and defaults."""
    core = cls._resolver
    return {
        "resolver": core.name, "type": core.tier, "walls": list(core.walls), "requires": list(cls.requires),
        "produces": cls.produces.__name__, "about": core.about, "law": core.law, "source": core.source,
        "inputs": core.inputs, "outputs": core.outputs,
    }


def __getattr__(name):
    if name == "__all__":
        return _names(laws=False)
    if not name.startswith("_") and name in _names(laws=False):
        globals()[name] = cls = resolver_class(name)
        return cls
    raise AttributeError(f"module 'mlsysim.resolvers' has no attribute '{name}'")


def __dir__():
    return [*_names(laws=False), "resolver_class"]

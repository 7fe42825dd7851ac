"""Arguments of questions in the form that the compiled part takes."""

import operator
import os

from . import _mlsysim as _core
from .errors import _input_error


def with_load(options):
    """Options of a scenario under its own names: concurrency=8 is batch_size=8, load="concurrency", and tp=8 is tp_size=8."""
    options = dict(options)
    given = [name for name in ("batch_size", "concurrency", "burst") if options.get(name) is not None]
    if len(given) > 1:
        raise _input_error("two loads are given", key=given[1], found=" and ".join(f"{name}={options[name]!r}" for name in given),
                           expected="one of batch_size, concurrency and burst", id="mlsysim.python.263")
    for load in ("concurrency", "burst"):
        if load in options:
            options["batch_size"] = options.pop(load)
            options["load"] = load
    for name in list(options):
        ours = _core._canonical_name(name)
        if ours != name and ours in options:
            raise _input_error(f"'{ours}' is given twice", key=ours, found=f"{name}={options[name]!r} and {ours}={options[ours]!r}",
                               expected="one of the two", id="mlsysim.python.310")
        options[ours] = options.pop(name)
    if isinstance(options.get("arrival_rate"), str) and "req" not in options["arrival_rate"]:
        options["arrival_rate"] = options["arrival_rate"].replace("/", " request/", 1)
    tokens = options.get("training_tokens")
    if isinstance(tokens, (int, float)) or (isinstance(tokens, str) and "tok" not in tokens):
        options["training_tokens"] = f"{tokens}token"  # "15T" counts tokens
    return options


def _figures(figures):
    return [f"{name} = {text}" for name, text in dict(figures).items()]


def _texts(value):
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _shard(shard):
    try:
        part, parts = (operator.index(n) for n in shard)
    except (TypeError, ValueError):
        part = parts = 0
    if not 1 <= part <= parts:
        raise _input_error("the shard cannot be read", key="shard", found=repr(shard), expected="(k, n) with 1 <= k <= n, e.g. (3, 16)",
                           id="mlsysim.python.178")
    return part, parts


def _is_column(values):
    """Whether it is a numpy array of numbers in a row, which is read as a whole."""
    kind = type(values)
    return (kind.__module__, kind.__name__) == ("numpy", "ndarray") and values.ndim == 1 and values.dtype.kind in "iuf"


def _axes(axes):
    if isinstance(axes, (str, os.PathLike)):
        return [((), os.fspath(axes))]
    out = []
    for names, values in dict(axes).items():
        several = isinstance(names, tuple)
        names = names if several else (names,)
        if not several and _is_column(values):
            values = values.astype("float64", order="C", copy=False)
        elif not isinstance(values, (str, range)) or (several and isinstance(values, range)):
            values = [tuple(v) if several else (v,) for v in values]
        out.append((names, values))
    return out


def _count(name, value):
    """A count, where the compiled part takes one."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
        raise _input_error(f"'{name}' is a count", key=name, found=repr(value), expected="a whole number, at least 0",
                           id="mlsysim.python.175")
    return int(value)


def _name(what, value):
    if not isinstance(value, str):
        raise _input_error(f"'{what}' is a text", key=what, found=f"{value!r} ({type(value).__name__})",
                           expected="a name of `describe()`, or a condition on one such as 'itl <= 30 ms'", id="mlsysim.python.176")
    return value


def _text(value):
    return None if value is None else str(value)

"""Answers as tables of a notebook."""

import warnings
from html import escape
from itertools import islice

from ._mlsysim import Quantity

__all__ = ["bar", "table", "told"]

_MOST = 20  # rows that are shown


def _shown(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Quantity):
        return f"{value.magnitude:.6g} {value.units}".strip() if isinstance(value.magnitude, float) else str(value)
    return str(value)


def table(caption, columns, rows, below=""):
    """HTML of a table; texts are escaped, and of long ones the first rows are shown."""
    rows = iter(rows)
    kept = list(islice(rows, _MOST))
    more = sum(1 for _ in rows)
    head = "".join(f"<th style='text-align:left'>{escape(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{escape(_shown(v))}</td>" for v in row) + "</tr>" for row in kept)
    notes = [n for n in (f"{more} more rows" if more else "", below) if n]
    return (f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            + "".join(f"<p>{escape(n)}</p>" for n in notes))


def quantity(value):
    """HTML of a quantity: as a reader wants it, exact on hovering."""
    exact = repr(value).partition("'")[2].rpartition("'")[0]
    return f"<span title='{escape(exact, quote=True)}'>{escape(str(value))}</span>"


def bar():
    """A function for `progress`: the bar of tqdm where that is installed, in notebooks too, else a line on standard error."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _line
    shown = []

    def progress(done, total, rate, seconds_left):
        if not shown:
            shown.append(tqdm(total=total, unit=" points", unit_scale=True))
        shown[0].update(done - shown[0].n)
        if done >= total:
            shown[0].close()

    return progress


def _line(done, total, rate, seconds_left):
    import sys

    end = "\n" if done >= total else ""
    print(f"\r{done:.0f} of {total:.0f} points, {rate:.3g} a second, {seconds_left:.0f} s left  ", end=end, file=sys.stderr, flush=True)


def told(observers, title, progress):
    """A function for `progress` that also calls the method on_sweep of the observers, and one for the end of the sweep."""
    watching, last = list(observers), None

    def tell(done, total, seconds_left):
        nonlocal last
        last = done
        for observer in tuple(watching):
            try:
                observer.notify("on_sweep", {"title": title, "done": done, "total": total, "seconds_left": seconds_left})
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

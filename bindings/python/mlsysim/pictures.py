"""Pictures of answers: `card.plot()`, `front.plot()`, `rows.plot()`.

A picture is shown by a notebook as SVG with its Vega-Lite specification beside it, by a terminal as characters, and is
written to a file of any form. All forms are made from one description.
"""

import pathlib

from . import _mlsysim as _core
from .files import _write

__all__ = ["Picture"]

_ENDS = {".svg": "svg", ".png": "png", ".pdf": "pdf", ".html": "html", ".json": "json", ".csv": "csv", ".txt": "text"}


class Picture:
    """A picture as data, and its forms."""

    def __init__(self, core):
        self._core = core

    @property
    def kind(self):
        return self._core.kind

    @property
    def title(self):
        return self._core.title

    @property
    def description(self):
        """What is seen, in a sentence or two."""
        return self._core.description

    @property
    def sources(self):
        return self._core.sources

    def svg(self):
        return self._core.form("svg")

    def html(self):
        """A page that needs nothing from elsewhere."""
        return self._core.form("html")

    def png(self):
        """Bytes of an image; a SolverError where librsvg is missing."""
        return self._core.form("png")

    def vega(self):
        """The Vega-Lite specification with its data, as a dict."""
        import json

        return json.loads(self._core.form("vega"))

    def data(self):
        """The tables, as a dict."""
        import json

        return json.loads(self._core.form("json"))

    def text(self, width=96):
        """Characters for a terminal."""
        return self._core.text(width)

    def save(self, path):
        """Writes the file in the form that its name ends like: .svg, .png, .pdf, .html, .vl.json, .json, .csv, .txt."""
        path = pathlib.Path(path)
        form = "vega" if path.name.endswith(".vl.json") else _ENDS.get(path.suffix, path.suffix.lstrip("."))
        made = self._core.form(form)
        _write(path, made)
        return path

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"Picture({self.kind!r}, {self.title!r})"

    def _repr_svg_(self):
        return self.svg()

    def _repr_html_(self):
        return self.svg()

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = {"image/svg+xml": self.svg(), "text/plain": self.text(), "application/vnd.vegalite.v5+json": self.vega()}
        return {k: v for k, v in bundle.items() if (include is None or k in include) and k not in (exclude or ())}


def of_points(kind, title, description, x, y, series, labels):
    """A picture of columns: x and y are (title, unit, numbers)."""
    axes = tuple(f"{name} [{unit}]" if unit else name for name, unit, _ in (x, y))
    return Picture(_core._points_picture(kind, title, description, axes, [float(v) for v in x[2]], [float(v) for v in y[2]], series, labels))

"""Plots of answers: `card.plot()`, `front.plot()`, `rows.plot()`.

Notebooks show a plot as SVG, terminals as characters. All formats come from one description of the data.
"""

import pathlib

from . import _mlsysim as _core
from .files import _write

__all__ = ["Picture"]

_ENDS = {".svg": "svg", ".png": "png", ".pdf": "pdf", ".html": "html", ".json": "json", ".csv": "csv", ".txt": "text"}


class Picture:
    """Plot as data, with its formats. `plot` methods of answers make it.

    Attributes
    ----------
    kind, title, description : str
        Kind of the plot, its title, and what it shows in a sentence or two.
    sources : list
        Sources of its numbers.
    """

    def __init__(self, core):
        self._core = core

    @property
    def kind(self):
        """Kind of the plot, such as "roofline"."""
        return self._core.kind

    @property
    def title(self):
        """Title of the plot."""
        return self._core.title

    @property
    def description(self):
        """What the plot shows, in a sentence or two."""
        return self._core.description

    @property
    def sources(self):
        """Sources of the numbers."""
        return self._core.sources

    def svg(self):
        """Draw the plot as SVG.

        Returns
        -------
        str

        Examples
        --------
        >>> mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").plot().svg().count("</svg>")
        1
        """
        return self._core.form("svg")

    def html(self):
        """Draw the plot as a page that needs no other file.

        Returns
        -------
        str

        Examples
        --------
        >>> "<svg" in mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").plot().html()
        True
        """
        return self._core.form("html")

    def png(self):
        """Draw the plot as a PNG image.

        Returns
        -------
        bytes

        Raises
        ------
        SolverError
            librsvg is not installed.

        Examples
        --------
        >>> mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").plot().png()[1:4]     # doctest: +SKIP
        b'PNG'
        """
        return self._core.form("png")

    def vega(self):
        """Return the Vega-Lite specification with its data.

        Returns
        -------
        dict

        Examples
        --------
        >>> "$schema" in mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").plot().vega()
        True
        """
        import json

        return json.loads(self._core.form("vega"))

    def data(self):
        """Return the data of the plot.

        Returns
        -------
        dict

        Examples
        --------
        >>> isinstance(mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").plot().data(), dict)
        True
        """
        import json

        return json.loads(self._core.form("json"))

    def text(self, width=96):
        """Draw the plot with characters for a terminal.

        Parameters
        ----------
        width : int, default 96
            Width of the drawing in columns. Longer texts are not wrapped.

        Returns
        -------
        str

        Examples
        --------
        >>> "Llama3_8B on H100" in mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").plot().text(width=80)
        True
        """
        return self._core.text(width)

    def save(self, path):
        """Write the plot to a file.

        Parameters
        ----------
        path : path
            Its ending is the format: .svg, .png, .pdf, .html, .vl.json, .json, .csv or .txt.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        InputError
            The ending is not known, or the file cannot be written.
        SolverError
            The format needs librsvg, which is not installed.

        Examples
        --------
        >>> mlsysim.SystemEvaluator.evaluate("chat", "Llama3_8B", "H100").plot().save("itl.svg").suffix
        '.svg'
        """
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
    """Plot columns of numbers.

    Parameters
    ----------
    kind : {"curve", "pareto"}
        Kind of the plot.
    title, description : str
        Texts of the plot.
    x, y : (str, str, iterable of float)
        Title, unit and numbers of each axis.
    series : list of str
        Series of each point; empty for one series.
    labels : list of str
        Label of each point, or empty.

    Returns
    -------
    Picture

    Examples
    --------
    >>> of_points("curve", "y over x", "Two points.", ("x", "", [1, 2]), ("y", "ms", [3, 4]), [], []).kind
    'curve'
    """
    axes = tuple(f"{name} [{unit}]" if unit else name for name, unit, _ in (x, y))
    return Picture(_core._points_picture(kind, title, description, axes, [float(v) for v in x[2]], [float(v) for v in y[2]], series, labels))

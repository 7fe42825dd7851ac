"""Spaces of setups: the points that a search found, and the columns of a sweep."""

import json
import os

from . import _mlsysim as _core
from ._mlsysim import Quantity
from .answers import _Answer, _valued
from .arguments import _axes, _count, _shard, _texts
from .errors import LookupError, _input_error

__all__ = ["Exploration", "FoundPoint", "Sweep"]


class FoundPoint:
    """One point of an Exploration.

    Attributes
    ----------
    index : int
        Position in the space.
    axes : dict
        {name: value} as it was given: counts, quantities, texts, specs. `ask(..., **point.axes)` evaluates the point again.
    labels : dict
        {name: text} of the axis values.
    objectives, shown : dict
        {name: value} of the results.
    between : bool
        Whether a gradient search left the grid; `index` is then the nearest point of the grid.
    """

    __slots__ = ("index", "between", "axes", "labels", "objectives", "shown")

    def __init__(self, row, units, axes):
        self.index, self.between, self.labels, self.axes = row["index"], row["between"], row["axes"], axes
        self.objectives = {name: _valued(value, units[name]) for name, value in row["objectives"].items()}
        self.shown = {name: _valued(value, units[name]) for name, value in row["shown"].items()}

    def __repr__(self):
        return f"FoundPoint({self.index}, {self.labels}, {self.objectives})"


class Exploration(_Answer):
    """Answer to a search of a space.

    Attributes
    ----------
    best, front : list of FoundPoint
        Best points of `optimize`, Pareto front of `pareto`.
    total, evaluated, feasible, not_feasible, skipped : float
        Numbers of points.
    exactness : {"enumerated", "proven", "heuristic"}
        Every point was evaluated, bounds excluded the rest, or nothing is proven; `method` describes the search.
    constraints : list of dict
        Text and smallest relaxation of each constraint.
    infeasible : str or None
        Why no point is feasible.
    conflict : dict or None
        Constraints that exclude each other, with their relaxations and the nearest point.
    hypervolume : dict or None
        Relative and absolute hypervolume of a front.
    certificate, histogram : dict or None
        Proof of the optimum, and distribution of a result.
    state : bytes
        What `Subject.merge` joins.
    """

    def __init__(self, answer, question):
        data, text, self.seconds, self.state, self.infeasible, (best, front) = answer
        data = json.loads(data)
        super().__init__(text, data)
        self._question = question
        units = {row["text"]: row["unit"] for row in [*data["objectives"], *data["show"]]}
        self.best = [FoundPoint(row, units, axes) for row, axes in zip(data["best"], best)]
        self.front = [FoundPoint(row, units, axes) for row, axes in zip(data["front"], front)]
        for name in ("total", "evaluated", "feasible", "skipped", "exactness", "complete", "constraints", "skip_reasons"):
            setattr(self, name, data[name])
        self.not_feasible = data["infeasible"]
        self.certificate = data.get("certificate")
        self.histogram = data.get("histogram")
        self.method, self.hypervolume, self.conflict = data.get("method", ""), data.get("hypervolume"), data.get("conflict")

    def _rows(self):
        points = self.front or self.best
        if not points:
            return ("nothing is feasible", ("constraint", "relaxation"), ((c["text"], c["relaxation"]) for c in self.constraints), self.infeasible or "")
        axes, objectives, shown = points[0].labels, points[0].objectives, points[0].shown
        rows = ((*(p.labels[n] for n in axes), *(p.objectives[n] for n in objectives), *(p.shown[n] for n in shown)) for p in points)
        return ("front" if self.front else "best", (*axes, *objectives, *shown), rows,
                f"{self.total:.0f} points, {self.feasible:.0f} feasible; {self.exactness}")

    def plot(self):
        """Plot the Pareto front over its first two objectives.

        Returns
        -------
        Picture

        Raises
        ------
        InputError
            The points have fewer than two objectives.

        Examples
        --------
        >>> chat = mlsysim.ask("Llama3_8B", "H100")
        >>> chat.pareto({"batch_size": [1, 8, 64]}, minimize=["itl", "cost_per_token"]).plot().kind
        'pareto'
        """
        from .pictures import of_points

        points = self.front or self.best
        if not points or len(points[0].objectives) < 2:
            raise _input_error("only a front is drawn", key="plot", found=f"{len(points)} points with one objective",
                               expected="the answer of pareto", id="mlsysim.python.242")
        points = sorted(points, key=lambda p: _bare(list(p.objectives.values())[0]))
        x, y, *_ = points[0].objectives
        unit = {name: str(getattr(points[0].objectives[name], "units", "")) for name in (x, y)}
        labels = [", ".join(f"{k} {v}" for k, v in p.labels.items()) for p in points]
        return of_points("pareto", f"{y} against {x}", f"{len(points)} points of {self.total:.0f} that no other beats in all objectives.",
                         (x, unit[x], [_bare(p.objectives[x], unit[x]) for p in points]),
                         (y, unit[y], [_bare(p.objectives[y], unit[y]) for p in points]), [], labels)

    def __repr__(self):
        return f"Exploration({self.total:.0f} points, {self.feasible:.0f} feasible, {self.exactness})"


class Sweep:
    """Columns of every point of a space; `Subject.sweep` makes it.

    `sweep[name]` is a column with its unit, iteration gives each point as {name: value}, and `len` counts the points.

    Attributes
    ----------
    columns : dict
        {name: numpy array} of axis values and results.
    units : dict
        {name: unit}; empty for counts and texts.
    feasible : numpy array of bool
        Points that meet the constraints.
    skipped : list
        (first point, reason) of points without a result.
    digest : str
        Hash of the question and the zoo.
    """

    def __init__(self, parts):
        import numpy as np

        data = parts[0]
        index = np.concatenate([np.arange(part["first"], part["first"] + part["points"]) for part in parts])
        self.columns, self.units, self.digest = {}, {}, data["digest"]
        for names, rows, stride in data["axes"]:
            at = index // stride % len(rows)
            for k, name in enumerate(names):
                values = [row[k] for row in rows]
                unit = str(values[0].units) if isinstance(values[0], Quantity) else ""
                self.columns[name] = np.array([v.m_as(unit) if unit else v for v in values])[at]
                self.units[name] = unit
        for k, (name, unit, _) in enumerate(data["shown"]):
            self.columns[name] = np.frombuffer(b"".join(part["shown"][k][2] for part in parts))
            self.units[name] = unit
        self.feasible = np.frombuffer(b"".join(part["feasible"] for part in parts), dtype=bool)
        self.skipped = [reason for part in parts for reason in part["skipped"]]

    def __len__(self):
        return len(self.feasible)

    def __iter__(self):
        """The points in order, each as {name: value}."""
        columns = {name: self[name] for name in self.columns}
        return ({name: column[k] for name, column in columns.items()} for k in range(len(self)))

    def __contains__(self, name):
        return name in self.columns

    def _ipython_key_completions_(self):
        return list(self.columns)

    def _repr_html_(self):
        from .notebook import table

        return table(f"{len(self)} points", tuple(self.columns), (tuple(row.values()) for row in self),
                     f"{int(self.feasible.sum())} feasible, {sum(1 for _ in self.skipped)} reasons to skip")

    def plot(self, x=None, y=None, series=None):
        """Plot one column over another for the feasible points.

        Parameters
        ----------
        x : str, optional
            Column of the horizontal axis; by default the first numeric one.
        y : str, optional
            Column of the vertical axis; by default the last result.
        series : str, optional
            Column whose values become separate lines.

        Returns
        -------
        Picture

        Raises
        ------
        InputError
            There is no such column.

        Examples
        --------
        >>> mlsysim.ask("Llama3_8B", "H100").sweep({"batch_size": "1..8*2"}, show="itl").plot().kind
        'curve'
        """
        from .pictures import of_points

        names = list(self.columns)
        numbers = [n for n in names if self.columns[n].dtype.kind in "fiu"]
        x, y = x or (numbers[0] if numbers else None), y or next((n for n in reversed(numbers) if not n.endswith(("_lower", "_upper"))), None)
        for name in (x, y, *([series] if series else [])):
            if name not in self.columns:
                raise _input_error("there is no such column to draw", key="plot", found=repr(name), expected=", ".join(names),
                                   id="mlsysim.python.243")
        at = self.feasible
        of = [str(v) for v in self.columns[series][at]] if series else []
        return of_points("curve", f"{y} over {x}", f"{int(at.sum())} feasible points of {len(self)}.", (x, self.units[x], self.columns[x][at]),
                         (y, self.units[y], self.columns[y][at]), of, [])

    def __getitem__(self, name):
        """A column: a QuantityArray where it has a unit, else a numpy array."""
        from .arrays import QuantityArray

        if name not in self.units:
            raise _input_error("the sweep has no such column", key=str(name), found=repr(name), expected=f"one of {', '.join(self.columns)}",
                               hint=_core._did_you_mean(str(name), list(self.columns)), kind=LookupError, id="mlsysim.python.174")
        unit = self.units[name]
        return QuantityArray(self.columns[name], unit) if unit else self.columns[name]

    def to_dict(self):
        """Convert to columns that pandas.DataFrame, polars.DataFrame and pyarrow.table accept.

        Returns
        -------
        dict
            {"name [unit]": numpy array}, and "feasible".

        Examples
        --------
        >>> list(mlsysim.ask("Llama3_8B", "H100").sweep({"batch_size": [1, 2]}, show="itl").to_dict())
        ['batch_size', 'itl [ms]', 'feasible']
        """
        out = {f"{name} [{self.units[name]}]" if self.units[name] else name: column for name, column in self.columns.items()}
        out["feasible"] = self.feasible
        return out

    def to_pandas(self):
        """Convert to a pandas DataFrame, with units in the column names.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            pandas is not installed.

        Examples
        --------
        >>> rows = mlsysim.ask("Llama3_8B", "H100").sweep({"batch_size": [1, 2]}, show="itl")
        >>> rows.to_pandas().shape                                                              # doctest: +SKIP
        (2, 3)
        """
        return _needed("pandas", "pandas").DataFrame(self.to_dict())

    def to_polars(self):
        """Convert to a polars DataFrame, with units in the column names.

        Returns
        -------
        polars.DataFrame

        Raises
        ------
        ImportError
            polars is not installed.

        Examples
        --------
        >>> rows = mlsysim.ask("Llama3_8B", "H100").sweep({"batch_size": [1, 2]}, show="itl")
        >>> rows.to_polars().shape                                                              # doctest: +SKIP
        (2, 3)
        """
        return _needed("polars", "polars").DataFrame(self.to_dict())

    def to_arrow(self):
        """Convert to a pyarrow Table, with units in the column names and in the metadata of the fields.

        Returns
        -------
        pyarrow.Table
            Its metadata has the digest of the question and the zoo, and the version of mlsysim.

        Raises
        ------
        ImportError
            pyarrow is not installed.

        Examples
        --------
        >>> rows = mlsysim.ask("Llama3_8B", "H100").sweep({"batch_size": [1, 2]}, show="itl")
        >>> rows.to_arrow().num_rows                                                            # doctest: +SKIP
        2
        """
        pa = _needed("pyarrow", "pyarrow")
        table = pa.table({name: pa.array(column) for name, column in self.to_dict().items()})
        units = [*self.units.values(), ""]
        fields = [f.with_metadata({"unit": unit}) if unit else f for f, unit in zip(table.schema, units)]
        from . import __version__

        return table.cast(pa.schema(fields, {"mlsysim.digest": self.digest, "mlsysim.version": __version__}))

    def __arrow_c_stream__(self, requested_schema=None):
        """The Arrow C stream, by which DuckDB, polars and others read a Sweep without a copy of their own; needs pyarrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path, overwrite=False, partition_by=()):
        """Write a Parquet file.

        Parameters
        ----------
        path : path
            The file; the folder with `partition_by`.
        overwrite : bool, default False
            Whether an existing file is replaced.
        partition_by : str or iterable of str, optional
            Axes whose values become folders (name=value/part-0.parquet), which DuckDB reads with hive_partitioning = true.

        Returns
        -------
        path
            `path`.

        Raises
        ------
        InputError
            The file exists.
        ImportError
            pyarrow is not installed.

        Examples
        --------
        >>> rows = mlsysim.ask("Llama3_8B", "H100").sweep({"batch_size": [1, 2]}, show="itl")
        >>> rows.to_parquet("itl.parquet")                                                      # doctest: +SKIP
        'itl.parquet'
        """
        if not overwrite and os.path.exists(path):
            raise _input_error("the file exists", found=f"'{os.fspath(path)}'", expected="a new file", hint="choose another name, or overwrite=True",
                               id="mlsysim.python.172")
        parquet = _needed("pyarrow.parquet", "pyarrow")
        if partition_by:
            parquet.write_to_dataset(self.to_arrow(), os.fspath(path), partition_cols=_texts(partition_by), existing_data_behavior="delete_matching",
                                     basename_template="part-{i}.parquet")
        else:
            parquet.write_table(self.to_arrow(), os.fspath(path))
        return path

    def __repr__(self):
        return f"Sweep({len(self)} points, {int(self.feasible.sum())} feasible: {', '.join(self.columns)})"


def _bare(value, unit=""):
    return value.m_as(unit) if unit and isinstance(value, Quantity) else value.magnitude if isinstance(value, Quantity) else value


def _needed(module, package):
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs the package {package}, which is not installed: pip install {package}") from error


def _search(subject, question_of, axes, minimize, maximize, subject_to, show, top, strategy="automatic", threads=0, shard=(1, 1),
            histogram=None, anything=False, evaluations=20000, seed=1, progress=None, executor=None, shards=None):
    objectives = [("minimize", t) for t in _texts(minimize)] + [("maximize", t) for t in _texts(maximize)]
    question = (_axes(axes), objectives, _texts(subject_to), _texts(show), _count("top", top), histogram, anything)
    progress, end = subject._told(progress)
    part, parts = _shard(shard)
    if executor is not None:
        from . import scale

        scale.refuse_strategy(strategy, part, parts)
        if strategy == "branch-and-bound":
            best, _ = scale.bounded(executor, subject, question, shards, progress)
            return Exploration(subject._core.bounded_answer(*question, *best), question)
        states = scale.run(executor, subject, "state", (question_of, question), shards, progress)
        found = Exploration(subject._core.merge(*question, states), question)
        end(found.total)
        return found
    try:
        answer = subject._core.search(question_of, *question, strategy, _count("threads", threads), part, parts,
                                      _count("evaluations", evaluations), _count("seed", seed), progress)
    except BaseException as stopped:  # Ctrl-C: what was found until then goes with it
        if hasattr(stopped, "answer"):
            stopped.partial = Exploration(stopped.answer, question)
            del stopped.answer
        raise
    found = Exploration(answer, question)
    end(found.total)
    return found

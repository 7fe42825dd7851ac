"""Traffic as it was recorded: lengths, arrivals and shared prefixes of a file, as fitted laws. docs/how-to/traffic.md lists the forms."""

import json
import os

from . import _mlsysim as _core
from .errors import _input_error
from .units import Q_

__all__ = ["CountedSpread", "FittedLaw", "RecordedTraffic", "read_traffic"]


class FittedLaw:
    """A law with the mean and the deviation of what was counted, and how far it is from it.

    law is its family; distance (Kolmogorov and Smirnov, 0 to 1) the largest difference of the distribution functions. first and second are
    its parameters: constant, the value; uniform, its ends; exponential, its mean; weibull and gamma, shape and scale; lognormal, the
    median and the deviation of the logarithm.
    """

    __slots__ = ("law", "first", "second", "distance", "_text")

    def __init__(self, row):
        self.law, self.first, self.second, self.distance, self._text = (row[key] for key in ("law", "first", "second", "distance", "text"))

    def __repr__(self):
        return f"{self._text}, distance {self.distance:.3f}"


class CountedSpread:
    """Numbers of a file: count, mean, deviation, cv (deviation over mean), min, max, p50, p90, p99, and the laws that were fitted to them.

    laws has every family that can have this mean and deviation, the closest first; it is empty where a file states means alone. Unit:
    that of what was counted, tokens or seconds.
    """

    __slots__ = ("count", "mean", "deviation", "cv", "min", "max", "p50", "p90", "p99", "laws")

    def __init__(self, row):
        for key in self.__slots__[:-1]:
            setattr(self, key, row[key])
        self.laws = [FittedLaw(law) for law in row["laws"]]

    @property
    def law(self):
        """The closest law; None where there is none."""
        return self.laws[0] if self.laws else None

    @property
    def sampling_distance(self):
        """What 95 of 100 files of this length stay below that follow a law: a larger distance is the law's fault."""
        return 1.358 / max(self.count, 1.0) ** 0.5

    def __repr__(self):
        return f"CountedSpread({self.count:.0f}, mean {self.mean:.6g}, p99 {self.p99:.6g}; {self.law or 'no law'})"


class RecordedTraffic:
    """The traffic of a file; made by `read_traffic`.

    requests; prompt and answer [token] and gaps [s], each a CountedSpread (answer and gaps None where the file does not say); rate
    [request/s] and arrivals {rate [1/s], span [s], cv, busiest_minute, ...}; prefixes {found_share, mean [token], ...} of what an earlier
    prompt had already; concurrency; notes on what was left out.
    """

    def __init__(self, data):
        self._data = data
        self.format, self.source, self.requests, self.notes = data["format"], data["source"], data["requests"], data["notes"]
        self.prompt = CountedSpread(data["prompt"])
        self.answer = CountedSpread(data["answer"]) if "answer" in data else None
        self.arrivals, self.prefixes, self.concurrency = data.get("arrivals"), data.get("prefixes"), data.get("concurrency")
        gaps = (self.arrivals or {}).get("gaps")
        self.gaps = CountedSpread(gaps) if gaps else None
        self.rate = Q_(self.arrivals["rate"], "request/s") if self.arrivals else None

    def inputs(self, of=None):
        """What a resolver takes of it, as keywords: its class, an object of it or its name. Without one what a scenario takes.

        >>> Engine.solve(model, device, **traffic.inputs())                                            # doctest: +SKIP
        >>> ServingCapacityModel().solve(model, hardware=device, **traffic.inputs(ServingCapacityModel))  # doctest: +SKIP
        """
        known = _inputs_of(of)
        return {key: _value(text) for key, text in self._data["inputs"].items() if key in known}

    def to_dict(self):
        """Everything, as `mlsysim traffic show -o json` writes it."""
        return self._data

    def _rows(self):
        spreads = {"prompt [token]": self.prompt, "answer [token]": self.answer, "time between arrivals [s]": self.gaps}
        return [(name, f"{s.mean:.6g}", f"{s.cv:.3g}", f"{s.p50:.6g}", f"{s.p99:.6g}", str(s.law or "no law"))
                for name, s in spreads.items() if s is not None]

    def _repr_html_(self):
        from .notebook import table

        return table(f"{self.source} ({self.format}, {self.requests:.0f} requests)", ("what", "mean", "cv", "p50", "p99", "law"), self._rows())

    def __repr__(self):
        return f"RecordedTraffic({self.source!r}, {self.format}, {self.requests:.0f} requests; prompts {self.prompt.law or 'no law'})"


def read_traffic(path, block_tokens=512, characters_per_token=None):
    """Reads recorded requests: Mooncake's JSON lines, Azure's tables, lengths (ShareGPT's too), results of vllm bench and genai-perf; gzip too.

    A file is read once, in the same memory whatever its length. `block_tokens` [token] is what a hash of Mooncake's stands for;
    `characters_per_token` turns texts into lengths, which are refused without it. Raises InputError that names the file and the line.
    """
    given = {"block_tokens": block_tokens, "characters_per_token": characters_per_token or 0}
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise _input_error(f"{key} is no number of {key.partition('_')[0]}", key=key, found=repr(value), expected="a number, at least 0",
                               id="mlsysim.python.252")
    return RecordedTraffic(json.loads(_core._read_traffic(os.fspath(path), float(block_tokens), float(given["characters_per_token"]))))


def with_traffic(options, of):
    """Keywords of a question with what their `traffic_file` says in the place of what is not given."""
    options = dict(options)
    traffic = options.pop("traffic_file")
    if not isinstance(traffic, RecordedTraffic):
        traffic = read_traffic(traffic)
    given = {_core._canonical_key(key) for key in options}
    return {**options, **{key: value for key, value in traffic.inputs(of).items() if key not in given}}


def _inputs_of(of):
    if of is None:
        return {row["name"] for row in _core._scenario_rows()}
    if isinstance(of, str):
        from .factory import ResolverFactory

        of = ResolverFactory.list_available().get(of, of)
    core = _core._resolver(of) if isinstance(of, str) else getattr(of, "_resolver", None)
    if core is not None:
        return {row["name"] for row in core.inputs}
    from .stages import Stage

    return {key for key, _ in Stage(of).inputs}


def _value(text):
    """A count, a number, a flag or a quantity."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float, Q_):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

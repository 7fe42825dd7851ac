"""Request traces: lengths, arrivals and shared prefixes of a file, with fitted distributions. docs/how-to/traffic.md lists the formats."""

import json
import os

from . import _mlsysim as _core
from .errors import _input_error
from .units import Q_

__all__ = ["CountedSpread", "FittedLaw", "RecordedTraffic", "read_traffic"]


class FittedLaw:
    """Distribution with the mean and standard deviation of the recorded numbers.

    Attributes
    ----------
    law : str
        Family: constant, uniform, exponential, weibull, gamma or lognormal.
    first, second : float
        Parameters. constant: value. uniform: ends. exponential: mean. weibull and gamma: shape and scale. lognormal: median and
        standard deviation of the logarithm.
    distance : float
        Kolmogorov-Smirnov distance from the recorded numbers, 0 to 1.
    """

    __slots__ = ("law", "first", "second", "distance", "_text")

    def __init__(self, row):
        self.law, self.first, self.second, self.distance, self._text = (row[key] for key in ("law", "first", "second", "distance", "text"))

    def __repr__(self):
        return f"{self._text}, distance {self.distance:.3f}"


class CountedSpread:
    """Statistics of recorded numbers, in tokens or seconds.

    Attributes
    ----------
    count : float
        How many numbers.
    mean, deviation, cv : float
        Mean, standard deviation, and their quotient.
    min, max, p50, p90, p99 : float
        Range and percentiles.
    laws : list of FittedLaw
        Every family that can have this mean and deviation, closest first; empty if a file states only means.
    """

    __slots__ = ("count", "mean", "deviation", "cv", "min", "max", "p50", "p90", "p99", "laws")

    def __init__(self, row):
        for key in self.__slots__[:-1]:
            setattr(self, key, row[key])
        self.laws = [FittedLaw(law) for law in row["laws"]]

    @property
    def law(self):
        """The closest distribution; None if there is none."""
        return self.laws[0] if self.laws else None

    @property
    def sampling_distance(self):
        """Distance that 95 % of samples of this size stay below if they follow the distribution."""
        return 1.358 / max(self.count, 1.0) ** 0.5

    def __repr__(self):
        return f"CountedSpread({self.count:.0f}, mean {self.mean:.6g}, p99 {self.p99:.6g}; {self.law or 'no law'})"


class RecordedTraffic:
    """Recorded requests of a file; `read_traffic` makes it.

    Attributes
    ----------
    requests : float
        Number of requests.
    prompt, answer : CountedSpread
        Lengths [token]; `answer` is None if the file does not state it.
    gaps : CountedSpread or None
        Times between arrivals [s].
    rate : Quantity or None
        Requests per second.
    arrivals : dict or None
        rate [1/s], span [s], cv, busiest_minute and more.
    prefixes : dict or None
        Parts of prompts that an earlier prompt had: found_share, mean [token] and more.
    concurrency : float or None
        Requests in flight.
    format, source : str
        Format and path of the file.
    notes : list of str
        What was left out.
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
        r"""Return what a scenario or resolver takes of the traffic.

        Parameters
        ----------
        of : class, object or str, optional
            A resolver; without one, a scenario.

        Returns
        -------
        dict
            Keywords: `Engine.solve(model, device, **traffic.inputs())`.

        Examples
        --------
        >>> with open("requests.jsonl", "w") as file:
        ...     _ = file.write('{"timestamp": 0, "input_length": 100, "output_length": 10, "hash_ids": [1]}\n'
        ...                    '{"timestamp": 500, "input_length": 100, "output_length": 10, "hash_ids": [2]}\n')
        >>> mlsysim.read_traffic("requests.jsonl").inputs()["seq_len"]
        100
        """
        known = _inputs_of(of)
        return {key: _value(text) for key, text in self._data["inputs"].items() if key in known}

    def to_dict(self):
        r"""Convert to plain data, as `mlsysim trace show -o json` prints it.

        Returns
        -------
        dict

        Examples
        --------
        >>> with open("requests.jsonl", "w") as file:
        ...     _ = file.write('{"timestamp": 0, "input_length": 100, "output_length": 10, "hash_ids": [1]}\n'
        ...                    '{"timestamp": 500, "input_length": 100, "output_length": 10, "hash_ids": [2]}\n')
        >>> mlsysim.read_traffic("requests.jsonl").to_dict()["requests"]
        2.0
        """
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
    r"""Read recorded requests and fit distributions to them.

    Parameters
    ----------
    path : path
        JSON lines of Mooncake, tables of Azure, lengths (also of ShareGPT), or results of vllm bench and genai-perf; plain or gzip.
    block_tokens : float, default 512
        Tokens of one hash of Mooncake, at least 0.
    characters_per_token : float, optional
        Turns texts into lengths. Files with texts are refused without it.

    Returns
    -------
    RecordedTraffic

    Raises
    ------
    InputError
        The file cannot be read; the message names its line.

    Notes
    -----
    The file is streamed. Memory does not depend on its length.

    Examples
    --------
    >>> with open("requests.jsonl", "w") as file:
    ...     _ = file.write('{"timestamp": 0, "input_length": 100, "output_length": 10, "hash_ids": [1]}\n'
    ...                    '{"timestamp": 500, "input_length": 100, "output_length": 10, "hash_ids": [2]}\n')
    >>> read_traffic("requests.jsonl").prompt.mean
    100.0
    """
    given = {"block_tokens": block_tokens, "characters_per_token": characters_per_token or 0}
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise _input_error(f"{key} is no number of {key.partition('_')[0]}", key=key, found=repr(value), expected="a number, at least 0",
                               id="mlsysim.python.252")
    return RecordedTraffic(json.loads(_core._read_traffic(os.fspath(path), float(block_tokens), float(given["characters_per_token"]))))


def with_traffic(options, of):
    r"""Fill keywords of a question from its `traffic_file`.

    Parameters
    ----------
    options : dict
        Keywords with `traffic_file`, a path or a RecordedTraffic.
    of : str or Stage, optional
        The resolver; None for a scenario.

    Returns
    -------
    dict
        Keywords without `traffic_file`. Given values stay.

    Examples
    --------
    >>> with open("requests.jsonl", "w") as file:
    ...     _ = file.write('{"timestamp": 0, "input_length": 100, "output_length": 10, "hash_ids": [1]}\n'
    ...                    '{"timestamp": 500, "input_length": 100, "output_length": 10, "hash_ids": [2]}\n')
    >>> with_traffic({"traffic_file": "requests.jsonl", "seq_len": 64}, None)["seq_len"]
    64
    """
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

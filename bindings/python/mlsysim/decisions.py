"""Capacity planning: how many devices, which ones, and whether a stated rate is possible.

>>> import mlsysim
>>> answer = mlsysim.size("Llama3_70B", "H100", rate="10/s", ttft="p99 2 s", itl="30 ms", seq_len=2048, output_tokens=256)
>>> answer.feasible, answer.best["replicas"] >= 1
(True, True)
"""

import json

from . import _mlsysim as _core
from .answers import _Answer
from .arguments import with_load
from .errors import _input_error

__all__ = ["Claim", "Decision", "Size", "claim", "decide", "size"]

_QUESTION = ("ttft", "itl", "e2e", "within", "most_devices", "most_replica_devices", "interval",
             "disaggregated", "precisions", "measured", "measurand")


class Size(_Answer):
    """Answer of `size`.

    Attributes
    ----------
    feasible : bool
        Whether a plan meets all limits.
    best : dict
        The plan with the fewest devices.
    others : list of dict
        Further plans.
    interval : dict
        level [%], and lower and upper number of devices.
    headroom : float
        Share of the rate, or of the time, that is left.
    launch : str
        Command that starts a replica.
    reason, smallest_change : str
        Why no plan exists and what would make one possible; only if `feasible` is False.
    """

    def __init__(self, forms):
        super().__init__(forms[1], json.loads(forms[0]))
        self.feasible = self._data.get("feasible", True)

    def __getattr__(self, name):
        try:
            return self.__dict__["_data"][name]
        except KeyError:
            raise AttributeError(name) from None

    def _rows(self):
        plans = [self.best, *self.others] if self.feasible else []
        names = list(plans[0]) if plans else ["reason", "smallest_change"]
        rows = [[p.get(n) for n in names] for p in plans] or [[self._data.get(n) for n in names]]
        return self._text.splitlines()[0], names, rows, ""


class Decision(Size):
    """Answer of `decide`: machines in order of cost.

    Attributes
    ----------
    feasible : bool
        Whether a machine meets all limits; if not, `reason` and `smallest_change` say why.
    options : list of dict
        Machines with cost, interval and verdicts.
    verdict : str
        The choice, and how sure it is.
    regret : dict
        `most` is the most that the choice can cost above the best machine, in `unit`.
    flips, next : list of dict
        Changes at which another machine wins, and measurements that reduce the regret.
    page : str
        The decision as a page.
    """

    def __init__(self, forms):
        super().__init__(forms)
        self.page = forms[2]

    @property
    def points(self):
        """The kernels to measure next, as `mlsysim measure --points FILE` reads them: json.dump them to a file."""
        return {"schema": "mlsysim/measure-request@1",
                "points": [{"hardware": n["device"], **n["kernel"], "why": n["what"]} for n in self.next] if self.feasible else []}

    def _rows(self):
        if not self.feasible:
            return super()._rows()
        names = ["machine", "feasible", "meets_limits", "priced", "cost", "lower", "upper", "apart"]
        return self.verdict, names, [[o.get(n) for n in names] for o in self.options], ""


class Claim(Size):
    """Answer of `claim`.

    Attributes
    ----------
    verdict : str
        Impossible, heroic or ordinary.
    bound_per_device, predicted_per_device
        Highest possible and predicted rate of one device.
    percentile : float
        Position of the claim among measurements at such predictions.
    """

    def _rows(self):
        return self.verdict, list(self._data), [list(self._data.values())], ""


def _asked(options, rate):
    asked = {name: options.pop(name) for name in _QUESTION if options.get(name) is not None}
    for name in _QUESTION:
        options.pop(name, None)
    trains = "within" in asked or any(options.get(name) is not None for name in ("tokens", "training_tokens"))
    if rate is not None:
        options["arrival_rate"] = rate
    options.setdefault("mode", "train" if trains else "serve")
    for name in ("accelerators", "node_count", "accelerators_per_node", "load", "concurrency", "burst", *(() if trains else ("batch_size",))):
        if name in options:
            raise _input_error(f"'{name}' is part of the answer", key=name, found=repr(options[name]),
                               expected="a rate and limits, or tokens and a time", id="mlsysim.python.260")
    formats = asked.pop("precisions", None)
    asked = {name: value if isinstance(value, (int, float)) else str(value) for name, value in asked.items()}
    if formats is not None:
        asked["precisions"] = [formats] if isinstance(formats, str) else [str(name) for name in formats]
    return asked | {"stated": list(with_load(options))}


def _scenario(model, machine, options, rent=None):
    scenario = dict(with_load(options), workload=model)
    scenario["fleet" if isinstance(machine, _core.Fleet) else "hardware"] = machine
    if rent is not None:
        scenario["rent"] = rent
    if "unit_cost" not in scenario:
        scenario.setdefault("payment", "rented")
    return scenario


def size(model, on, rate=None, *, price=None, **options):
    """Find the plan with the fewest devices that serves a load within limits, or trains in time.

    Parameters
    ----------
    model : Workload or str
        The model.
    on : HardwareNode, Node, Fleet or str
        The device.
    rate : str or Quantity, optional
        Requests to serve: "10/s".
    price : str or Quantity, optional
        Rent of one device: "3.2 USD/h". By default the market price in the zoo.
    **options
        Limits of serving: ttft, itl, e2e, each "2 s" (mean) or "p99 2 s". Limits of training: tokens ("15T"), within ("90 d").
        Bounds of the search: most_devices (default 65536), most_replica_devices (default 64), disaggregated (True adds plans with
        separate prefill workers), precisions (["bf16", "fp8"]: formats that are tried, by default the model's own).
        interval (50, 80 or 95) is the level of the interval; measured (a CSV file) and measurand add
        measurements of your own to it. All others are fields of a scenario, such as seq_len and precision.

    Returns
    -------
    Size
        `best`, or the reason if no plan meets the limits.

    Raises
    ------
    InputError
        An option is part of the answer (accelerators, batch size), or a limit cannot be read.
    LookupError
        A name is not known.

    Notes
    -----
    Degrees of parallelism are powers of two or the whole node. Requests arrive by themselves (Poisson).

    Examples
    --------
    >>> mlsysim.size("Llama3_8B", "H100", rate="1/s", ttft="2 s", itl="30 ms", seq_len=2048, output_tokens=256).best["devices"]
    1.0
    """
    asked = _asked(options, rate)
    return Size(_core._size(_scenario(model, on, options, price), asked))


def decide(model, on, rate=None, *, price=None, **options):
    """Rank machines by the cost of meeting a load within limits.

    Parameters
    ----------
    model : Workload or str
        The model.
    on : HardwareNode, Node, Fleet or str, or iterable of them
        The machines to choose from.
    rate : str or Quantity, optional
        Requests to serve: "10/s".
    price : dict, optional
        {machine: rent of one device}; by default market prices in the zoo.
    **options
        Limits and fields as in `size`.

    Returns
    -------
    Decision
        Ranking with intervals, regret and the changes that would flip it. Without prices the ranking is by devices.

    Raises
    ------
    InputError
        A machine has two prices, or a price is for a machine that is not in `on`.
    LookupError
        A name is not known.

    Examples
    --------
    >>> mlsysim.decide("Llama3_8B", ["H100", "H200"], rate="1/s", itl="30 ms", seq_len=2048, output_tokens=256).feasible
    True
    """
    on = [on] if isinstance(on, (str, _core.HardwareNode, _core.Node, _core.Fleet)) else list(on)
    asked = _asked(options, rate)
    prices = {}
    for machine, rent in (price or {}).items():
        name = _core._machine_name(_scenario(model, machine, options))
        if name in prices:
            raise _input_error(f"'{name}' has two prices", key="price", found=f"{prices[name]} and {rent}", expected="one price of each machine",
                               id="mlsysim.python.262")
        prices[name] = rent
    names = [_core._machine_name(_scenario(model, machine, options)) for machine in on]
    if twice := {name for name in names if names.count(name) > 1}:
        raise _input_error("a machine is asked about twice", key="on", found=", ".join(names), expected=f"{', '.join(sorted(twice))} once",
                           id="mlsysim.python.265")
    if unknown := prices.keys() - set(names):
        raise _input_error("there is a price for a machine that is not asked about", key="price", found=", ".join(sorted(unknown)),
                           expected=", ".join(names), id="mlsysim.python.261")
    machines = [_scenario(model, machine, options, prices.get(name)) for machine, name in zip(on, names)]
    return Decision(_core._decide(machines, asked))


def claim(text, **options):
    """Judge whether a stated rate is possible.

    Parameters
    ----------
    text : str
        Model, devices, rate and latency: "Llama3_70B 8xH100 412 token/s/gpu at itl 20 ms".
    **options
        Fields of a scenario, such as seq_len [token] and output_tokens [token].

    Returns
    -------
    Claim
        Impossible: above the roofline bound. Heroic: above 95 % of measurements at such predictions. Ordinary: the rest.

    Raises
    ------
    InputError
        The text cannot be read.
    LookupError
        The model or device is not known.

    Examples
    --------
    >>> mlsysim.claim("Llama3_70B 8xH100 100000 token/s/gpu at itl 20 ms", seq_len=2048).verdict
    'impossible'
    """
    from .registries import Models

    model, machine = _core._claim_words(text)
    return Claim(_core._claim(text, dict(with_load(options), workload=Models[model], hardware=machine)))

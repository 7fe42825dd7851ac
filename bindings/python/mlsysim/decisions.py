"""How many devices, which, and whether a number can be.

>>> import mlsysim
>>> answer = mlsysim.size(mlsysim.Models.Llama3_70B, mlsysim.Hardware.H100, rate="10/s", ttft="p99 2 s", itl="30 ms",
...                       seq_len=2048, output_tokens=256)
>>> answer.feasible, answer.best["replicas"] >= 1
(True, True)
"""

import json

from . import _mlsysim as _core
from .answers import _Answer
from .arguments import with_load
from .errors import _input_error

__all__ = ["Claim", "Decision", "Size", "claim", "decide", "size"]

_QUESTION = ("ttft", "itl", "e2e", "tokens", "within", "most_devices", "most_replica_devices", "interval",
             "disaggregated", "precisions", "measured", "measurand")


class Size(_Answer):
    """The plan with the fewest devices: `best`, `others`, `interval`, `headroom`, `launch`; or `reason` and `smallest_change` where
    `feasible` is False."""

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
    """Machines in order of their cost: `options`, `verdict`, `regret`, `flips`, `next`; or why none does it."""

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
    """What a claim is: `verdict`, `bound_per_device`, `predicted_per_device`, `percentile`."""

    def _rows(self):
        return self.verdict, list(self._data), [list(self._data.values())], ""


def _asked(options, rate):
    asked = {name: options.pop(name) for name in _QUESTION if options.get(name) is not None}
    for name in _QUESTION:
        options.pop(name, None)
    trains = "tokens" in asked or "within" in asked
    if rate is not None:
        options["arrival_rate"] = rate
    options.setdefault("mode", "train" if trains else "serve")
    for name in ("accelerators", "node_count", "accelerators_per_node", "load", "concurrency", "burst"):
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
    """The plan with the fewest devices of `on` that serves `rate` within the limits, or trains in time.

    Limits: ttft, itl, e2e ("2 s", "p99 2 s"); training: tokens ("15T"), within ("90 d"); price of one device and hour ("3.2 USD/h");
    disaggregated=True: also plans with workers for prompts of their own; precisions=["bf16", "fp8"]: formats that are tried (default:
    the model's own). Intervals rest on `measured` as well: a CSV file of what
    `measurand` measures ("token_time"), or the definition of a table.
    Other options are the fields of a scenario: seq_len, output_tokens, precision, engine and more.
    """
    asked = _asked(options, rate)
    return Size(_core._size(_scenario(model, on, options, price), asked))


def decide(model, on, rate=None, *, price=None, **options):
    """Which of the machines `on` does it at the least cost, how sure that is, and what would change it. `price`: {machine: rent}."""
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
    if unknown := prices.keys() - set(names):
        raise _input_error("there is a price for a machine that is not asked about", key="price", found=", ".join(sorted(unknown)),
                           expected=", ".join(names), id="mlsysim.python.261")
    machines = [_scenario(model, machine, options, prices.get(name)) for machine, name in zip(on, names)]
    return Decision(_core._decide(machines, asked))


def claim(text, **options):
    """Whether a rate that somebody states can be: claim("Llama3_70B 8xH100 412 token/s/gpu at itl 20 ms", seq_len=2048)."""
    from .registries import Models

    model, machine = _core._claim_words(text)
    return Claim(_core._claim(text, dict(with_load(options), workload=Models[model], hardware=machine)))

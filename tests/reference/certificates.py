"""Verifies certificates of regret: what `mlsysim decide -o json` says the choice can lose at most.

    python3 certificates.py PROGRAM      the program `mlsysim`; --all: every question

A certificate divides the range of the error that all machines share into parts. In each, the choice is priced at the
part's upper end and at the worst of its own error, the others at the lower end and at the best of theirs; the difference
bounds the regret there, because costs do not fall with the error. A second certificate, by the whole error, does the same
for machines that have the device of the choice. This program knows none of the code behind them: it checks that the parts
cover the range, that each bound is the difference of its two costs, that the plan of a cost meets the limits, and, with
`mlsysim eval` at every plan of powers of two, that no plan of any other machine does so for less.
"""

import itertools
import json
import math
import subprocess
import sys

QUESTIONS = [
    "Llama3_70B --on H100,H200 --rate 5/s --ttft=1s --itl=30ms --seq-len 2048 --output-tokens 256",
    "Llama3_8B --on A100,H100,H200 --rate 40/s --itl=20ms --seq-len 1024 --output-tokens 256",
    "DeepSeek_V3 --on H200,B200 --rate 4/s --ttft=p99_2s --itl=40ms --seq-len 4096 --output-tokens 512",
    "Mixtral_8x7B --on H100,B200 --rate 10/s --e2e=20s --seq-len 2048 --output-tokens 512",
]
CLOSE = 1e-6
# Of a load: near the most that a replica serves, a step grows as fast with the requests as these do with the step, and where the
# two balance is known no better.
LOAD = 1e-2


NARROW = 1.00011  # parts of the second certificate that are compared at one of their ends


def run(program, *words):
    """The answer; None where the words contradict each other."""
    done = subprocess.run([program, *words, "-o", "json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode in (0, 2) else None


class Machine:
    """A machine of a decision: whether a number of devices is enough at a factor on its times, by asking for scorecards."""

    def __init__(self, program, asked, option):
        self.program, self.asked, self.name = program, asked, option["machine"]
        self.price = option["cost"] / option["size"]["best"]["devices"]
        self.own = option["own_time"]
        interval = option["size"]["interval"]
        self.whole = interval["time_low"], interval["time_high"]  # own and common error together stay within it
        powers = [2**k for k in range(7)]
        self.plans = [d for d in itertools.product(powers[:4], powers[:3], powers) if math.prod(d) <= 64]
        self.plans = [d for d in self.plans if self.card(d, 1e-6) is not None]  # those that divide the model
        assert self.plans

    def card(self, degrees, rate):
        names = ("--tp-size", "--pp-size", "--ep-size")
        return run(self.program, "eval", self.asked["workload"], self.name, f"--accelerators={math.prod(degrees)}",
                   *(f"{name}={value:g}" for name, value in zip(names, degrees)), f"--rate={rate!r} request/s",
                   f"--seq-len={self.asked['seq_len']:g}", f"--output-tokens={self.asked['output_tokens']:g}")

    def meets(self, degrees, replicas, factor):
        """Whether so many replicas meet the limits were all times `factor` times as long."""
        card = self.card(degrees, self.asked["rate_per_s"] * factor / replicas)
        if card is None or card["f_status"] == "FAIL" or "p_overload" in card:
            return False
        return all(card["p_" + limit["result"]] * factor <= limit["most_ms"] * (1 + CLOSE)  # times of a scorecard are in ms
                   for limit in self.asked["limits"])

    def none_below(self, devices, factor):
        """That no plan meets the limits on fewer devices; where `devices` is None, on any number."""
        for degrees in self.plans:
            fewer = 1e6 if devices is None else math.ceil(devices / math.prod(degrees) - 1e-9) - 1
            assert fewer < 1 or not self.meets(degrees, fewer * (1 - LOAD), factor), \
                f"{fewer} replicas of {degrees} on {self.name} are enough at {factor}, fewer than {devices} devices"

    def enough(self, at):
        """That the plan of a cost meets the limits."""
        assert math.isclose(at["cost"], at["devices"] * self.price, rel_tol=CLOSE)
        degrees = [int(at[name]) for name in ("tp_size", "pp_size", "ep_size")]
        assert self.meets(degrees, at["devices"] / math.prod(degrees) * (1 + LOAD), at["factor"]), f"too few devices: {at}"


def check_parts(parts, name, ends, factors):
    """That parts cover a range and are what they say. `factors` of the choice and of others, in a part from `begin` to `end`"""
    low, high = ends
    for part in parts:
        begin, end = part[name]
        assert math.isclose(begin, low, rel_tol=1e-12), "parts leave a gap"
        low = end
        expected = factors(part, begin, end)
        found = (part["choice"]["factor"], part["other"]["factor"])
        narrow = name == "factor" and end / begin < NARROW and found[0] == found[1] and found[0] in (begin, end)
        assert narrow or all(math.isclose(x, y, rel_tol=CLOSE) for x, y in zip(found, expected)), (found, expected)
        if part["bound"] is None:  # the choice may miss the limits on any number of devices
            assert part["choice"]["cost"] is None and part["other"]["cost"] is not None
            continue
        cost = lambda at: math.inf if at["cost"] is None else at["cost"]  # noqa: E731
        bound = cost(part["choice"]) - cost(part["other"]) if cost(part["choice"]) > cost(part["other"]) else 0.0
        assert math.isclose(part["bound"], bound, rel_tol=CLOSE, abs_tol=1e-9)
    assert not parts or math.isclose(low, high, rel_tol=1e-12), "parts do not reach the end"


def verify(program, words):
    answer = run(program, "decide", *(w.replace("p99_", "p99 ") for w in words.split()))
    machines = {o["machine"]: Machine(program, answer["asked"], o) for o in answer["options"] if "cost" in o}
    choice = answer["options"][0]["machine"]
    regret = answer["regret"]
    common, same = regret["certificate"], regret["same_device"]
    assert len(machines) < 2 or common or same, "there is no certificate"
    lowest = lambda machine, common: max(common * machine.own[0], machine.whole[0])  # noqa: E731
    highest = lambda machine, common: min(common * machine.own[1], machine.whole[1])  # noqa: E731
    own = machines[choice]
    check_parts(common, "common", regret["common"],
                lambda part, begin, end: (highest(own, end), lowest(machines[part["other"]["machine"]], begin)))
    check_parts(same, "factor", [lowest(own, regret["common"][0]), highest(own, regret["common"][1])], lambda part, begin, end: (end, begin))
    bounds = [p["bound"] for p in common + same]
    if None in bounds:
        assert regret["most"] is None
    else:
        assert math.isclose(regret["most"], max(bounds, default=0.0), rel_tol=CLOSE, abs_tol=1e-9)
    # Costs do not fall with the error: what is enough at the largest factor is so at all, and what is not at the smallest.
    largest, smallest = {}, {}
    for part in common + same:
        at = part["choice"]
        key = (at["machine"], at["devices"])
        if at["devices"] is not None and at["factor"] > largest.get(key, at | {"factor": 0})["factor"]:
            largest[key] = at
        least = part["other"]["cost"]
        for name, machine in machines.items():
            if name == choice:
                continue
            factor = part["common"][0] * machine.own[0] if "common" in part else part["other"]["factor"]
            if "factor" in part and name != part["other"]["machine"]:
                continue
            key = (name, None if least is None else least / machine.price)
            smallest[key] = min(factor, smallest.get(key, math.inf))
    for (name, _), at in largest.items():
        machines[name].enough(at)
    for (name, devices), factor in smallest.items():
        machines[name].none_below(devices, factor)
    return len(common) + len(same), len(largest) + len(smallest)


def main(program):
    for words in QUESTIONS if "--all" in sys.argv else QUESTIONS[:2]:
        parts, checked = verify(program, words)
        print(f"verified: {words}: {parts} parts, {checked} costs")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

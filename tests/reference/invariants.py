"""Random scenarios and what every answer keeps: parts add up, nothing is lost or made, more is not less.

    PYTHONPATH=build/ci/python python3 tests/reference/invariants.py [--count N] [--seed N]

Each law is a function of an answer. MLSYSIM_INVARIANTS sets the count (2000). Exit status: 0 where every law holds, 1 else, 77
without the package.
"""

import argparse
import collections
import math
import os
import random
import sys
import time

from metamorphic import Asked, choose

COUNT = 2000
CLOSE = 1e-9  # relative, for the rounding of two ways to one number


def number(value):
    """In base units: seconds, bytes, joules, dollars."""
    return float(value.to_base_units().magnitude if hasattr(value, "to_base_units") else value)


class Answer:
    """Numbers of a scenario in base units, and what was asked."""

    def __init__(self, asked):
        self.asked, self.options, self.mode = asked, asked.options, asked.mode
        self.numbers = {name: number(value) for name, value in asked.numbers.items()}

    def __getitem__(self, name):
        return self.numbers[name]

    def __contains__(self, name):
        return name in self.numbers


def near(a, b, slack=CLOSE):
    return math.isclose(a, b, rel_tol=slack, abs_tol=1e-12)


def finite(a):
    """Every number is finite and not negative."""
    return all(math.isfinite(x) and x >= 0 for x in a.numbers.values())


def memory_adds_up(a):
    """What occupies the memory sums to what is used."""
    if "memory.total" not in a:
        return True
    parts = [x for name, x in a.numbers.items() if name.startswith("memory.") and name not in ("memory.total", "memory.capacity")]
    return near(sum(parts), a["memory.total"], 1e-6) and near(a["memory.total"], a["memory_used"], 1e-6)


def fits(a):
    """What is missing is what is used beyond the capacity."""
    return "memory_missing" not in a or near(a["memory_missing"], max(0.0, a["memory_used"] - a["memory_capacity"]), 1e-6)


def first_token(a):
    """The time to the first token is the sum of its parts."""
    parts = [a[name] for name in ("ttft_ingress", "ttft_queue", "ttft_dispatch", "ttft_prefill", "ttft_egress") if name in a]
    return "ttft" not in a or near(sum(parts), a["ttft"], 1e-6)


def request(a):
    """A request is its first token and the others."""
    n = a.options.get("output_tokens")
    return n is None or "itl" not in a or near(a["request_latency"], a["ttft"] + (n - 1) * a["itl"], 1e-6)


def littles_law(a):
    """Tokens per second times the time of a request are the tokens in flight."""
    n, batch = a.options.get("output_tokens"), a.options["batch_size"]
    # A request of one token has no step: its prompt stands for one.
    if n is None or n < 2 or "itl" not in a or "replicas" not in a:
        return True
    flown = a["token_throughput"] * a["request_latency"]
    # Where no request fits, numbers are those of one, as if it did.
    return near(flown, batch * n, 1e-6) or ("max_active_requests" in a and a["max_active_requests"] < 1)


def shares(a):
    """Shares of a whole are at most the whole."""
    return all(a[name] <= 1 + CLOSE for name in ("utilization", "bubble_fraction", "goodput_ratio", "scaling_efficiency", "mfu", "hfu") if name in a)


def useful(a):
    """What is useful is at most what is done."""
    return "hfu" not in a or a["mfu"] <= a["hfu"] * (1 + CLOSE)


def work(a):
    """Micro-batches and replicas hold the whole batch, and no row of micro-batches, or of accumulation that was asked for, more."""
    if "microbatch_count" not in a:
        return True
    step = a["microbatch_size"] * a["dp_size"] * a.options.get("ep_size", 1)  # ranks of experts have rows of their own
    held = a["microbatch_count"] * step
    return a.options["batch_size"] <= held * (1 + CLOSE) and held < a.options["batch_size"] + step * a.options.get("gradient_accumulation_steps", 1)


def tokens(a):
    """Samples per second are a batch in a step."""
    if a.mode != "train" or "effective_throughput" not in a:
        return True
    return near(a["effective_throughput"] * a["step_latency"], a.options["batch_size"], 1e-6)


def parts_of_a_step(a):
    """No part of a step takes longer than the step."""
    return all(a[name] <= a["step_latency"] * (1 + CLOSE) for name in (
        "latency_compute", "latency_memory", "latency_overhead", "exposed_communication_latency", "pipeline_bubble_latency")
        if name in a and "step_latency" in a)


def money(a):
    """The total is the sum of its parts."""
    return "tco" not in a or near(a["tco"], sum(a[name] for name in ("capex", "energy_cost", "maintenance")), 1e-6)


def carbon(a):
    return "carbon_footprint" not in a or near(a["carbon_footprint"], a["operational_carbon"] + a.numbers.get("embodied_carbon", 0), 1e-6)


def energy(a):
    """Energy is power over the time, and never more than with every device at its limit."""
    if "it_energy" not in a:
        return True
    return a["energy"] >= a["it_energy"] * (1 - CLOSE)


def percentiles(a):
    """Of times of requests, a greater share takes no less."""
    ladders = [[f"{p}_{time}" for p in ("p50", "p90", "p95", "p99")] for time in ("ttft", "itl", "request_latency")]
    stated = [[a[name] for name in ladder if name in a] for ladder in ladders]
    return all(low <= high * (1 + CLOSE) for values in stated for low, high in zip(values, values[1:]))


def power_in_time(a):
    """Energy of the machines is their power over the days that were asked for."""
    return "power" not in a or near(a["it_energy"], a["power"] * 86400 * a.options.get("duration_days", 30), 1e-6)


def capped(a):
    """A cap of power does not raise the power."""
    if "power_cap" not in a.options or "power" not in a:
        return True
    free = a.asked.again(power_cap=None)
    return free is None or "power" not in free or a["power"] <= number(free["power"]) * (1 + 1e-6)


def prices(a):
    """Twice the price of electricity costs twice as much, and nothing else changes."""
    if "energy_cost" not in a or a.asked.subject.inputs.get("kwh_price") is None:
        return True
    twice = a.asked.again(kwh_price=f"{2 * number(a.asked.subject.inputs['kwh_price'])} USD/J")
    if twice is None:
        return True
    twice = {name: number(x) for name, x in twice.items()}
    return near(twice["energy_cost"], 2 * a["energy_cost"], 1e-6) and all(
        near(twice[name], x) for name, x in a.numbers.items() if name not in ("energy_cost", "tco", "cost_per_token", "run_cost"))


def split(a):
    """A sweep in two parts gives what it gives as a whole."""
    shown = a.asked.times()
    batches = [1, 2, 4, 8]
    if not shown:
        return True
    whole, first, second = (a.asked.subject.sweep({"batch_size": some}, show=shown, anything=True).columns for some in (batches, batches[:2], batches[2:]))
    return all(str(list(whole[name])) == str([*first[name], *second[name]]) for name in shown)


LAWS = [finite, memory_adds_up, fits, first_token, request, littles_law, shares, useful, work, tokens, parts_of_a_step, money, carbon, energy, percentiles, power_in_time, capped]
DEAR = [prices, split]  # ask again; of one scenario of ten


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=int(os.environ.get("MLSYSIM_INVARIANTS", COUNT)))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        import mlsysim
    except ImportError:
        return 77
    rng, broken, seen, asked, began = random.Random(options.seed), collections.defaultdict(list), 0, 0, time.monotonic()
    while seen < options.count:
        chosen = choose(rng)
        asked += 1
        try:
            answer = Answer(Asked(mlsysim, chosen))
        except mlsysim.Error:
            continue
        seen += 1
        for law in LAWS + (DEAR if seen % 10 == 0 else []):
            if not law(answer):
                broken[law.__name__].append(chosen)
    for name, where in broken.items():
        print(f"{name}: broken by {len(where)}, first: {where[0]}")
    print(f"{seen} scenarios of {asked}, seed {options.seed}, {len(LAWS) + len(DEAR)} laws, {sum(map(len, broken.values()))} broken, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

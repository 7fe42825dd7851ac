"""Random scenarios and what every answer keeps: parts add up, nothing is lost or made, more is not less.

    PYTHONPATH=build/ci/python python3 tests/reference/invariants.py [--count N] [--seed N]

Each law is a function of an answer. LAWS look at it; those of AGAIN ask further questions, of one scenario of EACH. What follows from
better figures of a machine is in metamorphic.py. MLSYSIM_INVARIANTS sets the count (2000). Exit status: 0 where every law holds, 1 else, 77
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
    return "memory_shortfall" not in a or near(a["memory_shortfall"], max(0.0, a["memory_used"] - a["memory_capacity"]), 1e-6)


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


def switches(inputs, devices):
    """Power of the switches, of one device's part: one fat tree over all nodes, whose tiers are as few as reach every port."""
    each, half, tiers = inputs["facility.node_ports"] / inputs["facility.node_devices"], inputs["facility.switch_ports"] / 2, 1
    if devices <= inputs["facility.node_devices"]:
        return 0.0
    while 2 * half**tiers < devices * each * (1 - CLOSE):
        tiers += 1
    return number(inputs["facility.port_power"]) * (2 * tiers - 1) * each


def energy(a):
    """The facility takes what its machines take, or more; they take no more than every device at its limit, hosts and switches beside."""
    if "it_energy" not in a:
        return True
    inputs, devices = a.asked.subject.inputs, a.options["accelerators"]
    most = min(number(inputs[name]) for name in ("hardware.power.tdp", "power_cap") if name in inputs)
    most += number(inputs["facility.host_power"]) + number(inputs["facility.network_power"]) + switches(inputs, devices)
    time = 86400 * a.options.get("duration_days", 30)
    return a["it_energy"] * (1 - CLOSE) <= min(a["energy"], devices * most * time)


def percentiles(a):
    """Of times of requests, a greater share takes no less."""
    ladders = [[f"{p}_{time}" for p in ("p50", "p90", "p95", "p99")] for time in ("ttft", "itl", "request_latency")]
    stated = [[a[name] for name in ladder if name in a] for ladder in ladders]
    return all(low <= high * (1 + CLOSE) for values in stated for low, high in zip(values, values[1:]))


def power_in_time(a):
    """Energy of the machines is their power over the days that were asked for."""
    return "power" not in a or near(a["it_energy"], a["power"] * 86400 * a.options.get("duration_days", 30), 1e-6)


def capped(a):
    """A cap of power does not raise the power.

    In steady state it may a little: units in use draw as at the full clock, and for longer at a lower one, which a pause beside them shows in
    the mean. One secant from the full load, which a cap may slow, leaves less.
    """
    if "power_cap" not in a.options or "power" not in a:
        return True
    free = a.asked.again(power_cap=None)
    return free is None or "power" not in free or a["power"] <= number(free["power"]) * (1 + (0.02 if a.options.get("load") == "concurrency" else 1e-6))


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


def searched(a):
    """A search in two shards finds what it finds as a whole, and a laxer limit no worse."""
    shown = a.asked.times()
    if not shown:
        return True
    limit = f"{shown[-1]} <= {2 * a[shown[-1]]!r} s"
    question = {"axes": {"batch_size": [1, 2, 4, 8, 16]}, "maximize": "batch_size", "subject_to": limit, "show": shown, "anything": True}
    whole, parts = a.asked.subject.optimize(**question), [a.asked.subject.optimize(**question, shard=(k, 2)) for k in (1, 2)]
    merged = a.asked.subject.merge(parts)
    laxer = a.asked.subject.optimize(**{**question, "subject_to": f"{shown[-1]} <= {4 * a[shown[-1]]!r} s"})
    best = [number(found.best[0].axes["batch_size"]) if found.best else 0 for found in (whole, merged, laxer)]
    return best[0] == best[1] <= best[2] and (whole.evaluated, whole.feasible) == (merged.evaluated, merged.feasible)


def memory_saved(a):
    """With the same micro-batches recomputation and the next stage of ZeRO need no more memory."""
    if a.mode != "train" or "microbatch_size" not in a:
        return True
    o, same = a.options, {"microbatch_size": int(a["microbatch_size"])}
    changes = [{"recomputation": more} for more in {"none": ("selective", "full"), "selective": ("full",)}.get(o["recomputation"], ())]
    # The third stage holds two blocks whole: of a stage with few blocks, more than it saves.
    if o["zero_stage"] < 2 or (o["zero_stage"] == 2 and o.get("pp_size", 1) == 1):
        changes.append({"zero_stage": o["zero_stage"] + 1})
    found = [a.asked.again(**same, **change) for change in changes]
    return all(x is None or number(x["memory_used"]) <= a["memory_used"] * (1 + 1e-6) for x in found)


def useful_work(a):
    """How a step is divided changes its time, not its useful work."""
    if a.mode != "train" or "mfu" not in a or not a["mfu"]:
        return True
    found = [a.asked.again(**change) for change in ({"recomputation": "full"}, {"accelerators": 2 * a.options["accelerators"]})]
    work = a["mfu"] * a["step_latency"] * a.options["accelerators"]
    return all(x is None or near(number(x["mfu"]) * number(x["step_latency"]) * (1 + i) * a.options["accelerators"], work, 1e-6) for i, x in enumerate(found))


def prompts_of_a_step(a, found):
    """Prompts that arrive while a token is made, a long one as one for each 2,048 tokens, as passes of small devices hold."""
    return found["request_throughput"] * found["itl"] * max(1.0, a.options["seq_len"] / 2048) if "itl" in found else 0.0


def busier(a):
    """Where more requests arrive, each takes longer, more tokens leave, and a token costs no more time at full power.

    Percentiles rise as means do; times between tokens of short answers have a spread that no normal law knows, and they spread less once more
    than half of the passes hold prompts. The share of full power may fall once the replica is never idle: prompts or large steps may wait more
    for the host and for exchanges than others do.
    """
    if "request_throughput" not in a or a["request_throughput"] <= 0:
        return True
    loads = [a.asked.again(load="rate", batch_size=None, arrival_rate=f"{share * a['request_throughput']!r} request/s") for share in (0.3, 0.6, 0.9)]
    loads = [{name: number(x) for name, x in found.items()} for found in loads if found is not None]
    slack = {"ttft": 1e-3, "itl": 1e-3, "request_latency": 1e-3, "running_requests": 1e-6, "token_throughput": 1e-6,
             "p50_ttft": 0.01, "p90_ttft": 0.01, "p95_ttft": 0.01, "p99_ttft": 0.01, "p99_itl": 0.05, "p99_request_latency": 0.01}
    if a.options.get("output_tokens", 99) < 16 or any(prompts_of_a_step(a, found) > 0.5 for found in loads):
        del slack["p99_itl"]
    if not all(high[name] >= low[name] * (1 - most) for low, high in zip(loads, loads[1:]) for name, most in slack.items() if name in low and name in high):
        return False
    costs = [found["utilization"] / found["token_throughput"] for found in loads]
    return all(high <= low * 1.01 for low, high in zip(costs, costs[1:]))  # passes of more prompts may fill waves worse, or have a lower clock


LAWS = [finite, memory_adds_up, fits, first_token, request, littles_law, shares, useful, work, tokens, parts_of_a_step, money, carbon, energy, percentiles, power_in_time, capped]
AGAIN = [prices, split, searched, memory_saved, useful_work, busier]
EACH = 50


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
        for law in LAWS + (AGAIN if seen % EACH == 0 else []):
            if not law(answer):
                broken[law.__name__].append(chosen)
    for name, where in broken.items():
        print(f"{name}: broken by {len(where)}, first: {where[0]}")
    print(f"{seen} scenarios of {asked}, seed {options.seed}, {len(LAWS) + len(AGAIN)} laws, {sum(map(len, broken.values()))} broken, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

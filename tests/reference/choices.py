"""Whether predictions choose well: order of pairs of plans, what a choice under a limit gives away, devices for a rate.

usage: choices.py PROGRAM       on the samples that ship; on whole tables where MLSYSIM_TABLES names their folder

Plans of one model, machine, engine and length are a group. Of a group of at least four, the plan with the most predicted
tokens per second and device is chosen among those whose predicted token time keeps the group's median, and judged by what
was measured: the part of the best possible throughput that it gives away, and whether it keeps the limit. For the rates of
MLPerf Inference as many devices are taken as the predicted rate asks for: it should be eight, or one more or less, where eight
reached the rate.
"""

import collections
import itertools
import json
import math
import statistics
import subprocess
import sys

SERVING = {"Hopper": ["hopper_dense_tpot", "hopper_moe_tpot"], "B200": ["b200_dense_tpot", "b200_moe_tpot"]}
RATES = ["mlperf_inference_v51_server", "mlperf_inference_v51_interactive"]
# Aims, and what must hold on any rows that are tried: a regression of the order of plans shows here.
ORDER, REGRET, KEPT, DEVICES = (0.97, 0.94), (0.10, 0.2), (0.90, 0.7), (0.80, 0.75)


def rows_of(program, tables):
    command = [program, "validate", *(f"inference/{name}" for name in tables), "-o", "json", "--worst", "99999"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [row for table in json.loads(done.stdout)["tables"] for row in table["worst"]]


def groups_of(rows):
    out = collections.defaultdict(list)
    for row in rows:
        i = row["inputs"]
        out[i["workload"], i["hardware"], i["engine"].split("@")[0], round(i["seq_len"]), round(i["output_tokens"])].append(row)
    return out.values()


def in_order(groups):
    pairs = [
        (a["measured"] < b["measured"]) == (a["predicted"] < b["predicted"])
        for group in groups
        for a, b in itertools.combinations(group, 2)
        if a["inputs"] != b["inputs"] and a["measured"] != b["measured"]
    ]
    return sum(pairs) / len(pairs), len(pairs)


def throughput(row, key):
    i = row["inputs"]
    return i["concurrency"] / row[key] / (i["tp_size"] * i["pp_size"] * i["ep_size"])


def choices(groups):
    given_away, kept = [], []
    for group in groups:
        if len(group) < 4:
            continue
        limit = statistics.median(row["measured"] for row in group)
        best = max(throughput(row, "measured") for row in group if row["measured"] <= limit)
        allowed = [row for row in group if row["predicted"] <= limit]
        chosen = max(allowed, key=lambda row: throughput(row, "predicted")) if allowed else None
        given_away.append(1 - throughput(chosen, "measured") / best if chosen else 1.0)
        kept.append(chosen is None or chosen["measured"] <= limit)
    return max(0.0, statistics.mean(given_away)), statistics.mean(kept), len(kept)


def main():
    program = sys.argv[1]
    faults = []

    def say(what, value, count, aim, least, more=True):
        good = count < 20 or (value >= least if more else value <= least)  # of few groups one is a large part
        reached = value >= aim if more else value <= aim
        print(f"{what:44} {100 * value:5.1f} %  of {count:6}   aim {100 * aim:g} %: {'reached' if reached else 'missed'}")
        if not good:
            faults.append(f"{what}: {value:.3f}, at {'least' if more else 'most'} {least} expected")

    for name, tables in SERVING.items():
        groups = list(groups_of(rows_of(program, tables)))
        say(f"{name}: pairs in the right order", *in_order(groups), *ORDER)
        lost, kept, count = choices(groups)
        say(f"{name}: throughput given away", lost, count, *REGRET, more=False)
        say(f"{name}: token-time limit kept", kept, count, *KEPT)
    rates = rows_of(program, RATES)
    right = [abs(math.ceil(8 * row["measured"] / row["predicted"] - 1e-9) - 8) <= 1 for row in rates]
    say("MLPerf: devices within one of eight", statistics.mean(right), len(right), *DEVICES)
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

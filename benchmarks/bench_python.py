"""What answers cost from Python: scorecards, derivations, resolvers, pipelines and columns.

usage: PYTHONPATH=<build>/python bench_python.py [--filter REGEX] [--repetitions N] [--out FILE]

Prints a line for each benchmark and writes the results in the format of Google Benchmark, which compare.py reads.
"""

import argparse
import json
import re
import time

import numpy as np

import mlsysim
from mlsysim import Q_
from mlsysim.laws import Roofline
from mlsysim.resolvers import DistributedModel, EconomicsModel, ServingModel

MODEL, DEVICE = mlsysim.Models.Llama3_70B, mlsysim.Hardware.Cloud.H100
TRAINED, FLEET = mlsysim.Models.GPT3, mlsysim.Systems.Clusters.Frontier_8K
SECONDS = 0.05  # a repetition


def scorecard():
    return mlsysim.SystemEvaluator.evaluate("chat", MODEL, DEVICE, 16, "bf16", accelerators=8)


def benchmarks():
    """{name: function of one call}; what a call is given is made before."""
    card = scorecard()
    pipeline = mlsysim.Pipeline([DistributedModel(), EconomicsModel()])
    points = 100
    columns = dict(work=Q_("2 TFLOP"), peak=Q_("1000 TFLOP/s"), bandwidth=Q_("3.2 TB/s"),
                   traffic=Q_(np.linspace(1e9, 1e11, points), "B"))
    times = {"time": np.empty(points)}
    serving = dict(workload=MODEL, hardware=DEVICE, batch_size=16, seq_len=2048, precision="bf16", tp_size=8)
    return {
        "python/scorecard": scorecard,
        "python/scorecard_read": lambda: scorecard().performance["itl"],
        "python/explain": lambda: card.explain("itl"),
        "python/engine_solve": lambda: mlsysim.Engine.solve(MODEL, DEVICE, 16, "bf16"),
        "python/resolver_serving": lambda: ServingModel.solve(**serving),
        "python/pipeline_of_two": lambda: pipeline.run(
            model=TRAINED, fleet=FLEET, batch_size=1024, tp_size=8, pp_size=8, duration_days=30),
        "python/law_solve": lambda: Roofline.solve(work=columns["work"], traffic="16 GB", peak=columns["peak"],
                                                   bandwidth=columns["bandwidth"]),
        "python/law_batch": lambda: Roofline.batch(**columns),
        "python/law_batch_out": lambda: Roofline.batch(out=times, **columns),
    }


def measured(call):
    """CPU and wall seconds of one call, over about SECONDS."""
    count = 1
    while True:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(count):
            call()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        if wall >= SECONDS:
            return cpu / count, wall / count, count
        count = max(count * 2, int(count * SECONDS / max(wall, 1e-9) * 1.1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default=".")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--out", help="file for the results as JSON")
    options = parser.parse_args()
    runs = []
    print(f"{'Benchmark':<32}{'Time':>12}{'CPU':>12}   calls")
    for name, call in benchmarks().items():
        if not re.search(options.filter, name):
            continue
        call()
        taken = [measured(call) for _ in range(options.repetitions)]
        runs += [{"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i, "iterations": count,
                  "real_time": wall * 1e9, "cpu_time": cpu * 1e9, "time_unit": "ns"} for i, (cpu, wall, count) in enumerate(taken)]
        cpu, wall, count = min(taken)
        print(f"{name:<32}{wall * 1e9:>9.0f} ns{cpu * 1e9:>9.0f} ns   {count}")
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"benchmarks": runs}, file, indent=1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A law written in Python, swept over 100,000 points: recorded, and the function called point by point.

usage: PYTHONPATH=<build>/python python3 benchmarks/bench_recording.py
"""

import time

import numpy as np

import mlsysim
from mlsysim import Q_

POINTS = 100_000


def pass_time(work, traffic, peak, bandwidth, ranks):
    """A roofline whose ranks wait for each other."""
    alone = mlsysim.maximum(work / peak / ranks, traffic / bandwidth)
    return alone + mlsysim.where(ranks > 1, 2 * (ranks - 1) / ranks * traffic / Q_("400 GB/s"), Q_("0 s"))


def seconds(call, repeats=5):
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        out = call()
        best = min(best, time.perf_counter() - start)
    return best, out


law = mlsysim.law(inputs={"work": "TFLOP", "traffic": "GB", "peak": "TFLOP/s", "bandwidth": "GB/s", "ranks": {"whole": True}},
                  results={"time": "ms"})(pass_time)
work, ranks = np.linspace(0.1, 40, POINTS), np.arange(POINTS) % 64 + 1.0
fixed = {"traffic": Q_("16 GB"), "peak": Q_("100 TFLOP/s"), "bandwidth": Q_("1 TB/s")}
texts = {name: str(value) for name, value in fixed.items()}
swept, found = seconds(lambda: law.batch(work=Q_(work, "TFLOP"), ranks=ranks, **texts))
looped, values = seconds(lambda: [pass_time(work=Q_(w, "TFLOP"), ranks=r, **fixed) for w, r in zip(work.tolist(), ranks.tolist())], repeats=2)
assert np.allclose(found["time"].m_as("s"), [v.m_as("s") for v in values], rtol=1e-14)
print(f"recorded {swept * 1e3:.2f} ms ({swept / POINTS * 1e9:.1f} ns a point), called {looped * 1e3:.0f} ms ({looped / POINTS * 1e6:.2f} us a point): "
      f"{looped / swept:.0f} times")

"""What a call costs over the library itself, in time of the processor; the bounds leave room for a busy machine."""

import time
import timeit

import numpy as np
from conftest import SLOWER

from mlsysim import Q_
from mlsysim.laws import Roofline


def best(call, number=2000, repeat=7):
    return min(timeit.repeat(call, timer=time.process_time, number=number, repeat=repeat)) / number


def test_one_call():
    # A law costs nanoseconds, so this is all overhead. Budget 1.5 us.
    solve, given = Roofline.solve, dict(
        work=Q_("2 TFLOP"), traffic=Q_("16 GB"), peak=Q_("1000 TFLOP/s"), bandwidth=Q_("3.2 TB/s"))
    assert best(lambda: solve(**given)) < 6e-6 * SLOWER


def test_a_batch_into_given_arrays():
    points = 100_000
    traffic, out = Q_(np.linspace(1e9, 1e11, points), "B"), {"time": np.empty(points)}
    given = dict(work=Q_("2 TFLOP"), peak=Q_("1000 TFLOP/s"), bandwidth=Q_("3.2 TB/s"))
    assert best(lambda: Roofline.batch(out=out, traffic=traffic, **given), number=3) / points < 50e-9 * SLOWER

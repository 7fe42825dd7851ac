"""Steps of a host that feeds a device, against a queue that is played through operator by operator."""

import random

import pytest

from mlsysim import laws

US = 1e-6


def played(kernels, issue, kernel, syncs, sync):
    """Seconds until the last kernel ends: the host issues one after the other, the device runs them in order, and behind
    each of `syncs` equal parts the host waits for the device and then for `sync`."""
    host = device = 0.0
    parts = syncs + 1
    for part in range(parts):
        for _ in range(kernels // parts):
            host += issue
            device = max(device, host) + kernel
        if part < syncs:
            host = device = max(host, device) + sync
    return max(host, device)


def test_an_eager_step_is_what_a_queue_takes():
    chosen = random.Random(5)
    for _ in range(500):
        syncs = chosen.choice([0, 0, 1, 3, 9])
        kernels = (syncs + 1) * chosen.randint(20, 60)
        issue, kernel, sync = chosen.uniform(1, 20) * US, chosen.uniform(1, 20) * US, chosen.uniform(0, 30) * US
        law = laws.EagerStep.solve(kernels=kernels, dispatch=f"{issue!r} s", device=f"{kernel * kernels!r} s", syncs=syncs,
                             sync=f"{sync!r} s").latency.m_as("s")
        # The law leaves out the last kernel where the host is the slower side, and the first dispatch where the device is;
        # at each wait as much again.
        assert law == pytest.approx(played(kernels, issue, kernel, syncs, sync), abs=(syncs + 1) * (issue + kernel))

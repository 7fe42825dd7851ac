"""How the batch of a training step is divided: replicas, accumulation steps, micro-batches."""

import math

import training
from plan import ranks_of


def divide(s):
    """Micro-batches of a replica, and sequences in the largest and on average; sets them on the request `s`."""
    s.dp = s.fleet.devices / (s.tp * s.pp * ranks_of(s) * s.cp)
    s.local_batch = training.share_of(s.batch, s.dp).sequences
    if s.microbatch_size:
        count = math.ceil(s.local_batch / (s.microbatch_size * ranks_of(s)))
    elif s.microbatch_count:
        count = s.microbatch_count * s.accumulation
    elif s.fidelity == "textbook":
        count = s.accumulation
    else:
        count = by_default(s)
    s.microbatches = min(count, s.local_batch)
    s.microbatch = math.ceil(s.local_batch / s.microbatches)
    s.mean_microbatch = s.local_batch / s.microbatches


def by_default(s):
    """All sequences of an accumulation step at once, or as few parts as a device has the memory for. A pipeline wants
    many: each has one sequence for an expert-parallel rank."""
    sequences = math.ceil(math.ceil(s.local_batch / s.accumulation) / ranks_of(s))  # of a rank
    if s.pp > 1:
        return sequences * s.accumulation
    first, second = memory_with(s, 1), memory_with(s, 2)
    capacity = training.view(s).device.memory_capacity
    each = max(second - first, 1.0)  # every sequence needs as much as the one before
    fits = max(math.floor((capacity - first) / each) + 1, 1)
    return math.ceil(sequences / fits) * s.accumulation


def memory_with(s, held):
    """Memory of a device with `held` sequences in a micro-batch."""
    v = training.view(s)
    v.plan.batch, v.plan.microbatches = held * ranks_of(s), 1
    ops, _ = training.operators_of_step(v.h, v.plan)
    return training.memory_of(v, ops).total

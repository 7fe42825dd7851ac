"""Pipelines played event by event: who works on what, and when the last one is done."""


def flow_shop(times):
    """times[unit][stage]: every stage takes the units in order, and a unit visits the stages in order
    (Johnson 1954). Returns when the last unit leaves the last stage."""
    free = [0.0] * len(times[0])  # when each stage is done with what it has
    for unit in times:
        ready = 0.0  # when the unit has left the stage before
        for stage, time in enumerate(unit):
            ready = max(ready, free[stage]) + time
            free[stage] = ready
    return free[-1]


def round_robin(lanes, steps, stage_times):
    """`lanes` groups of requests go round the stages `steps` times, each as soon as it is back. Returns the
    mean time of a round in the second half, when the pipeline is full."""
    free = [0.0] * len(stage_times)
    back = [0.0] * lanes
    ends = []
    for _ in range(steps):
        for lane in range(lanes):
            for stage, time in enumerate(stage_times):
                back[lane] = max(back[lane], free[stage]) + time
                free[stage] = back[lane]
        ends.append(back[0])
    half = steps // 2
    return (ends[-1] - ends[half - 1]) / (steps - half)


def orders_1f1b(stages, microbatches):
    """What each stage does in turn: forwards until the pipeline is full, then one forward, one backward, then
    the rest (narayanan2021megatron, section 2.2)."""
    orders = []
    for stage in range(stages):
        ahead = min(stages - 1 - stage, microbatches)
        order = [("F", i) for i in range(ahead)]
        for i in range(microbatches - ahead):
            order += [("F", ahead + i), ("B", i)]
        order += [("B", i) for i in range(microbatches - ahead, microbatches)]
        orders.append(order)
    return orders


def orders_gpipe(stages, microbatches):
    """All forwards, then all backwards (huang2019gpipe, section 2.3)."""
    turns = [("F", i) for i in range(microbatches)] + [("B", i) for i in range(microbatches)]
    return [list(turns) for _ in range(stages)]


def play(orders, forward, backward):
    """Plays the orders: a forward needs that of the stage before, a backward that of the stage behind.
    forward[stage] and backward[stage] are the times of one micro-batch. Returns the makespan."""
    stages, done, free, at = len(orders), {}, [0.0] * len(orders), [0] * len(orders)
    while any(at[stage] < len(orders[stage]) for stage in range(stages)):
        moved = False
        for stage in range(stages):
            while at[stage] < len(orders[stage]):
                kind, i = orders[stage][at[stage]]
                needs = None
                if kind == "F" and stage > 0:
                    needs = ("F", i, stage - 1)
                if kind == "B":
                    needs = ("B", i, stage + 1) if stage < stages - 1 else ("F", i, stage)
                if needs is not None and needs not in done:
                    break
                start = max(free[stage], done[needs] if needs else 0.0)
                free[stage] = start + (forward if kind == "F" else backward)[stage]
                done[(kind, i, stage)] = free[stage]
                at[stage] += 1
                moved = True
        assert moved, "the orders wait for each other"
    return max(free)


def play_zero_bubble(stages, microbatches, forward, backward, weights, patience=1.0):
    """Plays ZB-H1 on equal stages (qi2023zerobubble, section 2): input gradients and forwards in the order of
    1F1B, and weight gradients apart. A stage holds at most as many micro-batches as there are stages, until their
    weight gradients are done. A stage that would wait for a piece runs a weight gradient if the wait is at least
    `patience` of its length. Returns the makespan."""
    after = {"F": [[None] * microbatches for _ in range(stages)], "B": [[None] * microbatches for _ in range(stages)]}
    done = [{"F": 0, "B": 0, "W": 0} for _ in range(stages)]
    free = [0.0] * stages

    def ready(stage, kind):
        i = done[stage][kind]
        if kind == "F":
            return after["F"][stage - 1][i] if stage else 0.0
        return after["B"][stage + 1][i] if stage < stages - 1 else after["F"][stage][i]

    def next_piece(stage):
        """(start, kind) of what the stage does next; None while it is not known."""
        n = done[stage]
        ordered = None
        if n["F"] < microbatches and n["F"] - n["B"] < stages - stage:
            ordered = "F"
        elif n["B"] < microbatches:
            ordered = "B"
        full = ordered == "F" and n["F"] - n["W"] >= stages
        known = ready(stage, ordered) if ordered and not full else None
        if known is not None:
            start = max(free[stage], known)
            wait = start - free[stage]
            if n["W"] < n["B"] and wait > 1e-12 and wait >= patience * weights * (1 - 1e-12):
                return free[stage], "W"
            return start, ordered
        return (free[stage], "W") if n["W"] < n["B"] and (full or ordered is None) else None

    while any(n["W"] < microbatches for n in done):
        start, kind, stage = min((*piece, s) for s in range(stages) if (piece := next_piece(s)))
        free[stage] = start + {"F": forward, "B": backward, "W": weights}[kind]
        if kind != "W":
            after[kind][stage][done[stage][kind]] = free[stage]
        done[stage][kind] += 1
    return max(free)


def best_zero_bubble(stages, microbatches, forward, backward, weights):
    """The shortest of several plays: where weight gradients are longer than the waits, some are worth a delay."""
    return min(
        play_zero_bubble(stages, microbatches, forward, backward, weights, patience)
        for patience in (1.0, 0.999, 0.75, 0.5, 0.25, 0.0)
    )


def play_interleaved(stages, chunks, microbatches, forward, backward):
    """All forwards, then all backwards, of micro-batches in groups of `stages`: a group passes a chunk of every
    device before it enters the next (narayanan2021megatron, section 2.2). forward and backward are those of all
    chunks of a device. Returns the makespan."""

    def one_way(time):
        free, back = [0.0] * stages, [0.0] * microbatches
        for first in range(0, microbatches, stages):
            for _ in range(chunks):
                for i in range(first, min(first + stages, microbatches)):
                    for stage in range(stages):
                        back[i] = free[stage] = max(back[i], free[stage]) + time / chunks
        return free[-1]

    return one_way(forward) + one_way(backward)

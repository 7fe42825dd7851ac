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

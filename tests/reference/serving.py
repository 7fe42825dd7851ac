"""One replica that serves a static batch, operator by operator: time to first token, time between tokens,
memory.

The batch of B sequences is divided into micro-batches of s = ceil(B / pp) sequences, of which m = ceil(B / s)
are under way, one on each pipeline stage (narayanan2021megatron, section 2.2; pope2023inference, section 2).
"""

import math
from types import SimpleNamespace

import bottleneck
import formats
import kernels
import launches
import memory
import operators
import passes
import power_cap
import schedule
import sharding
from plan import ranks_of


def micro_batches(batch, stages):
    """Sequences of a micro-batch, and how many of them are in flight."""
    each = math.ceil(batch / stages)
    return each, math.ceil(batch / each)


def run_pass(h, plan, device, links):
    """One micro-batch through all stages in turn. Each stage with its blocks and ends; every stage sends its
    output on. The dispatch of the model is paid once."""
    p = SimpleNamespace(ops=operators.forward(h, plan), stages=[], whole=passes.Sum())
    turns = two_batch_overlap(plan)
    part = SimpleNamespace(**{**vars(plan), "batch": plan.batch / turns})
    ops = sharding.from_host(operators.forward(h, part), part, lambda op: formats.bytes_of(part, passes.one(op)))
    if device.runtime:
        ops, prices = kernels.expanded(ops, h, part, device, links, lambda op: passes.executions(op, h, part))
    else:
        prices = passes.price_all(ops, h, part, device, links)
    for stage, blocks in enumerate(passes.blocks_of_stages(h, plan)):
        one = passes.sum_stage(ops, prices, "forward", blocks, passes.places_of(stage, plan.pp), device)
        one.prepared(blocks, device.layer_issue)
        p.stages.append(one)
        for _ in range(turns - 1):
            p.stages[-1] = p.stages[-1].plus(one)
        if plan.expert_overlap == "micro_batch" and plan.ep > 1:
            # The first exchange of the first part and the last of the last have nothing to run beside.
            alone = 1 / (2 * passes.layers_of(h)) if turns > 1 else 1
            p.stages[-1].ep_comm *= 1 - alone
        p.whole = p.whole.plus(p.stages[-1])
    p.stage_times = [stage.exposed(plan, passes.layers_of(h)) for stage in p.stages]
    p.total = sum(p.stage_times) + device.dispatch  # P
    p.slowest = max(p.stage_times) + device.dispatch  # q': the slowest stage paces the pipeline
    if device.limits:
        limit(p, device)
    return p


def two_batch_overlap(plan):
    """Two parts of a pass take turns, so that one computes while the other's tokens travel, where a rank has two
    sequences."""
    if plan.expert_overlap != "micro_batch" or plan.ep == 1:
        return 1
    return min(max(int(plan.batch / ranks_of(plan)), 1), 2)


def limit(p, device):
    """The pass at the clock that power and clock leave: all stages are slower alike; what it takes longer is
    arithmetic."""
    time, p.whole.limited = power_cap.slowed(p.total, p.whole.compute_bound, p.whole, device)
    p.whole.compute_bound += time - p.total
    slower = time / p.total
    p.total, p.slowest = time, p.slowest * slower
    p.stage_times = [stage * slower for stage in p.stage_times]


def host_share(units, h, plan, device):
    """Of passes, launches, the dispatch and the wait for the host that issues their kernels."""
    blocks = passes.layers_of(h)
    host = sum(u.whole.overhead + u.whole.launch_wait(plan, blocks) + device.dispatch for u in units)
    return host / (host + sum(u.whole.kernels() + u.whole.network + u.whole.host for u in units))


def owed(own, host, whole):
    """The time to the first token of the last prompt in line by whom it is owed to: its own passes, of which the
    host has a part, and those before them. A static batch has no server and nothing to move."""
    return {
        "ttft_ingress": 0.0,
        "ttft_queue": whole - own,
        "ttft_dispatch": host,
        "ttft_prefill": own - host,
        "ttft_egress": 0.0,
    }


def chunks_of(prompt, cached, chunk):
    """Tokens that each pass of a prompt adds, and tokens that are held after it; a cached prefix is not
    computed."""
    chunks, done = [], cached
    while done < prompt:
        new = min(chunk, prompt - done)
        done += new
        chunks.append((new, done))
    return chunks


def passes_of_prompts(prompts, fresh, budget, ranks, chunks):
    """Prompts of each pass as it is priced, and the share of them that there are. A pass takes as many whole prompts
    of every rank as its budget of tokens holds, the last one what is left. Prompts of several chunks go one of each
    rank in a pass, and these passes are priced alike. Without a budget all prompts go at once."""
    if not budget:
        return [(prompts, 1.0)]
    most = max(1, budget // fresh) * ranks
    sizes = []
    while sum(sizes) < prompts:
        sizes.append(min(most, prompts - sum(sizes)))
    if chunks == 1:
        return [(size, 1.0) for size in sizes]
    alike = math.ceil(prompts / len(sizes))
    last = prompts - alike * (len(sizes) - 1)
    return [(alike, 1.0)] * (len(sizes) - 1) + [(alike, last / alike)]


def first_token(units, m):
    """Time until the last of m micro-batches has its first token, each in the same chunks [s].

    A proportionate flow shop (Pinedo, Scheduling, section 6.1): the slowest stage works on all units, and the
    other stages are passed once, by the longest unit. Exact for chunks of one length, whatever the stages;
    with chunks of several lengths it takes the stages as equal, and is an upper bound of what they do where
    they are not.
    """
    total = sum(m * unit.slowest for unit in units) + max(unit.total - unit.slowest for unit in units)
    walked = schedule.flow_shop([stage_times(unit) for _ in range(m) for unit in units])
    assert walked <= total * (1 + 1e-12)
    assert len(units) > 1 or walked >= total * (1 - 1e-12)
    return total


def stage_times(unit):
    """Of a unit of the flow shop: the dispatch belongs to the slowest stage, which then takes q'."""
    times = list(unit.stage_times)
    times[times.index(max(times))] = unit.slowest
    return times


def between_tokens(step, m):
    """A micro-batch is back for its next token when it has passed all stages and every other one had its turn
    [s]."""
    told = max(step.total, m * step.slowest)
    if m == int(m):  # a mean number of requests may make a mean number of micro-batches
        walked = schedule.round_robin(int(m), 60, stage_times(step))
        assert abs(walked - told) <= 1e-9 * told, (walked, told)
    return told


def serve(h, plan, device, links, batch, prompt, cached, budget, chunk, decode_context, final_context):
    """`plan` has the degrees and formats; `budget`: tokens of the prompts of a pass; `chunk`: of one prompt;
    `decode_context`: mean tokens held while decoding; `final_context`: at its end."""
    s, m = micro_batches(batch, plan.pp)
    plan.batch = s
    out = SimpleNamespace(s=s, m=m)
    # Prompts, pass after pass and chunk after chunk; each chunk attends to everything before it.
    plan.phase, units, live = "prefill", [], 0.0
    device.issue, device.layer_issue = device.prompt_issue, device.prompt_layer
    chunks = chunks_of(prompt, cached, chunk)
    run, work, loaded = {}, 0.0, 0.0
    for size, filled in passes_of_prompts(s, plan.encoded or prompt - cached, budget, plan.ep, len(chunks)):
        if size not in run:
            run[size], plan.batch = [], size
            for plan.new_tokens, plan.context in chunks:
                run[size].append(run_pass(h, plan, device, links))
                live = max(live, largest_working_set(run[size][-1], h, plan))
        own_units = run[size]
        units += own_units
        work += sum(filled * unit.whole.work for unit in own_units)
        loaded += sum(filled * unit.whole.loaded(device) for unit in own_units)
    out.ttft = first_token(units, m)
    own = first_token(own_units, 1)
    out.owed = owed(own, own * host_share(own_units, h, plan, device), out.ttft)
    plan.batch = s
    out.chunk_time = max(unit.total for unit in units)
    out.chunks = len(chunks)
    whole = passes.Sum()
    for unit in units:
        whole = whole.plus(unit.whole)
    out.prefill_bottleneck = bottleneck.of_pass(whole, device.dispatch * len(units))
    # One token for each sequence.
    plan.phase, plan.new_tokens, plan.context = "decode", 1, decode_context
    device.issue, device.layer_issue = launches.issue_of_step(device, math.ceil(s / plan.ep)), 0.0
    step = run_pass(h, plan, device, links)
    out.itl = between_tokens(step, m)
    out.bottleneck = bottleneck.of_pass(step.whole, device.dispatch)
    # Shares of all devices of a tensor-parallel rank's pipeline: their work or kernels over their peak or
    # time. Useful is the work of the sequences that there are; kernels run for every micro-batch as it is
    # priced, the last one too, which may have fewer.
    filled = batch / s
    out.prefill_mfu = min(1.0, filled * work / (device.matrix_rate * plan.pp * out.ttft))
    out.mfu = min(1.0, filled * step.whole.work / (device.matrix_rate * plan.pp * out.itl))
    out.prefill_busy = m * loaded / (plan.pp * out.ttft)
    out.decode_busy = m * step.whole.loaded(device) / (plan.pp * out.itl)
    plan.context = final_context
    out.memory = memory_of(h, plan, device, batch, live)
    return out


def largest_working_set(unit, h, plan):
    """Of one operator on one stage, at most."""
    largest = 0.0
    for stage, blocks in enumerate(passes.blocks_of_stages(h, plan)):
        largest = max(largest, passes.totals_of(unit.ops, blocks, passes.places_of(stage, plan.pp)).live)
    return largest


def in_host_memory(h, plan, op):
    """The share of an operator's weights there. An engine whose host computes keeps the embedding there, and on the
    device an output matrix that is the embedding."""
    rows = op.name == "embedding" and plan.host_rows and h.head_params
    return 1.0 if rows else sharding.in_host_memory(plan, op)


def memory_of(h, plan, device, batch, prefill_live):
    """The most that is resident at once on the fullest stage: its weights, the caches of the whole batch at
    their longest, the larger working set of a micro-batch."""
    working = operators.forward(h, plan)
    plan.batch = batch
    held = operators.forward(h, plan)
    fullest = None
    for stage, blocks in enumerate(passes.blocks_of_stages(h, plan)):
        places = passes.places_of(stage, plan.pp)
        t = passes.totals_of(held, blocks, places)
        live = max(prefill_live, passes.totals_of(working, blocks, places).live)
        weights = formats.bytes_of(plan, t) + (plan.tower / plan.tp if "first" in places else 0.0)
        for op in held:
            if op.params and (op.place == "block" or op.place in places):
                times = op.share * (blocks if op.place == "block" else 1)
                away = formats.bytes_of(plan, passes.one(op)) * times
                weights -= away * in_host_memory(h, plan, op)
        cached = t.state * (1 - plan.offload_weights if plan.host_rows else 1)
        buffers = 0.0
        if not plan.host_rows:  # of the layers, the one at work and the next one that comes
            buffers = min(2 / passes.fullest(h, plan), 1) * formats.bytes_of(plan, t) * plan.offload_weights
        mine = memory.serving_memory(weights, cached, live, device, buffers)
        fullest = mine if fullest is None else memory.larger(mine, fullest)
    return fullest

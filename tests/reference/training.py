"""One optimizer step of a fleet, operator by operator."""

import math
from types import SimpleNamespace

import adapters
import formats
import memory
import operators
import orthogonal
import passes
import power_cap
import schedule
import sharding
from backward import with_backward
from device import device_view, links_view, rate_at, set_efficiency
from model import model_view
from plan import ranks_of, set_exchange, training_plan
from zoo import BYTES, default, get, of

PASSES = ["forward", "recompute", "backward", "weight_gradient", "update"]


def share_of(batch, replicas):
    """What the fullest replica gets of a global batch; the shares of replicas and of priced sequences that
    there are."""
    each = batch / replicas
    sequences = max(1, math.ceil(each))
    return SimpleNamespace(sequences=sequences, working=min(1.0, each), filled=min(1.0, each / sequences))


def view(s):
    """Sizes, plan, device and links of a step. `s`: see scenario.training."""
    v = SimpleNamespace(h=model_view(s.workload), s=s)
    p = v.plan = training_plan(s.precision, s.optimizer, s.moment_precision)
    p.tp, p.pp, p.ep, p.cp, p.dp = s.tp, s.pp, s.ep, s.cp, s.dp
    p.expert_tp = s.expert_tp
    p.shards, p.virtual_stages, p.zero_stage = s.shard_size or 0, s.v_stages, s.zero_stage
    p.new_tokens = p.context = 1 if v.h.architecture == "cnn" else s.seq_len
    p.trainable, p.recomputation, p.recomputed = s.trainable, s.recomputation, s.recomputed_share
    p.schedule, p.sequence_parallel = s.schedule, s.sequence_parallel and s.tp > 1
    p.kernel, p.dropout, p.fused, p.prefetch = (
        s.attention_kernel,
        s.dropout,
        s.kernel_fusion,
        s.backward_prefetch,
    )
    p.offload_weights, p.offload_activations, p.offload_states = (
        s.offload_weights,
        s.offload_activations,
        s.offload_states,
    )
    p.offload_gradients = s.offload_gradients
    nominal = s.host_memory_bandwidth or default("host_memory_bandwidth")
    p.host_bandwidth = nominal * default("host_stream") / s.fleet.node["accelerators_per_node"]
    p.overlap = default("overlap") if s.overlap is None else s.overlap
    p.overlap_slowdown = default("overlap_slowdown") if s.slowdown is None else s.slowdown
    p.tp_overlap = s.tp_overlap
    p.fused_loss = s.fused_loss
    set_exchange(p, s, False)
    if s.lora_rank:
        p.lora_rank, p.lora_modules, p.trainable = s.lora_rank, s.lora_modules, 0
        p.adapter_bytes = p.weight_bytes
    if s.weight_format:
        wide = p.weight_bytes
        formats.store(p, formats.served(s.workload, s.hardware, "bf16", s.weight_format, None))
        p.widened, p.widens = False, bool(s.lora_rank) and p.weight_bytes < wide
    if s.gradient_precision:
        p.gradient_bytes = BYTES[s.gradient_precision]
    d = v.device = device_view(s.hardware, s.precision, "training", execution=s.execution)
    if BYTES[s.precision] < 2:
        # Narrow formats are for products with weights inside the blocks; attention and the output head stay
        # at 16 bits.
        p.narrow, p.four_bits = True, BYTES[s.precision] < 1
        rates = rate_at(s.hardware, "bf16") / rate_at(s.hardware, s.precision)
        if s.attention_kernel != "fused_fp8":
            d.attention_share *= rates
        d.wide_ratio = rates * of(s.hardware, "efficiency.matrix") / d.matrix_share
    if s.attention_kernel == "fused_fp8":
        d.attention_share *= rate_at(s.hardware, "fp8") / rate_at(s.hardware, s.precision)
    if s.attention_kernel in ("flash1", "flash2"):
        d.attention_share *= get(s.hardware, "efficiency.flash2", 1.0)
    if s.attention_kernel == "flash1":
        d.attention_share *= of(s.hardware, "efficiency.flash1")
    set_efficiency(d, s.efficiency)
    v.links = links_view(s.fleet, "training")
    if s.collective_algorithm != "usual":
        v.links.algorithm = s.collective_algorithm
    d.limits = power_cap.limits_of(s.hardware, s.power_cap, s.clock_limit)
    return v


def operators_of_step(h, plan):
    """All operators of one micro-batch and of the update, on a device of the fullest stage."""
    ops = with_backward(operators.forward(h, plan), h, plan)
    blocks = passes.fullest(h, plan)
    extra = []
    of_blocks = passes.totals_of([op for op in ops if op.place == "block"], blocks, [])
    travelling = []  # of the blocks: spread over them, so that a stage with fewer blocks has its part
    sharding.shard(travelling, h, plan, "block", blocks, of_blocks)
    for op in travelling:
        extra.append(op.like(share=op.share / blocks))
    if h.architecture != "cnn":
        for place in ("first", "last"):
            ends = passes.totals_of([op for op in ops if op.place == place], 0, [place])
            sharding.shard(extra, h, plan, place, 1, ends)
    weights = of_blocks.dense_params + of_blocks.expert_params
    learning = adapters.trained(plan, weights, of_blocks.adapter_params)
    exchanges = sharding.pieces_of(plan, blocks, plan.gradient_bytes * learning)
    if plan.orthogonal:
        extra += orthogonal.updates(ops, plan)
    return ops + extra, exchanges


def stages_of(h, plan):
    """The first stage, with the embedding, and the last, with the head and the fewest blocks; one where there
    is one."""
    counts = passes.blocks_of_stages(h, plan)
    return [
        (counts[0], passes.places_of(0, plan.pp)),
        (counts[-1], passes.places_of(len(counts) - 1, plan.pp)),
    ]


def sum_passes(ops, prices, blocks, places, v):
    """Every pass of one micro-batch on a stage, and the update. What a stage sends it sends for each model
    chunk."""
    stage = SimpleNamespace(blocks=blocks)
    ends = [place for place in places if place != "stage"]
    for run in PASSES:
        total = passes.sum_stage(ops, prices, run, blocks, ends, v.device)
        for _ in range(int(v.plan.virtual_stages)):
            total = total.plus(passes.sum_stage(ops, prices, run, 0, ["stage"], v.device))
        setattr(stage, run, total)
    stage.backwards = stage.recompute.plus(stage.backward).plus(stage.weight_gradient)
    stage.passes = stage.forward.plus(stage.backwards)
    stage.forward_time = stage.forward.exposed(v.plan, blocks)
    stage.backward_time = stage.backwards.exposed(v.plan, blocks)  # under one roof of overlap
    stage.slot = stage.forward_time + stage.backward_time
    stage.launch_wait = stage.forward.launch_wait(v.plan, blocks) + stage.backwards.launch_wait(
        v.plan, blocks
    )
    return stage


def network_of(ops, prices, blocks, v):
    """Time of the collectives of one micro-batch, by whom they join, on a fullest stage with both ends."""
    network = {}
    for op, cost in zip(ops, prices):
        if cost is None or not op.between or op.run == "update" or op.kind != "collective":
            continue
        times = blocks if op.place == "block" else v.plan.virtual_stages if op.place == "stage" else 1
        for _ in range(int(times)):
            network[op.between] = network.get(op.between, 0.0) + cost.network * op.share
    return network


def step(v):
    """One optimizer step of all replicas."""
    h, plan, device = v.h, v.plan, v.device
    m = plan.microbatches
    ops, exchanges = operators_of_step(h, plan)
    prices = passes.price_all(ops, h, plan, device, v.links)
    first, last = [sum_passes(ops, prices, blocks, places, v) for blocks, places in stages_of(h, plan)]
    slow, fast = (first, last) if first.slot > last.slot else (last, first)
    out = SimpleNamespace(stage=slow, first=first, last=last, m=m)

    # The slowest stage does its micro-batches one after the other.
    out.slots = sum(slow.slot for _ in range(int(m))) + device.dispatch
    out.bubble = bubble_of(plan, slow, fast)
    check_schedule(plan, slow, fast, out.slots - device.dispatch + out.bubble)

    # The exchange of a step hides under the backward pass of its last micro-batch and the forward pass of the
    # next step, except its last piece, which is not ready before the backward pass is over. Kernels that hide what
    # the passes prefetch hide nothing else. What hides under kernels slows them; while the device waits for the
    # host it slows nothing. The next step begins where both ends have updated their weights.
    def exposed(end):
        pieces = end.update.prefetch_comm * (1 - 1 / exchanges)
        room = 0.0
        for one in (end.forward, end.backwards):
            room += one.kernels() * plan.overlap - one.hidden_ahead(plan, end.blocks)
        under_kernels = min(pieces, room)
        slowing = under_kernels * plan.overlap_slowdown
        return end.update.total - under_kernels + slowing - min(
            pieces - under_kernels + slowing, end.launch_wait + slow.slot - end.slot
        )

    later = first if exposed(first) > exposed(last) else last
    out.update, out.updated = exposed(later), later.update
    out.total = out.slots + out.bubble + out.update

    network = network_of(ops, prices, passes.fullest(h, plan), v)
    out.exchange = max(first.update.network, last.update.network) + network.get("replicas", 0.0) * m
    out.host_transfer = (slow.forward.host + slow.backward.host) * m + later.update.host
    out.tensor_parallel = network.get("tensor", 0.0) * m
    out.expert_parallel = network.get("experts", 0.0) * m
    out.context_parallel = network.get("context", 0.0) * m
    out.pipeline_parallel = network.get("pipeline", 0.0) * m
    out.launch_wait = slow.launch_wait * m
    largest = SimpleNamespace(**vars(plan))
    largest.batch = math.ceil(plan.batch / ranks_of(plan)) * ranks_of(plan)
    out.memory = memory_of(v, operators_of_step(h, largest)[0])
    return out


def bubble_of(plan, slow, fast):
    """The wait of the slowest stage for the others, which are taken like the faster end: what the first
    micro-batch needs on them, less what is done of it meanwhile. With several chunks a device a micro-batch waits
    for a chunk of the one before (narayanan2021megatron, section 2.2)."""
    stages, chunks = int(plan.pp), plan.virtual_stages
    together = min(plan.microbatches, stages)
    bubble = 0.0
    for stage in range(1, stages):
        bubble += fast.slot / chunks if stage < together else fast.slot
    if plan.schedule != "zero_bubble" or stages == 1:
        return bubble
    # What a pass is shorter without its weight gradients: those of the slowest stage fill the waits.
    gradients = fast.recompute.plus(fast.backward).exposed(plan, fast.blocks)
    weights = slow.slot - slow.forward_time - slow.recompute.plus(slow.backward).exposed(plan, slow.blocks)
    if chunks == 1:
        # Played event by event; more micro-batches than this change nothing.
        m = int(min(plan.microbatches, 3 * stages))
        played = schedule.best_zero_bubble(stages, m, fast.forward_time, gradients, weights)
        return played - m * (fast.forward_time + gradients + weights)
    bubble = starting = 0.0
    for stage in range(1, stages):
        part = 1 / chunks if stage < together else 1
        starting += part * fast.forward_time
        bubble += part * (fast.forward_time + gradients)
        if stage < together:  # a weight gradient in the wait for the next input gradient
            bubble -= part * min(weights, fast.forward_time)
    return max(bubble, starting)


def check_schedule(plan, slow, fast, told):
    """Plays the schedule and compares: exact where all micro-batches pass the slowest stage last (GPipe, or
    1F1B with the slowest stage at the end). With the slowest stage at the front 1F1B does better, because its
    first forwards run ahead."""
    if plan.virtual_stages > 1 or plan.schedule == "zero_bubble" or plan.pp == 1:
        return
    gpipe = plan.schedule == "gpipe"
    orders = (schedule.orders_gpipe if gpipe else schedule.orders_1f1b)(int(plan.pp), int(plan.microbatches))
    stages = [fast] * (int(plan.pp) - 1) + [slow]
    # Of every stage the same part of a slot is forward.
    part = slow.forward_time / slow.slot
    played = schedule.play(orders, [s.slot * part for s in stages], [s.slot * (1 - part) for s in stages])
    assert abs(played - told) <= 1e-9 * told, (played, told)


def in_flight(plan):
    """Micro-batches whose activations the first stage holds: with 1F1B as many as stages, with v model chunks
    a device (pp - 1) / v more (korthikanti2022recomputation, section 4.2.3), with GPipe all."""
    if plan.schedule == "gpipe":
        return plan.microbatches
    more = (plan.pp - 1) / plan.virtual_stages if plan.virtual_stages > 1 else 0
    return min(plan.microbatches, plan.pp + more)


def memory_of(v, ops):
    """Memory of the fuller end of the pipeline. With 1F1B the last stage holds one micro-batch."""
    h, plan = v.h, v.plan
    held = in_flight(plan)
    ends = []
    for (blocks, places), micro in zip(stages_of(h, plan), [held, held if plan.schedule == "gpipe" else 1]):
        totals = passes.totals_of(ops, blocks, places)
        ends.append(memory.training_memory(plan, v.device, totals, passes.fullest(h, plan), micro))
    return memory.larger(ends[0], ends[1])


def whole_model_work(v):
    """Arithmetic that one sequence needs: a forward pass of the undivided model and twice that for the
    backward pass, without the weight gradients of frozen weights (chowdhery2022palm, appendix B)."""
    plan = SimpleNamespace(**vars(v.plan))
    plan.tp = plan.pp = plan.ep = plan.dp = plan.cp = plan.batch = 1
    plan.expert_tp = None
    totals = passes.totals_of(operators.forward(v.h, plan), passes.layers_of(v.h), ["first", "last", "stage"])
    return 3 * totals.work - (1 - plan.trainable) * totals.weight_work


def limit(out, passed, update, device):
    """The step at the clock that power and clock leave. A bubble is too long to be averaged with the passes beside
    it, and lasts longer where they do. @return what the passes take longer, and what they draw"""
    whole = passes.Sum(
        work=passed.work * out.m + update.work,
        traffic=passed.traffic * out.m + update.traffic,
        memory_bound=passed.kernels() * out.m + update.kernels(),
    )
    running = out.total - out.bubble
    time, loaded = power_cap.slowed(running, out.compute, whole, device)
    more = time - running
    idle = out.bubble * more / out.slots
    out.total += more + idle
    out.slots += more
    out.bubble += idle
    out.compute += more
    return more, loaded


def answer(v, batch):
    """What is reported of a step for a global batch."""
    s, out = v.s, step(v)
    stage, m, update = out.stage, out.m, out.updated
    passed = stage.passes
    out.compute = passed.compute_bound * m + update.compute_bound
    out.memory_bound = passed.memory_bound * m + update.memory_bound
    out.overhead = passed.overhead * m + update.overhead + out.launch_wait + v.device.dispatch
    out.communication = (
        out.exchange
        + out.tensor_parallel
        + out.expert_parallel
        + out.context_parallel
        + out.pipeline_parallel
        + out.host_transfer
    )
    kernels = passed.kernels() * m + update.kernels()
    loaded = passed.loaded(v.device) * m + update.loaded(v.device)
    out.exposed = max(out.total - kernels - out.overhead - out.bubble, 0.0)
    in_kernels = (passed.total - passed.network - passed.host) * m
    if v.device.limits:
        more, loaded = limit(out, passed, update, v.device)
        in_kernels += more
    out.scaling_efficiency = in_kernels / out.total
    devices = s.fleet.devices
    out.mfu = min(1.0, whole_model_work(v) * batch / (v.device.matrix_rate * devices * out.total))
    again = passed.work / (passed.work - stage.recompute.work)
    out.hfu = min(1.0, out.mfu * max(1.0, again))
    # Congestion slows the exchange over the replicas, a straggler everything.
    congestion = out.exchange * (s.congestion - 1)
    unhindered = out.total
    out.total = unhindered * s.straggler + congestion
    out.exchange += congestion
    out.communication += congestion
    out.exposed += congestion
    out.bubble_fraction = out.bubble / (out.bubble + out.slots)
    for name in ("scaling_efficiency", "mfu", "hfu"):
        setattr(out, name, getattr(out, name) * unhindered / out.total)
    out.utilization = min(1.0, loaded / out.total) * share_of(batch, s.dp).working
    return out

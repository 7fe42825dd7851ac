"""What travels between replicas and to host memory: gradients, weights, states, activations; and the
optimizer.

The amounts are those of the fullest stage's blocks, of the embedding, or of the head ("place"); they happen
once a micro-batch, or once a step where they run in the update.
"""

import math
from types import SimpleNamespace

from adapters import trained
from op import collective, emit
from plan import expert_devices, ranks_of


def holders(plan, routed):
    """Ranks that hold the same weights, those of them that share one copy of what ZeRO divides, and their
    distance. Context-parallel ranks are data-parallel for all weights, expert-parallel ranks for all but the
    routed experts."""
    ranks = plan.dp * plan.cp * (1 if routed else ranks_of(plan))
    shards = min(plan.shards, ranks) if plan.shards > 0 else ranks
    return SimpleNamespace(ranks=ranks, shards=shards, stride=expert_devices(plan) * plan.ep if routed else plan.tp)


def pieces_of(plan, layers, amount):
    """Collectives in which `amount` bytes travel: what is small waits until a bucket is full, what is larger
    than a bucket goes on its own (li2020pytorch, section 3.2.2). ZeRO-3 has its weights for one layer at a
    time and cannot wait."""
    if plan.zero_stage >= 3:
        return layers
    bucket = max(plan.exchange_bucket, 1.0)
    return min(max(math.ceil(amount / bucket), 1.0), layers)


def travel(ops, name, pattern, run, place, pieces, message, ranks, stride):
    op = collective(ops, name, pattern, "replicas", pieces, message, ranks, stride)
    op.run, op.place, op.beside = run, place, "pass"
    return op


def exchange_gradients(ops, plan, place, layers, learning, who):
    """Reduced over all holders: once a step, from ZeRO-2 on with every micro-batch (rajbhandari2020zero,
    section 5)."""
    amount = plan.gradient_bytes * learning
    pieces = pieces_of(plan, layers, amount)
    run = "backward" if plan.zero_stage >= 2 else "update"
    if plan.zero_stage == 0:
        travel(
            ops, "gradient_exchange", "all_reduce", run, place, pieces, amount / pieces, who.ranks, who.stride
        )
        return
    # Hybrid sharding: inside the group that shares one copy, then over the groups.
    travel(
        ops, "gradient_scatter", "reduce_scatter", run, place, pieces, amount / pieces, who.shards, who.stride
    )
    travel(
        ops,
        "gradient_exchange",
        "all_reduce",
        run,
        place,
        pieces,
        amount / pieces / who.shards,
        who.ranks / who.shards,
        who.stride * who.shards,
    )


def gather_weights(ops, plan, place, layers, weights, stored, learning, who):
    """After the update (ZeRO-1 and 2), or before each pass that uses them (ZeRO-3)."""

    def gather(run, amount):
        pieces = pieces_of(plan, layers, amount)
        return travel(
            ops, "weight_gather", "all_gather", run, place, pieces, amount / pieces, who.shards, who.stride
        )

    amount = stored * weights
    if plan.zero_stage >= 3:
        gather("forward", amount)
        waited = gather("backward", amount)
        if not plan.prefetch:
            waited.beside = ""  # asked for only when the block before is done
    elif plan.zero_stage >= 1:
        gather("update", (plan.adapter_bytes if plan.lora_rank else plan.weight_bytes) * learning)


def host_transfer(ops, name, run, place, amount):
    """Over the host link, one way; the other way is free to work at the same time."""
    op = emit(ops, "host_transfer", "communication", name)
    op.run, op.place, op.between, op.beside, op.message = run, place, "host", "pass", amount


def host_compute(ops, name, run, place, plan, amount):
    """The host reads and writes its own memory."""
    op = emit(ops, "host_compute", "communication", name)
    op.run, op.place, op.between, op.message, op.host_bandwidth = run, place, "host", amount, plan.host_bandwidth


def update_on_host(ops, plan, place, weights, states, written):
    """Gradients leave as they are made, the host updates states and weights with gradients in fp32, the weights
    come back (ren2021zerooffload, sections 4 and 5)."""
    made = "backward" if plan.zero_stage >= 2 else "update"
    host_transfer(ops, "gradient_store", made, place, plan.gradient_bytes * weights)
    host_compute(ops, "host_update", "update", place, plan, (4 + 2 * states + written) * weights)
    host_transfer(ops, "weight_return", "update", place, written * weights)


def in_host_memory(plan, op):
    """The share of an operator's weights that lies there. Where the host computes, the head stays on the device
    and the embedding has no part in the pass; of routed experts a part of their own may lie there."""
    if op.place != "block" and plan.host_rows:
        return 0.0
    here = 1 - plan.offload_weights
    return 1 - here * (1 - plan.offload_experts) if "routed" in op.parts else 1 - here


def from_host(ops, plan, stored):
    """Operators of a served pass with what the host does for it. In passes of few rows it computes what lies in its
    memory, streaming what these operators read; of larger ones, and where the engine's host does not compute, the
    weights cross the link. `stored`: bytes of the weights of operators."""
    if not plan.offload_weights and not plan.offload_experts:
        return ops
    rows = (max(plan.batch / ranks_of(plan), 1) if ranks_of(plan) > 1 else plan.batch) * plan.new_tokens
    works = rows <= plan.host_rows
    out, more = [], []
    for place in ("first", "block", "last"):
        mine = [op for op in ops if op.place == place and op.kind not in ("collective", "host_transfer")]
        moved = [in_host_memory(plan, op) for op in mine]
        if works and place == "block":
            read = sum(op.traffic * op.share * share for op, share in zip(mine, moved))
            host_compute(more, "host_layers", "forward", place, plan, read)
        elif not works:
            amount = sum(stored(op) * op.share * share for op, share in zip(mine, moved))
            host_transfer(more, "weight_fetch", "forward", place, amount)
    for op in ops:
        computes = works and op.place == "block" and op.kind != "collective"
        out.append(op.like(share=op.share * (1 - in_host_memory(plan, op))) if computes else op)
    return out + more


def optimizer(ops, plan, place, learning, who):
    """Reads gradients, reads and writes its states, writes the weights; 12 operations a weight
    (Kingma and Ba 2015)."""
    op = emit(ops, "stream", "optimizer", "optimizer")
    op.run, op.place = "update", place
    mine = learning / who.shards if plan.zero_stage >= 1 else learning
    states = plan.matrix_state_bytes if place == "block" else plan.state_bytes
    written = plan.adapter_bytes if plan.lora_rank else plan.weight_bytes
    here = mine * (1 - plan.offload_states) if plan.offload_gradients > 0 else mine
    op.work = 12 * here
    op.traffic = (plan.gradient_bytes + 2 * states + written) * here
    if plan.offload_gradients > 0:
        update_on_host(ops, plan, place, mine * plan.offload_states, states, written)
    elif offloads(plan):
        host_transfer(ops, "state_transfer", "update", place, states * mine * plan.offload_states)


def offloads(plan):
    return plan.offload_weights > 0 or plan.offload_activations > 0 or plan.offload_states > 0


def shard(ops, h, plan, place, layers, totals):
    """All of this for one place. `totals`: weights and kept activations of the place on its device."""
    for weights, routed in [(totals.dense_params, False), (totals.expert_params, True)]:
        if routed and not (h.moe and place == "block"):
            continue
        who = holders(plan, routed)
        learning = trained(plan, weights, totals.adapter_params)
        own = plan.expert_bytes if routed else plan.edge_bytes if place != "block" else None
        stored = plan.weight_bytes if own is None else own
        learns = not plan.lora_rank or (place == "block" and not routed)
        if learns:
            exchange_gradients(ops, plan, place, layers, learning, who)
        if learns or plan.zero_stage >= 3:
            gather_weights(ops, plan, place, layers, weights, stored, learning, who)
        if learns:
            optimizer(ops, plan, place, learning, who)
    if not offloads(plan):
        return
    edge = plan.edge_bytes if place != "block" else None
    weights = (plan.weight_bytes if edge is None else edge) * totals.dense_params
    weights += (plan.weight_bytes if plan.expert_bytes is None else plan.expert_bytes) * totals.expert_params
    weights *= plan.offload_weights
    kept = totals.kept * plan.offload_activations
    host_transfer(ops, "weight_fetch", "forward", place, weights)
    host_transfer(ops, "weight_fetch", "backward", place, weights)
    host_transfer(ops, "activation_store", "forward", place, kept)
    host_transfer(ops, "activation_fetch", "backward", place, kept)

"""Memory of one device by use."""

from types import SimpleNamespace

import operators
from sharding import holders, offloads

USES = [
    "weights",
    "kv_cache",
    "activations",
    "gradients",
    "optimizer_states",
    "communication_buffers",
    "fragmentation",
    "reserve",
]


def breakdown(**uses):
    """The uses with their sum; a use that is not named is 0."""
    m = SimpleNamespace(**{use: uses.get(use, 0.0) for use in USES}, capacity=uses["capacity"])
    m.total = sum(getattr(m, use) for use in USES)
    return m


def with_losses(uses, device):
    """Fragmentation is a share of what is allocated; framework and context hold a reserve."""
    uses["fragmentation"] = device.fragmentation * sum(uses.values())
    return breakdown(reserve=device.reserve, capacity=device.memory_capacity, **uses)


def serving_memory(weights, state, live, device, buffers=0.0):
    """All weights, the cache, the largest working set of one operator, twice for the buffers that alternate, and
    buffers of weights on their way from the host."""
    uses = {"weights": weights, "kv_cache": state, "activations": 2 * live, "communication_buffers": buffers}
    return with_losses(uses, device)


def held(plan, totals, parts, expert_parts):
    """Weights as they are stored: routed experts, and what lies before and behind the blocks, may have formats of
    their own."""
    edges = totals.dense_params - totals.block_params
    edge = plan.weight_bytes if plan.edge_bytes is None else plan.edge_bytes
    expert = plan.weight_bytes if plan.expert_bytes is None else plan.expert_bytes
    dense = plan.weight_bytes * totals.block_params + edge * edges
    return dense / parts + expert * totals.expert_params / expert_parts


def training_memory(plan, device, totals, blocks, in_flight):
    """Weights, gradients and states are divided by the ranks that share them from ZeRO 3, 2 and 1 on
    (rajbhandari2020zero, section 3). Activations: what the backward pass needs of every micro-batch in
    flight, beside it one block's while they are made again or the largest working set of one operator
    (korthikanti2022recomputation, section 4.1)."""
    whole = totals.dense_params + totals.expert_params
    shard = (
        totals.dense_params / holders(plan, False).shards + totals.expert_params / holders(plan, True).shards
    )

    def stored(from_stage):
        return shard if plan.zero_stage >= from_stage else whole

    # Gathered or fetched: the weights of the block at work and of the next one, where there is one. A rank that
    # has all of them gathers none.
    at_once = min(2, blocks) / blocks
    everything, buffers = held(plan, totals, 1, 1), 0.0
    if plan.zero_stage >= 3:
        experts = held(plan, totals, float("inf"), 1)
        if holders(plan, False).shards > 1:
            buffers += at_once * (everything - experts)
        if holders(plan, True).shards > 1:
            buffers += at_once * experts
    if offloads(plan):
        buffers += at_once * everything * plan.offload_weights + totals.kept * plan.offload_activations / blocks
    parts = [holders(plan, routed).shards if plan.zero_stage >= 3 else 1 for routed in (False, True)]
    # Adapters are dense weights of their own.
    sharers = holders(plan, False).shards

    def beside(amount, from_stage):
        return amount / sharers if plan.zero_stage >= from_stage else amount

    learned = totals.adapter_params
    # Of the matrices in the blocks Muon keeps one moment less.
    inner_experts = totals.expert_params
    if plan.zero_stage >= 1:
        inner_experts /= holders(plan, True).shards
    saved = (plan.state_bytes - plan.matrix_state_bytes) * (beside(totals.block_params, 1) + inner_experts)
    states = plan.state_bytes * (stored(1) * plan.trainable + beside(learned, 1)) - saved * plan.trainable
    return with_losses(
        {
            "weights": held(plan, totals, *parts) * (1 - plan.offload_weights)
            + plan.adapter_bytes * beside(learned, 3),
            "activations": max(totals.block_again, totals.live)
            + totals.kept * in_flight * (1 - plan.offload_activations),
            "gradients": plan.gradient_bytes
            * (stored(2) * plan.trainable + beside(learned, 2))
            * (1 - plan.offload_gradients),
            "optimizer_states": states * (1 - plan.offload_states),
            "communication_buffers": buffers,
        },
        device,
    )


def larger(a, b):
    return a if a.total > b.total else b


def parameters(h):
    """Weights of the whole model, counted operator by operator: dense ones, and those of routed experts."""
    import passes
    from plan import whole_model

    ops = operators.forward(h, whole_model())
    t = passes.totals_of(ops, passes.layers_of(h), ["first", "last", "stage"])
    return t.dense_params, t.expert_params


def cache_bytes(h, tokens, batch, kv_bytes, encoded=0):
    """Keys, values and recurrent states of the whole model."""
    import passes
    from plan import whole_model

    plan = whole_model()
    plan.batch, plan.new_tokens, plan.context, plan.kv_bytes = batch, tokens, tokens, kv_bytes
    plan.encoded = encoded
    ops = operators.forward(h, plan)
    return passes.totals_of(ops, passes.layers_of(h), ["first", "last", "stage"]).state


def encoder_weights(h):
    """Of the encoder that a decoder attends to; 0 without one."""
    import passes
    from plan import whole_model

    if not h.encoder:
        return 0.0
    plan = whole_model()
    plan.phase = "inference"
    totals = passes.totals_of(operators.forward(h.encoder, plan), h.encoder.layers, ["first", "last"])
    return totals.dense_params + totals.expert_params

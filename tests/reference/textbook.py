"""The textbook fidelity: formulas that a student does by hand, from totals alone."""

import math
from types import SimpleNamespace

import bottleneck
import memory
import model
import serving
from collectives import hierarchical_all_reduce, ring_all_reduce, spread
from device import memory_level, rate_at
from plan import kv_bytes, ranks_of
from zoo import BYTES, default, get, of


def totals(w):
    """Published totals of a model; 2 FLOP per active weight and unit of work where nothing is published."""
    t = SimpleNamespace(params=get(w, "parameters"))
    if t.params is None and model.has_shape(w):
        t.params = sum(memory.parameters(model.model_view(w)))
    t.params = t.params or 0
    t.active = get(w, "active_parameters", t.params)
    t.work = get(w, "inference.work", 2 * t.active)
    stack, attention = model.main_stack(w), model.attention_of(w)
    t.layers = max(1, len(model.expanded(stack)) or get(w, "outline.layers", 1))
    t.hidden, t.heads = stack.get("hidden", 0), attention.get("heads", 0)
    width = attention.get("head_dim", t.hidden / t.heads if t.heads else 0)
    if "nope_head_dim" in attention:  # latent attention has two parts of a head
        width = attention["nope_head_dim"] + attention["rope_head_dim"]
    t.width = t.heads * width
    return t


def sample_work(w, t, tokens):
    """Forward work of a sample of `tokens`. Per-token work is done once a token; the published work of a sequence of stated
    length is divided evenly over its tokens."""
    per, length = get(w, "inference.per", "token"), get(w, "inference.sequence_length")
    if t.hidden == 0:
        return t.work
    if per == "token" or (per == "sequence" and get(w, "inference.work") is None):
        return t.work * tokens
    return t.work / length * tokens if per == "sequence" and length else t.work


def cache(w, precision, kv_precision, tokens, batch):
    """Keys and values of a batch [B]; none where the shape is not known."""
    if not model.has_shape(w) or batch == 0:
        return 0.0
    return memory.cache_bytes(model.model_view(w), tokens, batch, kv_bytes(precision, kv_precision))


def prefill_work(t, new_tokens, context, batch):
    """2 P t B + 4 L h t S B: every new token passes all weights once and attends to the whole final context,
    mask ignored (pope2023inference, section 2)."""
    return (2 * t.active * new_tokens + 4 * t.layers * t.width * new_tokens * context) * batch


def decode_step_time(weights, kv_cache, bandwidth, layers):
    """Every weight and every cached value crosses memory once for a token; each layer costs the framework a
    fixed time (pope2023inference, section 2). There is no arithmetic limit and no dispatch."""
    return (weights + kv_cache) / bandwidth + layers * default("textbook_layer_overhead")


def unit_of(total, dispatch, stages, busy=0.0):
    """A pass through equal stages. `busy`: time that its work takes at peak, all stages together; nothing else
    of a pass is known to draw power."""
    return SimpleNamespace(
        total=total,
        slowest=(total - dispatch) / stages + dispatch,
        stage_times=[(total - dispatch) / stages] * stages,
        busy=min(busy, total),
        host_share=dispatch / total,
    )


def decode_work(t, batch):
    """2 P for every token of every sequence; attention to the cache is not counted."""
    return 2 * t.active * batch


def serve(w, hardware, s):
    """`s`: tp, pp, ep, batch, prompt, cached, budget, chunk, output, precision, kv_precision, efficiency. Tensor and
    expert parallelism divide a pass; pipeline stages run in turn."""
    t, stages = totals(w), s.pp
    efficiency = default("textbook_efficiency") if s.efficiency is None else s.efficiency
    peak = rate_at(hardware, s.precision)
    rate = peak * efficiency * s.tp * s.ep
    dispatch = of(hardware, "dispatch_overhead")
    weights = t.params * s.weight_bytes
    level = memory_level(hardware, t.params * BYTES[s.precision])
    each, m = serving.micro_batches(s.batch, stages)
    out = SimpleNamespace(s=each, m=m)
    units, busy = [], 0.0
    chunks = serving.chunks_of(s.prompt, s.cached, s.chunk)
    for size, filled in serving.passes_of_prompts(each, s.prompt - s.cached, s.budget, s.ep, len(chunks)):
        own_units = []
        for new, _ in chunks:
            work = prefill_work(t, new, s.prompt, size)
            own_units.append(unit_of(work / rate + dispatch, dispatch, stages, work / (peak * s.tp * s.ep)))
        units += own_units
        busy += filled * sum(unit.busy for unit in own_units)
    out.ttft = serving.first_token(units, m)
    own, whole = serving.first_token(own_units, 1), sum(unit.total for unit in own_units)
    out.owed = serving.owed(own, own * len(chunks) * dispatch / whole, out.ttft)
    out.chunk_time, out.chunks = max(unit.total for unit in units), len(chunks)
    # Token i of n sees the prompt and i tokens: (n + 1) / 2 in the mean.
    context = s.prompt + ((s.output + 1) / 2 if s.output else 0)
    kv = cache(w, s.precision, s.kv_precision, context, each)
    share = s.tp * s.ep
    step = unit_of(
        decode_step_time(weights / share, kv / share, level.bandwidth, t.layers),
        0.0,
        stages,
        decode_work(t, each) / (peak * share),
    )
    out.itl = serving.between_tokens(step, m)
    out.step = step
    devices = s.tp * s.pp * s.ep
    # Useful work: of the sequences that there are, not of those that would fill the last micro-batch.
    out.prefill_mfu = min(
        1.0, prefill_work(t, s.prompt - s.cached, s.prompt, s.batch) / (peak * devices * out.ttft)
    )
    out.mfu = min(1.0, decode_work(t, s.batch) / (peak * devices * out.itl))
    out.prefill_bottleneck = bottleneck.of_textbook_prompt(
        prefill_work(t, s.prompt - s.cached, s.prompt, each) / rate, dispatch * len(units)
    )
    out.bottleneck = bottleneck.of_textbook_token(
        (weights + kv) / share / level.bandwidth, t.layers * default("textbook_layer_overhead")
    )
    # Power is drawn for every micro-batch as it is priced, filled or not.
    out.prefill_busy = m * busy / (stages * out.ttft)
    out.decode_busy = m * step.busy / (stages * out.itl)
    out.kv_cache_size = cache(w, s.precision, s.kv_precision, s.prompt + (s.output or 0), s.batch)
    out.memory = memory.breakdown(
        weights=weights / devices, kv_cache=out.kv_cache_size / devices, capacity=level.capacity
    )
    return out


def roofline_pass(work, weights, batch, efficiency, layers, run, peak, bandwidth, dispatch):
    """max(work B / (peak e), weights (1 + share B) / bandwidth) + dispatch + layers passes overhead
    (williams2009roofline; a sample moves a tenth of the weight bytes, by convention)."""
    out = SimpleNamespace(traffic=weights * (1 + default("textbook_activation_share") * batch))
    out.compute = work * batch / (peak * efficiency)
    out.memory = out.traffic / bandwidth
    out.overhead = dispatch + default("textbook_layer_overhead") * layers * run
    out.latency = max(out.compute, out.memory) + out.overhead
    return out


def train_step(w, s, links, fleet):
    """One optimizer step. `s`: degrees, batch of a replica, micro-batches and so on; see training.resolve."""
    t, hardware = totals(w), s.hardware
    b = BYTES[s.precision]
    # A forward pass, as much for the gradients of inputs, as much for those of trained weights, and once
    # again where all is recomputed.
    s.model_forwards = 2 + s.trainable
    s.hardware_forwards = s.model_forwards + (1 if s.recomputation == "full" else 0)
    work = s.hardware_forwards * sample_work(w, t, s.seq_len)
    weights = t.params * b
    replica = s.tp * s.pp * ranks_of(s)
    peak = rate_at(hardware, s.precision)
    efficiency = default("textbook_efficiency") if s.efficiency is None else s.efficiency
    node = roofline_pass(
        work / replica,
        weights / replica,
        s.local_batch,
        efficiency,
        t.layers,
        3,
        peak,
        memory_level(hardware, weights).bandwidth,
        of(hardware, "dispatch_overhead"),
    )
    # The textbook reckons with rates of the data sheet; a device has a port of the fabric, or its share of the
    # node's cards where they are fewer.
    for level in links.levels:
        level.share = 1
    fabric = fleet.fabric
    if fabric and fabric.get("bandwidth") and not fleet.levels:
        per_node = fleet.node["accelerators_per_node"]
        cards = min(1, fleet.node.get("nics_per_node", per_node) / per_node)
        links.levels[-1].bandwidth = fabric["bandwidth"] * cards / fabric.get("oversubscription", 1)
    out = SimpleNamespace(node=node, peak=peak, work=work)
    # Replicas lie outermost: so many of a data-parallel group share a node.
    exchange = hierarchical_all_reduce(
        weights * s.trainable / (s.tp * s.pp), spread(int(s.dp), replica, links), links
    )
    # Four all-reduces of the residual stream a layer, two forward and two backward (Shoeybi et al. 2019,
    # section 3).
    stream = s.local_batch * s.seq_len * t.hidden * b
    inside, away = s.tp <= links.joined, spread(int(s.tp), 1, links)
    join = ring_all_reduce(
        stream,
        s.tp,
        links.inside if inside else away.way,
        links.levels[0].latency if inside else away.step,
    )
    out.tensor_parallel = sum(4 * join for _ in range(math.ceil(t.layers / s.pp)))
    # Each layer of experts dispatches and combines, forward and backward.
    moe_layers = model.experts_of(w)[1]
    away = spread(int(s.ep), links.joined, links)
    sent = stream * model.experts_of(w)[0].get("top_k", 1)
    route = sent * away.exchange + (s.ep - 1) * away.step
    out.expert_parallel = sum(4 * route for _ in range(math.ceil(moe_layers / s.pp)))
    # (p - 1) / (v m) of the ideal time is spent filling and draining (narayanan2021megatron, section 2.2).
    out.bubble = node.latency * (s.pp - 1) / (s.v_stages * s.microbatches)
    # As operator by operator: congestion slows the exchange over the replicas, which is what leaves the nodes,
    # and nothing hides what it adds; a straggler slows everything else.
    exposed = exchange * (1 - (s.overlap or 0)) + out.tensor_parallel + out.expert_parallel
    congestion = exchange * (s.congestion - 1)
    out.total = (node.latency + exposed + out.bubble) * s.straggler + congestion
    out.data_parallel = exchange + congestion
    out.exposed = exposed + congestion
    out.memory = train_memory(w, t, s, b)
    return out


def train_memory(w, t, s, b):
    """Weights, gradients and states divided over tp, pp and ep, by ZeRO over the replicas; activations after
    korthikanti2022recomputation, table 2, for ceil(layers / pp) layers. No reserve, no fragmentation. The
    fp32 master copy is kept whatever the format."""
    hardware = s.hardware
    states = {"none": 0, "sgd": 4, "muon": 8}.get(s.optimizer, 12)
    mine = t.params / (s.tp * s.pp * ranks_of(s))

    def stored(from_stage):
        return mine / s.dp if s.zero_stage >= from_stage else mine

    activations, buffers = 0.0, 0.0
    if t.hidden > 0 and t.heads > 0:
        rows = s.seq_len * s.microbatch
        whole = 34 / s.tp if s.sequence_parallel else 10 + 24 / s.tp
        each = rows * t.hidden * whole * b / 2
        if s.recomputation == "full":
            each = rows * t.hidden * (2 / s.tp if s.sequence_parallel else 2) * b / 2
        elif s.recomputation != "selective":
            each += rows * 5 * t.heads * s.seq_len / s.tp * b / 2
        for _ in range(max(1, math.ceil(t.layers / s.pp))):
            activations += each * s.in_flight
        if s.pp > 1:
            buffers = 2 * s.microbatch * s.seq_len * t.hidden * b
    elif w["architecture"] == "cnn" and w.get("convolution"):
        activations = convolution_activations(w, s.microbatch, b)
    gradients = b * stored(2) * s.trainable
    from device import capacity_of

    return memory.breakdown(
        weights=b * stored(3),
        gradients=gradients,
        activations=activations,
        optimizer_states=states * stored(1) * s.trainable,
        communication_buffers=gradients * default("gradient_bucket") + buffers,
        capacity=capacity_of(hardware) or 0.0,
    )


def convolution_activations(w, batch, b):
    """The list is the only place that knows a convolutional network's activations."""
    import operators
    import passes
    from plan import whole_model

    h, plan = model.model_view(w), whole_model()
    plan.phase, plan.batch, plan.activation_bytes = "training", batch, b
    return passes.totals_of(operators.forward(h, plan), passes.layers_of(h), []).kept

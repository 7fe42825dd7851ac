"""A scenario, by the names of `mlsysim eval`, and its whole answer as a flat dictionary in base units."""

import math
from types import SimpleNamespace

import bottleneck
import device
import experts
import formats
import inference
import launches
import layout
import memory
import model
import power_cap
import serving
import speculative
import textbook
import training
from macro import host_power, macro, network_power
from plan import EXCHANGE, kv_bytes, ranks_of, serving_plan, set_exchange
from zoo import ZOO, default, entry, get, under

TRAINING = dict(
    **EXCHANGE,
    schedule="1f1b",
    v_stages=1,
    gradient_accumulation_steps=1,
    zero_stage=0,
    shard_size=None,
    recomputation="selective",
    recomputed_share=1,
    sequence_parallel=True,
    attention_kernel="fused",
    dropout=False,
    kernel_fusion=True,
    gradient_precision=None,
    moment_precision=None,
    optimizer="adam",
    trainable_fraction=1,
    lora_rank=None,
    lora_modules="all",
    fused_loss=False,
    offload_weights=0,
    offload_activations=0,
    offload_states=0,
    offload_gradients=0,
    offload_experts=0,
    host_memory_bandwidth=None,
    microbatch_size=None,
    microbatch_count=None,
    backward_prefetch=True,
    overlap_efficiency=None,
    overlap_slowdown=None,
    tp_overlap=0,
    congestion_factor=1,
    straggler_factor=1,
    power_cap=None,
    clock_limit=1,
    execution=None,
)
DEFAULTS = dict(
    mode=None,
    hardware=None,
    fleet=None,
    batch_size=1,
    seq_len=None,
    output_tokens=None,
    accelerators=None,
    accelerators_per_node=None,
    intra_node_bw=None,
    fabric_bandwidth=None,
    tp_size=None,
    pp_size=1,
    ep_size=1,
    expert_tp_size=None,
    cp_size=1,
    precision=None,
    weight_format=None,
    weight_bits=None,
    kv_precision=None,
    memory_fraction=None,
    efficiency=None,
    fidelity=None,
    cached_prefix_len=0,
    prefill_chunk_tokens=None,
    chunked_prefill=None,
    engine=None,
    draft_model=None,
    draft_acceptance_rate=0.7,
    draft_tokens=None,
    draft_acceptance_decay=None,
    acceptance_length=None,
    grid=None,
    datacenter=None,
    duration_days=30,
    kwh_price=None,
    unit_cost=None,
    infrastructure_multiplier=1,
    host_power=None,
    network_power=None,
    **TRAINING,
)


def resolve(**asked):
    """Fills what is not said: `model` and `hardware` are names of the zoo."""
    s = SimpleNamespace(**{**DEFAULTS, **asked})
    s.workload, cluster = entry("model", s.model), s.fleet
    if cluster:
        s.fleet = device.pod(cluster) if cluster in ZOO["pod"] else device.cluster(cluster)
    else:
        devices = s.accelerators or s.accelerators_per_node or 1
        s.fleet = device.fleet_of(
            entry("hardware", s.hardware),
            devices,
            s.accelerators_per_node,
            s.intra_node_bw,
            s.fabric_bandwidth,
        )
    s.device, devices = s.fleet.hardware, s.fleet.devices
    s.fidelity = s.fidelity or ("operator" if model.has_shape(s.workload) else "textbook")
    textbook = s.fidelity == "textbook"
    s.stored = formats.served(s.workload, s.device, s.precision, s.weight_format, s.weight_bits, textbook)
    encoder = model.encoder_of(s.workload) if model.has_shape(s.workload) else None
    generates = s.workload["architecture"] == "decoder" or encoder is not None
    s.mode = s.mode or ("serve" if generates else "infer")
    if s.mode == "serve":
        s.precision, s.kv_precision = s.stored.precision, s.kv_precision or s.stored.kv
    else:
        s.precision = device.precision_of(s.device, s.precision)
    if s.seq_len is None:  # 2048, or what the model takes
        answer = (s.output_tokens or 0) if s.mode == "serve" and not encoder else 0
        most = get(s.workload, "max_positions", 2048 + answer)
        if encoder:
            most = get(encoder, "input.max_tokens", most)
        s.seq_len = min(2048, max(1, most - answer))
    if s.tp_size is None:
        s.tp_size = 1
        if s.mode == "serve":  # all devices of a node serve one replica
            tp = max(1.0, device.of_replica(s.fleet) / (s.pp_size * s.ep_size))
            tp = int(tp) if tp == int(tp) else 1
            s.tp_size = math.gcd(tp, int(model.attention_of(s.workload).get("heads", tp)))  # whole heads
    folds = (s.expert_tp_size or s.tp_size) / s.tp_size if s.mode == "train" else 1
    replica = s.tp_size * s.pp_size * s.ep_size * folds
    s.replicas = devices if s.mode == "infer" else devices / replica / (s.cp_size if s.mode == "train" else 1)
    s.share = training.share_of(s.batch_size, s.replicas)
    return s


def answer(**asked):
    s = resolve(**asked)
    return {"serve": serve, "train": train, "infer": infer}[s.mode](s)


def with_memory(out, m):
    for use in memory.USES:
        out["memory." + use] = getattr(m, use)
    out["memory_used"], out["memory_capacity"] = m.total, m.capacity
    out["memory_utilization"] = m.total / m.capacity if m.capacity else None
    out["feasible"] = float(m.total <= m.capacity)


def power_beside(s):
    """Power of hosts and switches for each device; formulas from totals count the devices alone."""
    if s.fidelity == "textbook":
        return (s.host_power or 0.0) + (s.network_power or 0.0)
    return host_power(s.device, s.host_power) + network_power(s.fleet, s.network_power)


def with_macro(out, s, utilization, tokens):
    out["utilization"] = utilization
    m = macro(
        s.fleet,
        utilization,
        s.duration_days,
        tokens,
        s.grid,
        s.datacenter,
        s.kwh_price,
        s.unit_cost,
        s.infrastructure_multiplier,
        power_beside(s),
        s.fidelity,
    )
    for name, value in vars(m).items() if m else []:
        out["macro." + name] = value


def settle_budget(s):
    """Tokens of a pass of prompts and of a chunk. Formulas from totals take all prompts at once where nothing is
    asked; a prompt is divided where a budget or an engine is given, or it is said."""
    engine = None if s.fidelity == "textbook" else launches.engine_of(s)
    s.budget = s.prefill_chunk_tokens
    if s.fidelity != "textbook":
        s.budget = launches.pass_tokens(s.device, engine, s.budget)
    divided = s.chunked_prefill
    if divided is None:
        divided = bool(s.prefill_chunk_tokens or engine)
    s.chunk = s.budget if s.budget and divided else s.seq_len


def serve(s):
    """A replica's share of the batch, prefilled and decoded together."""
    settle_budget(s)
    batch, prompt = s.share.sequences, s.seq_len
    encoder = s.fidelity != "textbook" and model.encoder_of(s.workload) is not None
    if encoder:  # it reads the prompt, and the answer starts from one token
        prompt = s.chunk = 1
    final = prompt + (s.output_tokens or 0)
    # Token i of n sees the prompt and i tokens: (n + 1) / 2 in the mean.
    mean = prompt + ((s.output_tokens + 1) / 2 if s.output_tokens else 0)
    if s.fidelity == "textbook":
        a = textbook.serve(
            s.workload,
            s.device,
            SimpleNamespace(
                tp=s.tp_size,
                pp=s.pp_size,
                ep=s.ep_size,
                batch=batch,
                prompt=s.seq_len,
                cached=s.cached_prefix_len,
                budget=s.budget,
                chunk=s.chunk,
                output=s.output_tokens,
                precision=s.precision,
                weight_bytes=s.stored.whole,
                kv_precision=s.kv_precision,
                efficiency=s.efficiency,
            ),
        )
    else:
        h, plan = model.model_view(s.workload), serving_plan(s.precision, s.kv_precision)
        formats.store(plan, s.stored)
        plan.encoded = s.seq_len if encoder else 0
        plan.tower = memory.encoder_weights(h) * plan.weight_bytes
        plan.tp, plan.pp, plan.ep = s.tp_size, s.pp_size, s.ep_size
        plan.offload_weights, plan.offload_experts = s.offload_weights, s.offload_experts
        engine = launches.engine_of(s)
        nominal = s.host_memory_bandwidth or default("host_memory_bandwidth")
        plan.host_bandwidth = nominal * default("host_stream") / (plan.tp * plan.ep)
        launches.set_operators(plan, engine)
        set_exchange(plan, s, True)
        if s.expert_overlap != "none" and s.ep_size > 1:
            plan.overlap_slowdown = default("overlap_slowdown")
        view = device.device_view(under(s.device, engine), s.precision, "prefill", s.kv_precision)
        view.limits = power_cap.limits_of(s.device, s.power_cap, s.clock_limit)
        device.set_efficiency(view, s.efficiency)
        if h.moe:
            experts.set_experts(view, s.device, launches.engine_of(s), s.stored.experts)
        launches.set_launches(view, s.device, launches.engine_of(s), s.execution, s.tp_size)
        launches.set_runtime(view, s.device, engine, s.precision)
        if s.efficiency is None:
            experts.set_products(view, s.device, launches.engine_of(s), s.precision)
        links = device.links_view(s.fleet, "decode", engine)
        if s.collective_algorithm != "usual":
            links.algorithm = s.collective_algorithm
        a = serving.serve(
            h, plan, view, links, batch, prompt, s.cached_prefix_len, s.budget, s.chunk, mean, final
        )
        kept = kv_bytes(s.precision, s.kv_precision)
        a.kv_cache_size = memory.cache_bytes(h, final, batch, kept, plan.encoded)
    if s.draft_model:
        speculative.speed_up(s, a, batch, mean, final)
    # The first of the generated tokens comes with the prompt.
    decoding = a.itl * ((s.output_tokens or 1) - 1)
    latency = a.ttft + decoding
    rate = batch * s.output_tokens / latency if s.output_tokens else batch / a.itl
    share = decoding / latency if s.output_tokens else 1.0  # of the time that is spent decoding
    # The cap holds in each phase.
    busy = share * min(1.0, a.decode_busy) + (1 - share) * min(1.0, a.prefill_busy)
    tokens = rate * s.batch_size / batch  # of all replicas, as far as there are sequences
    out = {
        "ttft": a.ttft,
        **a.owed,
        "itl": a.itl,
        "request_latency": latency,
        "token_throughput": tokens,
        "throughput_per_accelerator": tokens / s.fleet.devices,
        "prefill_mfu": a.prefill_mfu * s.share.filled,
        "mfu": a.mfu * s.share.filled,
        "kv_cache_size": a.kv_cache_size,
        "replicas": s.replicas,
        "prefill_chunks": a.chunks,
        "prefill_bottleneck": a.prefill_bottleneck,
        "bottleneck": a.bottleneck,
    }
    if s.prefill_chunk_tokens or a.chunks > 1:
        out["prefill_chunk_time"] = a.chunk_time
    with_memory(out, a.memory)
    with_macro(out, s, busy * s.share.working, tokens)
    return out


def request_of_training(s):
    t = SimpleNamespace(
        workload=s.workload,
        hardware=s.device,
        fleet=s.fleet,
        precision=s.precision,
        weight_format=s.weight_format,
        fidelity=s.fidelity,
        batch=s.batch_size,
        seq_len=s.seq_len,
        tp=s.tp_size,
        pp=s.pp_size,
        ep=s.ep_size,
        expert_tp=s.expert_tp_size,
        cp=s.cp_size,
        efficiency=s.efficiency,
        accumulation=s.gradient_accumulation_steps,
        trainable=s.trainable_fraction,
        overlap=s.overlap_efficiency,
        slowdown=s.overlap_slowdown,
        congestion=s.congestion_factor,
        straggler=s.straggler_factor,
    )
    for name in TRAINING:
        if not hasattr(t, name):
            setattr(t, name, getattr(s, name))
    layout.divide(t)
    return t


def train(s):
    t = request_of_training(s)
    out = {"dp_size": t.dp, "microbatch_count": t.microbatches, "microbatch_size": t.microbatch / ranks_of(t)}
    if s.fidelity == "textbook":
        t.in_flight = min(t.pp, t.microbatches)
        a = textbook.train_step(s.workload, t, device.links_view(s.fleet, "training"), s.fleet)
        devices = s.fleet.devices
        hfu = min(1.0, a.work * s.batch_size / (a.peak * devices * a.total))
        out.update(
            {
                "latency_compute": a.node.compute,
                "latency_memory": a.node.memory,
                "latency_overhead": a.node.overhead,
                "dp_communication": a.data_parallel,
                "tp_communication": a.tensor_parallel,
                "ep_communication": a.expert_parallel,
                "communication": a.data_parallel + a.tensor_parallel + a.expert_parallel,
                "exposed_communication": a.exposed,
                "bubble_fraction": 1 - 1 / (1 + (t.pp - 1) / (t.v_stages * t.microbatches)),
                "scaling_efficiency": a.node.latency / a.total,
                "hfu": hfu,
                "mfu": hfu * t.model_forwards / t.hardware_forwards,
            }
        )
        utilization = hfu
    else:
        v = training.view(t)
        v.plan.batch, v.plan.microbatches = t.mean_microbatch, t.microbatches
        a = training.answer(v, s.batch_size)
        out.update(
            {
                "latency_compute": a.compute,
                "latency_memory": a.memory_bound,
                "latency_overhead": a.overhead,
                "dp_communication": a.exchange,
                "tp_communication": a.tensor_parallel,
                "ep_communication": a.expert_parallel,
                "cp_communication": a.context_parallel,
                "pp_communication": a.pipeline_parallel,
                "host_transfer": a.host_transfer,
                "communication": a.communication,
                "exposed_communication": a.exposed,
                "bubble_fraction": a.bubble_fraction,
                "scaling_efficiency": a.scaling_efficiency,
                "hfu": a.hfu,
                "mfu": a.mfu,
            }
        )
        utilization = a.utilization
    out["step_latency"], out["pipeline_bubble"] = a.total, a.bubble
    out["fleet_throughput"] = s.batch_size / a.total
    tokens = s.batch_size * s.seq_len / a.total if model.main_stack(s.workload).get("hidden") else 0.0
    out["token_throughput"] = tokens
    with_memory(out, a.memory)
    fits = out["feasible"] == 1.0
    out["bottleneck"] = bottleneck.of_step(
        out["latency_compute"], out["latency_memory"], a.exposed, out["latency_overhead"], a.bubble, fits
    )
    with_macro(out, s, utilization, tokens)
    return out


def infer(s):
    a = inference.infer(
        SimpleNamespace(
            workload=s.workload,
            hardware=s.device,
            precision=s.precision,
            fidelity=s.fidelity,
            efficiency=s.efficiency,
            batch=s.share.sequences,
            seq_len=s.seq_len,
            power_cap=s.power_cap,
            clock_limit=s.clock_limit,
            execution=s.execution,
        )
    )
    out = {
        "latency": a.latency,
        "latency_compute": a.compute,
        "latency_memory": a.memory_bound,
        "latency_overhead": a.overhead,
        "throughput": s.batch_size / a.latency,
        "mfu": a.mfu * s.share.filled,
        "arithmetic_intensity": a.arithmetic_intensity,
        "energy": a.energy,
    }
    with_memory(out, a.memory)
    out["bottleneck"] = bottleneck.of_batch(a, out["feasible"] == 1.0)
    with_macro(out, s, a.utilization * s.share.working, 0.0)
    return out

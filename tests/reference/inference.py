"""One batch through a model on one device."""

from types import SimpleNamespace

import memory
import model
import operators
import passes
import power_cap
import textbook
from device import device_view, fleet_of, links_view, memory_level, rate_at, set_efficiency
from macro import device_energy
from plan import kv_bytes, serving_plan
from zoo import BYTES, default, get, of


def operator(s):
    """Every operator in turn. A decoder generates one token of each sequence; other models process all of
    their input."""
    h, plan = model.model_view(s.workload), serving_plan(s.precision)
    plan.phase = "decode" if h.architecture == "decoder" and not h.encoder else "inference"
    plan.batch = s.batch
    plan.context = 1 if h.architecture == "cnn" else s.seq_len
    plan.new_tokens = 1 if plan.phase == "decode" else plan.context
    device = device_view(s.hardware, s.precision, plan.phase, execution=s.execution)
    device.limits = power_cap.limits_of(s.hardware, s.power_cap, s.clock_limit)
    set_efficiency(device, s.efficiency)
    links = links_view(fleet_of(s.hardware), plan.phase)
    ops = operators.forward(h, plan)
    prices = passes.price_all(ops, h, plan, device, links)
    blocks, places = passes.layers_of(h), passes.places_of(0, 1)
    whole = passes.sum_stage(ops, prices, "forward", blocks, places, device)
    totals = passes.totals_of(ops, blocks, places)
    out = SimpleNamespace(compute=whole.compute_bound, memory_bound=whole.memory_bound)
    out.overhead = whole.overhead + device.dispatch
    out.latency = whole.exposed(plan, blocks) + device.dispatch
    if device.limits:
        time, whole.limited = power_cap.slowed(out.latency, whole.compute_bound, whole, device)
        out.compute += time - out.latency
        out.latency = time
    out.memory = memory.serving_memory(
        plan.weight_bytes * (totals.dense_params + totals.expert_params), totals.state, totals.live, device
    )
    spill = spill_time(out, whole.traffic, device)
    out.memory_bound += spill
    out.latency += spill
    out.arithmetic_intensity = whole.work / whole.traffic
    out.mfu = min(1.0, whole.work / (device.matrix_rate * out.latency))
    out.utilization = min(1.0, whole.loaded(device) / out.latency)
    return out


def spill_time(out, traffic, device):
    """Of the weights and the cache that do not fit a pass fetches the share that it reads, over the host link
    and ahead of the kernels: only what takes longer than the pass is waited for."""
    missing = max(out.memory.total - out.memory.capacity, 0.0)
    held = out.memory.weights + out.memory.kv_cache
    if missing == 0 or held == 0:
        return 0.0
    fetched = min(missing, held) * min(1.0, traffic / held)
    return max(fetched / device.host_bandwidth - out.latency, 0.0)


def by_hand(s):
    """From totals: weights cross memory once, each sample moves a tenth of their bytes."""
    w, hardware, t = s.workload, s.hardware, textbook.totals(s.workload)
    weights = t.params * BYTES[s.precision]
    if get(w, "parameters") is None and get(w, "model_size") is not None:
        weights = w["model_size"]
    level = memory_level(hardware, weights)
    efficiency = default("textbook_efficiency") if s.efficiency is None else s.efficiency
    peak = rate_at(hardware, s.precision)
    # A decoder's inference is one token; that of an encoder its whole sequence.
    work = t.work if w["architecture"] == "decoder" else textbook.sample_work(w, t, s.seq_len)
    node = textbook.roofline_pass(
        work,
        weights,
        s.batch,
        efficiency,
        t.layers,
        1,
        peak,
        level.bandwidth,
        of(hardware, "dispatch_overhead"),
    )
    kv = 0.0
    if w["architecture"] == "decoder" and model.has_shape(w):
        kv = memory.cache_bytes(model.model_view(w), s.seq_len, s.batch, kv_bytes(s.precision))
    out = SimpleNamespace(compute=node.compute, memory_bound=node.memory, overhead=node.overhead)
    out.memory = memory.breakdown(weights=weights, kv_cache=kv, capacity=level.capacity)
    # What does not fit comes over the host link instead of from memory.
    spilled = min(max(out.memory.total - out.memory.capacity, 0.0), weights)
    host = of(hardware, "host_link.bandwidth")
    if spilled > 0 and host < level.bandwidth:
        out.memory_bound += spilled / host - spilled / level.bandwidth
    out.latency = max(out.compute, out.memory_bound) + out.overhead
    out.arithmetic_intensity = work * s.batch / node.traffic
    out.mfu = out.utilization = min(1.0, work * s.batch / (peak * out.latency))
    return out


def infer(s):
    out = by_hand(s) if s.fidelity == "textbook" else operator(s)
    out.energy = device_energy(s.hardware, out.utilization, out.latency, s.fidelity)
    return out

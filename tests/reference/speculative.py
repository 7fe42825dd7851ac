"""Speculative decoding: a small model drafts tokens, the large one checks them in one pass. One stage of a
pipeline holds the small model, taken to be the slowest one."""

import math
from types import SimpleNamespace

import device
import experts
import launches
import memory
import model
import operators
import passes
import power_cap
import serving
import textbook
from plan import serving_plan, set_exchange
from zoo import BYTES, default, entry, get, under


def yielded(s, drafted):
    """Tokens that a check yields: as measured; or one of its own, and each drafted token with a probability
    that falls by the same factor at each position (leviathan2023speculative, eq. 1, where it does not fall),
    if those before it were kept."""
    if s.acceptance_length:
        return s.acceptance_length
    expected, kept, probability = 1.0, 1.0, s.draft_acceptance_rate
    for _ in range(int(drafted)):
        kept *= probability
        expected += kept
        probability *= s.draft_acceptance_decay or 1.0
    return expected


def speed_up(s, a, batch, mean, final):
    """Changes the answer `a` of a target: K steps of the draft and one check yield several tokens (theorem
    3.8)."""
    drafted = s.draft_tokens or default("draft_tokens")
    yields = yielded(s, drafted)
    draft = entry("model", s.draft_model)
    # The draft runs on the devices of its target, whole on each where it has fewer heads than they are.
    tp = s.tp_size if s.tp_size <= model.attention_of(draft).get("heads", s.tp_size) else 1
    plain = a.itl
    if s.fidelity == "textbook":
        t = textbook.totals(draft)
        weights = t.params * BYTES[s.precision] / tp
        cached = textbook.cache(draft, s.precision, s.kv_precision, final, batch) / tp
        # The draft pays no layer overhead: it runs inside the target's step.
        held = textbook.cache(draft, s.precision, s.kv_precision, mean, a.s) / tp
        drafting = (weights + held) / device.memory_level(s.device, weights * tp).bandwidth
        # Bound by memory: tokens that are checked together are free, and cost what one token costs at the
        # context before them, because what is being checked is not read from memory.
        check, lost = a.step, 0.0
        peak = device.rate_at(s.device, s.precision)
        checked = (drafted + 1) * textbook.decode_work(textbook.totals(s.workload), a.s)
        check_busy = min(checked / (peak * s.tp_size * s.ep_size), check.total)
        draft_busy = min(textbook.decode_work(t, a.s) / (peak * tp), drafting)
    else:
        view = device.device_view(under(s.device, launches.engine_of(s)), s.precision, "prefill", s.kv_precision)
        view.limits = power_cap.limits_of(s.device, s.power_cap, s.clock_limit)
        device.set_efficiency(view, s.efficiency)
        launches.set_launches(view, s.device, launches.engine_of(s), s.execution, s.tp_size)
        launches.set_runtime(view, s.device, launches.engine_of(s), s.precision)
        if s.efficiency is None:
            experts.set_products(view, s.device, launches.engine_of(s), s.precision)
        if model.model_view(s.workload).moe:
            experts.set_experts(view, s.device, launches.engine_of(s), s.stored.experts)
        view.issue = launches.issue_of_step(view, math.ceil(a.s / s.ep_size))
        links = device.links_view(s.fleet, "decode", launches.engine_of(s))
        if s.collective_algorithm != "usual":
            links.algorithm = s.collective_algorithm
        check = checking(s, view, links, a.s, drafted, mean)
        check_busy = check.whole.loaded(view)
        h, plan = model.model_view(draft), serving_plan(s.precision, s.kv_precision)
        plan.tp, plan.batch = tp, a.s
        plan.phase, plan.new_tokens, plan.context = "decode", 1, mean
        drafts = serving.run_pass(h, plan, view, links)
        drafting, draft_busy = drafts.total, drafts.whole.loaded(view)
        plan.context, plan.batch = final, batch
        totals = passes.totals_of(operators.forward(h, plan), passes.layers_of(h), passes.places_of(0, 1))
        weights = plan.weight_bytes * (totals.dense_params + totals.expert_params)
        cached, lost = totals.state, view.fragmentation
    # A round: proposals for each micro-batch on the stage of the draft, then the check through all stages.
    times = serving.stage_times(check)
    times[times.index(max(times))] += drafted * drafting
    round_of = SimpleNamespace(
        total=drafted * drafting + check.total,
        slowest=drafted * drafting + check.slowest,
        stage_times=times,
    )
    turn = serving.between_tokens(round_of, a.m)
    a.itl = turn / yields
    # Useful is the target's work for one token of each sequence, whatever was checked in vain or drafted.
    a.mfu *= plain / a.itl
    # What draws power is all that runs in a round.
    a.decode_busy = a.m * (check_busy + drafted * draft_busy) / (s.pp_size * turn)
    m = a.memory
    a.memory = memory.breakdown(
        weights=m.weights + weights,
        kv_cache=m.kv_cache + cached,
        activations=m.activations,
        reserve=m.reserve,
        fragmentation=m.fragmentation + (weights + cached) * lost,
        capacity=m.capacity,
    )


def checking(s, view, links, batch, drafted, mean):
    """K + 1 tokens of each sequence in one step: its kernels read what is cached, as those for one token do."""
    h, plan = model.model_view(s.workload), serving_plan(s.precision, s.kv_precision)
    plan.tp, plan.pp, plan.ep, plan.batch = s.tp_size, s.pp_size, s.ep_size, batch
    set_exchange(plan, s, True)
    plan.phase, plan.new_tokens, plan.context = "decode", drafted + 1, mean + drafted
    return serving.run_pass(h, plan, view, links)

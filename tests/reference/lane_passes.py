"""Passes of a replica that batches in flight: a lane's prompts and steps priced, and the memory that its requests share."""

import math
from types import SimpleNamespace

import device
import experts
import formats
import launches
import memory
import model
import operators
import passes as passes_of
import power_cap
import serving
import textbook
from plan import serving_plan, set_exchange
from zoo import BYTES, default, figure, get, of, under


class OperatorPasses:
    """Passes of one lane, every operator priced."""

    def __init__(self, s, engine):
        self.h, self.s, self.engine = model.model_view(s.workload), s, engine
        self.device = device.device_view(under(s.device, engine), s.precision, "prefill", s.kv_precision)
        self.device.limits = power_cap.limits_of(s.device, s.power_cap, s.clock_limit)
        device.set_efficiency(self.device, s.efficiency)
        self.prompt_device = SimpleNamespace(**vars(self.device))
        # A prompt's pass is no captured graph: some engines launch its operators one by one.
        for one in (self.device, self.prompt_device):
            launches.set_launches(one, s.device, engine, s.execution, s.tp_size)
            launches.set_runtime(one, s.device, engine, s.precision)
            if s.efficiency is None:
                experts.set_products(one, s.device, engine, s.precision)
        self.prompt_device.issue = self.prompt_device.prompt_issue
        self.prompt_device.layer_issue = self.prompt_device.prompt_layer
        if self.h.moe:
            for one in (self.device, self.prompt_device):
                experts.set_experts(one, s.device, engine, s.stored.experts)
        # In steps engines' own kernels of experts multiply by warp, 16 rows at a time.
        if self.h.moe:
            self.device.matrix_rows = min(self.device.matrix_rows, 16)
        fleet = device.fleet_of(s.device, s.tp_size * s.pp_size * s.ep_size)
        self.links = device.links_view(fleet, "decode", engine)
        if s.collective_algorithm != "usual":
            self.links.algorithm = s.collective_algorithm

    def plan(self, phase, batch, new_tokens, context):
        plan = serving_plan(self.s.precision, self.s.kv_precision)
        plan.tp, plan.pp, plan.ep = self.s.tp_size, self.s.pp_size, self.s.ep_size
        plan.phase, plan.batch, plan.new_tokens, plan.context = phase, batch, new_tokens, context
        formats.store(plan, self.s.stored)
        launches.set_operators(plan, self.engine)
        set_exchange(plan, self.s, True)
        if plan.ep > 1 and plan.expert_overlap != "none":
            plan.overlap_slowdown = default("overlap_slowdown")
        plan.encoded = self.s.encoded
        plan.tower = memory.encoder_weights(self.h) * plan.weight_bytes
        return plan

    def prefill(self, prompts, new_tokens, context, read=1):
        """`read`: share of the sequences that the encoder reads in this pass."""
        plan = self.plan("prefill", prompts, new_tokens, context)
        plan.encoded *= read
        some = serving.run_pass(self.h, plan, self.prompt_device, self.links)
        some.busy = some.whole.loaded(self.prompt_device)
        some.host_share = serving.host_share([some], self.h, plan, self.prompt_device)
        return some

    def with_mixing(self, p, mixing):
        """The pass with so much attention in place of its own, spread over the stages; no sooner than the host has
        prepared it."""
        plan, stages = self.plan("prefill", 1, 1, 1), len(p.stages)
        blocks = passes_of.layers_of(self.h)
        waited = sum(stage.launch_wait(plan, blocks) for stage in p.stages)
        host = sum(stage.host_launch_time for stage in p.stages)
        more, dispatch = mixing - p.whole.sequence_mixing - waited, self.prompt_device.dispatch
        return SimpleNamespace(
            total=max(p.total + more, host + dispatch),
            slowest=max(p.slowest + more / stages, host / stages + dispatch),
        )

    def decode(self, requests, context):
        self.device.issue = launches.issue_of_step(self.device, requests / self.s.ep_size)
        one = serving.run_pass(self.h, self.plan("decode", requests, 1, context), self.device, self.links)
        one.busy = one.whole.loaded(self.device)
        return one

    def memory_of_one(self, tokens):
        """One request of `tokens` on each expert-parallel rank."""
        plan = self.plan("decode", self.s.ep_size, 1, tokens)
        return serving.memory_of(self.h, plan, self.device, plan.batch, 0.0)

    def capacity(self, tokens, kv_share):
        """Requests in a given share of what all else leaves, or in the pool that the engine makes."""
        m = self.memory_of_one(tokens)
        rule = self.engine.get("memory")
        if kv_share or not rule:
            pool = (kv_share or figure("catalogue.serving.kv_share")) * (m.capacity - (m.total - m.kv_cache))
            spare = 0
        else:
            pool = self.pool(rule, m)
            spare = rule.get("blocks_without", 0) * rule.get("block_tokens", 1)
        if pool <= 0:
            return 0
        return self.s.ep_size * max(0, math.floor(pool / m.kv_cache - spare / tokens))

    def pool(self, rule, m):
        tokens = self.s.prefill_chunk_tokens or launches.step_of(self.s.device, self.engine).get("pass_tokens", 1)
        plan = self.plan("prefill", self.s.ep_size, tokens, tokens)
        ops = operators.forward(self.h, plan)
        work = 2 * max(
            passes_of.totals_of(ops, blocks, passes_of.places_of(stage, plan.pp)).live
            for stage, blocks in enumerate(passes_of.blocks_of_stages(self.h, plan))
        )
        placed = getattr(self.s, "memory_fraction", None) or plan.offload_weights or plan.offload_experts
        share, margin = self.share_of_memory(rule, tokens, m.capacity), 0 if placed else rule.get("margin", 0)
        if rule["share_of"] == "total":
            return share * m.capacity - (m.weights + m.reserve + work) - margin
        if rule["share_of"] == "free":
            return share * (m.capacity - m.reserve) - m.weights - margin
        return share * (m.capacity - m.weights - m.reserve - work) - margin

    def share_of_memory(self, rule, tokens, capacity):
        if getattr(self.s, "memory_fraction", None):
            return self.s.memory_fraction
        kept = rule.get("kept")
        if not kept:
            return rule.get("share", 1)
        step = launches.step_of(self.s.device, self.engine)
        graphs = step.get("graph_batch", 0)
        if self.s.tp_size >= 4:
            graphs = step.get("graph_batch4", graphs)
        held = kept["base"] + max(tokens, kept.get("least_pass_tokens", 0)) * kept["pass_token"]
        held += self.s.tp_size * kept.get("rank", 0) + graphs * kept.get("graph_request", 0)
        if get(model.main_stack(self.s.workload), "mixer.latent"):
            held += kept.get("latent", 0)
        if "least" in kept and capacity >= kept.get("least_from", 0):
            held = max(held, kept["least"])
        return round((capacity - held) / capacity, kept.get("digits", 3))

    def cache(self, tokens):
        """Of one request: every layer once, however many ranks keep a copy of its keys and values."""
        plan = self.plan("decode", self.s.ep_size, 1, tokens)
        plan.tp = 1
        ops = operators.forward(self.h, plan)
        return sum(passes_of.totals_of(ops, blocks, []).state for blocks in passes_of.blocks_of_stages(self.h, plan))


class TextbookPasses:
    """Passes of one lane from totals."""
    device = SimpleNamespace(limits=None, resident_draw=0.0)  # it has no operators that a clock could slow

    def __init__(self, s):
        self.s, self.t = s, textbook.totals(s.workload)
        self.weights = self.t.params * s.stored.whole
        self.level = device.memory_level(s.device, self.t.params * BYTES[s.precision])
        efficiency = default("textbook_efficiency") if s.efficiency is None else s.efficiency
        self.share = s.tp_size * s.ep_size
        self.peak = device.rate_at(s.device, s.precision) * self.share
        self.rate = self.peak * efficiency
        self.dispatch = of(s.device, "dispatch_overhead")

    def prefill(self, prompts, new_tokens, context):
        work = textbook.prefill_work(self.t, new_tokens, context, prompts)
        return textbook.unit_of(
            work / self.rate + self.dispatch, self.dispatch, self.s.pp_size, work / self.peak
        )

    def decode(self, requests, context):
        kv = self.cache(context) * requests  # linear: the mean of what is held
        total = textbook.decode_step_time(
            self.weights / self.share, kv / self.share, self.level.bandwidth, self.t.layers
        )
        # As in textbook serving the busy share is that of the work over the peak.
        return textbook.unit_of(
            total, 0.0, self.s.pp_size, textbook.decode_work(self.t, requests) / self.peak
        )

    def capacity(self, tokens, kv_share):
        """A request belongs to one expert-parallel rank, which holds so many whole ones."""
        kv_share = kv_share or figure("catalogue.serving.kv_share")
        rest = self.level.capacity * self.share * self.s.pp_size - self.weights
        one = self.cache(tokens)
        if rest <= 0:
            return 0
        if not one:
            return 65536  # without a shape no cache is counted
        return self.s.ep_size * math.floor(kv_share * rest / self.s.ep_size / one)

    def cache(self, tokens):
        return textbook.cache(self.s.workload, self.s.precision, self.s.kv_precision, tokens, 1)

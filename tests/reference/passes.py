"""What operators come to on a pipeline stage: sums over its blocks, one after the other, and its ends."""

import math
from dataclasses import dataclass, fields
from types import SimpleNamespace

from price import price


@dataclass
class Sum:
    """Times [s], FLOP and bytes of a set of operators on one device."""

    total: float = 0.0  # one after the other
    compute_bound: float = 0.0  # kernels whose arithmetic is the slower side
    memory_bound: float = 0.0  # kernels whose traffic is
    network: float = 0.0  # between devices
    host: float = 0.0  # over the host link
    prefetch_comm: float = 0.0  # of the two, what was issued ahead
    tp_comm: float = 0.0  # of them, what runs piece by piece beside its product
    ep_comm: float = 0.0  # of them, what runs beside kernels that are kept for that
    overlap_compute: float = 0.0  # time of these kernels
    overhead: float = 0.0  # launches
    sequence_mixing: float = 0.0  # attention and recurrences, which see each sequence by itself
    host_launch_time: float = 0.0  # host time to launch the kernels one by one
    work: float = 0.0
    traffic: float = 0.0

    def kernels(self):
        return self.compute_bound + self.memory_bound

    def loaded(self, device):
        """Time at full power that draws as much: the full arithmetic rate would draw `work_draw` times what lies
        between idle and full power, the whole bandwidth `traffic_draw` of it, a kernel `resident_draw` (measured-h100)."""
        if self.limited is not None:
            return self.limited
        by_work = device.work_draw * self.work / device.matrix_rate
        return by_work + device.traffic_draw * self.traffic / device.memory_bandwidth + device.resident_draw * self.kernels()

    limited = None  # the same under limits of power and clock, see power_cap.py

    def plus(self, other):
        return Sum(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Sum)))

    def add(self, op, cost, times, launch_overhead):
        """One priced operator, `times` times."""
        self.total += cost.total * times
        if op.kind != "collective" or op.ranks > 1:  # nobody issues a collective of one rank
            self.host_launch_time += launch_overhead * times * cost.launches
        if op.kind in ("collective", "host_transfer", "host_compute"):
            if op.kind == "collective":
                self.network += cost.network * times
            else:
                self.host += cost.network * times
            if op.beside == "pass":
                self.prefetch_comm += cost.network * times
            if op.beside == "product":
                self.tp_comm += cost.network * times
            if op.beside == "aside":
                self.ep_comm += cost.network * times
            return
        if op.kind == "attention" or op.name == "recurrent_state":
            self.sequence_mixing += cost.total * times
        kernel = (cost.total - cost.overhead) * times
        if cost.compute > cost.memory:
            self.compute_bound += kernel
        else:
            self.memory_bound += kernel
        if "aside" in op.parts:
            self.overlap_compute += kernel
        self.overhead += cost.overhead * times
        self.work += op.work * times
        self.traffic += op.traffic * times

    def hidden_ahead(self, plan, blocks):
        return min(self.prefetch_comm * (1 - 1 / blocks), self.kernels() * plan.overlap)

    def on_device(self, plan, blocks):
        """What was issued ahead hides under a share of the kernels, except the first of the blocks' pieces,
        for which nothing is there to hide under; pieces of collectives hide beside their products, and the
        experts' exchange beside kernels that are kept for it and that hide nothing else. What hides
        slows the kernels beside it by a share of its time."""
        ahead = self.hidden_ahead(plan, blocks)
        routed = min(self.ep_comm, self.overlap_compute, self.kernels() - ahead)
        hidden = ahead + self.tp_comm * plan.tp_overlap + routed
        return self.total - hidden * (1 - plan.overlap_slowdown)

    def prepared(self, blocks, layer):
        """The host prepares a pass layer by layer, `layer` each, where it does not launch a captured graph."""
        self.host_launch_time = max(self.host_launch_time, layer * blocks)

    def exposed(self, plan, blocks):
        """A pass cannot end before the host has issued it."""
        return max(self.on_device(plan, blocks), self.host_launch_time)

    def launch_wait(self, plan, blocks):
        return max(self.host_launch_time - self.on_device(plan, blocks), 0.0)


def layers_of(h):
    return max(h.layers, 1)


def fullest(h, plan):
    """Blocks of the fullest stage: ceil(layers / stages)."""
    return math.ceil(layers_of(h) / plan.pp)


def blocks_of_stages(h, plan):
    """Every stage holds floor or ceil of layers / stages blocks, and all together each layer once. The last
    stage, which holds the output head as well, is never one with a block more."""
    least, more = divmod(layers_of(h), int(plan.pp))
    return [least + 1 if stage < more else least for stage in range(int(plan.pp))]


def executions(op, h, plan):
    """Of an operator in a pass of the fullest stage."""
    return op.share * (fullest(h, plan) if op.place == "block" else 1)


def price_all(ops, h, plan, device, links):
    """The price of one execution of each operator. The power limit sees all of the fullest stage's."""
    return [price(op, device, links, executions(op, h, plan)) if op.share else None for op in ops]


def places_of(stage, stages):
    """The ends of the model that a stage holds, beside its blocks."""
    places = ["stage"]
    if stage == 0:
        places.append("first")
    if stage == stages - 1:
        places.append("last")
    return places


def sum_stage(ops, prices, run, blocks, places, device):
    """One pass of one kind over a stage: each operator of each of its blocks, then those of its ends."""
    total = Sum()
    for _ in range(blocks):
        for op, cost in zip(ops, prices):
            if cost is not None and op.run == run and op.place == "block":
                total.add(op, cost, op.share, device.issue)
    for op, cost in zip(ops, prices):
        if cost is not None and op.run == run and op.place in places:
            total.add(op, cost, op.share, device.issue)
    return total


def one(op):
    """The weights of one execution of an operator, as `totals_of` has them."""
    return totals_of([op.like(share=1.0, run="forward")], 1 if op.place == "block" else 0, [op.place])


def totals_of(ops, blocks, places):
    """Weights, activations and state of the forward operators on a stage. The mean block: a kind of layer
    that the stage has less than once counts in part."""
    t = SimpleNamespace(
        dense_params=0.0,
        expert_params=0.0,
        adapter_params=0.0,
        block_params=0.0,  # of the dense ones, those inside blocks
        work=0.0,
        weight_work=0.0,
        kept=0.0,
        block_again=0.0,
        live=0.0,
        state=0.0,
    )
    for op in ops:
        if op.run != "forward" or not (op.place == "block" or op.place in places):
            continue
        times = op.share * (blocks if op.place == "block" else 1)
        once = min(times, 1.0)  # a block holds each of its operators once where the operator occurs at all
        if "adapter" in op.parts:
            t.adapter_params += op.params * times
        elif "routed" in op.parts:
            t.expert_params += op.params * times
        else:
            t.dense_params += op.params * times
            t.block_params += op.params * times if op.place == "block" else 0.0
        t.work += op.work * times
        if op.kind == "matmul" and not op.parts & {"core", "adapter"}:
            t.weight_work += op.work * times
        t.kept += op.kept * times
        t.state += op.state * times
        t.block_again += op.recomputed_bytes * once
        t.live = max(t.live, op.live * once)
    return t

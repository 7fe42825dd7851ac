"""Passes of software that does not fuse its kernels, a second time: launch lists of the zoo, kernel by kernel.

    python3 tests/reference/software.py

Each lowered operator becomes the rows of its runtime's list; kernels are summed on the device, launches, framework operators and
module calls on the host, and the pass takes the longer of the two. Exit status: 0 where the library agrees to 1e-9, else 1.
"""

import math
import sys
from types import SimpleNamespace

import mlsysim
import model
import operators
import passes
import price
from device import device_view, fleet_of, links_view
from plan import serving_plan
from zoo import entry, get, of

MIB = 2**20


def chain(kind, name):
    """An entry and what it extends, nearest first."""
    found = [entry(kind, name)]
    while "extends" in found[-1]:
        found.append(entry(kind, found[-1]["extends"]))
    return found


def stated(kind, name, path, otherwise):
    for one in chain(kind, name):
        value = get(one, path)
        if value is not None:
            return value
    return otherwise


def rows_of(runtime, operation, direction="forward"):
    for one in chain("engine", runtime):
        rows = [r for r in one.get("launches", []) if r["operation"] == operation and r.get("direction", "forward") == direction]
        if rows:
            return rows
    return []


class Runtime:
    """Constants of a runtime and of its kernel families on a device."""

    def __init__(self, name, hardware):
        self.name = name
        self.host = {
            key: stated("engine", name, f"host.{key}", 0.0)
            for key in ("launch", "operation", "module", "step", "allocation", "gap")
        }
        family = stated("engine", name, "small_kernels", None)
        self.family = lambda path, otherwise=0.0: stated("kernel_family", family, path, otherwise)
        self.clock = of(hardware, "compute.clock") or 1.7e9
        self.cache = get(hardware, "memory.l2_cache", 0.0)
        self.joined = stated("engine", name, "joined", True)
        self.masked = stated("engine", name, "masked", False)


def key_of(op, runtime):
    if op.group == "norm":
        return "norm"
    if op.name.endswith("activation"):
        return "activation"
    if rows_of(runtime.name, op.name):
        return op.name
    return "product" if op.kind == "matmul" else op.name


class Arrays:
    """Sizes of the arrays that rows are counted in, in values."""

    def __init__(self, ops, h, plan):
        self.h, self.plan = h, plan
        self.stored, self.head, self.scores = 0.0, 1.0, 0.0
        for op in ops:
            if op.name == "rotary_and_cache":
                self.stored = (op.traffic - op.live) / plan.kv_bytes
            if op.kind == "attention" or op.name == "attention_scores":
                self.head = op.k
            if op.name == "attention_scores":
                self.scores = op.copies * op.m * op.n

    def values(self, op):
        live = op.live / self.plan.activation_bytes
        if op.group == "norm":
            return live / 4
        if op.name == "softmax":
            return self.scores
        return live if op.name == "embedding" else live / 2

    def of(self, over, op):
        p, written = self.plan, self.stored / 2
        if over == "values":
            return self.values(op)
        if over == "rows":
            return self.values(op) / self.h.hidden if op.group == "norm" else p.batch * p.new_tokens
        if over == "query":
            return op.live / p.activation_bytes / 2 - written
        if over in ("key", "written"):
            return written
        if over == "cached":
            return written * p.context / p.new_tokens
        if over == "scores":
            return self.scores
        return {"inputs": op.m * op.k, "output": op.m * op.n}[over] * op.copies


def small_kernel(row, op, arrays, runtime, device):
    """One kernel of a list: a floor in cycles, and bytes at a share of the bandwidth."""
    p, f = arrays.plan, runtime.family
    kind, values = row["kernel"], arrays.of(row.get("over", "values"), op)
    value = p.activation_bytes
    read = values * row.get("reads", 0) * row.get("read_bytes", value)
    written = values * row.get("writes", 0) * row.get("write_bytes", value)
    if row.get("grouped"):
        written *= arrays.of("query", op) / arrays.of("key", op)
    source = "elementwise" if row.get("row") == "keys" and p.context <= f("register_row") else kind
    floor, share = f(f"{source}.floor"), f(f"{source}.share", 1.0)
    switch = 0.0 if kind == "fused" else f("switch_cycles")
    moved, start = read + written, f("elementwise.floor")
    if row.get("row") in ("hidden", "head"):
        width = arrays.h.hidden if row["row"] == "hidden" else arrays.head
        count, together = values / width, 16 * device.units
        if min(count, together) * width * value > runtime.cache / 2:
            moved += read
        waves = max(math.ceil(count / together), 1)
        slow = max(waves * (floor - start) / runtime.clock, moved / (share * device.memory_bandwidth))
        return (switch + start) / runtime.clock + slow
    if kind not in ("fused", "gather") and max(read, written) <= runtime.cache / 2:
        moved -= f("cached_reads") * read
    return (floor + switch) / runtime.clock + moved / (share * device.memory_bandwidth)


def own_kernel(op, times, arrays, runtime, device, links):
    """Time of an operator's own law, and how many products it is."""
    if runtime.masked and op.kind == "attention" and arrays.plan.phase == "decode":
        cached = op.traffic - op.live
        op = op.like(group_heads=1.0, traffic=op.live + op.group_heads * cached, whole_keys=True)
    if op.kind == "matmul" and not runtime.joined and op.joins > 1:
        parts, left = op.joins, arrays.plan.activation_bytes * op.m * op.k * op.copies
        one = op.like(n=op.n / parts, work=op.work / parts)
        one.live, one.traffic = left + (op.live - left) / parts, left + (op.traffic - left) / parts
        return parts * price.price(one, device, links, times * parts).total, parts
    return price.price(op, device, links, times).total, 1


def pass_time(name, hardware_name, precision, phase, batch, new, context, runtime_name, eager):
    h, plan, hardware = model.model_view(entry("model", name)), serving_plan(precision), entry("hardware", hardware_name)
    plan.phase, plan.batch, plan.new_tokens, plan.context = phase, batch, new, context
    device, links = device_view(hardware, precision, phase), links_view(fleet_of(hardware), phase)
    ops, layers = operators.forward(h, plan), passes.layers_of(h)
    runtime, arrays = Runtime(runtime_name, hardware), Arrays(ops, h, plan)
    head_norm = any(m.get("grouped", {}).get("qk_norm", "none") == "head" for (m, _), _ in h.mixers)
    gated = next((op.traffic > 1.25 * op.live for op in ops if op.name.endswith("activation")), False)
    holds = {
        "always": True,
        "rms": h.norm_vectors == 1,
        "layer": h.norm_vectors != 1,
        "gated": gated,
        "plain": not gated,
        "head_norm": head_norm,
        "positions": bool(h.position_rows),
        "decode": phase == "decode",
        "autocast": False,
        "decoder": h.architecture == "decoder",
        "encoder": h.architecture != "decoder",
    }
    sums = SimpleNamespace(device=0.0, kernels=0.0, operators=0.0, modules=0.0, host=0.0)

    def count(times, kernels, row):
        sums.kernels += times * kernels
        sums.operators += times * row.get("operators", 1)
        sums.modules += times * row.get("modules", 0)

    for op in ops:
        times = op.share * (layers if op.place == "block" else 1)
        if op.kind == "collective" or not times or (op.name == "rotary_and_cache" and not holds["decoder"]):
            continue
        for row in rows_of(runtime_name, key_of(op, runtime)) or [{"kernel": "own"}]:
            if not holds[row.get("when", "always")]:
                continue
            many = row.get("times", 1) * times
            if row["kernel"] == "own":
                time, parts = own_kernel(op, times, arrays, runtime, device, links)
                sums.device += time * times
                split_keys = op.kind == "attention" and phase == "decode"
                count(times, parts + split_keys, {**row, "operators": parts * row.get("operators", 1)})
            elif row["kernel"] == "allocation":
                cached = plan.kv_bytes * arrays.of("cached", op)
                sums.host += many * runtime.host["allocation"] * (1 if cached >= 10 * MIB else cached / (20 * MIB))
            else:
                sums.device += many * small_kernel(row, op, arrays, runtime, device)
                count(many, 1, row)
    if not eager:
        return sums.device + device.dispatch
    launch = runtime.host["gap"] or runtime.host["launch"]
    host = sums.host + sums.kernels * launch + sums.operators * runtime.host["operation"] + sums.modules * runtime.host["module"]
    gaps = sums.kernels * (runtime.family("gap") + runtime.host["gap"])
    return max(sums.device + gaps, host) + device.dispatch + runtime.host["step"]


def cases():
    for runtime, eager in (("pytorch_eager", True), ("pytorch_graph", False), ("transformers", True), ("transformers_static", True)):
        for name in ("Llama3_8B", "Qwen3_8B", "Llama2_7B"):
            for hardware in ("H100", "A100"):
                for batch, context in ((1, 2048), (16, 512), (64, 1024)):
                    yield name, hardware, runtime, eager, batch, context


def main():
    wrong = compared = 0
    for name, hardware, runtime, eager, batch, context in cases():
        told = mlsysim.ServingModel.solve(
            workload=name, hardware=hardware, precision="bf16", engine=runtime, batch_size=batch, seq_len=context,
            prefill_chunk_tokens=batch * context,
        )
        decode = pass_time(name, hardware, "bf16", "decode", batch, 1, context, runtime, eager)
        prompt = pass_time(name, hardware, "bf16", "prefill", batch, context, context, runtime, eager)
        for what, mine, theirs in (("itl", decode, told.itl.m_as("s")), ("ttft", prompt, told.ttft.m_as("s"))):
            compared += 1
            if abs(mine - theirs) > 1e-9 * mine:
                wrong += 1
                print(f"{name} on {hardware}, {runtime}, {batch} x {context}, {what}: reference {mine:.9g} s, library {theirs:.9g} s")
    print(f"{compared - wrong} of {compared} passes agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

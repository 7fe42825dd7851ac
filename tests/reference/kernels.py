"""Launch lists of the zoo: the kernels that an operator becomes where nothing fuses it, and what each takes on a device."""

import math
from types import SimpleNamespace

import price
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
            for key in ("launch", "operation", "record", "backward_operation", "hook", "module", "step", "allocation", "gap")
        }
        self.early_stop = stated("engine", name, "early_stop", False)
        family = stated("engine", name, "small_kernels", None)
        self.family = lambda path, otherwise=0.0: stated("kernel_family", family, path, otherwise)
        self.clock = of(hardware, "compute.clock") or 1.7e9
        self.counted = "part" in hardware or get(hardware, "compute.units") is not None
        self.cache = get(hardware, "memory.l2_cache", 0.0)
        self.joined = stated("engine", name, "joined", True)
        self.masked = stated("engine", name, "masked", False)


def key_of(op, runtime):
    if op.group == "norm" and op.name.endswith("_norm"):
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
            if op.name == "rotary_and_cache" and op.run == "forward":
                self.stored = (op.traffic - op.live) / plan.kv_bytes
            if op.kind == "attention" or op.name == "attention_scores":
                self.head = op.k
            if op.name == "attention_scores":
                self.scores = op.copies * op.m * op.n

    def values(self, op):
        live = op.live / self.plan.activation_bytes
        operations = 12 if op.run == "backward" else 6  # of a value
        if (op.group == "norm" and op.name.endswith("_norm")) or op.name == "loss":
            return op.work / operations
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


def read_and_written(row, op, arrays):
    """Bytes of a kernel of a list."""
    values, value = arrays.of(row.get("over", "values"), op), arrays.plan.activation_bytes
    written = values * row.get("writes", 0) * row.get("write_bytes", value)
    if row.get("grouped"):
        written *= arrays.of("query", op) / arrays.of("key", op)
    return values * row.get("reads", 0) * row.get("read_bytes", value), written


def small_kernel(row, op, arrays, runtime, device):
    """One kernel of a list: a floor in cycles, and bytes at a share of the bandwidth; its time, and that of its bytes."""
    p, f = arrays.plan, runtime.family
    kind, values = row["kernel"], arrays.of(row.get("over", "values"), op)
    value = p.activation_bytes
    read, written = read_and_written(row, op, arrays)
    source = "elementwise" if row.get("row") == "keys" and p.context <= f("register_row") else kind
    floor, share = f(f"{source}.floor"), f(f"{source}.share", 1.0)
    if runtime.counted and (unit_bytes := f(f"{source}.unit_bytes")) > 0:  # an address for each value: bound by instructions
        share = min(share, device.units * unit_bytes * runtime.clock / device.memory_bandwidth)
    switch = 0.0 if kind == "fused" else f("switch_cycles")
    moved, start = read + written, f("elementwise.floor")
    if row.get("row") in ("hidden", "head"):
        width = arrays.h.hidden if row["row"] == "hidden" else arrays.head
        count, together = values / width, 16 * device.units
        if min(count, together) * width * value > runtime.cache / 2:
            moved += read
        waves = max(math.ceil(count / together), 1)
        slow = max(waves * (floor - start) / runtime.clock, moved / (share * device.memory_bandwidth))
        return (switch + start) / runtime.clock + slow, moved / (share * device.memory_bandwidth)
    if kind not in ("fused", "gather") and max(read, written) <= runtime.cache / 2:
        moved -= f("cached_reads") * read
    memory = moved / (share * device.memory_bandwidth)
    return (floor + switch) / runtime.clock + memory, memory


def allocations(op, arrays):
    """Requests for memory of one array of the cache: large ones one by one, small ones in pieces of 20 MiB."""
    cached = arrays.plan.kv_bytes * arrays.of("cached", op)
    return 1 if cached >= 10 * MIB else cached / (20 * MIB)


def own_price(op, executions, arrays, runtime, device, links):
    """Price of an operator's own law, of each of the products that it is, and how many these are. The gradient of the input of
    several products sums over the columns of all."""
    if runtime.masked and op.kind == "attention" and arrays.plan.phase == "decode":
        cached = op.traffic - op.live
        op = op.like(group_heads=1.0, traffic=op.live + op.group_heads * cached, keys="undivided")
    if op.kind == "matmul" and not runtime.joined and op.merged_matrices > 1:
        parts, summed = op.merged_matrices, op.run == "backward"
        left = arrays.plan.activation_bytes * op.m * (op.n if summed else op.k) * op.copies
        one = op.like(work=op.work / parts, **({"k": op.k / parts} if summed else {"n": op.n / parts}))
        one.live, one.traffic = left + (op.live - left) / parts, left + (op.traffic - left) / parts
        return price.price(one, device, links, executions * parts), parts
    return price.price(op, device, links, executions), 1


def own_kernel(op, times, arrays, runtime, device, links):
    """Time of an operator's own law, that in its kernels, and how many products it is."""
    cost, parts = own_price(op, times, arrays, runtime, device, links)
    return parts * cost.total, parts * (cost.total - cost.overhead), parts


def conditions(h, ops, decode):
    """What rows of a list ask for."""
    head_norm = any(m.get("grouped", {}).get("qk_norm", "none") == "head" for (m, _), _ in h.mixers)
    gated = next((op.traffic > 1.25 * op.live for op in ops if op.name.endswith("activation")), False)
    return {
        "always": True,
        "rms": h.norm_vectors == 1,
        "layer": h.norm_vectors != 1,
        "gated": gated,
        "plain": not gated,
        "head_norm": head_norm,
        "positions": bool(h.position_rows),
        "decode": decode,
        "prompt": not decode,
        "autocast": False,
        "decoder": h.architecture == "decoder",
        "encoder": h.architecture != "decoder",
    }


def vanishes(op, holds):
    """Whether an operator is no kernel of its own where launches are listed: encoders rotate nothing, and norms of queries and
    keys are rows of rotary_and_cache."""
    return (op.name == "rotary_and_cache" and not holds["decoder"]) or op.name == "query_key_norm"


def expanded(ops, h, plan, device, links, executions):
    """Each operator of a pass as its kernels in a captured graph, with the price of each. `executions` of an operator in the
    pass, for the power limit."""
    arrays, holds, out = Arrays(ops, h, plan), conditions(h, ops, plan.phase == "decode"), []
    for op in ops:
        listed = [] if op.kind in ("collective", "host_transfer", "host_compute") else rows_of(device.runtime.name, key_of(op, device.runtime))
        if vanishes(op, holds):
            continue
        for row in listed or [{"kernel": "own"}]:
            if not op.share or not holds[row.get("when", "always")]:
                continue
            if row["kernel"] != "own":
                times, (time, memory) = row.get("times", 1), small_kernel(row, op, arrays, device.runtime, device)
                kernel = SimpleNamespace(total=time, compute=0.0, memory=memory, overhead=time - memory, network=0.0, launches=1)
                moved = sum(read_and_written(row, op, arrays))
                out.append((op.like(kind="stream", name="kernel", share=op.share * times, work=0.0, traffic=moved), kernel))
                continue
            cost, parts = own_price(op, executions(op), arrays, device.runtime, device, links)
            out.append((op, price.cost(*(parts * getattr(cost, side) for side in ("total", "compute", "memory", "overhead", "network")))))
    return [op for op, _ in out], [cost for _, cost in out]

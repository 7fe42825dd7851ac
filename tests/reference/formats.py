"""How the weights of a served model are stored, and the format in which it computes.

Bits of a value and of its share of a scale, by group of tensors; the means over the blocks, the routed experts
and the two ends are what the plan takes.
"""

from types import SimpleNamespace

import memory
import model
import operators
import passes
from plan import whole_model
from zoo import BYTES, get

def bytes_of_format(name):
    """Of a weight of a matrix, with its share of the scales."""
    if name in MIXES:
        return MIXES[name][0] / 8
    if name not in NAMED:
        return BYTES[name]
    values, shared, scale, _ = NAMED[name]
    return BYTES[values] + (scale / shared if shared else 0)


def named(values, shared, each):
    """The name of a format: of so many values to a scale, and of them the nearest in bytes."""
    if BYTES[values] >= 2:
        return "bf16"
    same = [n for n, (v, _, _, ends) in NAMED.items() if v == values and not ends]
    if not same:
        return "int8" if each >= 0.75 else "int4"
    block = lambda n: {"fp8_block": 128, "nf4": 64 * 256}.get(n, NAMED[n][1])  # noqa: E731
    return min(same, key=lambda n: (0 if block(n) == shared else 1) + abs(bytes_of_format(n) - each))


GROUPS = ["attention", "linear", "dense", "shared_experts", "experts", "draft"]
# Format of a value, values that share a scale, bytes of the scale, embedding and head too.
NAMED = {
    "fp8": ("fp8", 0, 0, False),
    "fp8_block": ("fp8", 128 * 128, 4, False),
    "int8": ("int8", 0, 0, False),
    "mxfp4": ("fp4", 32, 1, False),
    "nvfp4": ("fp4", 16, 1, False),
    "int4": ("int4", 128, 2.5, False),       # a scale of 16 and a zero of 4 bits
    "nf4": ("int4", 64 * 256, 260, False),   # 256 scales of 8 bits and one of 32 for 64 values each
    "w8a16": ("int8", 128, 3, False),        # GPTQ: a scale of 16 and a zero of 8 bits
    "q8_0": ("int8", 32, 2, True),
    "q6_k": ("fp6", 256, 18, True),
    "q4_k_m": ("int4", 256, 27.2, True),     # the mean of a file, 4.85 bits
    "q4_0": ("int4", 32, 2, True),
}
# Bits of a weight in the blocks, the embedding and the head of a file of llama.cpp.
MIXES = {
    "q4_1": (5, 5, 6.5625),
    "q5_0": (5.5, 5.5, 6.5625),
    "q5_1": (6, 6, 6.5625),
    "q2_k": (2.943, 2.625, 6.5625),
    "q3_k_s": (3.439, 3.4375, 6.5625),
    "q3_k_m": (3.845, 3.4375, 6.5625),
    "q3_k_l": (4.192, 3.4375, 6.5625),
    "q4_k_s": (4.537, 4.5, 6.5625),
    "q5_k_s": (5.501, 5.5, 6.5625),
    "q5_k_m": (5.654, 5.5, 6.5625),
    "iq1_s": (1.694, 2.625, 5.5),
    "iq1_m": (1.857, 2.625, 5.5),
    "iq2_xxs": (2.129, 2.625, 5.5),
    "iq2_xs": (2.366, 2.625, 5.5),
    "iq2_s": (2.48, 3.4375, 5.5),
    "iq2_m": (2.698, 3.4375, 5.5),
    "iq3_xxs": (3.072, 3.4375, 5.5),
    "iq3_xs": (3.272, 3.4375, 6.5625),
    "iq3_s": (3.459, 3.4375, 6.5625),
    "iq3_m": (3.577, 3.4375, 6.5625),
    "iq4_xs": (4.317, 4.25, 6.5625),
    "iq4_nl": (4.554, 4.5, 6.5625),
}


def stated(workload, name):
    """{group: (format, bytes of a value with its scale, values of a scale)}; "all" is what no other holds."""
    if name == "as_stored":
        table = {}
        for f in workload["formats"]:
            shared = f.get("block", 0) * f.get("block_rows", 1)
            scale = f["scale"] / shared if f.get("scale") else 0
            each = f["bits"] / 8 if f.get("bits") else BYTES[f["precision"]] + scale
            table[f.get("tensors", "all")] = (f["precision"], each, f.get("block", 0))
        return table
    if name in MIXES:
        blocks, embedding, head = MIXES[name]
        if not model.model_view(workload).head_params:
            embedding = head
        ends = {"embedding": ("int4", embedding / 8, 0), "head": ("int4", head / 8, 0)}
        return {"all": ("fp16", 2, 0), **{group: ("int4", blocks / 8, 0) for group in GROUPS + ["tower"]}, **ends}
    if name not in NAMED:
        return {"all": (name, BYTES[name], 0)}
    values, shared, scale, ends = NAMED[name]
    one = (values, BYTES[values] + (scale / shared if shared else 0), shared)
    groups = GROUPS + (["embedding", "head", "tower"] if ends else [])
    return {"all": ("fp16", 2, 0), **{group: one for group in groups}}


def groups_of(ops):
    """The group of each operator; those of attention belong to the mixer that began last."""
    linear = False
    for op in ops:
        if op.name in ("linear_attention_input", "state_space_input"):
            linear = True
        elif op.name in ("qkv_projection", "latent_down_projection", "query_down_projection"):
            linear = False
        yield op, "linear" if op.group == "attention" and linear else group_of(op)


def group_of(op):
    if op.group in ("embedding", "head", "attention"):
        return op.group
    if op.group == "feed_forward":
        return "dense"
    if op.group == "experts":
        if "routed" in op.parts:
            return "experts"
        return "shared_experts" if op.name.startswith("shared_expert") else "router"
    return "all"


def matrix_of(op):
    """Weights that stand in a matrix; norms and biases are not quantised."""
    if op.kind == "stream" and op.group != "embedding" or op.group == "norm":
        return 0
    if op.kind == "matmul" and "routed" not in op.parts:
        return min(op.n * op.k * op.copies, op.params)
    return op.params


def served(workload, hardware, precision, name, bits, textbook=False):
    """What is stored and computed. Formulas from totals take a named format for all weights and the cache. Engines
    load files as they are where they would compute in that format anyway, and keep a cache of 16 bits unless the
    files name another."""
    if precision and not name and bits is None and not textbook and has_narrow(workload):
        if served(workload, hardware, None, None, None).precision == precision:
            precision = None
    out = as_named(workload, hardware, precision, name, bits, textbook)
    if out.kv is None and not textbook:
        cache = [f["precision"] for f in workload.get("formats", []) if f.get("tensors") == "cache"]
        if cache:
            out.kv = cache[0]
        elif BYTES[out.precision] < 2:
            out.kv = "bf16"
    return out


def has_narrow(workload):
    others = ("cache", "index_keys", "state")
    narrow = [f for f in workload.get("formats", []) if BYTES[f["precision"]] < 2 and f.get("tensors") not in others]
    return bool(narrow) and model.has_shape(workload)


def as_named(workload, hardware, precision, name, bits, textbook=False):
    """The formats that are named, or those of files narrower than 16 bits where none is. An arithmetic below 16 bits
    narrows the tensors that quantizers narrow."""
    default = get(hardware, "compute.default_precision", "fp16")
    if name is None and bits is None and precision is None and has_narrow(workload):
        name = "as_stored"
    if name is None or bits is not None:
        precision = precision or default
        each = bits / 8 if bits is not None else BYTES[precision]
        if each < BYTES[precision]:
            experts = "int4" if each < 0.75 else "int8"
        else:
            experts = named(precision, 16 if precision == "fp4" else 0, each)
        out = SimpleNamespace(
            precision=precision, kv=None, block=each, expert=each, edge=each, whole=each, experts=experts
        )
        if bits is None and each < 2 and not textbook and model.has_shape(workload):
            one = (precision, each, 0)
            means, _ = means_of(workload, {"all": ("fp16", 2, 0), **{group: one for group in GROUPS}})
            vars(out).update(means)
        return out
    table = stated(workload, name)
    means, held = means_of(workload, table)
    if precision is None:
        most = max(held, key=held.get)
        block = max(of[2] for of in table.values() if of[0] == most)
        multiplied = most == "fp8" or (most == "fp4" and block == 16) or (most == "int8" and not block)
        wide = default if BYTES[default] == 2 else "bf16"
        if BYTES[most] >= 2:
            precision = most if most == "fp32" else wide
        else:
            precision = most if multiplied and get(hardware, "compute.dense." + most) else wide
    kv = table["cache" if "cache" in table else "all"][0]
    own = table.get("experts", table["all"])
    return SimpleNamespace(precision=precision, kv=kv, experts=named(own[0], own[2], own[1]), **means)


def means_of(workload, table):
    """Bytes of a weight of the blocks, the routed experts, the ends and all; weights in matrices by format."""
    h = model.model_view(workload)
    sums = {"block": [0, 0], "expert": [0, 0], "edge": [0, 0]}
    held = {}
    count = passes.layers_of(h)
    for op, group in groups_of(operators.forward(h, whole_model())):
        times = op.share * (count if op.place == "block" else 1)
        of = table.get(group, table["all"])
        matrix = matrix_of(op)
        where = sums["edge" if op.place != "block" else "expert" if "routed" in op.parts else "block"]
        where[0] += op.params * times
        where[1] += (matrix * of[1] + (op.params - matrix) * BYTES[table["all"][0]]) * times
        held[of[0]] = held.get(of[0], 0) + matrix * times
    each = {k: b / n if n else 0 for k, (n, b) in sums.items()}
    whole = sum(b for _, b in sums.values()) / sum(n for n, _ in sums.values())
    return {**each, "whole": whole}, held


def store(plan, f):
    """Three kinds of weights, each at its mean."""
    plan.weight_bytes, plan.expert_bytes, plan.edge_bytes = f.block, f.expert, f.edge
    plan.widened = f.whole < BYTES[f.precision]
    return plan


def bytes_of(plan, t):
    """Of the weights of a stage."""
    return memory.held(plan, t, 1, 1)

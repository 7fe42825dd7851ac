"""Low-rank adapters beside frozen weights (hu2022lora, section 4.1): y = x W + (x A) B.

W (k x n) is frozen, A is k x r and B r x n. A product that holds several matrices side by side (query, key and
value; gate and up) has adapters for each. Only A and B have gradients, optimizer states and an exchange.
"""

from op import emit, stored_bytes


def with_adapters(ops, plan):
    """The forward operators with those of the adapters, and with frozen weights that are stored in few bits."""
    out = []
    for op in ops:
        out.append(op)
        weights = op.kind == "matmul" and "core" not in op.parts
        if op.place != "block":
            if weights:
                op.kept = 0.0
            continue
        if not weights:
            continue
        learns = "routed" not in op.parts and (plan.lora_modules == "all" or op.group == "attention")
        if not learns:
            op.kept = 0.0  # the input was kept for a gradient that there is not
        if plan.widens:
            widen(out, op, plan)
        if learns:
            adapt(out, op, plan)
    return out


def beside(out, op, kind, name):
    new = emit(out, kind, op.group, name, op.share)
    new.parts, new.recompute_parts, new.place = op.parts | {"adapter"}, set(op.recompute_parts), op.place
    return new


def product(out, op, plan, name, m, n, k, copies):
    new = beside(out, op, "matmul", name)
    new.m, new.n, new.k, new.copies, new.wide = m, n, k, copies, plan.narrow
    new.work = 2 * m * n * k * copies
    new.params = n * k * copies
    new.live = plan.activation_bytes * (m * k + m * n) * copies
    new.traffic = new.live + plan.adapter_bytes * new.params
    return new


def adapt(out, op, plan):
    rank, matrices = plan.lora_rank, op.merged_matrices
    product(out, op, plan, "adapter_down", op.m, rank * matrices, op.k, op.copies)
    up = product(out, op, plan, "adapter_up", op.m, op.n / matrices, rank, op.copies * matrices)
    up.kept = plan.activation_bytes * op.m * rank * matrices * op.copies  # x A
    total = beside(out, op, "stream", "adapter_sum")
    values = op.m * op.n * op.copies
    # Reads x W and (x A) B and writes their sum; unfused, the scale is a pass before.
    total.live = total.traffic = plan.activation_bytes * (3 if plan.fused else 5) * values
    total.work = 2 * values


def widen(out, op, plan, width=None):
    """Stored weights are read and written as wide as the product reads them (dettmers2023qlora, section 3)."""
    values, width = op.n * op.k * op.copies, plan.adapter_bytes if width is None else width
    stored = stored_bytes(plan, op.name, op.group)
    op.traffic += (width - stored) * values
    new = beside(out, op, "stream", "widen")
    new.parts = op.parts | {"widened"}
    new.work = 2 * values
    new.live = width * values
    new.traffic = (stored + width) * values


def unpacked(ops, plan):
    """Products of many rows read weights that were widened in memory; the others widen theirs on their way."""
    out = list(ops)
    for op in ops:
        if op.kind == "matmul" and "core" not in op.parts and op.m > plan.unpack_rows:
            widen(out, op, plan, plan.activation_bytes)
    return out


def trained(plan, weights, adapters):
    """Weights that have gradients."""
    return adapters if plan.lora_rank else weights * plan.trainable

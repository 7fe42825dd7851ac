"""Muon: the momentum X (a x b, a <= b) of each weight matrix of the blocks is replaced by a nearly orthogonal one,
five times X <- p X + (q A + r A A) X with A = X X^T (jordan2024muon).

FLOP of an iteration: 2 a a b for A, 2 a a a for A A, 2 a a b for the last product.
"""

from op import emit
from sharding import holders


def updates(ops, plan):
    """The products of the update. From ZeRO-1 on a rank has its share of the matrices, whole."""
    extra = []
    for op in ops:
        if op.run != "forward" or op.kind != "matmul" or "core" in op.parts or op.place != "block":
            continue
        routed = "routed" in op.parts
        wide = op.n / op.merged_matrices
        a, b = min(wide, op.k), max(wide, op.k)
        matrices = op.copies * op.merged_matrices
        if routed:  # all experts that are stored, not those that this pass touches
            matrices *= op.params / (op.n * op.k * op.copies)
        share = 1 / holders(plan, routed).shards if plan.zero_stage >= 1 else 1
        for name, m, n, k in (("square", a, a, b), ("power", a, a, a), ("turn", a, b, a)):
            new = emit(extra, "matmul", "optimizer", "update_" + name, op.share * 5 * share * plan.trainable)
            new.run, new.wide = "update", plan.narrow
            new.m, new.n, new.k, new.copies = m, n, k, matrices
            new.work = 2 * m * n * k * matrices
            new.live = new.traffic = plan.activation_bytes * (m * k + k * n + m * n) * matrices
    return extra

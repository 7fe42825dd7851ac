"""One operator on one device, and helpers that make them.

Amounts (work, traffic, ...) are those of one execution. `share` is how often a block runs it: 1, or the part
of the blocks that have it, because blocks of several kinds are spread evenly over the stages. `place` says
where it runs: in every block, once on the first or the last stage, or once on every stage.
"""

import copy
from dataclasses import dataclass, field


@dataclass
class Op:
    kind: str  # matmul, attention, stream, collective, host_transfer
    group: str  # embedding, attention, feed_forward, experts, norm, head, convolution, communication, ...
    name: str
    share: float = 1.0
    place: str = "block"  # block, first, last, stage
    run: str = "forward"  # forward, recompute, backward, weight_gradient, update
    parts: set = field(default_factory=set)  # parts of the block that it belongs to
    recompute_parts: set = field(
        default_factory=set
    )  # parts that recomputation must repeat so that `kept` need not be kept
    wide: bool = False  # stays at 16 bits in narrow training
    dequantizes_in_kernel: bool = False  # its kernel widens weights on their way
    recurrence: str = ""  # linear attention: kernels that it stands for
    stepping: bool = False  # linear attention: steps of decoding
    keys: str = "cached"  # attention: undivided (cached, but not split over units), made (in this pass, for every head),
    # latents (which all heads share), chosen (likewise, and each query has entries of its own)
    searched: float = 0.0  # stream: rows that are searched for their highest values
    m: float = 0.0  # copies x (m x k)(k x n)
    n: float = 0.0
    k: float = 0.0
    copies: float = 1.0
    reach: float = 0.0  # attention: keys that the mean query sees
    group_heads: float = 1.0  # attention: query heads that share a key-value head
    biased: float = 0.0  # product: 1 where a bias is added
    device_experts: float = 0.0  # of a layer of routed experts: how many the device holds
    expert_width: float = 0.0  # and the width of one of them there
    merged_matrices: float = 1.0  # product: weight matrices that lie side by side in it
    work: float = 0.0  # FLOP
    traffic: float = 0.0  # bytes to and from memory
    params: float = 0.0  # weights stored
    kept: float = 0.0  # activations kept for the backward pass
    recomputed_bytes: float = 0.0  # activations that recomputation restores
    live: float = 0.0  # activations in and out
    state: float = 0.0  # cache or recurrent state held
    # Collectives and transfers.
    pattern: str = ""  # all_reduce, all_gather, reduce_scatter, all_to_all, point_to_point
    between: str = ""  # tensor, context, experts, pipeline, replicas, host
    beside: str = ""  # beside "pass" (issued ahead), "product" (piece by piece), "aside"; else is waited for
    message: float = 0.0  # payload of a rank
    message_back: float = 0.0  # of the experts' exchange: payload in the backward pass
    routed: tuple = None  # of the experts' exchange: experts, top_k, groups, groups that a token may visit
    one_copy: bool = False  # ... a token crosses once to each node and rank
    host_bandwidth: float = 0.0  # of the memory that the host reads and writes
    ranks: float = 1.0
    stride: float = 1.0  # devices between neighbours of the group

    def like(self, **changes):
        """A copy with some things changed."""
        other = copy.copy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        return other


PART_OF_GROUP = {
    "attention": {"attention"},
    "feed_forward": {"feed_forward"},
    "experts": {"feed_forward"},
    "norm": {"norm"},
}


def emit(ops, kind, group, name, share=1.0, parts=()):
    mine = set(parts) | PART_OF_GROUP.get(group, set()) | {"block"}
    ops.append(Op(kind, group, name, share=share, parts=mine, recompute_parts=set(mine)))
    return ops[-1]


def elementwise(f, name, group, share, values, reads, writes, flops, parts=()):
    """A pass over `values` activations that reads and writes some arrays of that size."""
    op = emit(f.ops, "stream", group, name, share, parts)
    op.work = flops * values
    op.live = f.plan.activation_bytes * (reads + writes) * values
    op.traffic = op.live
    return op


def stored_bytes(plan, name, group):
    """Of a weight: routed experts, and what stands before and behind the blocks, may have formats of their own."""
    own = None
    if name in ("expert_up", "expert_down"):
        own = plan.expert_bytes
    elif group in ("embedding", "head") or name == "stream_join":
        own = plan.edge_bytes
    return plan.weight_bytes if own is None else own


def matmul(f, name, group, share, m, n, k, copies=1.0, parts=()):
    """copies x (m x k)(k x n) with weights: 2 m n k multiplies and adds, each matrix crosses memory once
    (golub2013matrix, section 1.1). In narrow training its left factor is cast first. The output head stays
    wide."""
    wide = group == "head"
    if f.plan.narrow and not wide:
        cast_factor(f, group, share, m * k * copies, parts)
    op = emit(f.ops, "matmul", group, name, share, parts)
    op.m, op.n, op.k, op.copies = m, n, k, copies
    op.wide = wide and f.plan.narrow
    op.biased = f.h.bias
    op.work = 2 * m * n * k * copies
    op.params = n * k * copies + f.h.bias * n * copies
    op.kept = f.plan.activation_bytes * m * k * copies
    op.live = op.kept + f.plan.activation_bytes * m * n * copies
    op.traffic = op.live + stored_bytes(f.plan, name, group) * op.params
    op.dequantizes_in_kernel = f.plan.widened and f.plan.phase == "decode"
    return op


def cast_factor(f, group, share, values, parts):
    """Read at 16 bits, written at 8, in two layouts where weights have gradients. Values of 4 bits share a scale by
    16, and all a second one, for which the maximum is read before (nvidia2025nvfp4)."""
    op = elementwise(f, "cast", group, share, values, 1, 0, 2, parts)
    op.live += (0.5625 if f.plan.four_bits else 1.0) * (1 if f.plan.lora_rank else 2) * values
    op.traffic = op.live + (f.plan.activation_bytes * values if f.plan.four_bits else 0.0)


def activation_product(f, name, group, share, m, n, k, copies, parts=()):
    """A product of two activations: no weights."""
    op = emit(f.ops, "matmul", group, name, share, parts)
    op.m, op.n, op.k, op.copies = m, n, k, copies
    op.work = 2 * m * n * k * copies
    op.live = f.plan.activation_bytes * (m * k + m * n) * copies
    op.traffic = op.live + f.plan.activation_bytes * n * k * copies
    return op


def collective(ops, name, pattern, between, share, message, ranks, stride):
    op = emit(ops, "collective", "communication", name, share)
    op.pattern, op.between, op.message, op.ranks, op.stride = pattern, between, message, ranks, stride
    return op


def join_tensor_parallel(f, name, share, part):
    """Adds up the partial sums of a row-parallel product (Shoeybi et al. 2019, section 3); with sequence
    parallelism as a scatter after it and a gather before the next product (korthikanti2022recomputation,
    section 4.2.2)."""
    message = f.plan.activation_bytes * f.tokens * f.h.hidden
    for pattern in ["reduce_scatter", "all_gather"] if f.plan.sequence_parallel else ["all_reduce"]:
        op = collective(f.ops, name, pattern, "tensor", share, message, f.plan.tp, 1)
        op.m = f.tokens
        op.parts = {part, "block"}
        op.beside = "product"


def norm(f, name, share):
    """Residual sum and normalisation: reads sum and branch, writes sum and norm; training reads the sum once
    more, and dropout is a pass of its own where nothing is fused."""
    values = f.tokens * f.h.hidden * f.split
    apart = 1 if f.training and f.plan.dropout and not f.plan.fused else 0
    op = elementwise(f, name, "norm", share, values, (3 if f.training else 2) + apart, 2 + apart, 6)
    op.params = f.h.norm_vectors * f.h.hidden
    op.kept = f.plan.activation_bytes * values
    op.recompute_parts = {"block"}
    return op


def dropout_mask(f, op, values):
    """One byte a value, kept for the backward pass."""
    if f.plan.dropout and f.training:
        op.kept += values


def dropout_traffic(f, op, values):
    """The same byte as traffic of the kernel that writes it."""
    if f.plan.dropout and f.training:
        op.traffic += values

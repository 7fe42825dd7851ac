"""Forward pass of a convolutional network, record by record. A convolution is an implicit product: rows are
output pixels, columns output channels, depth the receptive field (Chetlur et al. 2014, section 3)."""

import math

from op import emit


def extents(r):
    """Channels and pixels of a record; 'same' padding gives ceil(size / stride) outputs."""
    per_channel = r["op"] in ("depthwise", "pool")
    inputs = r.get("channels", 0) if per_channel else r.get("in", 0)
    outputs = inputs if per_channel else r.get("out", 0)
    groups = inputs if per_channel else r.get("groups", 1)
    kernel = [r.get("kernel_h", r.get("kernel", 1)), r.get("kernel_w", r.get("kernel", 1))]
    size, after = [1, 1], [1, 1]
    if r["op"] != "linear":
        size = [r.get("size_h", r.get("size", 1)), r.get("size_w", r.get("size", 1))]
        stride = r.get("stride", 1)
        for i in range(2):
            after[i] = (
                math.floor((size[i] - kernel[i]) / stride) + 1
                if r.get("padding") == "valid"
                else math.ceil(size[i] / stride)
            )
    return inputs, outputs, groups, kernel, size, after


def forward(f):
    plan, count = f.plan, max(len(f.h.convolution), 1)
    for r in f.h.convolution:
        inputs, outputs, groups, kernel, size, after = extents(r)
        share = r.get("times", 1) / count  # the mean record, so that `count` of them are the network
        # For the power limit products, convolutions and pooling are one kernel each.
        op = emit(f.ops, "stream" if r["op"] == "pool" else "matmul", "convolution", r["op"], share)
        read, written = plan.batch * inputs * size[0] * size[1], plan.batch * outputs * after[0] * after[1]
        if r["op"] == "pool":
            op.work = written * kernel[0] * kernel[1]
        else:
            op.m, op.n = plan.batch * after[0] * after[1], outputs / groups
            op.k, op.copies = inputs / groups * kernel[0] * kernel[1], groups
            op.work = 2 * op.m * op.n * op.k * op.copies
            op.params = (
                op.n * op.k * op.copies
                + (outputs if r.get("bias") else 0)
                + (outputs * after[0] * after[1] if r.get("unit_bias") else 0)
                + (2 * outputs if r.get("batch_norm") else 0)
            )
            op.kept = plan.activation_bytes * read
        op.live = plan.activation_bytes * (read + written)
        op.traffic = op.live + plan.weight_bytes * op.params
        normalise(f, r, written, share)


def normalise(f, r, written, share):
    """Folded into the convolution for inference. Training needs the statistics of the batch before it can
    normalise."""
    if not r.get("batch_norm") or (f.plan.fused and not f.training):
        return
    op = emit(f.ops, "stream", "convolution", "batch_norm", share)
    residual = r.get("residual", False)
    reads, writes = (3 if f.training else 2) + (2 if residual else 0), 3 if residual else 2
    op.work = 8 * written
    op.live = f.plan.activation_bytes * 2 * written
    op.traffic = f.plan.activation_bytes * (reads + writes) * written
    op.kept = f.plan.activation_bytes * written

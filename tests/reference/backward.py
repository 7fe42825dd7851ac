"""Recomputation and the backward pass: rules on the operators of the forward pass."""

from op import emit
from price import ATTENTION_BACKWARD

EVERYTHING = {"core", "attention", "norm", "activation", "feed_forward", "block"}
# The parts of a block that each choice repeats (korthikanti2022recomputation, section 5).
REPEATED = {
    "none": set(),
    "selective": {"core"},
    "full": EVERYTHING,
    "norm": {"norm"},
    "activation": {"activation"},
    "pointwise": {"norm", "activation"},
    "feed_forward": {"feed_forward"},
    "attention": {"attention"},
    "per_operator": set(),
}


def with_backward(ops, h, plan):
    """The operators of a whole micro-batch: forward, recomputation, backward, gradients of weights."""
    forward = list(ops)
    if plan.recomputation == "per_operator":
        again = recompute_by_operator(forward, plan)
    else:
        again = recompute(forward, plan)
    back = []
    for op in reversed(forward):
        if plan.fused_loss and op.name == "loss":
            continue  # its gradients were made with it
        back += backward(op, h, plan)
    return forward + again + back


def repeated(op, share):
    return op.like(run="recompute", share=share, params=0.0, kept=0.0, recomputed_bytes=0.0)


def recompute(forward, plan):
    """Repeats the named parts in a share of the blocks and drops what need not be kept. A fused attention
    kernel forms its scores again in any case: it has no core to repeat. Where recomputation stops early, the
    last product of a block, whose input alone is needed, and the sum of its parts are not repeated."""
    named, again = REPEATED[plan.recomputation], []
    for op in forward:
        if op.place != "block":
            continue
        if op.recompute_parts & named:
            op.recomputed_bytes = op.kept * plan.recomputed
            op.kept = op.kept * (1 - plan.recomputed)
        behind = op.name == "ffn_down" or (op.name == "ffn_tp_reduce" and op.pattern != "all_gather")
        if plan.early_stop and named == EVERYTHING and not plan.dropout and behind:
            continue
        if op.parts & named:
            again.append(repeated(op, op.share * plan.recomputed))
    return again


def recompute_by_operator(forward, plan):
    """Keeps what attention and every second product write; repeats the other products and all between."""
    again = []
    for op in forward:
        if op.place != "block" or op.kind == "collective":
            continue
        product = op.kind == "matmul" and "core" not in op.parts
        times = 0.5 if product else 0.0 if op.kind == "attention" else 1.0
        written = 0.0
        if product:
            written = plan.activation_bytes * 0.5 * op.m * op.n * op.copies
        if op.kind == "attention":
            written = 0.5 * op.live  # of queries and outputs, the outputs
        if not op.recompute_parts:
            written = op.kept  # the block's own input
        op.recomputed_bytes = op.kept * plan.recomputed
        op.kept = op.kept * (1 - plan.recomputed) + written * plan.recomputed
        if times:
            again.append(repeated(op, op.share * plan.recomputed * times))
    return again


def backward(op, h, plan):
    """What one forward operator becomes in the backward pass."""
    mirror = op.like(run="backward", params=0.0, kept=0.0, recomputed_bytes=0.0, state=0.0)
    if op.kind == "matmul":
        return backward_of_product(op, mirror, h, plan)
    if op.kind == "attention":
        # Five products instead of two, because the scores are formed again (dao2022flashattention, section
        # 3.1).
        mirror.work, mirror.traffic = ATTENTION_BACKWARD * op.work, 2 * op.traffic
    elif op.kind == "stream":
        # A function of one array reads it and the gradient and writes one: three arrays for two. A norm reads
        # both twice, once for the gradients of its weights, and the residual's gradients are summed.
        if "widened" in op.parts:
            return [mirror]  # once more, for the gradient of the input
        mirror.work = 2 * op.work
        mirror.traffic = op.traffic + op.live if op.group == "norm" else 1.5 * op.traffic
    elif op.kind == "collective":
        if op.between == "experts":  # gradients come back as tokens went there, and the other way round
            mirror.message, mirror.message_back = op.message_back, op.message
        # The transpose of a gather is a scatter and the other way round; the others are their own transposes.
        if op.pattern == "reduce_scatter":
            mirror.pattern = "all_gather"
        elif op.pattern == "all_gather":
            mirror.pattern = "reduce_scatter"
            if op.beside == "product":
                # The input of the products is kept divided: the weight gradients gather it once more.
                return [mirror, mirror.like(pattern="reduce_scatter", beside="pass")]
    return [mirror]


def backward_of_product(op, mirror, h, plan):
    """dX = dY W^T and dW = X^T dY, each with the work of Y = X W (Goodfellow et al. 2016, section 6.5)."""
    mirror.n, mirror.k = op.k, op.n
    second = mirror.like(m=op.k, n=op.n, k=op.m)
    if "core" in op.parts:
        return [mirror, second]  # two activations: the other gradient is waited for as well
    second.run = "weight_gradient"
    second.traffic = op.live + 2 * plan.gradient_bytes * op.params  # the gradient is read and written
    # Frozen weights have none.
    second.share = op.share * (1 if "adapter" in op.parts else plan.trainable)
    if not h.biased:
        return [mirror, second]
    bias = []
    values = op.m * op.n * op.copies
    emit(bias, "stream", op.group, "bias_gradient", second.share * op.biased)
    bias[0].run, bias[0].place = "weight_gradient", op.place
    bias[0].work, bias[0].traffic = values, plan.activation_bytes * values
    return [mirror, second, bias[0]]
